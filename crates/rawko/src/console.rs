//! The terminal: data to stdout, messages to stderr, colour only on a terminal. The only module that prints. Everything
//! that passes through is made printable first, because names and texts come from models, tools and files; the console's
//! own colours are added afterwards.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Finding, SourceFile, printable};
use rawko_settings::Redactor;

use crate::cli::ColorWhen;
use crate::failure::CommandFailure;
use crate::live_area::{Frame, LiveArea, wrapped, wrapped_hanging};
use crate::marks::ColourMarks;
pub(crate) use crate::marks::TextStyle;
use crate::session::leave_terminal;

/// The output of a command.
pub(crate) struct Console {
    out: BufWriter<Stdout>,
    out_colour: bool,
    err_colour: bool,
    marks: &'static ColourMarks,
    /// The live area of a session, below all output.
    live: Option<LiveArea>,
}

/// Turns on that a terminal marks pasted text.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

impl Console {
    pub(crate) fn new(when: ColorWhen) -> Self {
        Self {
            out: BufWriter::new(io::stdout()),
            out_colour: wants_colour(when, io::stdout().is_terminal()),
            err_colour: wants_colour(when, io::stderr().is_terminal()),
            marks: ColourMarks::of_process(),
            live: None,
        }
    }

    /// Begins a session: all output, also messages, is printed above a live area.
    pub(crate) fn begin_live(&mut self, (columns, rows): (usize, usize)) -> Result<(), CommandFailure> {
        let mut area = LiveArea::default();
        area.resize(columns, rows);
        self.live = Some(area);
        self.out.write_all(PASTE_ON.as_bytes()).map_err(CommandFailure::Output)
    }

    /// Replaces the live area.
    pub(crate) fn draw(
        &mut self,
        (columns, rows): (usize, usize),
        frame: &Frame,
    ) -> Result<(), CommandFailure> {
        let Some(area) = &mut self.live else { return Ok(()) };
        area.resize(columns, rows);
        let clean = |line: &String| hidden(&self.marks.resolved(line)).into_owned();
        let bytes = area.draw(Frame { lines: frame.lines.iter().map(clean).collect(), cursor: frame.cursor });
        self.out.write_all(bytes.as_bytes()).map_err(CommandFailure::Output)?;
        self.flush()
    }

    /// Removes the live area.
    pub(crate) fn end_live(&mut self) {
        let Some(mut area) = self.live.take() else { return };
        // A terminal that is gone needs nothing.
        let _ = write!(self.out, "{}{PASTE_OFF}", area.close());
        let _ = self.out.flush();
    }

    /// Rings the bell of the terminal.
    pub(crate) fn ring(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = self.out.write_all(b"\x07").and_then(|()| self.out.flush());
    }

    /// Clears the screen of a session; its live area is drawn again next.
    pub(crate) fn clear_screen(&mut self) -> Result<(), CommandFailure> {
        let Some(area) = &mut self.live else { return Ok(()) };
        let bytes = format!("{}\x1b[H\x1b[2J", area.erase());
        self.out.write_all(bytes.as_bytes()).map_err(CommandFailure::Output)
    }

    /// Writes a line to stdout, on a terminal broken between words with its following lines indented. Programs get it as it is.
    pub(crate) fn paragraph(&mut self, text: &str, indent: usize) -> Result<(), CommandFailure> {
        let Some((columns, _)) = self.size() else { return self.line(text) };
        let mut lines = text.lines().flat_map(|line| wrapped_hanging(line, columns.max(10), indent));
        lines.try_for_each(|line| self.line(&line))
    }

    /// Writes text that is ready for the terminal.
    fn put(&mut self, text: &str) -> io::Result<()> {
        match &mut self.live {
            Some(area) => {
                let bytes = area.print(text);
                self.out.write_all(bytes.as_bytes())
            }
            None => self.out.write_all(text.as_bytes()),
        }
    }

    /// Returns true if stdout is a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Returns true if stdout has colours.
    pub(crate) fn is_coloured(&self) -> bool {
        self.out_colour
    }

    /// Returns the columns and rows of the terminal; `None` if stdout is none.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        self.is_watched().then(terminal_size)
    }

    /// Returns a text for a line on stdout, in a style.
    pub(crate) fn paint(&self, style: TextStyle, text: &str) -> String {
        match self.out_colour && style != TextStyle::Plain {
            true => self.marks.painted(style, text),
            false => printable(text).into_owned(),
        }
    }

    /// Returns a text as `line` writes it, for a line editor that writes to the terminal itself.
    pub(crate) fn ready(&self, text: &str) -> String {
        hidden(&self.marks.resolved(text)).into_owned()
    }

    /// Writes text to stdout.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), CommandFailure> {
        let text = self.marks.resolved(text);
        self.put(&hidden(&text)).map_err(CommandFailure::Output)
    }

    /// Writes a document for another program to stdout: exact unless a terminal shows it.
    pub(crate) fn document(&mut self, text: &str) -> Result<(), CommandFailure> {
        match self.is_watched() {
            true => self.data(text),
            false => self.out.write_all(text.as_bytes()).map_err(CommandFailure::Output),
        }
    }

    /// Writes a line to stdout.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), CommandFailure> {
        let text = format!("{}\n", self.marks.resolved(text));
        self.put(&hidden(&text)).map_err(CommandFailure::Output)
    }

    pub(crate) fn flush(&mut self) -> Result<(), CommandFailure> {
        self.out.flush().map_err(CommandFailure::Output)
    }

    /// Writes a message to stderr. A closed stderr is ignored.
    pub(crate) fn note(&mut self, style: TextStyle, title: &str, text: &str) {
        let mut line = format!("{}: {text}\n", self.paint_aside(style, title));
        if io::stderr().is_terminal() {
            let columns = terminal_size().0.max(20);
            let parts = line.trim_end().lines().flat_map(|line| wrapped(line, columns));
            line = parts.map(|part| format!("{part}\n")).collect();
        }
        self.aside(&line);
    }

    pub(crate) fn error(&self, text: &str) {
        let line = format!("{}: {text}\n", self.paint_aside(TextStyle::Bad, "error"));
        self.write_aside(&line);
    }

    /// Writes text to stderr.
    pub(crate) fn aside(&mut self, text: &str) {
        if self.live.is_some() {
            let text = self.marks.resolved(text);
            let _ = self.put(&hidden(&text));
        } else {
            let _ = self.out.flush();
            self.write_aside(text);
        }
    }

    /// Writes a line in a style to stderr.
    pub(crate) fn remark(&mut self, style: TextStyle, text: &str) {
        let line = format!("{}\n", self.paint_aside(style, text));
        self.aside(&line);
    }

    /// Writes a question to stderr, without a line end.
    pub(crate) fn prompt(&mut self, text: &str) {
        let text = self.paint_aside(TextStyle::Bold, text);
        self.aside(&text);
        let _ = io::stderr().flush();
    }

    /// Writes findings to stdout.
    pub(crate) fn report(&mut self, findings: &[Finding], source: &SourceFile) -> Result<(), CommandFailure> {
        let text = render::report(findings, source, ReportStyle { color: self.out_colour });
        self.out.write_all(text.as_bytes()).map_err(CommandFailure::Output)
    }

    /// Writes findings to stderr.
    pub(crate) fn report_aside(&mut self, findings: &[Finding], source: &SourceFile) {
        let _ = self.out.flush();
        let text = render::report(findings, source, ReportStyle { color: self.err_colour });
        let _ = io::stderr().write_all(text.as_bytes());
    }

    fn paint_aside(&self, style: TextStyle, text: &str) -> String {
        match self.err_colour && style != TextStyle::Plain {
            true => self.marks.painted(style, text),
            false => printable(text).into_owned(),
        }
    }

    fn write_aside(&self, text: &str) {
        let text = self.marks.resolved(text);
        let _ = io::stderr().write_all(hidden(&text).as_bytes());
    }
}

/// Assumed size of a terminal that reports none.
const SIZE: (usize, usize) = (80, 24);

/// Returns the columns and rows of the terminal.
pub(crate) fn terminal_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(SIZE, |size| (size.ws_col.into(), size.ws_row.into()))
}

/// Restores the terminal of a session before the process ends early: on a panic, or on a second signal.
pub(crate) fn abandon_session() {
    if leave_terminal() {
        let _ = write!(io::stdout(), "\r\x1b[J{PASTE_OFF}");
        let _ = io::stdout().flush();
    }
}

/// Removes the operator credential, also from texts of agents.
fn hidden(text: &str) -> Cow<'_, str> {
    Redactor::hide_credentials(text)
}

/// Replaces the line of progress on stderr, if that is a terminal.
pub(crate) fn progress(text: &str) {
    let mut err = io::stderr();
    if err.is_terminal() {
        let _ = write!(err, "\r\x1b[K{}", printable(text));
        let _ = err.flush();
    }
}

/// Writes a message to stderr before there is a console.
pub(crate) fn announce(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

fn wants_colour(when: ColorWhen, terminal: bool) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => terminal && !refused,
    }
}
