//! Reading charts: tables of notations and their results.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use rawko_chart::{Finding, LoweredChart, Registry, Severity, SourceFile, load, lower_source};
use rawko_core::{ActionKind, DataTemplate, Delay, NodeId, NodeKind, TransitionTrigger};

fn lower(text: &str) -> (LoweredChart, Vec<Finding>) {
    let (lowered, findings) = lower_source(&SourceFile::new("chart.yaml", text), &Registry::default());
    (lowered.unwrap_or_else(|| panic!("{findings:#?}")), findings)
}

fn slugs(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.trim_start_matches("rawko::chart::")).collect()
}

/// Returns the codes of errors, without warnings.
fn serious(findings: &[Finding]) -> Vec<&str> {
    let serious = findings.iter().filter(|finding| finding.severity > Severity::Warning);
    serious.map(|finding| finding.code.trim_start_matches("rawko::chart::")).collect()
}

fn path(lowered: &LoweredChart, node: NodeId) -> String {
    let spec = &lowered.blueprint.nodes[node.index()];
    match spec.parent {
        Some(NodeId(0)) => spec.key.to_string(),
        Some(parent) => format!("{}.{}", path(lowered, parent), spec.key),
        None => String::new(),
    }
}

/// Resolves this target of a transition of `source`: a path, or the code of the finding.
fn target(source: &str, target: &str) -> String {
    let on = format!("on: {{GO: {{target: {target:?}}}}}");
    let at = |node: &str| if node == source { on.clone() } else { String::new() };
    let chart = format!(
        "statechart:
  id: lookup
  initial: a
  {root}
  states:
    a:
      initial: one
      {a}
      states:
        one:
          {one}
        two:
          id: second
          initial: deep
          states:
            deep:
              {deep}
            b: {{}}
    b:
      initial: one
      states:
        one: {{}}
        only_in_b: {{}}
",
        root = at("root"),
        a = at("a"),
        one = at("a.one"),
        deep = at("a.two.deep"),
    );
    let (lowered, findings) = lower(&chart);
    if let Some(fatal) = findings.iter().find(|finding| finding.severity == Severity::Fatal) {
        return slugs(std::slice::from_ref(fatal))[0].to_owned();
    }
    let transition = lowered.blueprint.nodes.iter().flat_map(|node| &node.transitions).next().unwrap();
    path(&lowered, transition.targets.as_ref().unwrap()[0])
}

#[test]
fn targets_are_looked_up_from_the_inside_out() {
    let table = [
        ("a.one", "two", "a.two"),
        ("a.one", "one", "a.one"),
        ("a.one", "b", "b"),
        ("a.one", "b.only_in_b", "b.only_in_b"),
        ("a.one", "two.deep", "a.two.deep"),
        ("a.one", "deep", "unknown_target"),
        ("a.one", ".deep", "unknown_target"),
        ("a.two.deep", "b", "a.two.b"),
        ("a.two.deep", "one", "a.one"),
        ("a.two.deep", "b.only_in_b", "b.only_in_b"),
        ("a", "one", "unknown_target"),
        ("a", ".one", "a.one"),
        ("a", ".two.deep", "a.two.deep"),
        ("a", "a", "a"),
        ("root", "a.one", "a.one"),
        ("root", "b", "b"),
        ("root", ".b", "b"),
        ("a", "#second", "a.two"),
        ("a", "#second.deep", "a.two.deep"),
        ("a", "#only_in_b", "b.only_in_b"),
        ("a", "#one", "ambiguous_target"),
        ("a", "#lookup.b.one", "b.one"),
        ("a", "#lookup", "unknown_target"),
        ("a", "#nobody", "unknown_target"),
        ("a", "", "unknown_target"),
    ];
    for (source, written, expected) in table {
        assert_eq!(target(source, written), expected, "{written:?} in {source}");
    }
}

/// Returns the lowered `{data}` of an emit.
fn data(yaml: &str) -> DataTemplate {
    let (lowered, findings) = lower(&format!(
        "statechart:
  id: kinds
  initial: a
  context: {{id: 1}}
  states:
    a:
      entry: {{type: emit, event: E, data: {yaml}}}
"
    ));
    assert!(findings.iter().all(|finding| finding.severity < Severity::Fatal), "{yaml}: {findings:#?}");
    match &lowered.blueprint.nodes[1].entry[0].kind {
        ActionKind::Emit { data, .. } => data.clone(),
        other => panic!("{other:?}"),
    }
}

fn shown(template: &DataTemplate) -> String {
    match template {
        DataTemplate::Literal(value) => format!("literal {}", serde_json::to_string(value).unwrap()),
        DataTemplate::Expr(expr) => format!("expr {}", expr.text()),
        DataTemplate::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        DataTemplate::Map(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}: {}", shown(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

#[test]
fn data_is_an_expression_only_if_it_starts_with_a_binding() {
    let table = [
        ("context.id", "expr context.id"),
        ("'context.id + 1'", "expr context.id + 1"),
        ("event.data.x", "expr event.data.x"),
        ("'now()'", "expr now()"),
        ("now", "literal \"now\""),
        ("now_or_never", "literal \"now_or_never\""),
        ("contextual", "literal \"contextual\""),
        ("context score", "literal \"context score\""),
        ("Low risk", "literal \"Low risk\""),
        ("24h", "literal \"24h\""),
        ("'1 + 1'", "literal \"1 + 1\""),
        ("12", "literal 12"),
        ("1.5", "literal 1.5"),
        ("true", "literal true"),
        ("~", "literal null"),
        ("{expr: '1 + 1'}", "expr 1 + 1"),
        ("{literal: context.id}", "literal \"context.id\""),
        ("{literal: {expr: x}}", "literal {\"expr\":\"x\"}"),
        ("{a: context.id, b: plain}", "{a: expr context.id, b: literal \"plain\"}"),
        ("{a: [1, two]}", "literal {\"a\":[1,\"two\"]}"),
        ("[context.id, 2]", "[expr context.id, literal 2]"),
    ];
    for (yaml, expected) in table {
        assert_eq!(shown(&data(yaml)), expected, "{yaml}");
    }
}

/// Returns the lowered `input` of an invoke, or the code of the finding.
fn input(yaml: &str) -> String {
    let (lowered, findings) = lower(&format!(
        "statechart:
  id: kinds
  initial: a
  context: {{id: 1}}
  states:
    a:
      invoke: {{src: human, input: {yaml}}}
"
    ));
    match findings.iter().find(|finding| finding.severity == Severity::Fatal) {
        Some(fatal) => slugs(std::slice::from_ref(fatal))[0].to_owned(),
        None => shown(&lowered.blueprint.nodes[1].invokes[0].input),
    }
}

#[test]
fn input_is_an_expression_when_it_is_text() {
    let table = [
        ("{a: context.id}", "{a: expr context.id}"),
        ("{a: '1 + 1'}", "{a: expr 1 + 1}"),
        ("{a: \"'low'\"}", "{a: expr 'low'}"),
        ("{a: low}", "unknown_name"),
        ("{a: 12, b: null}", "literal {\"a\":12,\"b\":null}"),
        ("{a: {literal: low}}", "literal {\"a\":\"low\"}"),
        ("context", "expr context"),
        ("{a: {b: [context.id]}}", "{a: {b: [expr context.id]}}"),
    ];
    for (yaml, expected) in table {
        assert_eq!(input(yaml), expected, "{yaml}");
    }
}

#[test]
fn the_type_of_a_state_follows_from_its_keys() {
    let (lowered, findings) = lower(
        "statechart:
  id: kinds
  initial: nothing
  states:
    nothing:
    empty: {states: {}}
    nested: {initial: x, states: {x: {}}}
    listed:
      regions:
        - {id: left, initial: x, states: {x: {type: final}}}
        - {id: right, type: atomic}
    mapped: {regions: {left: {}, right: {}}}
    in_states: {type: parallel, states: {left: {}, right: {}, back: {type: history}}}
    remembered: {initial: x, states: {x: {}, back: {variant: deep}, shallow: {type: history, target: x}}}
    end: {type: final}
",
    );
    assert!(findings.iter().all(|finding| finding.severity < Severity::Fatal), "{findings:#?}");
    let kinds: Vec<String> = (1..lowered.blueprint.nodes.len() as u32)
        .map(|node| {
            format!("{} {:?}", path(&lowered, NodeId(node)), lowered.blueprint.nodes[node as usize].kind)
        })
        .collect();
    expect_test::expect![[r#"
        nothing Atomic
        empty Atomic
        nested Compound
        nested.x Atomic
        listed Parallel
        listed.left Compound
        listed.left.x Final
        listed.right Atomic
        mapped Parallel
        mapped.left Atomic
        mapped.right Atomic
        in_states Parallel
        in_states.left Atomic
        in_states.right Atomic
        in_states.back History(Shallow)
        remembered Compound
        remembered.x Atomic
        remembered.back History(Deep)
        remembered.shallow History(Shallow)
        end Final"#]]
    .assert_eq(&kinds.join("\n"));
}

#[test]
fn transitions_keep_document_order_whatever_block_they_stand_in() {
    let (lowered, _) = lower(
        "statechart:
  id: order
  initial: a
  context: {wait: 10}
  states:
    a:
      after:
        100: b
        2s: [{target: b, guard: 'context.wait > 3'}, b]
        context.wait: b
      on:
        - {event: X, target: b}
        - {event: x.*, actions: []}
        - {event: '*'}
      always: [{target: b, guard: 'false'}]
      invoke:
        - {id: one, src: human, onError: b, onDone: b}
        - {src: human, onTimeout: b, timeout: 1m}
    b:
      initial: c
      states: {c: {type: final}}
      onDone: a
",
    );
    let triggers: Vec<String> = lowered
        .blueprint
        .nodes
        .iter()
        .flat_map(|node| node.transitions.iter().map(move |transition| (node, transition)))
        .map(|(node, transition)| match &transition.trigger {
            TransitionTrigger::Event(event) => event.to_string(),
            TransitionTrigger::Always | TransitionTrigger::Item { .. } => "always".into(),
            TransitionTrigger::After(timer) => match &node.timers[*timer] {
                Delay::Millis(millis) => format!("after {millis}"),
                Delay::Expr(_, text) => format!("after {text}"),
            },
        })
        .collect();
    expect_test::expect![[r#"
        after 100
        after 2000
        after 2000
        after context.wait
        X
        x.*
        *
        always
        error.invoke.one
        done.invoke.one
        timeout.invoke.a.1
        done.state.b"#]]
    .assert_eq(&triggers.join("\n"));
}

#[test]
fn a_name_is_the_id_or_the_unique_key_or_the_path() {
    let (lowered, _) = lower(
        "statechart:
  id: names
  initial: a
  states:
    a: {id: first, initial: x, states: {x: {}}}
    b: {initial: x, states: {x: {}, y: {}}}
",
    );
    let names: Vec<&str> = lowered.blueprint.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["names", "first", "a.x", "b", "b.x", "y"]);
}

#[test]
fn initial_may_be_a_key_a_path_an_id_a_list_or_a_transition() {
    for (initial, expected) in [
        ("p", "p"),
        ("p.l.two", "p.l.two"),
        ("'#deep'", "p.r.deep"),
        ("deep", "p.r.deep"),
        ("[p.l.two, '#deep']", "p.l.two p.r.deep"),
        ("{target: p, actions: {type: log, message: hi}}", "p + 1 action"),
    ] {
        let (lowered, findings) = lower(&format!(
            "statechart:
  id: start
  initial: {initial}
  states:
    p:
      regions:
        - {{id: l, initial: one, states: {{one: {{}}, two: {{}}}}}}
        - {{id: r, initial: one, states: {{one: {{}}, deep: {{}}}}}}
"
        ));
        assert!(
            findings.iter().all(|finding| finding.severity < Severity::Fatal),
            "{initial}: {findings:#?}"
        );
        let spec = lowered.blueprint.nodes[0].initial.as_ref().unwrap();
        let mut shown: Vec<String> = spec.targets.iter().map(|target| path(&lowered, *target)).collect();
        if !spec.actions.is_empty() {
            shown.push(format!("+ {} action", spec.actions.len()));
        }
        assert_eq!(shown.join(" "), expected, "{initial}");
    }
}

#[test]
fn foreach_items_are_locals_even_when_written_as_context() {
    let (lowered, findings) = lower(
        "statechart:
  id: each
  initial: a
  context: {list: [], last: null, total: 0}
  states:
    a:
      entry:
        - type: foreach
          array: context.list
          item: step
          actions:
            - {type: emit, event: STEP, data: {a: step.id, b: context.step.id, n: index, t: context.total}}
            - type: foreach
              array: step.parts
              item: last
              index: n
              actions:
                - {type: assign, context_updates: {total: context.total + n + index}}
",
    );
    assert_eq!(serious(&findings), Vec::<&str>::new(), "{findings:#?}");
    let ActionKind::Foreach(outer) = &lowered.blueprint.nodes[1].entry[0].kind else { panic!() };
    let ActionKind::Foreach(inner) = &outer.actions[1].kind else { panic!() };
    assert_eq!((outer.local, inner.local), (0, 2));
    assert!(outer.item_slot.is_none(), "the context does not declare `step`");
    assert!(inner.item_slot.is_some(), "the context declares `last`");
    assert_eq!(lowered.blueprint.context.len(), 3, "locals take no slots");
}

#[test]
fn named_actions_may_be_lists_and_name_others() {
    let (lowered, findings) = lower(
        "statechart:
  id: named
  initial: a
  states:
    a: {entry: both, exit: [one, {type: log, message: third}]}
  actions:
    one: {type: log, message: first}
    two: {type: raise, event: SECOND}
    both: [one, two]
",
    );
    assert_eq!(serious(&findings), Vec::<&str>::new());
    let labels = |actions: &[rawko_core::ActionBlueprint]| {
        actions.iter().map(|action| action.label.to_string()).collect::<Vec<_>>()
    };
    let node = &lowered.blueprint.nodes[1];
    assert_eq!(labels(&node.entry), ["both", "both"]);
    assert_eq!(labels(&node.exit), ["one", "log"]);
    assert!(matches!(node.entry[1].kind, ActionKind::Raise { .. }));
    assert_eq!(node.kind, NodeKind::Atomic);
}

#[test]
fn policies_narrow_down_the_tree() {
    let (lowered, _) = lower(
        "statechart:
  id: policy
  initial: plan
  tools: {blocked: Bash}
  budget: {tokens: 1000, time: 1h}
  states:
    plan:
      tools: {allowed: [Read, 'mcp__*', Write], blocked: [Write]}
      loop: {max_iterations: 10, mode: strict}
      initial: research
      states:
        research:
          tools: {allowed: [Read, mcp__docs]}
          budget: {tokens: 500, time: 2h}
          loop: {max_iterations: 20, mode: loose}
    build: {}
",
    );
    let policies: Vec<String> =
        lowered.blueprint.nodes.iter().map(|node| format!("{}: {}", node.name, node.policy)).collect();
    expect_test::expect![[r#"
        policy: {"tools":{"blocked":["Bash"]},"budget":{"tokens":1000,"time":3600000}}
        plan: {"tools":{"allowed":["Read","mcp__*","Write"],"blocked":["Bash","Write"]},"budget":{"tokens":1000,"time":3600000},"loop":{"max_iterations":10,"mode":"strict"}}
        research: {"tools":{"allowed":["Read","mcp__docs"],"blocked":["Bash","Write"]},"budget":{"tokens":500,"time":3600000},"loop":{"max_iterations":10,"mode":"loose"}}
        build: {"tools":{"blocked":["Bash"]},"budget":{"tokens":1000,"time":3600000}}"#]]
    .assert_eq(&policies.join("\n"));
}

#[test]
fn the_hash_is_of_the_content_not_of_the_text() {
    let hash = |text: &str| load(&SourceFile::new("x", text), &Registry::default()).chart.unwrap().hash();
    let yaml = hash("# a comment\nstatechart:\n  id: x\n  initial: a\n  states:\n    a: {type: final}\n");
    assert_eq!(yaml, hash("id: 'x'\ninitial: \"a\"\nstates:\n    a:\n        type: final\n"));
    let json = r#"{"statechart": {"id": "x", "initial": "a", "states": {"a": {"type": "final"}}}}"#;
    assert_eq!(yaml, hash(json));
    assert_ne!(yaml, hash(&json.replace("\"x\"", "\"y\"")));
}

#[test]
fn yaml_words_that_older_versions_took_for_booleans_are_text() {
    let (lowered, findings) = lower(
        "statechart:
  id: words
  initial: off
  states:
    off: {on: {yes: on}}
    on: {on: {no: off, y: off}}
",
    );
    assert_eq!(serious(&findings), Vec::<&str>::new(), "{findings:#?}");
    assert_eq!(path(&lowered, NodeId(2)), "on");
}

#[test]
fn what_was_only_assigned_or_read_gets_a_slot_after_the_declared_keys() {
    let (lowered, findings) = lower(
        "statechart:
  id: slots
  initial: a
  states:
    a:
      on: {GO: {target: a, guard: context.ready}}
      entry: {type: assign, context_updates: {count: '(context.count ?? 0) + 1', pair: {a: context.count, b: [1, '''two''']}}}
",
    );
    let names: Vec<&str> = lowered.blueprint.context.iter().map(|key| &*key.name).collect();
    assert_eq!(names, ["count", "pair", "ready"]);
    assert_eq!(serious(&findings), Vec::<&str>::new(), "{findings:#?}");
}
