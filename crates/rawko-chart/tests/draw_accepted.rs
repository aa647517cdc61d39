//! The text formats against the real tools: mermaid's own parser, PlantUML and Graphviz parse every chart we can draw,
//! with the intended structure. A missing tool fails the test: `cargo xtask tools` installs them all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests read and write files"
)]

#[path = "draw/random.rs"]
mod random;
#[path = "draw/support.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rawko_chart::{Registry, SourceFile, draw, load};
use rawko_core::{Chart, Docs, NodeId, NodeInfo, NodeKind, TransitionInfo};
use serde_json::Value;
use support::{examples, fixtures, folder, walkthroughs};

#[test]
fn mermaid_reads_what_we_meant() {
    let charts = charts();
    let files = write(&charts, "mmd", draw::mermaid);
    let root = folder().ancestors().nth(4).unwrap().to_path_buf();
    let tools = root.join("target/tools/node");
    let installed = tools.join("node_modules/mermaid").is_dir() && tools.join("node_modules/jsdom").is_dir();
    assert!(
        installed,
        "mermaid is not installed: run `cargo xtask tools` (npm packages of tests/tools/package.json)"
    );
    let script = root.join("tests/tools/mermaid-parse.mjs");
    let output = run(Command::new("node").arg(script).arg(tools).args(&files), "nodejs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = text(&output.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), charts.len());
    for ((name, chart), found) in charts.iter().zip(&lines) {
        assert!(found.get("error").is_none(), "{name}: {}\n{}", found["error"], draw::mermaid(chart));
        understood(name, chart, found);
    }
}

/// Checks every state with its title, every arrow with its whole label, and nothing more.
fn understood(name: &str, chart: &Chart, found: &Value) {
    let strings = |list: &Value, key: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
    };
    let placed = placed(found);
    for node in nodes(chart) {
        let parent = chart.node(node.parent.unwrap());
        let top = parent.parent.is_none();
        // A title may be followed by the lines inside the state.
        let is =
            |label: &str, node| label == title(node) || label.starts_with(&format!("{} · ", title(node)));
        let there = |(own, outer): &(String, Option<String>)| {
            is(own, node) && (top || outer.as_ref().is_some_and(|outer| is(outer, parent)))
        };
        assert!(placed.iter().any(there), "{name}: no state `{}` in its place in {placed:?}", node.path);
    }
    let mut labels: Vec<String> =
        strings(&found["edges"], "label").into_iter().filter(|l| !l.is_empty()).collect();
    let mut meant: Vec<String> = chart
        .transition_ids()
        .map(|id| chart.transition(id))
        .flat_map(|t| vec![label(t); t.targets.as_ref().map_or(0, |targets| targets.len())])
        .collect();
    meant.extend(
        chart
            .node_ids()
            .map(|id| chart.node(id))
            .filter(|n| !n.initial_actions.is_empty())
            .flat_map(|n| vec![format!("/ {}", n.initial_actions.join(", ")); n.initial.len()]),
    );
    labels.sort();
    meant.sort();
    assert_eq!(labels, meant, "{name}");
}

/// Returns the titles of all states Mermaid found, with their parents' titles; regions are inside dividers without a
/// name.
fn placed(found: &Value) -> Vec<(String, Option<String>)> {
    let nodes = found["nodes"].as_array().unwrap();
    let label = |node: &Value| node["label"].as_str().unwrap().to_owned();
    let parent = |node: &Value| nodes.iter().find(|n| n["id"] == node["parent"]);
    let outer = |node: &Value| {
        let mut at = parent(node);
        while let Some(divider) = at.filter(|n| n["shape"] == "divider" || n["shape"] == "noteGroup") {
            at = parent(divider);
        }
        at.map(label)
    };
    nodes.iter().map(|node| (label(node), outer(node))).collect()
}

#[test]
fn plantuml_draws_every_chart() {
    let charts = charts();
    let files = write(&charts, "puml", draw::plantuml);
    // Checking is much cheaper than drawing, but does not name the invalid file.
    if !plantuml(&["-checkonly"], &files).status.success() {
        panic!("{}", text(&plantuml(&["-tsvg"], &files).stderr));
    }
    let nastiest: Vec<PathBuf> = files.iter().filter(|f| f.ends_with("nasty.puml")).cloned().collect();
    assert!(plantuml(&["-tsvg"], &nastiest).status.success());
    let drawn = fs::read_to_string(files[0].with_file_name("nasty.svg")).unwrap();
    let words = svg_text(&drawn);
    let (_, nasty) = charts.iter().find(|(name, _)| name == "nasty").unwrap();
    for title in nodes(nasty).filter(|n| !matches!(n.kind, NodeKind::History(_))).map(title) {
        assert!(words.contains(&squeezed(&title)), "no state `{title}` in PlantUML's drawing: {words}");
    }
}

fn plantuml(arguments: &[&str], files: &[PathBuf]) -> Output {
    run(Command::new("plantuml").args(arguments).args(files), "plantuml")
}

#[test]
fn graphviz_draws_every_chart_without_a_warning() {
    let charts = charts();
    let files = write(&charts, "dot", draw::dot);
    let output = run(Command::new("dot").args(["-Tsvg", "-O"]).args(&files), "graphviz");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    for ((name, chart), file) in charts.iter().zip(&files) {
        let words = svg_text(&fs::read_to_string(format!("{}.svg", file.display())).unwrap());
        for title in nodes(chart).map(title) {
            assert!(
                words.contains(&squeezed(&title)),
                "{name}: no state `{title}` in Graphviz's drawing: {words}"
            );
        }
    }
}

fn charts() -> Vec<(String, Chart)> {
    fixtures().into_iter().chain(walkthroughs()).chain(examples()).chain(random_charts()).collect()
}

/// Some of the random texts are invalid; most are not.
fn random_charts() -> Vec<(String, Chart)> {
    let charts: Vec<(String, Chart)> = random::some(40)
        .iter()
        .enumerate()
        .filter_map(|(i, text)| {
            let chart = load(&SourceFile::new("random", text.as_str()), &Registry::default()).chart?;
            Some((format!("random_{i}"), chart))
        })
        .collect();
    assert!(charts.len() >= 20, "only {} of the random texts are charts", charts.len());
    charts
}

fn write(charts: &[(String, Chart)], ending: &str, draw: impl Fn(&Chart) -> String) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drawn-{ending}"));
    fs::create_dir_all(&folder).unwrap();
    let put = |(name, chart): &(String, Chart)| {
        let file = folder.join(format!("{name}.{ending}"));
        fs::write(&file, draw(chart)).unwrap();
        file
    };
    charts.iter().map(put).collect()
}

fn run(command: &mut Command, package: &str) -> Output {
    let program = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| {
        panic!("cannot start `{program}` ({error}): run `cargo xtask tools` (on Debian: apt-get install {package})")
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the state nodes every format draws: all but the root.
fn nodes(chart: &Chart) -> impl Iterator<Item = &NodeInfo> {
    chart.node_ids().filter(|id| *id != NodeId::ROOT).map(|id| chart.node(id))
}

fn title(node: &NodeInfo) -> String {
    match node.kind {
        NodeKind::History(rawko_core::HistoryVariant::Shallow) => "H".to_owned(),
        NodeKind::History(rawko_core::HistoryVariant::Deep) => "H*".to_owned(),
        NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => {
            named(&node.docs, &node.key)
        }
    }
}

fn named(docs: &Docs, otherwise: &str) -> String {
    docs.label.clone().unwrap_or_else(|| otherwise.to_owned())
}

fn label(transition: &TransitionInfo) -> String {
    let guard = transition.guard.as_ref().map_or_else(String::new, |g| format!(" [{g}]"));
    let actions = transition.actions.join(", ");
    let actions = if actions.is_empty() { actions } else { format!(" / {actions}") };
    named(&transition.docs, &format!("{}{guard}{actions}", transition.label))
}

/// Returns the text of an SVG without spaces: tools break lines and space words differently.
fn svg_text(svg: &str) -> String {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(svg, options).unwrap();
    let words = document.descendants().filter(|n| n.is_text()).filter_map(|n| n.text());
    squeezed(&words.collect::<String>())
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
