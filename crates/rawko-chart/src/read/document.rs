//! Document types: a chart under `statechart:`, a bare chart, a registry, or none of these.

use crate::def::{CHART, DOCUMENT, DocumentKey, ValueShape};
use crate::finding::{Finding, Severity};
use crate::read::check_shape;
use crate::source::Span;
use crate::tree::NodeView;

const NOT_A_CHART: &str = crate::codes::NOT_A_CHART.name;

pub(crate) enum ReadDocument<'a> {
    Chart(NodeView<'a>),
    Registry(NodeView<'a>),
    Neither,
}

/// Determines the type of a document, and reports all structural findings.
pub(crate) fn classify<'a>(root: NodeView<'a>, findings: &mut Vec<Finding>) -> ReadDocument<'a> {
    let Some(pairs) = root.pairs() else {
        findings.push(not_a_chart(root, format!("expected a chart, found {}", root.kind_words())));
        return ReadDocument::Neither;
    };
    let (mut chart, mut registry) = (None, None);
    for pair in pairs {
        match DocumentKey::parse(pair.key) {
            Some(DocumentKey::Statechart) => chart = Some(pair.value),
            Some(DocumentKey::MachineRegistry) => registry = Some(pair.value),
            Some(DocumentKey::Schema) | None => {}
        }
    }
    match (chart, registry) {
        (Some(chart), _) => {
            check_shape(root, &ValueShape::Record(&DOCUMENT), Span::default(), findings);
            if chart.pairs().is_some() { ReadDocument::Chart(chart) } else { ReadDocument::Neither }
        }
        (None, Some(registry)) => {
            check_shape(root, &ValueShape::Record(&DOCUMENT), Span::default(), findings);
            ReadDocument::Registry(registry)
        }
        (None, None) if root.get("states").is_some() => {
            check_shape(root, &ValueShape::Record(&CHART), Span::default(), findings);
            ReadDocument::Chart(root)
        }
        (None, None) => {
            findings.push(not_a_chart(root, "the file contains no chart".into()));
            ReadDocument::Neither
        }
    }
}

fn not_a_chart(root: NodeView<'_>, message: String) -> Finding {
    let first = root.pairs().and_then(|mut pairs| pairs.next()).map(|pair| pair.key_span);
    Finding::new(NOT_A_CHART, Severity::Fatal, first.unwrap_or(root.span()), message)
        .help("a chart starts with `statechart:` and has `id`, `initial` and `states` below it")
}

/// Returns the finding for a registry in place of a chart.
pub(crate) fn registry_instead(view: NodeView<'_>) -> Finding {
    Finding::new(NOT_A_CHART, Severity::Fatal, view.span(), "this is a registry of charts, not a chart")
        .help("pass one of the charts that it lists")
}
