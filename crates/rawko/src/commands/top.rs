//! `rawko top`: all instances at a glance, live, with keys to open, pause, resume and answer.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_host::Reader;
use rawko_store::{Filter, InstanceRow, InstanceStatus, Wait};
use tokio::sync::mpsc;

use super::{attach, ps};
use crate::console::{Console, Style, terminal_size};
use crate::delivering::asked;
use crate::failure::{Failure, Verdict};
use crate::following::{Manner, OutputFormat, Signals};
use crate::hosting::{self, Access, ProjectContext, Refusal, Request, StoreArgs};
use crate::known;
use crate::live_area::Frame;
use crate::session::keys::{Key, KeyPress};
use crate::session::{self, terminal};
use crate::standing::{Ask, Standing};
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
/// Narrower terminals get the keys without their meaning.
const KEYS_COLUMNS: usize = 68;

/// The list and the selected row.
struct Top<'a> {
    place: &'a ProjectContext,
    reader: Reader,
    rows: Vec<InstanceRow>,
    selected: usize,
    /// The first pending request of the selected instance, as shown.
    request: Option<Ask>,
    /// The answer that Enter confirms. It belongs to this request, also if the list moves.
    decision: Option<(Ask, bool)>,
    notice: Option<String>,
}

/// The reason that the list is left.
enum Left {
    Quit(Verdict),
    Open(Box<InstanceRow>),
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let place = ProjectContext::here(&args.store)?;
    let manner = Manner::brief(OutputFormat::Text, false);
    if !session::is_wanted(manner, false) {
        return Err(Failure::Usage("`rawko top` needs a terminal; use `rawko ps`".to_owned()));
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
            Left::Quit(verdict) => return Ok(verdict),
            Left::Open(row) => drop(attach::open(&place, &row, manner, console)?),
        }
    }
}

fn cannot(error: std::io::Error) -> Failure {
    Failure::Failed(format!("cannot set up the terminal: {error}"))
}

impl Top<'_> {
    async fn watch(&mut self, console: &mut Console) -> Result<Left, Failure> {
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
    ) -> Result<Left, Failure> {
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
                verdict = signals.next() => return Ok(Left::Quit(verdict)),
                press = keys.recv() => match press.map(|press| press.key) {
                    Some(Key::Enter) if let Some((ask, approved)) = self.decision.take() => {
                        let outcome = self.answer(&ask, approved, console).await;
                        self.notice = outcome.err().map(|failure| Refusal::from(failure).message);
                    }
                    Some(_) if self.decision.take().is_some() => self.notice = None,
                    None | Some(Key::Char('q') | Key::Ctrl('c') | Key::Escape) => {
                        return Ok(Left::Quit(Verdict::Done));
                    }
                    Some(Key::Ctrl('z')) => {
                        console.end_live();
                        terminal::leave();
                        terminal::suspend().await.map_err(cannot)?;
                        terminal::enter().map_err(cannot)?;
                        console.begin_live(terminal_size())?;
                    }
                    Some(Key::Enter) if let Some(id) = self.undriven() => {
                        self.notice = Some(format!("no process runs {id}; continue it with `rawko resume {id}`"));
                    }
                    Some(Key::Enter) if let Some(row) = self.rows.get(self.selected) => {
                        return Ok(Left::Open(Box::new(row.clone())));
                    }
                    Some(key) => {
                        let outcome = self.press(&key, console).await;
                        self.notice = outcome.err().map(|failure| Refusal::from(failure).message);
                    }
                },
                () = tokio::time::sleep(REFRESH) => {}
            }
        }
    }

    /// Returns the selected instance if no process runs it and it is neither over nor paused.
    fn undriven(&self) -> Option<String> {
        let row = self.rows.get(self.selected)?;
        let is_left = !row.head.status.is_over() && row.head.wait != Wait::Paused;
        (is_left && !self.place.driven().includes(&row.new)).then(|| row.new.id.to_string())
    }

    fn frame(&mut self, columns: usize, console: &Console) -> Result<Frame, Failure> {
        let driven = self.place.driven();
        let mut rows = Vec::new();
        let mut request = None;
        for (place, row) in self.rows.iter().enumerate() {
            let read = Row::read(&self.reader, row);
            let mut read = if driven.includes(&row.new) { read } else { read.undriven() };
            if !row.head.status.is_over() {
                let standing = Standing::of(&self.reader, &row.new.id, &self.place.world(), times::now_ms())?;
                // Its agents wait for a person, so it does, too.
                if let Some(ask) = standing.asks.first() {
                    if read.status != InstanceStatus::Paused {
                        (read.status, read.waiting_for) =
                            (InstanceStatus::Waiting, Some("person".to_owned()));
                    }
                    request = request.or((place == self.selected).then(|| ask.clone()));
                }
            }
            rows.push(read);
        }
        let table = ps::fitted_table(&rows, times::now_ms()).fitted_to(columns.saturating_sub(2), TITLE);
        let mut lines = Vec::new();
        for (place, line) in table.lines(console).iter().enumerate() {
            let mark = if place == self.selected + 1 && !rows.is_empty() { "›" } else { " " };
            lines.push(format!("{} {line}", console.paint(Style::Bold, mark)));
        }
        if rows.is_empty() {
            lines.push("  no instances yet".to_owned());
        }
        if let Some(ask) = &request {
            let title = ask.input.get("title").as_str().unwrap_or(&ask.invoke);
            lines.push(format!("{} {title}", console.paint(Style::Notice, "?")));
        }
        self.request = request;
        if let Some((ask, approved)) = &self.decision {
            let title = ask.input.get("title").as_str().unwrap_or(&ask.invoke);
            let words = if *approved { "approve" } else { "deny" };
            lines.push(console.paint(Style::Bold, &format!("{words}: {title} ({})", ask.instance)));
        }
        lines.extend(self.notice.as_ref().map(|notice| console.paint(Style::Notice, notice)));
        let keys = match columns >= KEYS_COLUMNS {
            _ if self.decision.is_some() => "Enter: confirm · any other key: no",
            true => "Enter: open · p: pause · r: resume · y: approve · n: deny · q: quit",
            false => "Enter · p · r · y · n · q",
        };
        lines.push(console.paint(Style::Dim, keys));
        Ok(Frame { lines, cursor: None })
    }

    async fn press(&mut self, key: &Key, console: &mut Console) -> Result<(), Failure> {
        let Some(row) = self.rows.get(self.selected) else { return Ok(()) };
        let id = row.new.id.to_string();
        match key {
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected += 1,
            Key::Home => self.selected = 0,
            Key::End => self.selected = usize::MAX,
            Key::Char('p') => self.ask(Request::Pause { id }, console).await?,
            Key::Char('r') => self.ask(Request::Resume { id }, console).await?,
            Key::Char('y') => self.decision = Some((self.asked(&id, true)?, true)),
            Key::Char('n') => self.decision = Some((self.asked(&id, false)?, false)),
            _ => {}
        }
        Ok(())
    }

    /// Returns the shown request, if it can be answered with a key.
    fn asked(&self, id: &str, approved: bool) -> Result<Ask, Failure> {
        let Some(ask) = &self.request else {
            return Err(Failure::Failed(format!("{id} has no pending request")));
        };
        let is_form = ["form", "schema", "fields"].iter().any(|key| !ask.input.get(key).is_null());
        if approved && ask.input.get("kind").as_str() == Some("question") {
            return Err(Failure::Failed("this is a question; press Enter to answer it".to_owned()));
        }
        if approved && is_form {
            return Err(Failure::Failed("this request has a form; press Enter to fill it in".to_owned()));
        }
        Ok(ask.clone())
    }

    async fn answer(&self, ask: &Ask, approved: bool, console: &mut Console) -> Result<(), Failure> {
        let request = Request::Answer {
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

    async fn ask(&self, request: Request, console: &mut Console) -> Result<(), Failure> {
        let mut access = Access::open(self.place, &[], console).await?;
        let outcome = asked(&mut access, request).await;
        access.close(console).await;
        outcome.map(drop)
    }
}
