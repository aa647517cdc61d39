//! Ceilings of a manifest, with what child charts start.

use rawko_core::{Value, World};
use rawko_verify::{ExplorationLimits, ManifestChange, Model, Storage, manifest, manifest_changes};

use crate::support::model;

fn ceiling(charts: &[&str]) -> String {
    shown(charts, &["agents", "completions", "tool_calls"])
}

fn shown(charts: &[&str], keys: &[&str]) -> String {
    let models: Vec<Model> = charts.iter().map(|text| model(text)).collect();
    let limits = ExplorationLimits { states_max: 2_000, stop: &|_| false, storage: Storage::Exact };
    let manifest = manifest(&models, &World::default(), &limits).unwrap();
    let ceiling = manifest.get("ceiling");
    let shown = |key: &&str| match ceiling.get(key) {
        Value::Null => "no limit".to_owned(),
        count => count.to_string(),
    };
    keys.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Starts `each` twice, one after the other.
const PARENT: &str = "
id: par
initial: a
states:
  a: {invoke: {id: one, src: 'statechart:kid', onDone: b, onError: done}}
  b: {invoke: {id: two, src: 'statechart:kid', onDone: done, onError: done}}
  done: {type: final}
";

fn child(src: &str) -> String {
    format!(
        "
id: kid
initial: k
states:
  k: {{invoke: {{id: x, src: '{src}', onDone: l, onError: done}}}}
  l: {{invoke: {{id: y, src: 'tool:Read', onDone: done, onError: done}}}}
  done: {{type: final}}
"
    )
}

#[test]
fn a_ceiling_counts_what_children_start() {
    assert_eq!(ceiling(&[PARENT, &child("tool:Bash")]), "0, 0, 4");
    assert_eq!(ceiling(&[PARENT, &child("model:small")]), "0, 2, 2");
    // An agent calls its model and tools as often as its budget allows, and there is none.
    assert_eq!(ceiling(&[PARENT, &child("agent:writer")]), "2, no limit, no limit");
}

#[test]
fn a_child_that_is_not_known_has_no_ceiling() {
    assert_eq!(ceiling(&[PARENT]), "no limit, no limit, no limit");
}

#[test]
fn a_loop_over_a_child_has_no_ceiling() {
    let looping =
        PARENT.replace("id: two, src: 'statechart:kid', onDone: done", "id: two, src: svc, onDone: a");
    assert_eq!(ceiling(&[&looping, &child("tool:Bash")]), "0, 0, no limit");
    let bounded = looping.replace("initial: a", "initial: a\nbudget: {tool_calls: 9}");
    assert_eq!(ceiling(&[&bounded, &child("tool:Bash")]), "0, 0, 9");
}

/// Two agents of a child, each with a budget of its own.
const SPENDING: &str = "
id: kid
initial: k
states:
  k: {budget: {tokens: 1000, cost_usd: 0.5}, invoke: {id: x, src: 'agent:writer', onDone: l, onError: done}}
  l: {budget: {tokens: 200, cost_usd: 0.25}, invoke: {id: y, src: 'model:small', onDone: done, onError: done}}
  done: {type: final}
";

#[test]
fn tokens_and_money_of_children_are_counted() {
    let spent = |charts: &[&str]| shown(charts, &["tokens", "cost_usd"]);
    assert_eq!(spent(&[SPENDING]), "1200, 0.75");
    assert_eq!(spent(&[PARENT, SPENDING]), "2400, 1.5");
    // The smallest budget around a child bounds it, and that of the whole chart everything.
    let bounded = PARENT.replace("  b: {", "  b: {budget: {tokens: 300}, ");
    assert_eq!(spent(&[&bounded, SPENDING]), "1500, 1.5");
    let bounded = PARENT.replace("initial: a", "initial: a\nbudget: {cost_usd: 1}");
    assert_eq!(spent(&[&bounded, SPENDING]), "2400, 1.0");
    // Without a budget, or in a loop, there is no limit; without agents and models nothing is spent.
    let open = SPENDING.replace("budget: {tokens: 200, cost_usd: 0.25}, ", "");
    assert_eq!(spent(&[PARENT, &open]), "no limit, no limit");
    let looping = SPENDING.replace("src: 'model:small', onDone: done", "src: 'model:small', onDone: k");
    assert_eq!(spent(&[PARENT, &looping]), "no limit, no limit");
    assert_eq!(spent(&[PARENT, &child("tool:Bash")]), "0, 0.0");
}

#[test]
fn a_budget_below_the_count_is_the_ceiling() {
    let bounded = PARENT.replace("initial: a", "initial: a\nbudget: {tool_calls: 3}");
    assert_eq!(ceiling(&[&bounded, &child("tool:Bash")]), "0, 0, 3");
}

#[test]
fn items_of_an_each_count_what_their_charts_start() {
    let each = "
id: par
initial: a
context: {list: [1, 2, 3]}
states:
  a: {invoke: {id: all, src: 'statechart:kid', each: context.list, onDone: done, onError: done}}
  done: {type: final}
";
    assert_eq!(ceiling(&[each, &child("tool:Bash")]), "0, 0, 6");
    assert_eq!(shown(&[each, SPENDING], &["tokens", "cost_usd"]), "3600, 2.25");
}

/// An approval that no `guards` names, a handler, and an agent with few tools.
const WORK: &str = "
id: w
initial: asking
states:
  asking:
    invoke: {id: ask, src: human, onDone: [{target: working, guard: event.data.approved}, {target: done}], onError: done}
  working:
    tools: {allowed: [Read, Grep]}
    invoke: {id: agent, src: 'agent:dev', onDone: done, onError: done}
  done: {type: final}
";

fn changes(old: &str, new: &str) -> Vec<String> {
    let limits = ExplorationLimits { states_max: 2_000, stop: &|_| false, storage: Storage::Exact };
    let manifest = |text: &str| manifest(&[model(text)], &World::default(), &limits).unwrap();
    let changes = manifest_changes(&manifest(old), &manifest(new));
    let shown =
        |change: &ManifestChange| format!("{} {}", if change.is_more { "more" } else { "less" }, change.text);
    changes.iter().map(shown).collect()
}

#[test]
fn a_list_of_tools_that_is_gone_allows_more() {
    let open = WORK.replace("    tools: {allowed: [Read, Grep]}\n", "");
    assert_eq!(changes(WORK, &open), ["more - `working` allows only Read, Grep"]);
    assert_eq!(changes(&open, WORK), ["less + `working` allows only Read, Grep"]);
    let fewer = WORK.replace("Read, Grep", "Read");
    assert_eq!(changes(WORK, &fewer), ["less - `working` allows Grep"]);
}

#[test]
fn handlers_and_events_to_others_are_authority() {
    let action =
        "entry: [{type: choose, branches: [{guard: 'true', actions: [{type: invoke, handler: pay}]}]}]";
    let paying = WORK.replace("  working:\n", &format!("  working:\n    {action}\n"));
    assert_eq!(changes(WORK, &paying), ["more + `working` calls pay"]);
    let sending = paying.replace("{type: invoke, handler: pay}", "{type: send, target: prod, event: DEPLOY}");
    assert_eq!(changes(WORK, &sending), ["more + `working` sends events to prod"]);
}

#[test]
fn an_approval_that_a_change_bypasses_is_more_authority() {
    let direct = WORK
        .replace("initial: asking", "initial: start")
        .replace("  asking:\n", "  start: {on: {ASK: asking, WORK: working}}\n  asking:\n");
    assert_eq!(changes(WORK, &direct), ["more - `agent` needs the approval `ask`"]);
    let retried = WORK
        .replace("{target: done}], onError: done", "{target: denied}], onError: denied")
        .replace("  done: {type", "  denied: {on: {AGAIN: asking, WORK: working}}\n  done: {type");
    // A question that can be asked again has no bound; neither has what it starts.
    assert!(changes(WORK, &retried).contains(&"more - `agent` needs the approval `ask`".to_owned()));
}

#[test]
fn what_limits_a_state_that_is_gone_is_not_missed() {
    let gone = "
id: w
initial: asking
states:
  asking: {invoke: {id: ask, src: human, onDone: done, onError: done}}
  done: {type: final}
";
    let changes = changes(WORK, gone);
    assert!(!changes.iter().any(|change| change.contains("allows only")), "{changes:?}");
    assert!(changes.contains(&"less - `working` invokes agent:dev".to_owned()), "{changes:?}");
}

#[test]
fn an_answer_that_nothing_checks_any_more_is_more_authority() {
    let named = WORK.replace("id: ask, src: human,", "id: ask, src: human, guards: [agent],");
    let blind = named.replace("[{target: working, guard: event.data.approved}, {target: done}]", "working");
    assert_eq!(changes(&named, &blind), ["more approval_respected: holds → violated"]);
    assert_eq!(changes(&blind, &named), ["less approval_respected: violated → holds"]);
}

#[test]
fn budgets_are_compared_by_value() {
    let small = WORK.replace("  working:\n", "  working:\n    budget: {tool_calls: 500}\n");
    let large = small.replace("500", "1000");
    assert_eq!(changes(&large, &small), ["less budget of `working`: tool_calls 1000 → 500"]);
    assert_eq!(changes(&small, &large), ["more budget of `working`: tool_calls 500 → 1000"]);
    assert_eq!(changes(&small, WORK), ["more budget of `working`: tool_calls 500 → no limit"]);
}

#[test]
fn inputs_of_tools_are_authority() {
    let tool = |input: &str| {
        format!(
            "{{id: t, initial: w, states: {{w: {{invoke: {{id: a, src: 'tool:Bash', input: {input}, onDone: done, onError: done}}}}, done: {{type: final}}}}}}"
        )
    };
    let (list, remove) = (tool(r#"{command: "'ls'"}"#), tool(r#"{command: "'rm -rf src'"}"#));
    assert_eq!(
        changes(&list, &remove),
        [
            r#"more + `w` calls tool:Bash with {"command":"rm -rf src"}"#,
            r#"less - `w` calls tool:Bash with {"command":"ls"}"#,
        ]
    );
    let computed = tool(r#"{command: "'ls ' ~ event.data.x"}"#);
    assert_eq!(
        changes(&list, &computed)[0],
        r#"more + `w` calls tool:Bash with {"command":"computed: 'ls ' ~ event.data.x"}"#
    );
    assert_eq!(changes(&list, &list), [""; 0]);
}
