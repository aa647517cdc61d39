//! `TaskView`: what a session shows of its task: the agent at work, its model and activity, tokens and cost, and the
//! requests that wait for the person. Read from the store, so that every terminal shows the same.

use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName, Value, World, split_item_name};
use rawko_host::{SnapshotReader, Spent};
use rawko_store::{InstanceRow, WaitReason};
use rawko_view::spending::spent_until_now;

use super::frame::coarse;
use crate::failure::CommandFailure;
use crate::standing::{InstanceStanding, PendingAsk, RunningWork};
use crate::times;

/// The state of a task at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskView {
    pub(crate) created_ms: i64,
    pub(crate) spent: Spent,
    pub(crate) is_paused: bool,
    /// The start of this command or the last resume that it saw; 0 if another process has the instance.
    pub(crate) moving_since_ms: i64,
    pub(crate) asks: Vec<PendingAsk>,
    /// The innermost agent at work.
    pub(crate) agent: Option<AgentView>,
    pub(crate) activity: CurrentActivity,
    /// Messages of the person that no agent has read yet.
    pub(crate) queued: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AgentView {
    pub(crate) instance: Arc<str>,
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) phase: Option<String>,
    /// Used part of the context window, in percent.
    pub(crate) context_percent: Option<u64>,
}

/// The current activity, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CurrentActivity {
    pub(crate) words: String,
    pub(crate) since_ms: i64,
    /// The end of a wait.
    pub(crate) due_ms: Option<i64>,
    pub(crate) kind: ActivityKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ActivityKind {
    #[default]
    Other,
    /// A completion, which Escape stops.
    Completion,
    /// Waits before the next attempt.
    BackOff,
    /// A call of a tool, which Escape stops.
    Tool,
    /// Stopped by the person.
    Held,
}

impl TaskView {
    pub(crate) fn read(reader: &SnapshotReader, id: &str, world: &World) -> Result<TaskView, CommandFailure> {
        let standing = InstanceStanding::of(reader, id, world, times::now_ms())?;
        let context = standing.snapshot.context_map(&standing.chart);
        let mut view = TaskView {
            created_ms: standing.row.new.created_ms,
            spent: spent_until_now(reader, &standing.row)?,
            is_paused: standing.row.head.wait == WaitReason::Paused,
            activity: activity_of(&standing),
            queued: texts(context.get("said")),
            ..TaskView::default()
        };
        let mut children = standing.children.clone();
        while let Some(child) = children.iter().rev().find(|row| !row.head.status.is_over()) {
            let below = InstanceStanding::of(reader, &child.new.id, world, times::now_ms())?;
            view.take_agent(child, &below);
            children = below.children;
        }
        view.asks = standing.asks;
        view.asks.sort_by_key(|ask| ask.since_ms);
        Ok(view)
    }

    /// Counts the time of the activity from the last resume. A call that is repeated after a pause or a restart keeps the
    /// time of its first attempt, but the person wants to know how long this one takes.
    pub(super) fn after(mut self, earlier: &TaskView, now_ms: i64) -> TaskView {
        let is_resumed = earlier.is_paused && !self.is_paused;
        self.moving_since_ms = if is_resumed { now_ms } else { earlier.moving_since_ms };
        self.activity.since_ms = self.activity.since_ms.max(self.moving_since_ms);
        self
    }

    /// Describes what the task does now: `developer: thinking 12s`.
    pub(crate) fn activity_words(&self, now_ms: i64) -> String {
        let who = self.agent.as_ref().map(|agent| format!("{}: ", agent.name)).unwrap_or_default();
        let CurrentActivity { words, since_ms, due_ms, .. } = &self.activity;
        match due_ms {
            Some(due_ms) => format!("{who}next attempt in {}", coarse(due_ms - now_ms)),
            None => format!("{who}{words} {}", coarse(now_ms - since_ms)),
        }
    }

    /// Returns true if the agent at work can be stopped and waits for a message then.
    pub(crate) fn can_stop_turn(&self) -> bool {
        self.agent.is_some() && matches!(self.activity.kind, ActivityKind::Completion | ActivityKind::Tool)
    }

    fn take_agent(&mut self, row: &InstanceRow, standing: &InstanceStanding) {
        let Some(name) = row.new.agent() else { return };
        let context = standing.snapshot.context_map(&standing.chart);
        let session = context.get("session");
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (size, most) = (context.get("size").as_i64(), session.get("size_max").as_i64());
        let percent = size.zip(most).filter(|(size, most)| *size > 0 && *most > 0);
        self.agent = Some(AgentView {
            instance: Arc::clone(&row.new.id),
            name: name.to_string(),
            model: text(session.get("model")).or_else(|| text(context.get("model"))).unwrap_or_default(),
            phase: text(context.get("phase")),
            context_percent: percent.and_then(|(size, most)| u64::try_from(size * 100 / most).ok()),
        });
        // The caller has passed its messages on, unless the agent is a program, which reads them in its next turn.
        if context.get("inbox").as_list().is_some() {
            self.queued = texts(context.get("inbox"));
        }
        self.activity = activity_of(standing);
    }
}

/// Returns the texts of messages.
fn texts(messages: &Value) -> Vec<String> {
    let text = |message: &Value| message.as_str().or_else(|| message.get("text").as_str()).map(str::to_owned);
    messages.as_list().unwrap_or_default().iter().filter_map(text).collect()
}

/// Describes what an instance does now.
fn activity_of(standing: &InstanceStanding) -> CurrentActivity {
    let states = standing.configuration();
    let state = states.first().copied().unwrap_or_default();
    let last = state.rsplit('.').next().unwrap_or_default();
    let running =
        standing.running.iter().filter_map(|running| Some((running, running.open.as_ref()?))).next();
    let since_ms = running.map_or(standing.at_ms, |(_, open)| open.opened_ms);
    let context = standing.snapshot.context_map(&standing.chart);
    let due_ms = standing.timers.iter().map(|timer| timer.due_ms).min();
    let (words, kind) = match last {
        "thinking" | "ready" | "deciding" => ("thinking".to_owned(), ActivityKind::Completion),
        "backing_off" => {
            let why = context.get("lastError").get("message").as_str();
            (why.unwrap_or("the model is busy").to_owned(), ActivityKind::BackOff)
        }
        "held" => ("stopped; type what to do instead".to_owned(), ActivityKind::Held),
        "opening" => ("starting".to_owned(), ActivityKind::Other),
        "compacting" => ("summarizing the conversation".to_owned(), ActivityKind::Other),
        "looking" => ("looking at images".to_owned(), ActivityKind::Other),
        "asking" => ("waiting for your answer".to_owned(), ActivityKind::Other),
        "selecting" => ("choosing an agent".to_owned(), ActivityKind::Other),
        "evaluating" => ("judging the result".to_owned(), ActivityKind::Other),
        "checking" | "verifying" | "preparing" => ("running checks".to_owned(), ActivityKind::Other),
        "remembering" => ("noting lessons".to_owned(), ActivityKind::Other),
        "executing" => ("working".to_owned(), ActivityKind::Other),
        _ => match running {
            Some(_) => (running_words(standing, &context), ActivityKind::Tool),
            None => (last.replace('_', " "), ActivityKind::Other),
        },
    };
    CurrentActivity { words, since_ms, due_ms: due_ms.filter(|_| kind == ActivityKind::BackOff), kind }
}

/// Formats the running calls: `Bash cargo test`, `Read a.rs (+2 calls)`.
fn running_words(standing: &InstanceStanding, context: &Value) -> String {
    let running: Vec<&RunningWork> =
        standing.running.iter().filter(|running| running.open.is_some()).collect();
    let Some(first) = running.first() else { return String::new() };
    let tool = ServiceName::member_of(&first.name, ServiceClass::Tool).unwrap_or(&first.name);
    // Calls at the same time are items of a group; another call is the first that is pending.
    let call = match split_item_name(&first.invoke) {
        Some((_, item)) => context.get("group").as_list().and_then(|group| group.get(item as usize)),
        None => context.get("pending").as_list().and_then(|pending| pending.first()),
    };
    let call = call.filter(|call| call.get("name").as_str() == Some(tool));
    let words = call.map_or_else(|| tool.to_owned(), crate::journal::agent::call_words);
    match running.len() - 1 {
        0 => words,
        1 => format!("{words} (+1 call)"),
        more => format!("{words} (+{more} calls)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinking(since_ms: i64, is_paused: bool) -> TaskView {
        let activity =
            CurrentActivity { words: "thinking".to_owned(), since_ms, ..CurrentActivity::default() };
        TaskView { is_paused, activity, ..TaskView::default() }
    }

    #[test]
    fn time_of_an_activity_does_not_count_a_pause() {
        let words = |view: &TaskView| view.activity_words(60_000);
        let started = TaskView { moving_since_ms: 1_000, ..TaskView::default() };
        let paused = thinking(20_000, true).after(&started, 30_000);
        assert_eq!(words(&paused), "thinking 40s", "a call that began later keeps its time");
        let resumed = thinking(20_000, false).after(&paused, 50_000);
        assert_eq!(words(&resumed), "thinking 10s");
        assert_eq!(words(&thinking(20_000, false).after(&resumed, 55_000)), "thinking 10s");
        // The command continues a call of another process that was killed.
        assert_eq!(words(&thinking(500, false).after(&started, 2_000)), "thinking 59s");
    }
}
