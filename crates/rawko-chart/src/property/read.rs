//! From text to properties: every problem is a finding at its place.

use rawko_core::{Chart, duration};

use super::atoms::compile;
use super::{Assumptions, Property, PropertyExpr, PropertyKind};
use crate::codes::INVALID_PROPERTY;
use crate::def::{BeforeKey, LeadsToKey, PropertyKey, WithinKey};
use crate::finding::Finding;
use crate::source::{SourceFile, Span};
use crate::suggest::nearest;
use crate::tree::{Data, NodeView, TextTree};

const KEYS: [&str; 7] = ["never", "always", "before", "within", "leads_to", "assume", "description"];

/// Reads the `properties:` of a chart's own text.
pub fn properties_of_chart(source: &SourceFile, chart: &Chart) -> (Vec<Property>, Vec<Finding>) {
    if !source.text.contains("properties") {
        return (Vec::new(), Vec::new());
    }
    // A text that is not readable has been reported by the chart's reader.
    let Ok(tree) = TextTree::read(&source.text) else { return (Vec::new(), Vec::new()) };
    let body = tree.root().get("statechart").unwrap_or(tree.root());
    let read = |block| read_block(block, chart, Structure::Checked);
    body.get("properties").map(read).unwrap_or_default()
}

/// Reads a file of properties: a map of them, or one below `properties:`.
pub fn properties_of_file(source: &SourceFile, chart: &Chart) -> (Vec<Property>, Vec<Finding>) {
    match TextTree::read(&source.text) {
        Ok(tree) => {
            let block = tree.root().get("properties").unwrap_or(tree.root());
            read_block(block, chart, Structure::Unchecked)
        }
        Err(findings) => (Vec::new(), findings),
    }
}

/// Whether keys and kinds of values have been checked: those of a chart have, with all the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Structure {
    Checked,
    Unchecked,
}

fn read_block(block: NodeView<'_>, chart: &Chart, structure: Structure) -> (Vec<Property>, Vec<Finding>) {
    let (mut properties, mut findings) = (Vec::new(), Vec::new());
    if block.is_null() {
        return (properties, findings);
    }
    if block.pairs().is_none() && structure == Structure::Unchecked {
        let message = format!("properties are a map from name to property, not {}", block.kind_words());
        findings.push(INVALID_PROPERTY.at(block.span(), message));
    }
    for pair in block.each_pair() {
        let mut reader = PropertyReader { chart, structure, findings: Vec::new() };
        let property = reader.property(pair.value);
        findings.append(&mut reader.findings);
        if let Some((kind, assume)) = property {
            properties.push(Property { name: pair.key.to_owned(), kind, assume, span: pair.key_span });
        }
    }
    (properties, findings)
}

struct PropertyReader<'c> {
    chart: &'c Chart,
    structure: Structure,
    findings: Vec<Finding>,
}

impl PropertyReader<'_> {
    fn report<T>(&mut self, view: NodeView<'_>, message: impl Into<String>) -> Option<T> {
        self.findings.push(INVALID_PROPERTY.at(view.span(), message));
        None
    }

    /// Reports a wrong key or kind of value, unless the reader of the chart has.
    fn misshapen<T>(&mut self, span: Span, message: impl Into<String>) -> Option<T> {
        if self.structure == Structure::Unchecked {
            self.findings.push(INVALID_PROPERTY.at(span, message));
        }
        None
    }

    fn property(&mut self, body: NodeView<'_>) -> Option<(PropertyKind, Assumptions)> {
        const HELP: &str = "write one of `never`, `always`, `before`, `within` and `leads_to`";
        if body.pairs().is_none() {
            let message = format!("a property is a map, not {}; {HELP}", body.kind_words());
            return self.misshapen(body.span(), message);
        }
        let mut kinds = Vec::new();
        let mut assume = Assumptions::default();
        for pair in body.each_pair() {
            match PropertyKey::parse(pair.key) {
                Some(PropertyKey::Assume) => assume = self.assumptions(pair.value),
                Some(PropertyKey::Description) => {}
                Some(kind) => kinds.push((kind, pair.value)),
                None => {
                    let key = pair.key;
                    let close = nearest(key, KEYS.iter().copied());
                    let help = close.map_or(HELP.to_owned(), |close| format!("did you mean `{close}`?"));
                    let message = format!("a property has no key `{key}`; {help}");
                    self.misshapen::<()>(pair.key_span, message);
                }
            }
        }
        match kinds[..] {
            [(key, value)] => Some((self.kind(key, value)?, assume)),
            [] => self.report(body, format!("the property states nothing; {HELP}")),
            _ => self.report(body, "a property states one thing; split it into several"),
        }
    }

    fn kind(&mut self, key: PropertyKey, value: NodeView<'_>) -> Option<PropertyKind> {
        match key {
            PropertyKey::Never => self.expression(value).map(PropertyKind::Never),
            PropertyKey::Always => self.expression(value).map(PropertyKind::Always),
            PropertyKey::Before => {
                let [first, then] =
                    self.fields(value, ["first", "then"], |key| BeforeKey::parse(key).is_some())?;
                Some(PropertyKind::Before { first: self.expression(first)?, then: self.expression(then)? })
            }
            PropertyKey::LeadsTo => {
                let [from, to] =
                    self.fields(value, ["from", "to"], |key| LeadsToKey::parse(key).is_some())?;
                Some(PropertyKind::LeadsTo { from: self.expression(from)?, to: self.expression(to)? })
            }
            PropertyKey::Within => {
                let [from, to, time] =
                    self.fields(value, ["from", "to", "time"], |key| WithinKey::parse(key).is_some())?;
                let (from, to) = (self.expression(from), self.expression(to));
                let time_ms = self.time(time)?;
                Some(PropertyKind::Within { from: from?, to: to?, time_ms })
            }
            PropertyKey::Assume | PropertyKey::Description => None,
        }
    }

    fn fields<'v, const N: usize>(
        &mut self,
        value: NodeView<'v>,
        names: [&str; N],
        is_known: fn(&str) -> bool,
    ) -> Option<[NodeView<'v>; N]> {
        let example = names.map(|name| format!("{name}: …")).join(", ");
        for pair in value.each_pair() {
            if !is_known(pair.key) {
                let message = format!("there is no key `{}` here; write `{{{example}}}`", pair.key);
                self.misshapen::<()>(pair.key_span, message);
            }
        }
        let found: Vec<NodeView<'v>> = names.iter().filter_map(|name| value.get(name)).collect();
        match <[NodeView<'v>; N]>::try_from(found) {
            Ok(found) => Some(found),
            Err(_) => {
                self.misshapen(value.span(), format!("the property is incomplete; write `{{{example}}}`"))
            }
        }
    }

    fn expression(&mut self, view: NodeView<'_>) -> Option<PropertyExpr> {
        let Some(text) = view.text() else {
            let message = format!("expected an expression, not {}", view.kind_words());
            return self.misshapen(view.span(), message);
        };
        match compile(text, self.chart) {
            Ok(expr) => Some(expr),
            Err(message) => self.report(view, message),
        }
    }

    fn time(&mut self, view: NodeView<'_>) -> Option<u64> {
        match view.data() {
            Data::Int(ms) if ms >= 0 => u64::try_from(ms).ok(),
            Data::Str(text) => match duration::parse_ms(text) {
                Ok(ms) => Some(ms),
                Err(error) => self.report(view, error.to_string()),
            },
            _ => self.report(view, "`time` is milliseconds or a duration such as `24h`"),
        }
    }

    fn assumptions(&mut self, view: NodeView<'_>) -> Assumptions {
        let mut assume = Assumptions::default();
        for item in view.one_or_many() {
            match item.text() {
                Some("people_answer") => assume.people_answer = true,
                Some("events_arrive") => assume.events_arrive = true,
                _ => {
                    self.report::<()>(item, "an assumption is `people_answer` or `events_arrive`");
                }
            }
        }
        assume
    }
}
