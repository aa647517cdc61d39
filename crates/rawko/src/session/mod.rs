//! The interactive session of a task on a terminal: finished output scrolls, a live area at the bottom shows the state of
//! the task, and the person answers and steers in place. Everything the person does is a request to the host, so that
//! it is in the journal and survives this terminal.

mod acting;
mod bell;
mod commands;
mod completion;
mod editor;
mod execution;
mod external_editor;
mod fields;
mod frame;
mod highlight;
pub(crate) mod keys;
mod markdown;
mod menu;
mod prompt;
mod scroll;
mod search;
pub(crate) mod settings;
mod shell;
pub(crate) mod terminal;
mod typing;
mod view;

pub(crate) use markdown::{diff_line, plain};
pub(crate) use terminal::{is_entered as has_terminal, leave as leave_terminal};

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use rawko_core::Value;
use rawko_host::{CallProgress, SnapshotReader};
use rawko_store::InstanceRow;
use tokio::sync::{broadcast, mpsc};

use crate::console::{Console, abandon_session, terminal_size};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{FollowEnd, Manner, OutputFormat, Signals, finish_others, next_progress, warn};
use crate::hosting::{HostAccess, Messenger, NoAnswer, ProjectContext, Pulse, Rest};
use crate::journal::InstanceTree;
use crate::journal::tail::JournalTail;
use crate::times;
use bell::Bell;
pub(crate) use fields::FormField;
use keys::KeyPress;
pub(crate) use prompt::RequestPrompt;
use scroll::Scroll;
use settings::TerminalSettings;
use shell::{ShellCommand, next_event};
use typing::TextInput;
pub(crate) use view::TaskView;

/// Redraws the elapsed time and the sign of life.
const TICK: Duration = Duration::from_millis(200);
/// Timers within this time are waited for. A person can leave at any time, so it is long.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Narrower terminals get plain text.
const COLUMNS_MIN: usize = 20;

/// Returns true if a person is at a terminal: input, output and messages.
pub(crate) fn is_on_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Returns true if the options and the terminal call for a session.
pub(crate) fn is_wanted(manner: Manner, no_input: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    manner.format == OutputFormat::Text
        && !manner.verbose
        && !no_input
        && is_on_terminal()
        && !is_dumb
        && !set("CI")
        && terminal_size().0 >= COLUMNS_MIN
}

/// One session with one instance.
pub(crate) struct TerminalSession<'a> {
    place: &'a ProjectContext,
    id: String,
    tail: JournalTail,
    scroll: Scroll,
    view: TaskView,
    input: TextInput,
    prompt: Option<RequestPrompt>,
    messenger: Messenger,
    /// A command of the person that is running.
    shell: Option<ShellCommand>,
    bell: Bell,
    /// The command started or resumed the instance, so Ctrl-C pauses it; otherwise it only leaves.
    is_own: bool,
    /// A short message in the live area, until the next key.
    notice: Option<String>,
    /// The text of the input line was not begun as an answer to the shown request: it is a message.
    is_draft: bool,
    /// The last key of a message.
    typed: Option<Instant>,
    size: (usize, usize),
    ticks: usize,
    /// The record up to which the state was read.
    looked_at: Option<u64>,
}

/// The reason that the session ends.
enum SessionEnd {
    Rest(Rest),
    Signal(CommandVerdict),
    /// The person paused the task and left.
    Paused,
    /// The person left; the task continues elsewhere or is parked.
    Detached,
    Gone,
}

impl<'a> TerminalSession<'a> {
    /// Creates a session that shows an instance from the record after `seq`.
    pub(crate) fn new(
        (id, chart, plan): (&str, &str, Value),
        seq: u64,
        access: &HostAccess,
        place: &'a ProjectContext,
    ) -> TerminalSession<'a> {
        let tail = JournalTail::after(seq, &access.reader(), InstanceTree::below(id), None);
        // What another process did before is read late.
        let past = access.reader().store().last_seq().unwrap_or(seq);
        TerminalSession {
            place,
            id: id.to_owned(),
            tail,
            scroll: Scroll::new(chart, plan, place.root.clone()).past_until(past),
            view: TaskView { moving_since_ms: times::now_ms(), ..TaskView::default() },
            input: TextInput::default(),
            prompt: None,
            messenger: access.messenger(),
            shell: None,
            bell: Bell::new(TerminalSettings::read(&place.settings)),
            is_own: true,
            notice: None,
            is_draft: false,
            typed: None,
            size: terminal_size(),
            ticks: 0,
            looked_at: None,
        }
    }

    /// Reads the records that were printed before, so that the output continues: calls without a result, and models.
    pub(crate) fn continued(
        mut self,
        reader: &SnapshotReader,
        first: u64,
    ) -> Result<TerminalSession<'a>, CommandFailure> {
        let until = self.tail.seq();
        let mut before = JournalTail::after(first, reader, InstanceTree::below(&self.id), None);
        let scroll = &mut self.scroll;
        before.read(|entry, _| {
            if entry.seq <= until {
                scroll.learn(entry);
            }
            Ok::<(), CommandFailure>(())
        })?;
        Ok(self)
    }

    /// Joins an instance of another command: leaving does not pause it.
    pub(crate) fn joined(self) -> TerminalSession<'a> {
        TerminalSession { is_own: false, view: TaskView::default(), ..self }
    }

    /// Runs the session until the instance is over or the person leaves. Returns the reason, a reader, and the host if it
    /// is another process.
    pub(crate) async fn run(
        mut self,
        access: HostAccess,
        heard: Option<broadcast::Receiver<CallProgress>>,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<(FollowEnd, SnapshotReader, Option<String>), CommandFailure> {
        restore_on_panic();
        terminal::enter().map_err(cannot_set_up)?;
        let outcome = match console.begin_live(self.size) {
            Ok(()) => self.follow(access, heard, signals, console).await,
            Err(failure) => Err(failure),
        };
        if outcome.as_ref().is_ok_and(|(ended, ..)| matches!(ended, FollowEnd::Rest(_))) {
            self.bell.need();
        }
        if std::mem::take(&mut self.bell.is_due) {
            console.ring();
        }
        console.end_live();
        terminal::leave();
        outcome
    }

    async fn follow(
        &mut self,
        mut access: HostAccess,
        mut heard: Option<broadcast::Receiver<CallProgress>>,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<(FollowEnd, SnapshotReader, Option<String>), CommandFailure> {
        let mut keys = terminal::keys();
        let outcome = loop {
            let progress = heard.take().or_else(|| access.progress_of(&self.id));
            match self.watch(&mut access, progress, &mut keys, signals, console).await {
                Ok(SessionEnd::Gone) if !self.is_own => {
                    break self.left_behind(&access.reader()).map(FollowEnd::Rest);
                }
                Ok(SessionEnd::Gone) => {
                    let next = HostAccess::open(self.place, &[], console).await?;
                    self.tail = JournalTail::after(
                        self.tail.seq(),
                        &next.reader(),
                        InstanceTree::below(&self.id),
                        None,
                    );
                    self.messenger = next.messenger();
                    access = next;
                }
                Ok(SessionEnd::Rest(rest)) => {
                    if !matches!(rest, Rest::Stuck { .. }) {
                        finish_others(&self.id, &mut access, signals, console).await?;
                    }
                    break Ok(FollowEnd::Rest(rest));
                }
                Ok(SessionEnd::Signal(CommandVerdict::Interrupted)) if self.is_own => {
                    break self.pause(console).await.map(|()| FollowEnd::Paused(CommandVerdict::Interrupted));
                }
                Ok(SessionEnd::Signal(verdict)) => break Ok(FollowEnd::Parked(verdict)),
                Ok(SessionEnd::Paused) => break Ok(FollowEnd::Paused(CommandVerdict::Interrupted)),
                Ok(SessionEnd::Detached) => break Ok(FollowEnd::Parked(CommandVerdict::Interrupted)),
                Err(failure) => break Err(failure),
            }
        };
        terminal::keep(keys);
        let (other, reader) = (access.other(), access.reader());
        console.end_live();
        terminal::leave();
        if matches!(outcome, Ok(FollowEnd::Paused(_))) {
            crate::following::signals::note_interrupt();
        }
        access.close(console).await;
        let ended = outcome?;
        self.catch_up(console)?;
        Ok((ended, reader, other))
    }

    /// The host of a joined instance has ended. It may have ended because the instance has; otherwise the store is left to
    /// the next host, such as a server that starts again.
    fn left_behind(&self, reader: &SnapshotReader) -> Result<Rest, CommandFailure> {
        let status = reader.find(&self.id)?.head.status;
        if status.is_over() {
            return Ok(Rest::Over(status));
        }
        Ok(Rest::Stuck { message: "the process that hosted it has ended".to_owned(), transient: true })
    }

    async fn watch(
        &mut self,
        access: &mut HostAccess,
        mut progress: Option<broadcast::Receiver<CallProgress>>,
        keys: &mut mpsc::UnboundedReceiver<KeyPress>,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<SessionEnd, CommandFailure> {
        let mut pulse: Pulse = access.pulse();
        let reader = access.reader();
        let id = self.id.clone();
        loop {
            // While it waits for the person, only a new record is a reason to ask the host again.
            let asked_at = self.tail.seq();
            let mut is_idle = false;
            let rest = access.rest(&id, PATIENCE);
            tokio::pin!(rest);
            loop {
                self.catch_up(console)?;
                if self.looked_at != Some(self.tail.seq()) {
                    self.look(&reader)?;
                    // The state may be newer than the printed records: a request comes after the text that led to it.
                    self.catch_up(console)?;
                }
                if is_idle && self.tail.seq() != asked_at {
                    break;
                }
                self.draw(console)?;
                tokio::select! {
                    biased;
                    verdict = signals.next() => return Ok(SessionEnd::Signal(verdict)),
                    outcome = &mut rest, if !is_idle => match outcome {
                        Ok(Rest::Waiting | Rest::Paused) => is_idle = true,
                        Ok(rest) => return Ok(SessionEnd::Rest(rest)),
                        Err(NoAnswer::Gone) => return Ok(SessionEnd::Gone),
                        Err(NoAnswer::Refused(failure)) => return Err(failure),
                    },
                    press = keys.recv() => match press {
                        Some(press) => {
                            if let Some(left) = self.press(press, &reader, console).await? {
                                return Ok(left);
                            }
                        }
                        // The terminal is gone.
                        None => return Ok(SessionEnd::Detached),
                    },
                    event = next_event(&mut self.shell) => self.hear_shell(event, console).await?,
                    heard = next_progress(&mut progress) => {
                        if belongs(&heard.instance, &self.id) {
                            self.catch_up(console)?;
                            self.scroll.hear(&heard, console)?;
                        }
                    }
                    () = pulse.beat() => {}
                    () = tokio::time::sleep(TICK) => self.ticks += 1,
                }
            }
        }
    }

    /// Stops this process and its group as Ctrl-Z does elsewhere, and returns when it is continued.
    async fn suspend(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        console.end_live();
        terminal::leave();
        let suspended = terminal::suspend().await;
        self.return_to_terminal(console)?;
        suspended.map_err(cannot_set_up)
    }

    /// Shows the session again after another program had the terminal.
    fn return_to_terminal(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        terminal::enter().map_err(cannot_set_up)?;
        self.size = terminal_size();
        self.prompt.iter_mut().for_each(RequestPrompt::hidden);
        console.begin_live(self.size)
    }

    /// Prints new entries of the journal.
    fn catch_up(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        let Self { tail, scroll, .. } = self;
        tail.read(|entry, name| {
            scroll.tell(entry, name, console)?;
            warn(entry, name, console);
            Ok::<(), CommandFailure>(())
        })?;
        self.input.remember(self.scroll.take_messages());
        Ok(())
    }

    /// Reads the state of the task, and keeps the shown request if it still waits.
    fn look(&mut self, reader: &SnapshotReader) -> Result<(), CommandFailure> {
        self.looked_at = Some(self.tail.seq());
        let view = TaskView::read(reader, &self.id, &self.place.world())?;
        self.view = view.after(&self.view, times::now_ms());
        let is_open = |prompt: &RequestPrompt| self.view.asks.iter().any(|ask| prompt.is(ask));
        if !self.prompt.as_ref().is_some_and(is_open) {
            let next = self.view.asks.first().map(RequestPrompt::of);
            self.show(next);
        }
        Ok(())
    }
}

fn cannot_set_up(error: io::Error) -> CommandFailure {
    CommandFailure::Failed(format!("cannot set up the terminal: {error}"))
}

/// Prints the past of an instance as a session shows it.
pub(crate) fn print_past(
    place: &ProjectContext,
    reader: &SnapshotReader,
    row: &InstanceRow,
    first: u64,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let scroll = Scroll::new(&row.new.chart_id, Value::Null, place.root.clone());
    let mut scroll = scroll.past_until(u64::MAX);
    scroll.resize(console.size().map_or(usize::MAX, |(columns, _)| columns));
    JournalTail::after(first, reader, InstanceTree::below(&row.new.id), None)
        .read(|entry, name| scroll.tell(entry, name, console))
}

/// Returns true for an instance below another, or itself.
fn belongs(instance: &str, root: &str) -> bool {
    instance.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Restores the terminal before a panic is reported.
pub(crate) fn restore_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        abandon_session();
        report(panic);
    }));
}
