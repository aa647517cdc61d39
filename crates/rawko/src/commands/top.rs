//! `rawko top`: all instances at a glance, live, with keys to open, pause, resume and answer.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_host::SnapshotReader;
use rawko_store::{Filter, InstanceRow, InstanceStatus, WaitReason};
use tokio::sync::mpsc;

use super::{attach, ps};
use crate::console::{Console, TextStyle, terminal_size};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{Manner, OutputFormat, Signals};
use crate::hosting::{self, HostAccess, ProjectContext, RequestRefusal, SocketRequest, StoreArgs};
use crate::known;
use crate::live_area::{Frame, fitted};
use crate::repeating::asked;
use crate::session::keys::{KeyPress, TerminalKey};
use crate::session::{self, RequestPrompt, TaskView, terminal};
use crate::standing::{InstanceStanding, PendingAsk};
use crate::task_request::is_own;
use crate::times;
use rawko_view::rows::Row;

const EXAMPLES: &str = "\
Lists tasks and other instances, newest first, and refreshes by itself. Keys: Up and Down select,
Enter opens the instance as `rawko attach` does, p pauses, r resumes (a running server or command
hosts it), y approves and n denies the request below the list (Enter confirms), q leaves. Needs a
terminal; `rawko ps` prints the list once.

Examples:
  rawko top";

/// Watch all tasks and instances; open, pause and answer them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

const REFRESH: Duration = Duration::from_millis(500);
/// The column that is cut on a narrow terminal.
const TITLE: usize = 1;
/// The heading of what an instance does or waits for.
const NOW: &str = "NOW";
/// Tasks whose activity is read with each refresh.
const ACTIVITIES_MAX: usize = 30;
/// Narrower terminals get the keys without their meaning.
const KEYS_COLUMNS: usize = 68;
/// Lines below a request that is about to be answered.
const DECISION_ROWS: usize = 3;

/// The list and the selected row.
struct Top<'a> {
    place: &'a ProjectContext,
    reader: SnapshotReader,
    rows: Vec<InstanceRow>,
    selected: usize,
    /// The first pending request of the selected instance, as shown.
    request: Option<PendingAsk>,
    /// The answer that Enter confirms. It belongs to this request, also if the list moves.
    decision: Option<(PendingAsk, bool)>,
    notice: Option<String>,
}

/// The reason that the list is left.
enum TopEnd {
    Quit(CommandVerdict),
    Open(Box<InstanceRow>),
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let manner = Manner::brief(OutputFormat::Text, false);
    if !session::is_wanted(manner, false) {
        return Err(CommandFailure::Usage("`rawko top` needs a terminal; use `rawko ps`".to_owned()));
    }
    let reader = known::reader(&place)?;
    loop {
        let mut top = Top {
            place: &place,
            reader: reader.clone(),
            rows: Vec::new(),
            selected: 0,
            request: None,
            decision: None,
            notice: None,
        };
        match hosting::block_on(top.watch(console))? {
            TopEnd::Quit(verdict) => return Ok(verdict),
            TopEnd::Open(row) => drop(attach::open(&place, &row, manner, console)?),
        }
    }
}

fn cannot(error: std::io::Error) -> CommandFailure {
    CommandFailure::Failed(format!("cannot set up the terminal: {error}"))
}

impl Top<'_> {
    async fn watch(&mut self, console: &mut Console) -> Result<TopEnd, CommandFailure> {
        let mut signals = Signals::new()?;
        session::restore_on_panic();
        terminal::enter().map_err(cannot)?;
        let mut keys = terminal::keys();
        let outcome = match console.begin_live(terminal_size()) {
            Ok(()) => self.follow(&mut keys, &mut signals, console).await,
            Err(failure) => Err(failure),
        };
        terminal::keep(keys);
        console.end_live();
        terminal::leave();
        outcome
    }

    async fn follow(
        &mut self,
        keys: &mut mpsc::UnboundedReceiver<KeyPress>,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Result<TopEnd, CommandFailure> {
        loop {
            let (columns, rows) = terminal_size();
            let filter = Filter {
                roots_only: true,
                driven: self.place.driven(),
                limit: rows.saturating_sub(6).max(1),
                ..Filter::default()
            };
            // The selection stays with its instance when the list moves.
            let selected = self.rows.get(self.selected).map(|row| Arc::clone(&row.new.id));
            self.rows = self.reader.store().list(&filter)?.rows;
            let place = selected.and_then(|id| self.rows.iter().position(|row| row.new.id == id));
            self.selected = place.unwrap_or(self.selected).min(self.rows.len().saturating_sub(1));
            let frame = self.frame(columns, console)?;
            console.draw((columns, rows), &frame)?;
            tokio::select! {
                verdict = signals.next() => return Ok(TopEnd::Quit(verdict)),
                press = keys.recv() => match press.map(|press| press.key) {
                    Some(TerminalKey::Enter) if let Some((ask, approved)) = self.decision.take() => {
                        let outcome = self.answer(&ask, approved, console).await;
                        self.notice = outcome.err().map(|failure| RequestRefusal::from(failure).message);
                    }
                    Some(_) if self.decision.take().is_some() => self.notice = None,
                    None | Some(TerminalKey::Char('q') | TerminalKey::Ctrl('c') | TerminalKey::Escape) => {
                        return Ok(TopEnd::Quit(CommandVerdict::Done));
                    }
                    Some(TerminalKey::Ctrl('z')) => {
                        console.end_live();
                        terminal::leave();
                        terminal::suspend().await.map_err(cannot)?;
                        terminal::enter().map_err(cannot)?;
                        console.begin_live(terminal_size())?;
                    }
                    Some(TerminalKey::Enter) if let Some(id) = self.undriven() => {
                        self.notice = Some(format!("no process runs {id}; continue it with `rawko resume {id}`"));
                    }
                    Some(TerminalKey::Enter) if let Some(row) = self.rows.get(self.selected) => {
                        return Ok(TopEnd::Open(Box::new(row.clone())));
                    }
                    Some(key) => {
                        let outcome = self.press(&key, console).await;
                        self.notice = outcome.err().map(|failure| RequestRefusal::from(failure).message);
                    }
                },
                () = tokio::time::sleep(REFRESH) => {}
            }
        }
    }

    /// Returns the selected instance if no process runs it and it is neither over nor paused.
    fn undriven(&self) -> Option<String> {
        let row = self.rows.get(self.selected)?;
        let is_left = !row.head.status.is_over() && row.head.wait != WaitReason::Paused;
        (is_left && !self.place.driven().includes(&row.new)).then(|| row.new.id.to_string())
    }

    fn frame(&mut self, columns: usize, console: &Console) -> Result<Frame, CommandFailure> {
        let driven = self.place.driven();
        let mut rows = Vec::new();
        let mut request = None;
        for (place, row) in self.rows.iter().enumerate() {
            let read = Row::read(&self.reader, row);
            let mut read = if driven.includes(&row.new) { read } else { read.undriven() };
            if !row.head.status.is_over() {
                let standing =
                    InstanceStanding::of(&self.reader, &row.new.id, &self.place.world(), times::now_ms())?;
                // Its agents wait for a person, so it does, too.
                if let Some(ask) = standing.asks.first() {
                    if read.status != InstanceStatus::Paused {
                        (read.status, read.waiting_for) =
                            (InstanceStatus::Waiting, Some("person".to_owned()));
                    }
                    request = request.or((place == self.selected).then(|| ask.clone()));
                }
                if is_own(&row.new.chart_id) && place < ACTIVITIES_MAX {
                    self.add_activity(&mut read, columns)?;
                }
            }
            rows.push(read);
        }
        let table = ps::fitted_table(&rows, NOW, times::now_ms()).fitted_to(columns.saturating_sub(2), TITLE);
        let mut lines = Vec::new();
        for (place, line) in table.lines(console).iter().enumerate() {
            let mark = if place == self.selected + 1 && !rows.is_empty() { "›" } else { " " };
            lines.push(format!("{} {line}", console.paint(TextStyle::Bold, mark)));
        }
        if rows.is_empty() {
            lines.push("  no instances yet".to_owned());
        }
        if let Some(ask) = &request {
            let title = ask.input.get("title").as_str().unwrap_or(&ask.invoke);
            lines.push(format!("{} {title}", console.paint(TextStyle::Notice, "?")));
        }
        self.request = request;
        if let Some((ask, approved)) = &self.decision {
            let title = ask.input.get("title").as_str().unwrap_or(&ask.invoke);
            let words = if *approved { "approve" } else { "deny" };
            // The whole request replaces the list, so that no part of it is approved unseen.
            lines = RequestPrompt::of(ask).whole(columns, console);
            lines.truncate(terminal_size().1.saturating_sub(DECISION_ROWS));
            lines.push(console.paint(TextStyle::Bold, &format!("{words}: {title} ({})", ask.instance)));
        }
        lines.extend(self.notice.as_ref().map(|notice| console.paint(TextStyle::Notice, notice)));
        let keys = match columns >= KEYS_COLUMNS {
            _ if self.decision.is_some() => "Enter: confirm · any other key: no",
            true => "Enter: open · p: pause · r: resume · y: approve · n: deny · q: quit",
            false => "Enter · p · r · y · n · q",
        };
        lines.push(console.paint(TextStyle::Dim, keys));
        Ok(Frame { lines, cursor: None })
    }

    /// Adds what a task does now, and what it has spent until now.
    fn add_activity(&self, row: &mut Row, columns: usize) -> Result<(), CommandFailure> {
        let now_ms = times::now_ms();
        let view = TaskView::read(&self.reader, &row.id, &self.place.world())?;
        (row.spent.tokens, row.spent.cost_usd) = (view.spent.tokens, view.spent.cost_usd);
        if row.status == InstanceStatus::Running {
            let most = (columns / 3).clamp(12, 40);
            row.waiting_for = Some(fitted(&view.activity_words(now_ms), most));
        }
        Ok(())
    }

    async fn press(&mut self, key: &TerminalKey, console: &mut Console) -> Result<(), CommandFailure> {
        let Some(row) = self.rows.get(self.selected) else { return Ok(()) };
        let id = row.new.id.to_string();
        match key {
            TerminalKey::Up => self.selected = self.selected.saturating_sub(1),
            TerminalKey::Down => self.selected += 1,
            TerminalKey::Home => self.selected = 0,
            TerminalKey::End => self.selected = usize::MAX,
            TerminalKey::Char('p') => self.ask(SocketRequest::Pause { id }, console).await?,
            TerminalKey::Char('r') => self.ask(SocketRequest::Resume { id }, console).await?,
            TerminalKey::Char('y') => self.decision = Some((self.asked(&id, true, console)?, true)),
            TerminalKey::Char('n') => self.decision = Some((self.asked(&id, false, console)?, false)),
            _ => {}
        }
        Ok(())
    }

    /// Returns the shown request, if it can be answered with a key.
    fn asked(&self, id: &str, approved: bool, console: &Console) -> Result<PendingAsk, CommandFailure> {
        let Some(ask) = &self.request else {
            return Err(CommandFailure::Failed(format!("{id} has no pending request")));
        };
        let is_form = ["form", "schema", "fields"].iter().any(|key| !ask.input.get(key).is_null());
        if approved && ask.input.get("kind").as_str() == Some("question") {
            return Err(CommandFailure::Failed("this is a question; press Enter to answer it".to_owned()));
        }
        if approved && is_form {
            return Err(CommandFailure::Failed(
                "this request has a form; press Enter to fill it in".to_owned(),
            ));
        }
        let (columns, rows) = terminal_size();
        let whole = RequestPrompt::of(ask).whole(columns, console);
        if approved && whole.len() + DECISION_ROWS > rows {
            return Err(CommandFailure::Failed(
                "this request does not fit on the screen; press Enter to open and read it".to_owned(),
            ));
        }
        Ok(ask.clone())
    }

    async fn answer(
        &self,
        ask: &PendingAsk,
        approved: bool,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let request = SocketRequest::Answer {
            id: ask.instance.to_string(),
            ask: Some(ask.invoke.clone()),
            asked_ms: Some(ask.since_ms),
            approved,
            by: None,
            comment: None,
            data: Value::Null,
        };
        self.ask(request, console).await
    }

    async fn ask(&self, request: SocketRequest, console: &mut Console) -> Result<(), CommandFailure> {
        let mut access = HostAccess::open(self.place, &[], console).await?;
        let outcome = asked(&mut access, self.place, request, console).await;
        access.close(console).await;
        outcome.map(drop)
    }
}
