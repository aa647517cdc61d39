//! The text of each state and transition, broken into lines, and its size. Layout needs only the sizes; painting writes
//! exactly these lines.

use rawko_core::NodeKind;

use super::text::{SMALL, TITLE, width, wrap};
use crate::draw::picture::{ArrowLabel, LineKind, Picture, PictureNode};

pub(crate) const TITLE_LINE: f64 = 17.0;
pub(crate) const LINE: f64 = 15.0;
pub(crate) const PAD: f64 = 12.0;
pub(crate) const HISTORY: f64 = 28.0;
pub(crate) const DOT: f64 = 12.0;
/// Distance between a final state's second border and its box.
pub(crate) const RING: f64 = 3.5;
/// Space between two regions of a parallel state; the dashed line runs in the middle.
pub(crate) const REGION_GAP: f64 = 28.0;

/// Width factor of bold text.
const BOLD: f64 = 1.06;
const TITLE_WIDTH: f64 = 210.0;
const LINE_WIDTH: f64 = 240.0;
const LABEL_WIDTH: f64 = 170.0;

/// The text of a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateText {
    pub(crate) title: Vec<String>,
    pub(crate) lines: Vec<WrappedLine>,
    /// The minimum size: a leaf has exactly this, a composite's header is this high.
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Height of the title bar, without the lines below it.
    pub(crate) bar: f64,
}

/// One wrapped line of the picture.
#[derive(Clone, Debug)]
pub(crate) struct WrappedLine {
    pub(crate) kind: LineKind,
    pub(crate) rows: Vec<String>,
    pub(crate) full: String,
}

/// A label's rows; each row consists of runs of one part of the label.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelBox {
    pub(crate) rows: Vec<Vec<(LabelPart, String)>>,
    pub(crate) full: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelPart {
    Event,
    Guard,
    Actions,
}

pub(crate) fn writing(picture: &Picture, node: &PictureNode) -> StateText {
    match node.kind {
        NodeKind::History(_) => {
            StateText { width: HISTORY, height: HISTORY, bar: HISTORY, ..StateText::default() }
        }
        NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => boxed(picture, node),
    }
}

fn boxed(picture: &Picture, node: &PictureNode) -> StateText {
    let title = wrap(&node.title, TITLE, TITLE_WIDTH, 3);
    let lines: Vec<WrappedLine> = node
        .lines
        .iter()
        .map(|l| WrappedLine {
            kind: l.kind,
            rows: wrap(&l.text, SMALL, LINE_WIDTH, 3),
            full: l.text.clone(),
        })
        .collect();
    let widest_title = title.iter().map(|t| width(t, TITLE) * BOLD).fold(0.0, f64::max);
    let widest_line = lines.iter().flat_map(|l| &l.rows).map(|r| width(r, SMALL)).fold(0.0, f64::max);
    let rows: usize = lines.iter().map(|l| l.rows.len()).sum();
    let flat = node.is_composite() || rows > 0;
    let bar = title.len().max(1) as f64 * TITLE_LINE + if flat { 11.0 } else { 19.0 };
    let body = if rows == 0 { 0.0 } else { rows as f64 * LINE + 10.0 };
    let least = if picture.is_region(node.id) { 60.0 } else { 84.0 };
    let is_stack = node.is_stacked && !node.is_composite();
    let ring = if node.kind == NodeKind::Final || is_stack { 2.0 * RING } else { 0.0 };
    StateText {
        title,
        lines,
        width: (widest_title.max(widest_line) + 2.0 * PAD).max(least).ceil() + ring,
        height: bar + body + ring,
        bar,
    }
}

pub(crate) fn label_box(label: &ArrowLabel) -> LabelBox {
    let full = label.full();
    if let Some(own) = &label.own {
        let rows =
            wrap(own, SMALL, LABEL_WIDTH, 3).into_iter().map(|r| vec![(LabelPart::Event, r)]).collect();
        return sized(rows, full);
    }
    let parts = parts(label);
    let line: Vec<(LabelPart, String)> = parts.clone();
    if runs_width(&line) <= LABEL_WIDTH {
        return sized(vec![line], full);
    }
    let mut rows = Vec::new();
    for (part, text) in parts {
        let most = match part {
            LabelPart::Event | LabelPart::Actions => 2,
            LabelPart::Guard => 3,
        };
        rows.extend(wrap(&text, SMALL, LABEL_WIDTH, most).into_iter().map(|r| vec![(part, r)]));
    }
    sized(rows, full)
}

pub(crate) fn plain_label(text: &str) -> LabelBox {
    let rows = wrap(text, SMALL, LABEL_WIDTH, 2).into_iter().map(|r| vec![(LabelPart::Actions, r)]).collect();
    sized(rows, text.to_owned())
}

fn parts(label: &ArrowLabel) -> Vec<(LabelPart, String)> {
    let mut parts = vec![(LabelPart::Event, label.trigger.clone())];
    if let Some(guard) = &label.guard {
        parts.push((LabelPart::Guard, format!("[{guard}]")));
    }
    if !label.actions.is_empty() {
        parts.push((LabelPart::Actions, format!("/ {}", label.actions.join(", "))));
    }
    parts
}

fn runs_width(row: &[(LabelPart, String)]) -> f64 {
    let gaps = row.len().saturating_sub(1) as f64 * 0.34 * SMALL;
    row.iter().map(|(part, text)| run_width(*part, text)).sum::<f64>() + gaps
}

/// Events are bold.
fn run_width(part: LabelPart, text: &str) -> f64 {
    let bold = match part {
        LabelPart::Event => BOLD,
        LabelPart::Guard | LabelPart::Actions => 1.0,
    };
    width(text, SMALL) * bold
}

fn sized(rows: Vec<Vec<(LabelPart, String)>>, full: String) -> LabelBox {
    let widest = rows.iter().map(|r| runs_width(r)).fold(0.0, f64::max);
    let height = rows.len().max(1) as f64 * 14.0 + 5.0;
    LabelBox { rows, full, width: (widest + 12.0).ceil(), height }
}
