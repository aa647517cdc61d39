//! Reads YAML 1.2 text into the spanned tree, from the event stream of `granit-parser`. Scalars follow the core schema,
//! in which `on`, `off`, `yes` and `no` are text.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle};
use rustc_hash::FxHashMap;

use super::builder::{Measure, Scalar, Stop, TreeBuilder};
use super::{DEPTH_MAX, TextTree, TreeNode, YAML_SYNTAX, too_deep};
use crate::finding::{Finding, Severity};
use crate::source::Span;

pub(super) fn read(text: &str) -> Result<TextTree<'_>, Vec<Finding>> {
    let mut reader = YamlReader {
        text,
        builder: TreeBuilder::for_text(text),
        anchors: FxHashMap::default(),
        open_anchors: Vec::new(),
        documents: 0,
        last_end: 0,
    };
    // On a stop the builder has the finding.
    let _ = reader.document();
    reader.builder.finish()
}

struct YamlReader<'t> {
    text: &'t str,
    builder: TreeBuilder<'t>,
    /// Complete values by anchor number.
    anchors: FxHashMap<usize, (TreeNode, Measure)>,
    /// The anchors of open collections (0 if none).
    open_anchors: Vec<usize>,
    documents: usize,
    /// End of the last value: a block collection's own end is only known from the line after it.
    last_end: usize,
}

impl<'t> YamlReader<'t> {
    fn document(&mut self) -> Result<(), Stop> {
        // The builder enforces the relevant limit; this one keeps the parser's own state small.
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: DEPTH_MAX + 1,
            block_nesting_limit: DEPTH_MAX + 1,
        };
        let start = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        for event in Parser::new_from_str_with_options(&self.text[start..], options) {
            match event {
                Ok((event, span)) => {
                    let range = span.byte_range().unwrap_or_default();
                    self.event(event, Span::new(range.start + start, range.end + start))?;
                }
                Err(error) => return self.syntax(&error, start),
            }
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), Stop> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_ref().and_then(|tag| tag.core_suffix().map(str::to_owned));
                self.scalar(text, style, tag.as_deref(), anchor, span)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.refuse_collection_key(span)?;
                self.open_anchors.push(anchor);
                self.builder.open_list(span.start as usize)
            }
            Event::MappingStart(_, anchor, _) => {
                self.refuse_collection_key(span)?;
                self.open_anchors.push(anchor);
                self.builder.open_map(span.start as usize)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.fail(
                        span,
                        "a second document starts here",
                        "put each chart in its own file",
                    );
                }
                Ok(())
            }
            // Stream markers; anchors, comments and unresolved aliases are not requested.
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&str>,
        anchor: usize,
        span: Span,
    ) -> Result<(), Stop> {
        let span = self.trimmed(span);
        self.last_end = span.end as usize;
        let scalar = match (style, tag) {
            (_, Some("str")) => None,
            (ScalarStyle::Plain, _) => plain(&text),
            _ => None,
        };
        let is_key = self.builder.wants_key();
        if anchor != 0 || !is_key {
            let scalar = scalar.unwrap_or_else(|| Scalar::Str(text.clone()));
            let node = self.builder.node(span, scalar);
            if anchor != 0 {
                self.anchors.insert(anchor, (node, Measure::LEAF));
            }
            if !is_key {
                return self.builder.add(node, Measure::LEAF);
            }
        }
        self.builder.key(text, span);
        Ok(())
    }

    fn close(&mut self, span: Span) -> Result<(), Stop> {
        // A flow collection ends with its bracket, a block one with its last value.
        let flow = matches!(self.text.get(span.range()), Some("]" | "}"));
        if flow {
            self.last_end = span.end as usize;
        }
        let closed = self.builder.close(self.last_end)?;
        if let (Some(anchor @ 1..), Some(closed)) = (self.open_anchors.pop(), closed) {
            self.anchors.insert(anchor, closed);
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        self.last_end = span.end as usize;
        let Some((node, measure)) = self.anchors.get(&anchor).copied() else {
            return self.fail(
                span,
                "an alias refers to the value that contains it",
                "a chart cannot contain itself",
            );
        };
        if self.builder.wants_key() {
            if !self.builder.key_from(node, span) {
                return self.fail(span, "an alias used as a key must refer to text", "");
            }
            return Ok(());
        }
        self.builder.add(node, measure)
    }

    fn refuse_collection_key(&mut self, span: Span) -> Result<(), Stop> {
        if self.builder.wants_key() {
            return self.fail(span, "a list or map cannot be a key", "put the key in quotes");
        }
        Ok(())
    }

    /// Block scalars extend to the next token; the underline should not.
    fn trimmed(&self, span: Span) -> Span {
        let text = self.text.get(span.range()).unwrap_or_default();
        Span::new(span.start as usize, span.start as usize + text.trim_end().len())
    }

    fn syntax(&mut self, error: &granit_parser::ScanError, offset: usize) -> Result<(), Stop> {
        let at = (error.marker().byte_offset().unwrap_or(0) + offset).min(self.text.len());
        let span = Span::new(at, self.text[at..].chars().next().map_or(at, |c| at + c.len_utf8()));
        if *error.kind() == granit_parser::ErrorKind::RecursionLimitExceeded {
            self.builder.findings.push(too_deep(span));
            return Err(Stop);
        }
        let help = if self.text[at..].starts_with('\t') || self.text[..at].ends_with('\t') {
            "indent with spaces: YAML does not allow tabs"
        } else {
            "check for a missing colon, quote or bracket, or wrong indentation, here or just before"
        };
        self.fail(span, &format!("invalid YAML: {}", error.info()), help)
    }

    fn fail<T>(&mut self, span: Span, message: &str, help: &str) -> Result<T, Stop> {
        let mut finding = Finding::new(YAML_SYNTAX, Severity::Fatal, span, message);
        if !help.is_empty() {
            finding = finding.help(help);
        }
        self.builder.findings.push(finding);
        Err(Stop)
    }
}

/// Parses a plain scalar by the core schema; `None` if it is text.
fn plain(text: &str) -> Option<Scalar<'static>> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Scalar::Null),
        "true" | "True" | "TRUE" => return Some(Scalar::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Scalar::Bool(false)),
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok().map(Scalar::Int);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok().map(Scalar::Int);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Scalar::Int).or_else(|_| text.parse().map(Scalar::Float)).ok();
    }
    if !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(Scalar::Float)
}
