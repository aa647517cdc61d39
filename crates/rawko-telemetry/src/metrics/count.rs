//! Updates of metrics by observation.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use rawko_core::{ServiceClass, ServiceName, Status};
use rawko_host::{CallOutcome, CommittedSteps, FinishedCall, HostEvent, ObservedCompletion};
use rawko_store::{EffectKind, RecordKind};

use super::Metrics;

impl Metrics {
    /// Counts an observation. Runs on the host's threads, so it only updates numbers.
    pub fn count(&self, observation: &HostEvent) {
        match observation {
            HostEvent::Committed(committed) => self.committed(committed),
            HostEvent::Calling(calling) => {
                if calling.attempt > 1 {
                    self.families.retries.add(&["invocation"], 1.0);
                }
            }
            HostEvent::Called(called) => self.called(called),
            HostEvent::Completed(completed) => self.completed(completed),
            HostEvent::Troubled { .. } => self.families.troubles.add(&[], 1.0),
        }
    }

    fn committed(&self, committed: &CommittedSteps) {
        let chart = &*committed.instance.chart_id;
        for taken in &committed.steps {
            self.steps[place(taken.kind)].fetch_add(1, Ordering::Relaxed);
            if let Some(late_ms) = taken.late_ms {
                self.families.timer_lag.observe(&[], Duration::from_millis(late_ms).as_secs_f64());
            }
        }
        if committed.before.is_none() {
            self.families.instances_started.add(&[chart], 1.0);
        }
        let is_news = committed.before != Some(committed.status);
        if is_news && committed.status != Status::Active {
            self.families.instances_ended.add(&[chart, committed.status.as_str()], 1.0);
        }
        for asked in &committed.asked {
            let outcome = asked.decision.as_deref().unwrap_or("withdrawn");
            let since =
                SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(asked.opened_ms).unwrap_or(0));
            self.effect(EffectKind::Person, outcome, since.elapsed().unwrap_or_default());
        }
    }

    fn called(&self, called: &FinishedCall) {
        let calling = &called.calling;
        // A person's answer is counted with the commit that contains it.
        if calling.kind == EffectKind::Person {
            return;
        }
        let outcome = match &called.outcome {
            CallOutcome::Answered => "answered",
            CallOutcome::Complained => "complained",
            CallOutcome::Failed { code, .. } => code,
            CallOutcome::Stopped => "stopped",
        };
        self.effect(calling.kind, outcome, called.took);
        if let Some(tool) = ServiceName::member_of(&calling.name, ServiceClass::Tool) {
            self.families.tool_calls.add(&[tool, outcome], 1.0);
        }
    }

    fn effect(&self, kind: EffectKind, outcome: &str, took: Duration) {
        self.families.effects.add(&[kind.as_str(), outcome], 1.0);
        self.families.effect_time.observe(&[kind.as_str()], took.as_secs_f64());
    }

    fn completed(&self, completed: &ObservedCompletion) {
        let who = [completed.provider.as_str(), completed.model.as_str()];
        let [provider, model] = who;
        let outcome = match &completed.finish {
            Ok(reason) | Err(reason) => &**reason,
        };
        let families = &self.families;
        families.model_calls.add(&[provider, model, outcome], 1.0);
        families.model_time.observe(&who, completed.took.as_secs_f64());
        let usage = &completed.usage;
        for (direction, tokens) in
            [("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens)]
        {
            families.model_tokens.add(&[provider, model, direction], tokens as f64);
        }
        if let Some(cost) = usage.cost_usd {
            families.model_cost.add(&who, cost);
        }
        if completed.attempt > 0 {
            families.retries.add(&["completion"], 1.0);
        }
    }
}

fn place(kind: RecordKind) -> usize {
    RecordKind::ALL.iter().position(|known| *known == kind).unwrap_or(0)
}

pub(super) fn kind_word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Started => "started",
        RecordKind::Forked => "forked",
        RecordKind::Stepped => "stepped",
        RecordKind::Ignored => "ignored",
        RecordKind::Failed => "failed",
        RecordKind::Migrated => "migrated",
    }
}
