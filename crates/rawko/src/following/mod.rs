//! Following an instance: shows its steps and those of its children until it is over, fails or waits. Shared by `run`,
//! `resume` and `fork --run`.

mod ending;
mod narrator;
mod options;
mod requests;
pub(crate) mod signals;
mod stream;
mod task;

pub(crate) use crate::task_request::is_own;
pub(crate) use ending::{FollowEnd, RunEnding, which};
pub(crate) use narrator::Narrator;
pub(crate) use options::{FollowArgs, Manner, OutputFormat};
pub(crate) use requests::{all_request_lines, answer_option};
pub(crate) use signals::Signals;
use stream::ProgressStream;
pub(crate) use task::{TaskEnding, grouped, tell_result};

use std::sync::Arc;
use std::time::Duration;

use rawko_host::{CallProgress, SnapshotReader};
use tokio::sync::broadcast;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{HostAccess, NoAnswer, ProjectContext, Pulse, Rest, SocketRequest};
use crate::journal::tail::JournalTail;
use crate::journal::text::{self, TextDetail};
use crate::journal::{self, InstanceTree, JournalEntry, lines};
use crate::standing::{self, InstanceStanding};
use crate::times;

/// Time for the descendants of an instance to pause.
const PAUSED_WITHIN: Duration = Duration::from_secs(3);

/// Batches of journal entries that are shown after a signal.
const BATCHES_AFTER_SIGNAL: usize = 2;

/// Follows one instance.
pub(crate) struct RunFollower<'a> {
    place: &'a ProjectContext,
    manner: Manner,
    id: String,
    tail: JournalTail,
    /// Prints a task as a narrative instead of its states.
    narrator: Option<Narrator>,
    /// Live output of agents, for programs.
    stream: ProgressStream,
    /// The command started or resumed the instance, so Ctrl-C pauses it also if another process hosts it.
    is_own: bool,
}

/// The reason that watching stopped.
enum WatchEnd {
    Rest(Rest),
    Signal(CommandVerdict),
    /// The hosting process is gone; another one has to take over.
    Gone,
}

impl<'a> RunFollower<'a> {
    /// Follows an instance from the record after `seq`.
    pub(crate) fn after(
        seq: u64,
        access: &HostAccess,
        id: &str,
        place: &'a ProjectContext,
        manner: Manner,
    ) -> Self {
        let world = manner.verbose.then(|| place.world());
        let tail = JournalTail::after(seq, &access.reader(), InstanceTree::below(id), world);
        Self {
            place,
            manner,
            id: id.to_owned(),
            tail,
            narrator: None,
            stream: ProgressStream::of(id),
            is_own: false,
        }
    }

    /// Follows an instance that this command started or resumed.
    pub(crate) fn owned(self) -> Self {
        Self { is_own: true, ..self }
    }

    /// Prints the instance as a task: selected agents and reasons, their messages and tool calls, the plan.
    pub(crate) fn narrated(self, narrator: Narrator) -> Self {
        Self { narrator: Some(narrator), ..self }
    }

    /// Sets the progress events that were subscribed to before the instance began.
    pub(crate) fn hearing(
        mut self,
        heard: Option<broadcast::Receiver<CallProgress>>,
        access: &HostAccess,
    ) -> Self {
        if self.manner.format == OutputFormat::StreamJson {
            self.stream.listen(heard, access.reader());
        }
        self
    }

    /// Follows until the instance is over, fails or waits; Ctrl-C pauses it. Prints the end and returns the verdict.
    pub(crate) async fn until_end(
        self,
        access: HostAccess,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<CommandVerdict, CommandFailure> {
        let (place, format, id) = (self.place, self.manner.format, self.id.clone());
        let (ended, reader, other) = self.until_rest(access, signals, console).await?;
        let standing = InstanceStanding::of(&reader, &id, &place.world(), times::now_ms())?;
        RunEnding { standing: &standing, ended, other }.tell(format, console)
    }

    /// Like [`RunFollower::until_end`], without printing the end. Returns the reason, a reader, and the host if it is
    /// another process.
    pub(crate) async fn until_rest(
        mut self,
        mut access: HostAccess,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<(FollowEnd, SnapshotReader, Option<String>), CommandFailure> {
        let mut patience = self.manner.patience;
        let mut calm_at = None;
        let outcome = loop {
            match self.watch(&mut access, patience, signals, console).await {
                Ok(WatchEnd::Rest(Rest::Waiting)) if let Some(longer) = self.until_retry(&access)? => {
                    patience = longer;
                }
                // The next attempt may have begun between the two reads: the instance is idle only if no record was
                // added between two waits.
                Ok(WatchEnd::Rest(Rest::Waiting))
                    if calm_at.replace(self.tail.seq()) != Some(self.tail.seq()) =>
                {
                    patience = self.manner.patience;
                }
                Ok(WatchEnd::Gone) => match HostAccess::open(self.place, &[], console).await {
                    Ok(next) => {
                        let world = self.manner.verbose.then(|| self.place.world());
                        let (seq, reader) = (self.tail.seq(), next.reader());
                        self.tail = JournalTail::after(seq, &reader, InstanceTree::below(&self.id), world);
                        access = next;
                    }
                    Err(failure) => return Err(failure),
                },
                Ok(WatchEnd::Rest(rest)) => break self.rested(rest, &mut access, signals, console).await,
                Ok(WatchEnd::Signal(verdict)) => break self.interrupted(verdict, &mut access, console).await,
                Err(failure) => break Err(failure),
            }
        };
        let other = access.other();
        let reader = access.reader();
        access.close(console).await;
        let ended = outcome?;
        match &ended {
            FollowEnd::Parked(_) | FollowEnd::Paused(_) => self.catch_up_briefly(console)?,
            FollowEnd::Rest(_) => self.catch_up(console)?,
        }
        Ok((ended, reader, other))
    }

    /// Ctrl-C pauses the instance, unless another process hosts it for another command. SIGTERM leaves it to the next
    /// host.
    async fn interrupted(
        &self,
        verdict: CommandVerdict,
        access: &mut HostAccess,
        console: &mut Console,
    ) -> Result<FollowEnd, CommandFailure> {
        if verdict != CommandVerdict::Interrupted || (access.other().is_some() && !self.is_own) {
            return Ok(FollowEnd::Parked(verdict));
        }
        let request = SocketRequest::Pause { id: self.id.clone() };
        let asked = match access {
            // The instance itself is paused at once. Its descendants have the request in their inbox, and a family that
            // grows fast is not waited for.
            HostAccess::Here(_) | HostAccess::Elsewhere { .. } => {
                match tokio::time::timeout(PAUSED_WITHIN, access.ask(request)).await {
                    Ok(asked) => asked,
                    Err(_) => return Ok(FollowEnd::Paused(verdict)),
                }
            }
            // The connection is busy: its host still waits until the instance settles.
            HostAccess::There { .. } => {
                let mut again = HostAccess::open(self.place, &[], console).await?;
                let asked = again.ask(request).await;
                again.close(console).await;
                asked
            }
        };
        match asked {
            Ok(_) => Ok(FollowEnd::Paused(verdict)),
            // It ended meanwhile, or its host did.
            Err(NoAnswer::Refused(CommandFailure::Failed(_)) | NoAnswer::Gone) => {
                Ok(FollowEnd::Parked(verdict))
            }
            Err(NoAnswer::Refused(failure)) => Err(failure),
        }
    }

    async fn watch(
        &mut self,
        access: &mut HostAccess,
        patience: Duration,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<WatchEnd, CommandFailure> {
        let mut pulse: Pulse = access.pulse();
        let is_live = self.narrator.as_ref().is_some_and(Narrator::is_live);
        let mut progress = access.progress().filter(|_| is_live);
        if self.manner.format == OutputFormat::StreamJson && !self.stream.is_listening() {
            self.stream.listen(access.progress(), access.reader());
        }
        let id = self.id.clone();
        let rest = access.rest(&id, patience);
        tokio::pin!(rest);
        loop {
            // In batches: under load the journal grows faster than it is printed, and a signal must not wait for its end.
            let has_more = self.read_batch(console)?;
            tokio::select! {
                biased;
                verdict = signals.next() => return Ok(WatchEnd::Signal(verdict)),
                outcome = &mut rest => {
                    self.catch_up(console)?;
                    return match outcome {
                        Ok(rest) => Ok(WatchEnd::Rest(rest)),
                        Err(NoAnswer::Gone) => Ok(WatchEnd::Gone),
                        Err(NoAnswer::Refused(failure)) => Err(failure),
                    };
                }
                () = tokio::task::yield_now(), if has_more => {}
                heard = next_progress(&mut progress) => self.hear(&heard, console)?,
                () = self.stream.more() => {}
                () = pulse.beat() => {}
            }
        }
    }

    /// Returns how long to wait for the next attempt of a call, if it is soon.
    fn until_retry(&self, access: &HostAccess) -> Result<Option<Duration>, CommandFailure> {
        let Some(due_ms) = standing::next_retry_ms(&access.reader(), &self.id)? else { return Ok(None) };
        let left = u64::try_from(due_ms.saturating_sub(times::now_ms())).unwrap_or(0);
        let left = Duration::from_millis(left);
        Ok((left <= self.manner.retry_patience).then_some(left))
    }

    /// Waits for calls that this process started for other instances.
    async fn rested(
        &mut self,
        rest: Rest,
        access: &mut HostAccess,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<FollowEnd, CommandFailure> {
        if matches!(rest, Rest::Stuck { .. }) {
            return Ok(FollowEnd::Rest(rest));
        }
        finish_others(&self.id, access, signals, console).await?;
        Ok(FollowEnd::Rest(rest))
    }

    /// Shows new entries of the journal.
    fn catch_up(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        let last = self.tail.last()?;
        while self.read_batch(console)? && self.tail.seq() < last {}
        Ok(())
    }

    /// Shows the next new entries after a signal: a long backlog stays in the journal.
    fn catch_up_briefly(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        for _ in 0..BATCHES_AFTER_SIGNAL {
            if !self.read_batch(console)? {
                return Ok(());
            }
        }
        console.note(TextStyle::Dim, "note", &format!("later steps are in `rawko history {}`", self.id));
        Ok(())
    }

    /// Shows the next new entries. Returns true if there may be more.
    fn read_batch(&mut self, console: &mut Console) -> Result<bool, CommandFailure> {
        loop {
            self.stream.mark();
            if self.read_on(console)? {
                console.flush()?;
                return Ok(true);
            }
            self.stream.due().iter().try_for_each(|line| console.line(&line.to_string()))?;
            // Output received while the journal was read may belong to newer steps, so read again.
            if self.stream.is_empty() {
                console.flush()?;
                return Ok(false);
            }
        }
    }

    fn read_on(&mut self, console: &mut Console) -> Result<bool, CommandFailure> {
        let Self { manner: Manner { format, verbose, .. }, tail, narrator, stream, .. } = self;
        let (format, verbose) = (*format, *verbose);
        tail.read_batch(|entry, name| {
            match (&mut *narrator, format) {
                (Some(narrator), OutputFormat::Text) if !verbose => narrator.tell(entry, name, console),
                (narrator, OutputFormat::StreamJson) => {
                    stream.before(entry).iter().try_for_each(|line| console.line(&line.to_string()))?;
                    show(entry, name, format, verbose, console)?;
                    let told = if narrator.is_some() { journal::task::lines_of(entry) } else { Vec::new() };
                    told.iter().try_for_each(|line| console.line(&line.to_string()))
                }
                _ => show(entry, name, format, verbose, console),
            }?;
            warn(entry, name, console);
            Ok(())
        })
    }

    /// Shows live output, after the steps that led to it.
    fn hear(&mut self, heard: &CallProgress, console: &mut Console) -> Result<(), CommandFailure> {
        let belongs = heard.instance.strip_prefix(&self.id).is_some_and(|rest| rest.starts_with('.'));
        if belongs && self.manner.format == OutputFormat::Text && !self.manner.verbose {
            if !self.narrator.as_ref().is_some_and(|narrator| narrator.is_hearing(heard)) {
                self.catch_up(console)?;
            }
            if let Some(narrator) = &mut self.narrator {
                narrator.hear(heard, console)?;
            }
        }
        console.flush()
    }
}

/// Returns the next progress event; never resolves without a sender.
pub(crate) async fn next_progress(progress: &mut Option<broadcast::Receiver<CallProgress>>) -> CallProgress {
    loop {
        let Some(receiver) = progress else { return std::future::pending().await };
        match receiver.recv().await {
            Ok(heard) => return heard,
            // Missed events are recoverable from the journal.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *progress = None,
        }
    }
}

/// Prints the step's faults to stderr, in every output format.
pub(crate) fn warn(entry: &JournalEntry, name: &str, console: &mut Console) {
    let lead = if name.is_empty() { String::new() } else { format!("{name}: ") };
    for fault in entry.faults() {
        console.note(TextStyle::Notice, "warning", &format!("{lead}{fault}"));
    }
}

fn show(
    entry: &JournalEntry,
    name: &Arc<str>,
    format: OutputFormat,
    verbose: bool,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    match format {
        OutputFormat::Json => Ok(()),
        OutputFormat::StreamJson => {
            lines::of(entry).iter().try_for_each(|line| console.line(&line.to_string()))
        }
        OutputFormat::Text => {
            let lead = if name.is_empty() { String::new() } else { format!("  {name}  ") };
            let lead = console.paint(TextStyle::Dim, &lead);
            if entry.agent.is_some() && !verbose {
                return text::print_agent(entry, &lead, console);
            }
            let detail = TextDetail { whole: verbose, warned: true, context: true };
            text::print(entry, &lead, &lead, detail, console)
        }
    }
}

/// Waits until no call runs in this process; a signal parks the running ones.
pub(crate) async fn finish_others(
    id: &str,
    access: &mut HostAccess,
    signals: &mut Signals,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for other in access.busy_besides(id)? {
        console.note(
            TextStyle::Dim,
            "note",
            &format!("waiting for running calls of {other}; Ctrl-C parks them"),
        );
        tokio::select! {
            _ = signals.next() => return Ok(()),
            _ = access.rest(&other, Duration::ZERO) => {}
        }
    }
    Ok(())
}
