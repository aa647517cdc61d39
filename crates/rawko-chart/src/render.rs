//! Renders findings for people (underlined source lines, like rustc) and for tools (JSON).

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::json;

use crate::finding::{Finding, Severity};
use crate::printable::{masked, printable};
use crate::source::{SourceFile, Span};

/// The style of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportStyle {
    /// Adds ANSI colours.
    pub color: bool,
}

/// Limit of rendered findings.
const SHOWN_MAX: usize = 50;
const WIDTH: usize = 140;

/// Renders all findings in sequence, with their locations underlined.
pub fn report(findings: &[Finding], source: &SourceFile, style: ReportStyle) -> String {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(WIDTH);
    let mut out = String::new();
    let source = SourceFile::new(&*printable(&source.name), &*masked(&source.text));
    for finding in findings.iter().take(SHOWN_MAX) {
        let finding = cleaned(finding);
        let groups = [group(&finding, &source)];
        out.push_str(&renderer.render(&groups));
        out.push_str("\n\n");
    }
    if findings.len() > SHOWN_MAX {
        out.push_str(&format!("… and {} more\n", findings.len() - SHOWN_MAX));
    }
    out
}

/// Returns the finding without anything that a terminal would obey: names in it come from files.
fn cleaned(finding: &Finding) -> Finding {
    let clean = |text: &String| printable(text).into_owned();
    Finding {
        message: clean(&finding.message),
        label: clean(&finding.label),
        related: finding.related.iter().map(|(span, label)| (*span, clean(label))).collect(),
        help: finding.help.as_ref().map(clean),
        ..finding.clone()
    }
}

fn group<'a>(finding: &'a Finding, source: &'a SourceFile) -> Group<'a> {
    let level = match finding.severity {
        Severity::Warning => Level::WARNING,
        Severity::Error | Severity::Fatal => Level::ERROR,
    };
    let window = Window::around(finding, &source.text);
    let mut primary = AnnotationKind::Primary.span(window.shown(finding.span));
    if !finding.label.is_empty() {
        primary = primary.label(finding.label.as_str());
    }
    let related = finding.related.iter().map(|(span, label)| context(window.shown(*span), label));
    let snippet = Snippet::source(window.text)
        .line_start(window.first_line)
        .path(&*source.name)
        .annotation(primary)
        .annotations(related);
    let group = level.primary_title(finding.message.as_str()).id(finding.code).element(snippet);
    match &finding.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

fn context<'a>(place: std::ops::Range<usize>, label: &'a str) -> Annotation<'a> {
    let annotation = AnnotationKind::Context.span(place);
    if label.is_empty() { annotation } else { annotation.label(label) }
}

/// The lines of a finding, so that rendering one location does not scan all of a large file.
struct Window<'t> {
    text: &'t str,
    start: usize,
    first_line: usize,
}

impl<'t> Window<'t> {
    fn around(finding: &Finding, text: &'t str) -> Self {
        let places = || std::iter::once(finding.span).chain(finding.related.iter().map(|(span, _)| *span));
        let first = places().map(|span| span.start as usize).min().unwrap_or(0);
        let last = places().map(|span| span.start as usize).max().unwrap_or(0);
        let (first, last) = (boundary(text, first), boundary(text, last));
        let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline);
        let first_line = text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
        Self { text: &text[start..end], start, first_line }
    }

    /// Clips a location for underlining: within the window, on character boundaries, and on one line, because the first
    /// line of a long block is clearer than the whole.
    fn shown(&self, span: Span) -> std::ops::Range<usize> {
        let start = boundary(self.text, (span.start as usize).saturating_sub(self.start));
        let end = boundary(self.text, (span.end as usize).saturating_sub(self.start)).max(start);
        start..self.text[start..end].find('\n').map_or(end, |newline| start + newline)
    }
}

/// Returns the nearest character boundary at or before an offset.
fn boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the findings as data, for editors and other tools. Lines and columns count from 1, columns in characters.
pub fn to_json(findings: &[Finding], source: &SourceFile) -> serde_json::Value {
    let lines = LineIndex::new(&source.text);
    findings.iter().map(|finding| finding_json(finding, source, &lines)).collect()
}

fn finding_json(finding: &Finding, source: &SourceFile, lines: &LineIndex<'_>) -> serde_json::Value {
    let related: Vec<serde_json::Value> = finding
        .related
        .iter()
        .map(|(span, label)| {
            let mut place = lines.place(*span);
            place["message"] = json!(label);
            place
        })
        .collect();
    json!({
        "code": finding.code,
        "severity": severity_word(finding.severity),
        "message": finding.message,
        "label": finding.label,
        "help": finding.help,
        "file": &*source.name,
        "place": lines.place(finding.span),
        "related": related,
    })
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Fatal => "fatal",
    }
}

/// Line starts, to convert byte offsets to lines and columns.
struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn place(&self, span: Span) -> serde_json::Value {
        let (start, end) = (self.point(span.start as usize), self.point(span.end as usize));
        json!({
            "start": { "line": start.0, "column": start.1, "byte": span.start },
            "end": { "line": end.0, "column": end.1, "byte": span.end },
        })
    }

    fn point(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1];
        let column =
            self.text.get(start..offset.min(self.text.len())).map_or(1, |text| text.chars().count() + 1);
        (line, column)
    }
}
