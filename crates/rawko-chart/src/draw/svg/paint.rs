//! The document: head, style, then layers from back to front, so that a line never crosses a title it should not.

use std::fmt::Write;

use super::boxes::{LabelBox, LabelPart};
use super::geometry::{before_head, head, n, path};
use super::layout::{ArrowKind, ArrowRoute, Layout, LayoutArrow, LayoutInput, Rect};
use super::states::States;
use super::text::escape;
use super::theme::style;
use super::{Spot, SvgOptions};
use crate::draw::names::names;

pub(crate) fn paint(plan: &LayoutInput<'_>, layout: &Layout, options: &SvgOptions<'_>) -> String {
    let mut out = String::new();
    open(&mut out, plan, layout, options);
    let names = names(plan.picture);
    let states = States { plan, layout, options, names: &names };
    states.groups(&mut out);
    let _ = writeln!(out, "<g class=\"arrows\">");
    for (arrow, route) in plan.arrows.iter().zip(&layout.routes) {
        arrow_lines(&mut out, plan, arrow, route, options);
    }
    out.push_str("</g>\n");
    states.leaves(&mut out);
    states.headers(&mut out);
    let _ = writeln!(out, "<g class=\"labels\">");
    for (arrow, route) in plan.arrows.iter().zip(&layout.routes) {
        arrow_label(&mut out, (plan, layout), arrow, route, options);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn open(out: &mut String, plan: &LayoutInput<'_>, layout: &Layout, options: &SvgOptions<'_>) {
    let (w, h) = (n(layout.width), n(layout.height));
    let picture = plan.picture;
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rawko-chart\" role=\"img\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" data-chart=\"{}\" data-version=\"{}\">",
        escape(&picture.id),
        escape(&picture.version)
    );
    let _ = writeln!(out, "<title>{}</title>", escape(&picture.root().title));
    let _ = writeln!(out, "<desc>{}</desc>", escape(&described(plan)));
    let _ = writeln!(out, "<style>{}</style>", style(options.theme, !options.findings.is_empty()));
    let _ = writeln!(out, "<rect class=\"bg\" width=\"{w}\" height=\"{h}\"/>");
}

/// Returns the text description for accessibility.
fn described(plan: &LayoutInput<'_>) -> String {
    let picture = plan.picture;
    let states: Vec<&str> =
        picture.nodes.iter().skip(1).filter(|s| !s.is_history()).map(|s| s.path.as_str()).collect();
    let about = picture.description.as_ref().map_or_else(String::new, |d| format!("{d} "));
    format!(
        "{about}Statechart with {} states ({}) and {} transitions.",
        states.len(),
        states.join(", "),
        picture.edges.len()
    )
}

/// Returns the `class` and `data-` attributes of the arrow's group.
fn attributes(plan: &LayoutInput<'_>, arrow: &LayoutArrow, options: &SvgOptions<'_>) -> String {
    let to = escape(&plan.picture.node(arrow.to).path);
    match arrow.kind {
        ArrowKind::Initial => format!("class=\"initial\" data-target=\"{to}\""),
        ArrowKind::Default => format!("class=\"default\" data-target=\"{to}\""),
        ArrowKind::Transition(at) => {
            let edge = &plan.picture.edges[at];
            let marks = options.marks(Spot::Transition(edge.id));
            let uncovered = if options.uncovered.contains(&edge.id) { " uncovered" } else { "" };
            let finding = if marks.is_empty() { "" } else { " finding" };
            let from = escape(&plan.picture.node(edge.source).path);
            format!(
                "class=\"transition{uncovered}{finding}\" data-transition=\"{}\" data-source=\"{from}\" data-target=\"{to}\"{marks}",
                edge.id.0
            )
        }
    }
}

fn arrow_lines(
    out: &mut String,
    plan: &LayoutInput<'_>,
    arrow: &LayoutArrow,
    route: &ArrowRoute,
    options: &SvgOptions<'_>,
) {
    let Some(tip) = head(&route.points) else { return };
    let (stroke, fill) = match color(plan, arrow) {
        Some(color) => (format!(" style=\"stroke:{color}\""), format!(" style=\"fill:{color}\"")),
        None => (String::new(), String::new()),
    };
    let _ = write!(out, "<g {}>", attributes(plan, arrow, options));
    let _ = write!(out, "<path class=\"route\" d=\"{}\"{stroke}/>", path(&before_head(&route.points)));
    let _ = writeln!(out, "<path class=\"head\" d=\"{tip}\"{fill}/></g>");
}

fn color<'p>(plan: &'p LayoutInput<'_>, arrow: &LayoutArrow) -> Option<&'p str> {
    match arrow.kind {
        ArrowKind::Transition(at) => plan.picture.edges[at].color.as_deref(),
        ArrowKind::Initial | ArrowKind::Default => None,
    }
}

fn arrow_label(
    out: &mut String,
    (plan, layout): (&LayoutInput<'_>, &Layout),
    arrow: &LayoutArrow,
    route: &ArrowRoute,
    options: &SvgOptions<'_>,
) {
    let (Some(label), Some(rect)) = (&arrow.label, &route.label) else { return };
    let inside = layout.rects.iter().flatten().any(|r| r.holds(*rect));
    let class = if inside { "text inside" } else { "text" };
    let _ = write!(out, "<g {}><g class=\"{class}\">", attributes(plan, arrow, options));
    let _ = write!(out, "<title>{}</title>", escape(&tooltip(plan, arrow, label)));
    let (x, y, w, h) = (n(rect.x), n(rect.y), n(rect.w), n(rect.h));
    let _ = write!(out, "<rect class=\"pill\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\"/>");
    label_rows(out, label, rect);
    out.push_str("</g></g>\n");
}

fn tooltip(plan: &LayoutInput<'_>, arrow: &LayoutArrow, label: &LabelBox) -> String {
    match arrow.kind {
        ArrowKind::Transition(at) => match &plan.picture.edges[at].description {
            Some(about) => format!("{}: {about}", label.full),
            None => label.full.clone(),
        },
        ArrowKind::Initial | ArrowKind::Default => label.full.clone(),
    }
}

fn label_rows(out: &mut String, label: &LabelBox, rect: &Rect) {
    let x = n(rect.center().0);
    for (i, row) in label.rows.iter().enumerate() {
        let y = n(rect.y + 13.0 + i as f64 * 14.0);
        let _ = write!(out, "<text class=\"label\" x=\"{x}\" y=\"{y}\">");
        for (j, (part, run)) in row.iter().enumerate() {
            let space = if j > 0 { " " } else { "" };
            let _ = write!(out, "{space}<tspan class=\"{}\">{}</tspan>", class(*part), escape(run));
        }
        out.push_str("</text>");
    }
}

fn class(part: LabelPart) -> &'static str {
    match part {
        LabelPart::Event => "event",
        LabelPart::Guard => "guard",
        LabelPart::Actions => "actions",
    }
}
