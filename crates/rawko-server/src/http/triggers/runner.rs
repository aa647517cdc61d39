//! The clock of schedules: looks which ones are due, performs their commands in order, and records them.

use std::time::Duration;

use rawko_triggers::{DueTime, Schedule, Trigger, TriggerOutcome, TriggerRun};

use super::perform::{armed, is_at_rest, perform, record};
use crate::http::app::App;
use crate::http::problem::ErrorResponse;

/// The longest time between two looks: clocks are set, machines sleep, people resume.
const LOOK: Duration = Duration::from_secs(10);
/// After a transient error.
const RETRY: Duration = Duration::from_secs(1);

/// Drives the schedules of a server.
#[derive(Clone)]
pub struct TriggerRunner {
    app: App,
}

impl TriggerRunner {
    pub(crate) fn new(app: &App) -> TriggerRunner {
        TriggerRunner { app: app.clone() }
    }

    /// Runs until the server closes.
    pub(crate) async fn serve(self) {
        let mut closing = self.app.closing();
        loop {
            let pause = self.pass().await;
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Performs everything that is due now. Returns the time until the next look. A trigger that fails does not hold up
    /// the others, and is looked at again soon.
    pub async fn pass(&self) -> Duration {
        let mut pause = LOOK;
        for trigger in &self.app.triggers().all {
            let next = match self.tend(trigger).await {
                Ok(Some(due)) => {
                    let left_ms = due.ms().saturating_sub(self.app.now_ms()).max(1);
                    Duration::from_millis(u64::try_from(left_ms).unwrap_or(1))
                }
                Ok(None) => LOOK,
                Err(_) => RETRY,
            };
            pause = pause.min(next);
        }
        pause
    }

    /// Performs the due runs of one trigger, and returns its next due time.
    async fn tend(&self, trigger: &Trigger) -> Result<Option<DueTime>, ErrorResponse> {
        let stored = armed(&self.app, trigger).await?;
        let Some(schedule) = trigger.schedule() else { return Ok(None) };
        if is_at_rest(&stored) {
            return Ok(None);
        }
        let now_ms = self.app.now_ms();
        let plan = schedule.plan(stored.state.since_ms, now_ms);
        let mut missed = i64::try_from(plan.missed).unwrap_or(i64::MAX);
        for due in &plan.runs {
            let entry = self.run(trigger, schedule, *due).await?;
            let entry = TriggerRun { missed: std::mem::take(&mut missed), ..entry };
            record(&self.app, &trigger.name, &entry, format!("due {}", due.key())).await?;
        }
        if let Some(until) = plan.until.filter(|_| plan.runs.is_empty()) {
            let entry = TriggerRun { missed, outcome: TriggerOutcome::Missed, ..self.entry(until) };
            record(&self.app, &trigger.name, &entry, format!("due {}", until.key())).await?;
        }
        Ok(schedule.next_after(now_ms))
    }

    async fn run(
        &self,
        trigger: &Trigger,
        schedule: &Schedule,
        due: DueTime,
    ) -> Result<TriggerRun, ErrorResponse> {
        let entry = self.entry(due);
        match trigger.at(schedule, due, self.app.now_ms()) {
            Ok(None) => Ok(TriggerRun { outcome: TriggerOutcome::Ignored, ..entry }),
            Err(error) => {
                Ok(TriggerRun { outcome: TriggerOutcome::Failed, detail: Some(error.to_string()), ..entry })
            }
            Ok(Some(command)) => {
                let done = perform(&self.app, &command).await?;
                let instance = Some(command.instance);
                Ok(TriggerRun { outcome: done.outcome, detail: done.detail, instance, ..entry })
            }
        }
    }

    fn entry(&self, due: DueTime) -> TriggerRun {
        TriggerRun {
            at_ms: self.app.now_ms(),
            due_ms: Some(due.ms()),
            key: due.key(),
            kind: "schedule".to_owned(),
            outcome: TriggerOutcome::Missed,
            instance: None,
            detail: None,
            missed: 0,
        }
    }
}
