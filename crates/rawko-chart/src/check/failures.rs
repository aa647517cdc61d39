//! Failures that end as successes: a final state that is named or reached like a failure but whose output reports
//! success, or that has neither output nor tag for the failure; and a failure or limit that leads directly to a final state of
//! success. Names and outputs are only read where they are literal; computed ones are not reported.

use rawko_core::{DataTemplate, NodeId, NodeKind, TransitionTrigger, Value};
use rustc_hash::FxHashMap;

use super::guards;
use super::index::{ChartIndex, TransitionEdge};
use super::words;
use crate::codes::FAILURE_REPORTS_SUCCESS;
use crate::finding::Finding;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let incoming = incoming(index);
    for id in index.ids().filter(|id| index.kind(*id) == NodeKind::Final) {
        let edges = incoming.get(&id).map(Vec::as_slice).unwrap_or_default();
        match verdict(index.node(id).output.as_deref()) {
            ReportedOutcome::Success => claims_success(index, id, edges, findings),
            ReportedOutcome::Silent => counts_as_success(index, id, edges, findings),
            ReportedOutcome::Other => continue,
        }
        if index.parent(id) == Some(NodeId::ROOT) && words::sound_like_success(&index.node(id).key) {
            joined_by_failures(index, id, edges, findings);
        }
    }
}

/// Returns the transitions into each final state.
fn incoming<'i, 'a>(index: &'i ChartIndex<'a>) -> FxHashMap<NodeId, Vec<&'i TransitionEdge<'a>>> {
    let mut incoming: FxHashMap<NodeId, Vec<&TransitionEdge<'_>>> = FxHashMap::default();
    for edge in index.edges.iter().filter(|edge| index.reached[edge.source.index()]) {
        for target in edge.targets().iter().filter(|target| index.kind(**target) == NodeKind::Final) {
            incoming.entry(*target).or_default().push(edge);
        }
    }
    incoming
}

/// The outcome that an output reports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportedOutcome {
    Success,
    /// No outcome.
    Silent,
    /// Failure, or a value known only at run time.
    Other,
}

fn verdict(output: Option<&DataTemplate>) -> ReportedOutcome {
    let entries: Vec<(&str, Option<Value>)> = match output {
        Some(DataTemplate::Map(entries)) => {
            entries.iter().map(|(key, value)| (&**key, constant(value))).collect()
        }
        Some(DataTemplate::Literal(Value::Map(map))) => {
            map.iter().map(|(key, value)| (&**key, Some(value.clone()))).collect()
        }
        Some(DataTemplate::Literal(_)) | None => Vec::new(),
        Some(DataTemplate::Expr(_) | DataTemplate::List(_)) => return ReportedOutcome::Other,
    };
    let verdicts = entries.iter().map(|(key, value)| entry_verdict(key, value.as_ref()));
    verdicts.fold(ReportedOutcome::Silent, |so_far, next| match (so_far, next) {
        (ReportedOutcome::Other, _) | (_, ReportedOutcome::Other) => ReportedOutcome::Other,
        (ReportedOutcome::Success, _) | (_, ReportedOutcome::Success) => ReportedOutcome::Success,
        (ReportedOutcome::Silent, ReportedOutcome::Silent) => ReportedOutcome::Silent,
    })
}

fn constant(template: &DataTemplate) -> Option<Value> {
    match template {
        DataTemplate::Literal(value) => Some(value.clone()),
        DataTemplate::Expr(expr) => expr.constant(),
        DataTemplate::List(_) | DataTemplate::Map(_) => None,
    }
}

fn entry_verdict(key: &str, value: Option<&Value>) -> ReportedOutcome {
    let success = match key {
        "success" | "ok" | "succeeded" | "passed" => value.map(|value| *value == Value::Bool(true)),
        "status" | "result" | "outcome" => {
            value.map(|value| value.as_str().is_some_and(words::sound_like_success))
        }
        _ => return ReportedOutcome::Silent,
    };
    if success == Some(true) { ReportedOutcome::Success } else { ReportedOutcome::Other }
}

/// Reports an output of success if the state's name or every transition into it indicates otherwise.
fn claims_success(
    index: &ChartIndex<'_>,
    id: NodeId,
    edges: &[&TransitionEdge<'_>],
    findings: &mut Vec<Finding>,
) {
    let path = index.path(id);
    let finding = if words::sound_like_failure(&index.node(id).key) {
        FAILURE_REPORTS_SUCCESS.at(index.key_span(id), format!("final state `{path}` reports success"))
    } else if !edges.is_empty() && edges.iter().all(|edge| is_failure(edge)) {
        let message = format!("final state `{path}` is only reached by failures, but reports success");
        let finding = FAILURE_REPORTS_SUCCESS.at(index.key_span(id), message);
        finding.related(index.target_span(edges[0]), "a failure leads here")
    } else {
        return;
    };
    findings.push(
        finding
            .label("its output reports success")
            .help("report the failure in the output, so that the caller can detect it"),
    );
}

/// Tags of a top-level final state that make the outcome of the instance another one than `succeeded`.
const OUTCOME_TAGS: [&str; 6] = ["limit", "loop", "stuck", "cancelled", "error", "failed"];

/// Reports a final state for a failure whose instances have the outcome `succeeded`: only tags decide that.
fn counts_as_success(
    index: &ChartIndex<'_>,
    id: NodeId,
    edges: &[&TransitionEdge<'_>],
    findings: &mut Vec<Finding>,
) {
    let node = index.node(id);
    let is_tagged = |tag: &String| OUTCOME_TAGS.contains(&tag.as_str());
    if index.parent(id) != Some(NodeId::ROOT)
        || !words::sound_like_failure(&node.key)
        || node.docs.as_ref().is_some_and(|docs| docs.tags.iter().any(is_tagged))
    {
        return;
    }
    let Some(failure) = edges.iter().find(|edge| is_failure(edge)) else { return };
    let tag = if words::sound_like_limit(&node.key) { "limit" } else { "failed" };
    findings.push(
        FAILURE_REPORTS_SUCCESS
            .at(
                index.key_span(id),
                format!("instances that end in `{}` have the outcome `succeeded`", index.path(id)),
            )
            .label("no tag says otherwise")
            .related(index.target_span(failure), "a failure leads here")
            .help(format!("add `tags: [{tag}]`, so that lists and callers see the failure")),
    );
}

/// Reports a failure or limit that leads directly to a final state for success.
fn joined_by_failures(
    index: &ChartIndex<'_>,
    id: NodeId,
    edges: &[&TransitionEdge<'_>],
    findings: &mut Vec<Finding>,
) {
    let failing = |edge: &&&TransitionEdge<'_>| why_failing(index, edge).is_some();
    let Some(success) = edges.iter().find(|edge| !failing(edge)) else { return };
    for edge in edges {
        if let Some(what) = why_failing(index, edge) {
            findings.push(
                FAILURE_REPORTS_SUCCESS
                    .at(
                        index.target_span(edge),
                        format!("{what} ends in `{}`, like a success", index.path(id)),
                    )
                    .label("indistinguishable from success")
                    .related(index.target_span(success), "successful runs end here too")
                    .help("give it its own final state, or an `output` that reports the result"),
            );
        }
    }
}

fn why_failing(index: &ChartIndex<'_>, edge: &TransitionEdge<'_>) -> Option<String> {
    let source = index.path(edge.source);
    if is_failure(edge) {
        return Some(format!("{} in `{source}`", index.trigger_text(edge)));
    }
    let by_itself = matches!(edge.spec.trigger, TransitionTrigger::Always | TransitionTrigger::After(_));
    if by_itself && words::sound_like_failure(&index.node(edge.source).key) {
        return Some(format!("`{source}`"));
    }
    let guard = edge.spec.guard.as_ref()?;
    guards::reaches_limit(index, guard).then(|| format!("the limit `{}` in `{source}`", guard.text))
}

fn is_failure(edge: &TransitionEdge<'_>) -> bool {
    edge.event().is_some_and(|event| event.starts_with("error.") || event.starts_with("timeout.invoke."))
}
