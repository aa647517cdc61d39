//! Findings for people (source lines underlined, as rustc shows them) and for tools (JSON).

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::json;

use crate::finding::{Finding, Severity};
use crate::source::{Source, Span};

/// How a report looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub color: bool,
}

/// A whole line of a huge file is of no use to anybody; neither is a thousand findings.
const SHOWN_MAX: usize = 50;
const WIDTH: usize = 140;

/// All findings, one after the other, with the places underlined.
pub fn report(findings: &[Finding], source: &Source, style: Style) -> String {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(WIDTH);
    let mut out = String::new();
    for finding in findings.iter().take(SHOWN_MAX) {
        let groups = [group(finding, source)];
        out.push_str(&renderer.render(&groups));
        out.push_str("\n\n");
    }
    if findings.len() > SHOWN_MAX {
        out.push_str(&format!("… and {} more\n", findings.len() - SHOWN_MAX));
    }
    out
}

fn group<'a>(finding: &'a Finding, source: &'a Source) -> Group<'a> {
    let level = match finding.severity {
        Severity::Warning => Level::WARNING,
        Severity::Error | Severity::Fatal => Level::ERROR,
    };
    let mut primary = AnnotationKind::Primary.span(shown(finding.span, &source.text));
    if !finding.label.is_empty() {
        primary = primary.label(finding.label.as_str());
    }
    let related = finding.related.iter().map(|(span, label)| context(*span, label, &source.text));
    let snippet = Snippet::source(&*source.text).path(&*source.name).annotation(primary).annotations(related);
    let group = level.primary_title(finding.message.as_str()).id(finding.code).element(snippet);
    match &finding.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

fn context<'a>(span: Span, label: &'a str, text: &str) -> Annotation<'a> {
    let annotation = AnnotationKind::Context.span(shown(span, text));
    if label.is_empty() { annotation } else { annotation.label(label) }
}

/// A place that is safe to underline: within the text, on character boundaries, and on one line, because a block
/// of thirty lines says less than the line it starts with.
fn shown(span: Span, text: &str) -> std::ops::Range<usize> {
    let mut start = (span.start as usize).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = (span.end as usize).clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let line = text[start..end].find('\n').map_or(end, |newline| start + newline);
    start..line.max(start)
}

/// The findings as data, for editors and other tools. Lines and columns count from 1, columns in characters.
pub fn to_json(findings: &[Finding], source: &Source) -> serde_json::Value {
    let lines = Lines::new(&source.text);
    findings.iter().map(|finding| finding_json(finding, source, &lines)).collect()
}

fn finding_json(finding: &Finding, source: &Source, lines: &Lines<'_>) -> serde_json::Value {
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

/// Where lines start, to turn bytes into lines and columns.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
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
        let column = self.text.get(start..offset.min(self.text.len())).map_or(1, |text| text.chars().count() + 1);
        (line, column)
    }
}
