//! Colours. Every rule names a plain colour first and the custom property after it: a viewer without custom properties
//! still shows the theme, and a page can change it by setting `--rawko-…` on the drawing.

use std::fmt::Write;

/// The colour theme of a drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light or dark, by the viewer's preference.
    #[default]
    Auto,
    /// Dark text on white.
    Light,
    /// Light text on a dark background.
    Dark,
}

/// Name, light, dark.
const PALETTE: &[(&str, &str, &str)] = &[
    ("bg", "#ffffff", "#14181f"),
    ("text", "#1b2430", "#e6eaf0"),
    ("muted", "#5b6776", "#9aa7b8"),
    ("state", "#ffffff", "#1f2630"),
    ("group", "#f6f8fa", "#181d25"),
    ("bar", "#e9eef4", "#2a3340"),
    ("line", "#8c99a8", "#5d6b7d"),
    ("edge", "#4b5866", "#9aa7b8"),
    ("label", "#ffffff", "#14181f"),
    ("event", "#0b57a4", "#8ec5ff"),
    ("active", "#0a7d43", "#4ade80"),
    ("lit", "#dcf5e6", "#143524"),
    ("mark", "#b42318", "#ff8f85"),
];

/// Selector, property, colour, and the rest of the rule.
const RULES: &[(&str, &str, &str, &str)] = &[
    (".bg", "fill", "bg", ""),
    ("text", "fill", "text", ""),
    (".box", "fill", "state", "stroke-width:1.2"),
    (".box", "stroke", "line", ""),
    (".group>.box", "fill", "group", ""),
    (".bar", "fill", "bar", ""),
    (".rule", "stroke", "line", "stroke-width:0.8"),
    (".ring", "stroke", "line", "fill:none;stroke-width:1.2"),
    (".gap", "stroke", "line", "fill:none;stroke-width:1.2;stroke-dasharray:6 5"),
    (".dot", "fill", "edge", ""),
    (".route", "stroke", "edge", "fill:none;stroke-width:1.3"),
    (".head", "fill", "edge", ""),
    (".pill", "fill", "label", ""),
    (".header .title", "stroke", "bar", "stroke-width:5px;stroke-linejoin:round;paint-order:stroke"),
    (".header.region .title", "stroke", "group", ""),
    (".header .detail", "stroke", "group", "stroke-width:4px;stroke-linejoin:round;paint-order:stroke"),
    (".inside>.pill", "fill", "group", ""),
    (".detail", "fill", "muted", "font-size:11px"),
    (".guard,.actions", "fill", "muted", ""),
    (".event", "fill", "event", "font-weight:600"),
    (".active>.box", "stroke", "active", "stroke-width:3"),
    (".active:not(.group)>.box", "fill", "lit", ""),
    (".active>.bar", "fill", "lit", ""),
    (".uncovered>.route", "stroke", "mark", "stroke-dasharray:5 4"),
    (".uncovered>.head", "fill", "mark", ""),
    (".uncovered .event", "fill", "mark", ""),
    (".uncovered>.box", "stroke", "mark", "stroke-dasharray:5 4"),
    ("text.uncovered", "fill", "mark", ""),
];

const FIXED: &str = ".rawko-chart{font-family:Inter,\"Segoe UI\",\"Helvetica Neue\",Arial,\"Liberation Sans\",sans-serif;font-size:13px}\
.rawko-chart text{dominant-baseline:auto}\
.rawko-chart .title{font-weight:600;text-anchor:middle}\
.rawko-chart .area{fill:none}\
.rawko-chart .left{text-anchor:start}\
.rawko-chart .right{text-anchor:end}\
.rawko-chart .label{font-size:11px;text-anchor:middle}\
.rawko-chart .mark{font-size:12px;font-weight:600;text-anchor:middle}";

/// Only in drawings with findings.
const FINDING_RULES: &[(&str, &str, &str, &str)] = &[
    (".finding>.box", "stroke", "mark", "stroke-width:2.4"),
    (".finding>.ring", "stroke", "mark", "stroke-width:2"),
    (".finding>.gap,.finding>.area", "stroke", "mark", "stroke-width:2"),
    (".finding>.route", "stroke", "mark", "stroke-width:2.2"),
    (".finding>.head", "fill", "mark", ""),
    (".finding .event", "fill", "mark", "text-decoration:underline"),
];

pub(crate) fn style(theme: Theme, findings: bool) -> String {
    let mut css = String::new();
    match theme {
        Theme::Light => properties(&mut css, false),
        Theme::Dark => properties(&mut css, true),
        Theme::Auto => {
            properties(&mut css, false);
            css.push_str("\n@media (prefers-color-scheme:dark){");
            properties(&mut css, true);
            css.push('}');
        }
    }
    css.push('\n');
    css.push_str(FIXED);
    let further = if findings { FINDING_RULES } else { &[] };
    for (selector, property, color, more) in RULES.iter().chain(further) {
        rule(&mut css, theme == Theme::Dark, (selector, property, color, more));
    }
    css
}

fn properties(css: &mut String, dark: bool) {
    css.push_str(".rawko-chart{");
    for (name, light, night) in PALETTE {
        let _ = write!(css, "--rawko-{name}:{};", if dark { night } else { light });
    }
    css.push('}');
}

fn rule(css: &mut String, dark: bool, (selector, property, color, more): (&str, &str, &str, &str)) {
    let plain =
        PALETTE.iter().find(|p| p.0 == color).map_or("currentColor", |p| if dark { p.2 } else { p.1 });
    let selectors: Vec<String> = selector.split(',').map(|s| format!(".rawko-chart {s}")).collect();
    let _ = write!(
        css,
        "\n{}{{{property}:{plain};{property}:var(--rawko-{color},{plain});{more}}}",
        selectors.join(",")
    );
}
