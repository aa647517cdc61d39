//! The terminal: data to stdout, messages to stderr, colour only on a terminal. The only module that prints.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use rawko_settings::Redactor;

use crate::cli::ColorWhen;
use crate::failure::Failure;

/// The output of a command.
pub(crate) struct Console {
    out: BufWriter<Stdout>,
    out_colour: bool,
    err_colour: bool,
}

/// The kind of a piece of text, so that colours are chosen in one place. Colour is never the only signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Notice,
    Accent,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "0",
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Bad => "1;31",
            Style::Notice => "33",
            Style::Accent => "36",
        }
    }

    fn paint(self, text: &str, colour: bool) -> String {
        if colour && self != Style::Plain {
            format!("\x1b[{}m{text}\x1b[0m", self.code())
        } else {
            text.to_owned()
        }
    }
}

impl Console {
    pub(crate) fn new(when: ColorWhen) -> Self {
        Self {
            out: BufWriter::new(io::stdout()),
            out_colour: wants_colour(when, io::stdout().is_terminal()),
            err_colour: wants_colour(when, io::stderr().is_terminal()),
        }
    }

    /// Returns true if stdout is a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Returns true if stdout uses colour.
    pub(crate) fn colour(&self) -> bool {
        self.out_colour
    }

    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        style.paint(text, self.out_colour)
    }

    /// Writes data to stdout as it is.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(hidden(text).as_bytes()).map_err(Failure::Output)
    }

    /// Writes a line to stdout.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{}", hidden(text)).map_err(Failure::Output)
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::Output)
    }

    /// Writes a message to stderr. A closed stderr is ignored.
    pub(crate) fn note(&mut self, style: Style, title: &str, text: &str) {
        let _ = self.out.flush();
        let _ = writeln!(io::stderr(), "{}: {}", style.paint(title, self.err_colour), hidden(text));
    }

    pub(crate) fn error(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{}: {}", Style::Bad.paint("error", self.err_colour), hidden(text));
    }

    /// Writes preformatted text, such as rendered findings, to stderr.
    pub(crate) fn aside(&mut self, text: &str) {
        let _ = self.out.flush();
        let _ = io::stderr().write_all(hidden(text).as_bytes());
    }

    /// Returns true if stderr uses colour.
    pub(crate) fn aside_colour(&self) -> bool {
        self.err_colour
    }
}

/// Removes the operator credential, also from texts of agents.
fn hidden(text: &str) -> Cow<'_, str> {
    Redactor::hide_credentials(text)
}

/// Writes a message to stderr before there is a console.
pub(crate) fn announce(title: &str, text: &str) {
    let _ = writeln!(io::stderr(), "{title}: {text}");
}

fn wants_colour(when: ColorWhen, terminal: bool) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => terminal && !refused,
    }
}
