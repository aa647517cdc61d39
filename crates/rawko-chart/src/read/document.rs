//! Document types: a chart under `statechart:`, a bare chart, a registry, or none of these.

use crate::def::{CHART, DOCUMENT, DocumentKey, Shape};
use crate::finding::{Finding, Severity};
use crate::read::check_shape;
use crate::source::Span;
use crate::tree::View;

const NOT_A_CHART: &str = crate::codes::NOT_A_CHART.name;

pub(crate) enum Document<'a> {
    Chart(View<'a>),
    Registry(View<'a>),
    Neither,
}

/// Determines the type of a document, and reports all structural findings.
pub(crate) fn classify<'a>(root: View<'a>, findings: &mut Vec<Finding>) -> Document<'a> {
    let Some(pairs) = root.pairs() else {
        findings.push(not_a_chart(root, format!("expected a chart, found {}", root.kind_words())));
        return Document::Neither;
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
            check_shape(root, &Shape::Record(&DOCUMENT), Span::default(), findings);
            if chart.pairs().is_some() { Document::Chart(chart) } else { Document::Neither }
        }
        (None, Some(registry)) => {
            check_shape(root, &Shape::Record(&DOCUMENT), Span::default(), findings);
            Document::Registry(registry)
        }
        (None, None) if root.get("states").is_some() => {
            check_shape(root, &Shape::Record(&CHART), Span::default(), findings);
            Document::Chart(root)
        }
        (None, None) => {
            findings.push(not_a_chart(root, "the file contains no chart".into()));
            Document::Neither
        }
    }
}

fn not_a_chart(root: View<'_>, message: String) -> Finding {
    let first = root.pairs().and_then(|mut pairs| pairs.next()).map(|pair| pair.key_span);
    Finding::new(NOT_A_CHART, Severity::Fatal, first.unwrap_or(root.span()), message)
        .help("a chart starts with `statechart:` and has `id`, `initial` and `states` below it")
}

/// Returns the finding for a registry in place of a chart.
pub(crate) fn registry_instead(view: View<'_>) -> Finding {
    Finding::new(NOT_A_CHART, Severity::Fatal, view.span(), "this is a registry of charts, not a chart")
        .help("pass one of the charts that it lists")
}
