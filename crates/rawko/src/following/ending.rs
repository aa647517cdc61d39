//! The end of following: the exit code, the messages for the user, and the result for programs.

use rawko_core::{Status, Value};
use serde_json::{Value as Json, json};

use super::OutputFormat;
use super::requests::{answer_option, request_lines};
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::Rest;
use crate::journal::{lines, words};
use crate::standing::{InstanceStanding, PendingAsk};
use crate::task_request::{is_own, is_workflow};
use crate::times;
use rawko_store::{InstanceStatus, Outcome};
use rawko_view::document::waits;
use rawko_view::rows::outcome;

/// The reason that following ended.
#[derive(Clone, Debug)]
pub(crate) enum FollowEnd {
    Rest(Rest),
    /// A signal; the work continues with the next host.
    Parked(CommandVerdict),
    /// Ctrl-C; the instance is paused.
    Paused(CommandVerdict),
}

pub(crate) struct RunEnding<'a> {
    pub(crate) standing: &'a InstanceStanding,
    pub(crate) ended: FollowEnd,
    /// The host of the instance, if it is another process.
    pub(crate) other: Option<String>,
}

impl RunEnding<'_> {
    /// Prints the end in the given format and returns the verdict.
    pub(crate) fn tell(
        &self,
        format: OutputFormat,
        console: &mut Console,
    ) -> Result<CommandVerdict, CommandFailure> {
        match format {
            OutputFormat::Text => {}
            OutputFormat::Json | OutputFormat::StreamJson => console.line(&self.result().to_string())?,
        }
        self.hint(console);
        Ok(self.verdict())
    }

    pub(crate) fn verdict(&self) -> CommandVerdict {
        match &self.ended {
            FollowEnd::Parked(verdict) | FollowEnd::Paused(verdict) => *verdict,
            FollowEnd::Rest(Rest::Over(Status::Done)) => self.final_verdict(),
            FollowEnd::Rest(Rest::Over(_)) => CommandVerdict::Failed,
            FollowEnd::Rest(Rest::Failed) => match self.error().get("category").as_str() {
                Some("limit") => CommandVerdict::Limit,
                Some("loop") => CommandVerdict::Loop,
                Some(_) | None => failed_by(&self.error()),
            },
            FollowEnd::Rest(Rest::Waiting | Rest::Paused) => CommandVerdict::Waiting,
            FollowEnd::Rest(Rest::Stuck { transient: true, .. }) => CommandVerdict::Transient,
            FollowEnd::Rest(Rest::Stuck { transient: false, .. }) => CommandVerdict::Failed,
        }
    }

    /// Returns the verdict of the final state's tag; without a tag, success.
    fn final_verdict(&self) -> CommandVerdict {
        let InstanceStanding { snapshot, chart, .. } = self.standing;
        let ended = snapshot.configuration().frontier().iter();
        let tags: Vec<&str> =
            ended.flat_map(|node| &chart.node(*node).docs.tags).map(|tag| tag.as_str()).collect();
        let verdicts = [
            ("limit", CommandVerdict::Limit),
            ("loop", CommandVerdict::Loop),
            // A task without progress and one that goes round in a circle have the same exit code.
            ("stuck", CommandVerdict::Loop),
            ("error", CommandVerdict::Failed),
            ("failed", CommandVerdict::Failed),
            ("cancelled", CommandVerdict::Failed),
        ];
        let found = verdicts.into_iter().find(|(tag, _)| tags.contains(tag));
        match found {
            Some((_, CommandVerdict::Failed)) => failed_by(snapshot.output().get("problem")),
            Some((_, verdict)) => verdict,
            None => CommandVerdict::Done,
        }
    }

    fn word(&self) -> &'static str {
        match &self.ended {
            FollowEnd::Parked(_) => "parked",
            FollowEnd::Paused(_) | FollowEnd::Rest(Rest::Paused) => "paused",
            FollowEnd::Rest(Rest::Over(status)) => status.as_str(),
            FollowEnd::Rest(Rest::Failed) => "failed",
            FollowEnd::Rest(Rest::Waiting) => "waiting",
            FollowEnd::Rest(Rest::Stuck { .. }) => "stalled",
        }
    }

    /// Returns the outcome of an ended instance, as `ps` shows it; else the reason why following it ended.
    fn outcome(&self) -> &'static str {
        match &self.ended {
            FollowEnd::Rest(Rest::Over(_)) => outcome(&self.standing.row).map_or("failed", Outcome::as_str),
            FollowEnd::Parked(_) | FollowEnd::Paused(_) | FollowEnd::Rest(_) => self.word(),
        }
    }

    /// Returns the status as `ps` shows it.
    fn status(&self) -> &'static str {
        match &self.ended {
            FollowEnd::Rest(Rest::Over(_)) => InstanceStatus::Ended.as_str(),
            FollowEnd::Paused(_) | FollowEnd::Rest(Rest::Paused) => InstanceStatus::Paused.as_str(),
            FollowEnd::Rest(Rest::Failed | Rest::Stuck { .. }) => InstanceStatus::Stalled.as_str(),
            FollowEnd::Parked(_) | FollowEnd::Rest(Rest::Waiting) => InstanceStatus::Waiting.as_str(),
        }
    }

    /// Returns the error: of an unhandled invoke, or of a step that could not be taken.
    fn error(&self) -> Value {
        if let Some(failure) = self.standing.snapshot.failure() {
            return failure.error.clone();
        }
        match (&self.standing.row.head.fault, &self.ended) {
            (Some(fault), _) => {
                Value::map([("category", Value::str("step")), ("message", Value::str(fault))])
            }
            (None, FollowEnd::Rest(Rest::Stuck { message, .. })) => {
                Value::map([("category", Value::str("store")), ("message", Value::str(message))])
            }
            (None, _) => Value::Null,
        }
    }

    /// Returns the last line for programs.
    fn result(&self) -> Json {
        let InstanceStanding { snapshot, chart, .. } = self.standing;
        let mut result = json!({
            "v": lines::VERSION,
            "type": "result",
            "id": self.standing.id(),
            "outcome": self.outcome(),
            "exit_code": self.verdict().code(),
            "status": self.status(),
            "configuration": self.standing.configuration(),
            "context": snapshot.context_map(chart).to_json(),
            "output": snapshot.output().to_json(),
            "error": self.error().to_json(),
            "step": snapshot.step_number(),
            "waits": waits(self.standing),
        });
        let spent = self.standing.spent();
        if !spent.is_nothing() {
            result["spent"] = spent.to_value().to_json();
        }
        result
    }

    fn hint(&self, console: &mut Console) {
        let id = self.standing.id();
        match &self.ended {
            FollowEnd::Rest(Rest::Over(Status::Done)) => self.tell_copy(console),
            FollowEnd::Rest(Rest::Over(_)) => console.note(TextStyle::Bad, "cancelled", id),
            FollowEnd::Rest(Rest::Failed) => self.tell_failure(console),
            FollowEnd::Rest(Rest::Stuck { message, .. }) => {
                let text = format!("{message}\n{id} is unchanged; continue with `rawko resume {id}`");
                console.note(TextStyle::Bad, "stopped", &text);
            }
            FollowEnd::Parked(_) => match &self.other {
                Some(other) => {
                    console.note(TextStyle::Notice, "detached", &format!("{id} continues in {other}"));
                }
                None => {
                    let text = format!("continue with `rawko resume {id}`");
                    console.note(TextStyle::Notice, "parked", &text);
                }
            },
            FollowEnd::Paused(_) | FollowEnd::Rest(Rest::Paused) => {
                let text = format!("{id}; continue with `rawko resume {id}`");
                console.note(TextStyle::Notice, "paused", &text);
            }
            FollowEnd::Rest(Rest::Waiting) => {
                let text = match &self.other {
                    Some(other) => format!("{id} is hosted by {other}"),
                    None => format!("{id} is parked; continue with `rawko resume {id}`"),
                };
                console.note(TextStyle::Notice, "waiting", &text);
                tell_waits(self.standing, console);
            }
        }
    }

    /// Names the copy of the project that has the work of a workflow, and its patch.
    fn tell_copy(&self, console: &mut Console) {
        let output = self.standing.snapshot.output();
        let Some(branch) = output.get("worktree").get("branch").as_str() else { return };
        let mut text = format!("`rawko worktrees merge {branch}` brings its changes into the project");
        if let Some(patch) = output.get("patch").as_str() {
            text += &format!("\npatch: {patch}");
        }
        console.note(TextStyle::Notice, "branch", &text);
    }

    fn tell_failure(&self, console: &mut Console) {
        let id = self.standing.id();
        let what = match self.standing.snapshot.failure() {
            Some(failure) => {
                let name = self.standing.chart.failure_name(failure);
                format!("{name}: {}", words::error(&failure.error))
            }
            None => words::error(&self.error()),
        };
        let text = format!("{what}\n{id} keeps its state; retry with `rawko resume {id}`");
        console.note(TextStyle::Bad, "failed", &text);
    }
}

/// Returns the verdict for the code of a failure.
fn failed_by(problem: &Value) -> CommandVerdict {
    match problem.get("code").as_str() {
        Some("authentication_failed") => CommandVerdict::Credentials,
        Some(_) | None if problem.get("transient").as_bool() == Some(true) => CommandVerdict::Transient,
        Some(_) | None => CommandVerdict::Failed,
    }
}

/// Returns the option that selects one of several requests of an instance.
pub(crate) fn which(asks: &[PendingAsk], ask: &PendingAsk) -> String {
    match asks.iter().filter(|other| other.instance == ask.instance).count() {
        0 | 1 => String::new(),
        _ if ask.invoke.contains('[') => format!(" --ask '{}'", ask.invoke),
        _ => format!(" --ask {}", ask.invoke),
    }
}

/// Prints the events, answers and timers that an instance waits for.
pub(crate) fn tell_waits(standing: &InstanceStanding, console: &mut Console) {
    let (id, now_ms) = (standing.id(), times::now_ms());
    let mut text = String::new();
    for ask in &standing.asks {
        let expiry = ask.expires_ms.map(|at| format!(" ({} left)", times::span((at - now_ms).max(0))));
        let mut lines = request_lines(ask);
        lines[0] += &expiry.unwrap_or_default();
        text += &format!("  pending request: {}\n", lines.join("\n  "));
        let (which, option) = (which(&standing.asks, ask), answer_option(ask));
        text += &format!("    rawko approve {0}{which}{option}, or rawko deny {0}{which}\n", ask.instance);
    }
    // The events and timers of a task are its own affair; its requests are the person's.
    if is_own(standing.chart.id()) || is_workflow(standing.chart.id()) {
        console.aside(&text);
        return;
    }
    if !standing.offers.is_empty() {
        let events: Vec<_> = standing.offers.iter().map(|offer| offer.event.as_str()).collect();
        text += &format!("  accepts {}\n    rawko send {id} {}\n", events.join(", "), events[0]);
    }
    for timer in &standing.timers {
        text += &format!("  timer: {} ({})\n", timer.purpose, times::until(timer.due_ms, now_ms));
    }
    console.aside(&text);
}
