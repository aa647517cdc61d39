//! What a chart is to the charts that invoke it: the keys of its input, the keys of its outputs and its events. Read from
//! its text without analysing it, because others are checked against it before it is checked itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_core::{
    Blueprint, DataTemplate, EventSpec, NodeId, NodeKind, Schema, ServiceClass, ServiceSpec,
    TransitionTrigger, Unhandled, Value, is_fact,
};

use crate::load::file_stem;
use crate::lower::lower_with_input;
use crate::read::{ReadDocument, classify, read_chart};
use crate::registry::Registry;
use crate::source::SourceFile;
use crate::tree::TextTree;

/// The input, the output and the events of a chart.
#[derive(Clone, Debug)]
pub(crate) struct ChartInterface {
    /// Its schemas of input and output. The input allows other keys: a chart ignores them.
    pub(crate) spec: ServiceSpec,
    declared: Option<Vec<EventSpec>>,
    /// The events of its transitions, wildcards included; `None` if it has a step fail for others.
    handled: Option<BTreeSet<Arc<str>>>,
}

/// What a chart has about an event.
pub(crate) enum EventEntry<'i> {
    /// Nothing that can be checked.
    Open,
    Declared(&'i EventSpec),
    /// Its `events:` block has no such name.
    Undeclared,
    /// It has no such block, and no transition either.
    Unhandled,
}

impl ChartInterface {
    /// Reads the interface of a chart; `None` if the text is no chart.
    pub(crate) fn read(id: &str, source: &SourceFile) -> Option<Self> {
        let tree = TextTree::read(&source.text).ok()?;
        let registry = Registry::default();
        let mut findings = Vec::new();
        let ReadDocument::Chart(body) = classify(tree.root(), &mut findings) else { return None };
        let chart = read_chart(body, &mut findings);
        let stem = file_stem(&source.name);
        let (lowered, input) = lower_with_input(&source.text, &chart, stem, &registry, &mut findings, None);
        let blueprint = lowered.blueprint;
        let mut spec = ServiceSpec::named(&ServiceClass::Chart.named(id));
        // A chart that reads all of `input` may take any key.
        spec.input = input.map(|keys| input_of(&blueprint, &keys));
        spec.output = output_of(&blueprint);
        let handled = (blueprint.unhandled != Unhandled::Error).then(|| handled(&blueprint));
        Some(Self { spec, declared: blueprint.events, handled })
    }

    pub(crate) fn event(&self, name: &str) -> EventEntry<'_> {
        if is_fact(name) {
            return EventEntry::Open;
        }
        match (&self.declared, &self.handled) {
            (Some(declared), _) => match declared.iter().find(|spec| &*spec.name == name) {
                Some(spec) => EventEntry::Declared(spec),
                None => EventEntry::Undeclared,
            },
            (None, Some(handled)) if !handled.iter().any(|pattern| fits(pattern, name)) => {
                EventEntry::Unhandled
            }
            (None, _) => EventEntry::Open,
        }
    }

    /// The events that it takes from outside.
    pub(crate) fn event_names(&self) -> Vec<&str> {
        match &self.declared {
            Some(declared) => declared.iter().filter(|spec| !spec.internal).map(|spec| &*spec.name).collect(),
            None => self.handled.iter().flatten().map(|name| &**name).collect(),
        }
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix) || name == prefix.trim_end_matches('.'),
        None => pattern == name,
    }
}

/// The declared keys of the context, with their schemas, and those that expressions read of `input`.
fn input_of(blueprint: &Blueprint, read: &[Arc<str>]) -> Schema {
    let schema = blueprint.context_schema.as_ref();
    let required = schema.map(Schema::required).unwrap_or_default();
    let mut properties: Vec<(Arc<str>, Value)> = Vec::new();
    for key in blueprint.context.iter().filter(|key| key.declared) {
        let rule = schema.map(|schema| schema.source().get("properties").get(&key.name).clone());
        let rule = match rule.filter(|rule| !rule.is_null()) {
            // Null leaves the value unset, as in the chart itself.
            Some(rule) if key.initial.is_null() && !required.contains(&key.name) => {
                Value::map([("anyOf", Value::list(vec![rule, null()]))])
            }
            Some(rule) => rule,
            None => anything(),
        };
        properties.push((Arc::clone(&key.name), rule));
    }
    for key in read {
        if !properties.iter().any(|(known, _)| known == key) {
            properties.push((Arc::clone(key), anything()));
        }
    }
    let mut source = vec![
        ("type", Value::list(vec![Value::str("object"), Value::str("null")])),
        ("properties", Value::map(properties)),
    ];
    // References of the keys' schemas lead here.
    for key in ["$defs", "definitions"] {
        let definitions = schema.map(|schema| schema.source().get(key).clone()).unwrap_or_default();
        if !definitions.is_null() {
            source.push((key, definitions));
        }
    }
    Schema::compile(&Value::map(source)).0
}

/// The keys of the outputs of its final states; `None` if one of them is computed as a whole.
fn output_of(blueprint: &Blueprint) -> Option<Schema> {
    if blueprint.nodes.first()?.kind != NodeKind::Compound {
        return None;
    }
    let ends = blueprint
        .nodes
        .iter()
        .filter(|node| node.kind == NodeKind::Final && node.parent == Some(NodeId::ROOT));
    let mut keys: BTreeSet<Arc<str>> = BTreeSet::new();
    for output in ends.filter_map(|node| node.output.as_deref()) {
        match output {
            DataTemplate::Map(entries) => keys.extend(entries.iter().map(|(key, _)| Arc::clone(key))),
            DataTemplate::Literal(Value::Map(entries)) => {
                keys.extend(entries.iter().map(|(key, _)| Arc::clone(key)));
            }
            DataTemplate::Literal(Value::Null) => {}
            DataTemplate::Literal(_) | DataTemplate::Expr(_) | DataTemplate::List(_) => return None,
        }
    }
    if keys.is_empty() {
        return None;
    }
    let properties = Value::map(keys.into_iter().map(|key| (key, anything())));
    Some(Schema::compile(&Value::map([("properties", properties)])).0)
}

fn handled(blueprint: &Blueprint) -> BTreeSet<Arc<str>> {
    let transitions = blueprint.nodes.iter().flat_map(|node| &node.transitions);
    let names = transitions.filter_map(|transition| match &transition.trigger {
        TransitionTrigger::Event(name) if !is_fact(name) => Some(Arc::clone(name)),
        _ => None,
    });
    names.collect()
}

fn anything() -> Value {
    Value::Bool(true)
}

fn null() -> Value {
    Value::map([("type", Value::str("null"))])
}
