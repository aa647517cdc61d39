//! `Finding`: one message to a chart's author, with a stable code, a location and a suggested fix.

use crate::source::Span;

/// Limit of findings; more are not useful and only cost time.
pub(crate) const FINDINGS_MAX: usize = 1000;

/// The severity of a finding, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; `check` passes unless `--strict`.
    Warning,
    /// Fails `check`, but the chart can run: `run` and `simulate` only warn.
    Error,
    /// The chart cannot run.
    Fatal,
}

/// One finding. `code` is `rawko::chart::<snake_case>` and has a page `docs/errors/<snake_case>.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Stable code, such as `rawko::chart::unknown_target`; other files have their own second part.
    pub code: &'static str,
    /// Severity, which decides if the chart can run.
    pub severity: Severity,
    /// Lower case, no full stop, names the thing in backticks.
    pub message: String,
    /// The location that is underlined.
    pub span: Span,
    /// Text at the underlined location; may be empty.
    pub label: String,
    /// Further locations that explain it.
    pub related: Vec<(Span, String)>,
    /// The suggested fix: "did you mean `x`?", "add …".
    pub help: Option<String>,
}

impl Finding {
    /// Creates a finding without label, related locations and help.
    pub fn new(code: &'static str, severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Sets the text at the underlined location.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a location that explains the finding.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Sets the suggested fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
