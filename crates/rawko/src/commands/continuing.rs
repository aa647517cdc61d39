//! `rawko task --continue`: adds to a task: a paused or parked one continues with the message, one that another process
//! runs gets it at once, and a finished one is followed up with the conversations of its agents.

use rawko_core::Value;
use rawko_host::SnapshotReader;
use rawko_store::{DrivenInstances, Filter, InstanceRow, WaitReason};

use super::attach::beginning;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{Manner, Narrator, OutputFormat, RunFollower, Signals, TaskEnding, is_own};
use crate::hosting::{self, HostAccess, ProjectContext, SocketRequest};
use crate::known;
use crate::repeating::asked;
use crate::session::{self, TerminalSession};
use crate::standing::InstanceStanding;
use crate::task_request::ORCHESTRATOR;
use crate::times;

use super::attach::join;

/// Parts of the context that a follow-up takes over.
const KEPT: [&str; 4] = ["sessions", "memory", "untrusted", "providerName"];

/// An earlier task, and the text to add.
pub(crate) struct ContinuedTask {
    pub(crate) row: InstanceRow,
    pub(crate) text: Option<String>,
}

impl ContinuedTask {
    /// Finds the task: the named one, or the latest. A name that is no instance is the text if there is no other.
    pub(crate) fn find(
        reader: &SnapshotReader,
        name: Option<&str>,
        text: Option<&str>,
    ) -> Result<ContinuedTask, CommandFailure> {
        let text = text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(ContinuedTask { row: latest(reader)?, text });
        };
        match (reader.store().find(name)?, &text) {
            (Some(row), _) => Ok(ContinuedTask { row, text }),
            (None, None) if name.contains(char::is_whitespace) => {
                Ok(ContinuedTask { row: latest(reader)?, text: Some(name.to_owned()) })
            }
            (None, _) => known::instance(reader, name).map(|row| ContinuedTask { row, text }),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.row.head.status.is_over()
    }

    /// Returns the task of a follow-up: the new text, and what it continues.
    pub(crate) fn task(&self, standing: &InstanceStanding, text: &str) -> String {
        let output = standing.snapshot.output();
        let outcome = output.get("outcome").as_str().unwrap_or("done").replace('_', " ");
        let before = standing
            .snapshot
            .context_map(&standing.chart)
            .get("task")
            .as_str()
            .unwrap_or_default()
            .to_owned();
        format!(
            "{text}\n\nThis continues an earlier task ({}, outcome: {outcome}):\n{before}",
            self.row.new.id
        )
    }

    /// Returns the parts of the earlier task's context that its follow-up takes over.
    pub(crate) fn kept(&self, standing: &InstanceStanding) -> Value {
        let context = standing.snapshot.context_map(&standing.chart);
        let known = KEPT.iter().map(|key| (*key, context.get(key).clone()));
        Value::map(known.filter(|(_, value)| !value.is_null()))
    }

    /// Continues a task that has not ended.
    pub(crate) fn resume(
        self,
        place: &ProjectContext,
        manner: Manner,
        no_input: bool,
        console: &mut Console,
    ) -> Result<CommandVerdict, CommandFailure> {
        let is_elsewhere = match place.driven() {
            DrivenInstances::All => true,
            driven => driven.includes(&self.row.new),
        };
        let id = self.row.new.id.to_string();
        let is_paused = self.row.head.wait == WaitReason::Paused;
        if is_elsewhere && !is_paused {
            if let Some(text) = &self.text {
                hosting::block_on(async {
                    let mut access = HostAccess::open(place, &[], console).await?;
                    let sent = asked(&mut access, place, message(&id, text), console).await;
                    access.close(console).await;
                    sent
                })?;
            }
            return join(place, &self.row, manner, no_input, console);
        }
        hosting::block_on(async {
            let mut signals = Signals::new()?;
            let mut access = HostAccess::open(place, &[], console).await?;
            let (seq, heard) = (access.reader().store().last_seq()?, access.progress());
            let requests = self.text.iter().map(|text| message(&id, text));
            let resume = is_paused.then(|| SocketRequest::Resume { id: id.clone() });
            for request in requests.chain(resume) {
                if let Err(failure) = asked(&mut access, place, request, console).await {
                    access.close(console).await;
                    return Err(failure);
                }
            }
            if manner.format == OutputFormat::Text {
                let shown = console.paint(TextStyle::Bold, &id);
                console.line(&format!("{shown}  continues"))?;
            }
            let standing = InstanceStanding::of(&access.reader(), &id, &place.world(), times::now_ms())?;
            let context = standing.snapshot.context_map(&standing.chart);
            let (ended, reader, other) = if session::is_wanted(manner, no_input) {
                let about = (&*id, standing.chart.id(), context.get("plan").clone());
                let (reader, session) = (access.reader(), TerminalSession::new(about, seq, &access, place));
                let session = session.continued(&reader, beginning(&reader, &standing.row)?)?;
                session.run(access, heard, &mut signals, console).await?
            } else {
                let narrator = Narrator::resuming(standing.chart.id(), &context, console);
                let follow = RunFollower::after(seq, &access, &id, place, manner).owned();
                let follow = follow.hearing(heard, &access).narrated(narrator);
                follow.until_rest(access, &mut signals, console).await?
            };
            TaskEnding { place, reader: &reader, id: &id, ended, other }.tell(manner.format, console)
        })
    }
}

fn message(id: &str, text: &str) -> SocketRequest {
    let data = Value::map([("text", Value::str(text))]);
    SocketRequest::Send { id: id.to_owned(), event: "MESSAGE".to_owned(), data, key: None }
}

/// Returns the latest task.
fn latest(reader: &SnapshotReader) -> Result<InstanceRow, CommandFailure> {
    let filter =
        Filter { roots_only: true, chart: Some(ORCHESTRATOR.to_owned()), limit: 1, ..Filter::default() };
    let row = reader.store().list(&filter)?.rows.into_iter().next();
    row.ok_or_else(|| {
        CommandFailure::Usage("there is no task to continue; start one with `rawko task`".to_owned())
    })
}

/// Fails for instances that are not tasks.
pub(crate) fn insist_on_task(row: &InstanceRow) -> Result<(), CommandFailure> {
    match is_own(&row.new.chart_id) {
        true => Ok(()),
        false => Err(CommandFailure::Usage(format!(
            "{} is an instance of the chart `{}`, not a task; continue it with `rawko resume {0}`",
            row.new.id, row.new.chart_id
        ))),
    }
}
