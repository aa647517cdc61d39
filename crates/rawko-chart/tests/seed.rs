//! Every snippet of the format's seed loads: whole documents unchanged, fragments wrapped in a chart with the states
//! and actions they refer to. Their behaviour is tested in the walkthroughs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::path::Path;

use rawko_chart::{Finding, Loaded, Registry, Severity, SourceFile, load, read_registry};
use rawko_core::{ActionKind, Delay, NodeKind};

fn snippet(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seed").join(name)).unwrap()
}

/// Wraps a fragment in a chart: missing parts are added, the fragment itself is unchanged.
fn wrapped(fragment: &str, initial: &str, states: &[&str], actions: &[&str]) -> String {
    let mut chart = format!("statechart:\n  id: seed\n  version: 1.0.0\n  initial: {initial}\n");
    if fragment.starts_with("on:") {
        chart += &format!("  states:\n    {initial}:\n{}", indented(fragment, 6));
    } else {
        chart += &indented(fragment, 2);
    }
    for state in states {
        chart += &format!("    {state}: {{}}\n");
    }
    if !actions.is_empty() {
        chart += "  actions:\n";
    }
    for action in actions {
        chart += &format!("    {action}: {{type: log, message: {action}}}\n");
    }
    chart
}

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}

fn load_text(name: &str, text: &str) -> Loaded {
    let mut registry = Registry::default();
    registry.add_chart("review_workflow", "1.0.0");
    load(&SourceFile::new(name, text), &registry)
}

fn fatal(loaded: &Loaded) -> Vec<&Finding> {
    loaded.findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect()
}

#[test]
fn every_snippet_loads() {
    let table: &[(&str, &str, &[&str], &[&str])] = &[
        ("atomic", "reviewing", &["approved", "rejected"], &["start_review_timer"]),
        ("compound", "processing", &[], &[]),
        ("parallel", "analysis", &["merged"], &[]),
        ("final", "completed", &[], &["record_completion"]),
        ("history", "workflow", &[], &[]),
        (
            "guarded",
            "deciding",
            &["auto_approved", "manual_review", "escalation"],
            &["log_auto_approve", "assign_reviewer", "notify_admin", "assign_senior_reviewer"],
        ),
        ("always", "checking", &["approved", "rejected"], &[]),
        ("wildcard", "listening", &[], &["log_unhandled_event"]),
        ("service", "running_agent", &["evaluating_result", "handling_failure"], &[]),
        ("child", "sub_workflow", &["next_step", "error_handling"], &[]),
        ("agent", "code_generation", &["code_review", "escalation"], &[]),
        (
            "after",
            "waiting_for_approval",
            &["approved", "rejected", "auto_rejected", "sla_breach"],
            &["notify_timeout", "escalate_sla"],
        ),
        ("pipeline", "pipeline", &["pipeline_failed", "deploy"], &[]),
        ("meta", "review", &[], &[]),
    ];
    for (name, initial, states, actions) in table {
        let text = wrapped(&snippet(&format!("{name}.yaml")), initial, states, actions);
        let loaded = load_text(name, &text);
        assert!(fatal(&loaded).is_empty(), "{name}: {:#?}\n{text}", fatal(&loaded));
        assert!(loaded.chart.is_some(), "{name}");
    }
}

/// A snippet is covered if a walkthrough contains its lines in order, with any other lines in between.
#[test]
fn every_snippet_is_walked_through() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let walks: Vec<String> = fs::read_dir(folder.join("walkthroughs/seed"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    // Display data and file lists have no effect in a step.
    let still = ["meta.yaml", "registry.yaml"];
    for entry in fs::read_dir(folder.join("fixtures/seed")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = snippet(&name);
        let is_in = |walk: &String| {
            let mut lines = walk.lines().map(str::trim);
            text.lines().map(str::trim).all(|wanted| lines.any(|line| line == wanted))
        };
        assert!(still.contains(&name.as_str()) || walks.iter().any(is_in), "{name} is in no walkthrough");
    }
}

#[test]
fn the_first_transition_loads_with_its_placeholders_defined() {
    let fragment = snippet("event_driven.yaml");
    let mut text = wrapped(&fragment, "start", &["next_state"], &["action_list"]);
    text += "  guards:\n    expression: context.ready\n";
    let loaded = load_text("event_driven", &text);
    assert!(fatal(&loaded).is_empty(), "{:#?}", fatal(&loaded));
}

#[test]
fn whole_documents_load_as_they_are() {
    for name in ["interchange.json", "canonical.yaml"] {
        let loaded = load_text(name, &snippet(name));
        assert!(fatal(&loaded).is_empty(), "{name}: {:#?}", fatal(&loaded));
        assert!(loaded.chart.is_some(), "{name}");
    }
}

#[test]
fn the_seeds_actions_mean_what_they_say() {
    let text = format!(
        "statechart:\n  id: seed\n  initial: a\n  states:\n    a:\n      entry: [{}]\n{}",
        "start_review_timer, assign_reviewer, log_auto_approve, notify_admin",
        indented(&snippet("actions.yaml"), 2)
    );
    let (lowered, findings) =
        rawko_chart::lower_source(&SourceFile::new("actions", text), &Registry::default());
    assert!(findings.iter().all(|finding| finding.severity < Severity::Fatal), "{findings:#?}");
    let entry = &lowered.unwrap().blueprint.nodes[1].entry;
    assert!(matches!(&entry[0].kind, ActionKind::Call { handler, .. } if &**handler == "timers.start"));
    assert!(matches!(&entry[1].kind, ActionKind::Assign(updates) if updates.len() == 2));
    assert!(matches!(&entry[2].kind, ActionKind::Emit { .. }));
    assert!(matches!(&entry[3].kind, ActionKind::Send { .. }));
}

#[test]
fn the_seeds_context_is_declared_with_its_values() {
    let mut text = snippet("context.yaml");
    text += "  initial: a\n  states: {a: {}}\n";
    let loaded = load_text("context", &text);
    assert!(fatal(&loaded).is_empty(), "{:#?}", loaded.findings);
    let chart = loaded.chart.unwrap();
    assert_eq!(chart.context_names().len(), 10);
    assert_eq!(&*chart.context_names()[3], "risk_level");
}

#[test]
fn the_seeds_registry_lists_two_charts() {
    let file = read_registry(&SourceFile::new("registry.yaml", snippet("registry.yaml")));
    assert!(file.findings.is_empty(), "{:#?}", file.findings);
    let entries: Vec<String> =
        file.entries.iter().map(|entry| format!("{}@{} {}", entry.id, entry.version, entry.src)).collect();
    assert_eq!(
        entries,
        [
            "code_review_workflow@1.2.0 statecharts/code_review.yaml",
            "deploy_workflow@2.0.0 statecharts/deploy.yaml"
        ]
    );
}

#[test]
fn delays_history_and_meta_arrive() {
    let text = wrapped(
        &snippet("after.yaml"),
        "waiting_for_approval",
        &["approved", "rejected", "auto_rejected", "sla_breach"],
        &["notify_timeout", "escalate_sla"],
    );
    let (lowered, _) = rawko_chart::lower_source(&SourceFile::new("after", text), &Registry::default());
    let timers = &lowered.unwrap().blueprint.nodes[1].timers;
    assert!(matches!(timers[0], Delay::Millis(86_400_000)));
    assert!(matches!(&timers[1], Delay::Expr(_, text) if &**text == "context.sla_deadline_ms"));

    let loaded = load_text("meta", &wrapped(&snippet("meta.yaml"), "review", &[], &[]));
    let chart = loaded.chart.unwrap();
    let docs = &chart.node(chart.find("review").unwrap()).docs;
    assert_eq!(docs.label.as_deref(), Some("Code Review"));
    assert_eq!(docs.color.as_deref(), Some("#4A90D9"));
    assert_eq!(docs.position, Some((200.0, 100.0)));

    let loaded = load_text("history", &wrapped(&snippet("history.yaml"), "workflow", &[], &[]));
    let chart = loaded.chart.unwrap();
    let node = chart.node(chart.find("workflow.history_node").unwrap());
    assert_eq!(node.kind, NodeKind::History(rawko_core::HistoryVariant::Deep));
}
