//! Spans of instances: `invoke_workflow` and `invoke_agent`, created when they end; steps; and requests to people.

use std::time::{Duration, SystemTime};

use rawko_core::Status;
use rawko_host::{ClosedRequest, CommittedSteps, StepTaken};
use rawko_store::RecordKind;

use super::attributes as name;
use super::span::{TraceSpan, moment};
use super::tracer::Tracer;
use crate::lineage::{Lineage, span_of};

/// Outcome of a successful agent.
const FINISHED: &str = "finished";

impl Tracer {
    pub(super) fn committed(&self, committed: &CommittedSteps, lineage: &Lineage, at: SystemTime) {
        if self.steps {
            committed.steps.iter().for_each(|taken| self.emit(step(taken, lineage, at)));
        }
        committed.asked.iter().for_each(|asked| self.emit(asking(asked, lineage, at)));
        let is_news = committed.before != Some(committed.status);
        if is_news && committed.status != Status::Active {
            self.emit(self.ended(committed, lineage, at));
        }
    }

    fn ended(&self, committed: &CommittedSteps, lineage: &Lineage, at: SystemTime) -> TraceSpan {
        let new = &committed.instance;
        let (operation, subject, key) = match &lineage.agent {
            Some(agent) => ("invoke_agent", agent.to_string(), name::AGENT),
            None => ("invoke_workflow", new.chart_id.to_string(), name::WORKFLOW),
        };
        let origin = new.origin.as_ref().map(|origin| format!("{}@{}", origin.id, origin.step));
        let mut span =
            TraceSpan::new(lineage, lineage.span, lineage.parent, format!("{operation} {subject}"))
                .between(moment(new.created_ms), at)
                .with(name::OPERATION, operation)
                .with(key, subject)
                .with(name::CONVERSATION, new.id.to_string())
                .with(name::CHART, format!("{}@{}", new.chart_id, new.version))
                .with(name::STATUS, committed.status.as_str())
                .with_some(name::OUTCOME, committed.outcome.as_deref().map(str::to_owned))
                .with_some(name::FORKED_FROM, origin)
                .with_count(name::TOKENS, committed.spent.tokens)
                .with_count(name::TOOL_CALLS, committed.spent.tool_calls);
        if committed.spent.cost_usd > 0.0 {
            span = span.with(name::COST, committed.spent.cost_usd);
        }
        if let Some(tally) = self.tallies.get(&new.id).filter(|_| lineage.agent.is_some()) {
            span = span
                .with(name::PROVIDER, name::provider(&tally.provider))
                .with(name::REQUEST_MODEL, tally.model.clone())
                .with_count(name::INPUT_TOKENS, tally.input_tokens)
                .with_count(name::OUTPUT_TOKENS, tally.output_tokens);
        }
        match fault(committed, lineage) {
            Some(kind) => span.failed(&kind),
            None => span,
        }
    }
}

/// Returns the reason why an instance failed. Cancellation is not a failure.
fn fault(committed: &CommittedSteps, lineage: &Lineage) -> Option<String> {
    match (committed.status, committed.outcome.as_deref()) {
        (Status::Error, _) => Some(committed.error.as_deref().unwrap_or("failed").to_owned()),
        (Status::Done, Some(outcome)) if lineage.agent.is_some() && outcome != FINISHED => {
            Some(outcome.to_owned())
        }
        (Status::Done | Status::Cancelled | Status::Active, _) => None,
    }
}

/// Spans the time from taking the step until it is on disk.
fn step(taken: &StepTaken, lineage: &Lineage, at: SystemTime) -> TraceSpan {
    let (kind, title) = match taken.kind {
        RecordKind::Started => ("started", "step start".to_owned()),
        RecordKind::Forked => ("forked", "step fork".to_owned()),
        RecordKind::Migrated => ("migrated", "step migrate".to_owned()),
        RecordKind::Stepped => ("stepped", format!("step {}", taken.event)),
        // Ignored events may have arbitrary names, which must not become span names.
        RecordKind::Ignored => ("ignored", "step".to_owned()),
        RecordKind::Failed => ("failed", format!("step {}", taken.event)),
    };
    let id = span_of(lineage.trace, &lineage.new.id, &format!("step {} {kind} {}", taken.step, taken.at_ms));
    let began = moment(taken.at_ms) + Duration::from_millis(taken.late_ms.unwrap_or(0));
    let span = TraceSpan::new(lineage, id, Some(lineage.span), title)
        .between(began.min(at), at)
        .in_step(taken.step)
        .with(name::STEP_KIND, kind)
        .with(name::EVENT, taken.event.to_string());
    if taken.kind == RecordKind::Failed { span.failed("step_failed") } else { span }
}

fn asking(asked: &ClosedRequest, lineage: &Lineage, at: SystemTime) -> TraceSpan {
    let id = span_of(lineage.trace, &lineage.new.id, &format!("ask {}/{}", asked.step, asked.index));
    let decision = asked.decision.as_deref().unwrap_or("withdrawn");
    TraceSpan::new(lineage, id, Some(lineage.span), format!("ask {}", asked.name))
        .client()
        .between(moment(asked.opened_ms), at)
        .in_step(asked.step)
        .with(name::DECISION, decision.to_owned())
}
