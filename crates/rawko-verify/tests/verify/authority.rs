//! What loops spend, what states that only read write, and what a child asks: charts that once had a false proof.

use crate::support::{replay, report};

/// Returns the verdict of a built-in property, with its reason; a violation replays in the simulation.
fn verdict(charts: &[&str], name: &str) -> String {
    let report = report(charts);
    let found = report.property(name).unwrap();
    let reason = found.trace.as_ref().map_or(String::new(), |trace| {
        replay(charts, trace);
        format!(": {}", trace.reason)
    });
    format!("{}{reason}", found.verdict.as_str())
}

const HOLDS: &str = "holds";
const AGENT: &str = "violated: an agent or a model is started again and again without a budget";
const TOOL: &str = "violated: a tool is started again and again without a budget";

const LOOP: &str = "
id: c
initial: w
states:
  w: {BUDGET invoke: {id: k, src: 'agent:x', onDone: again, onError: again}}
  again: {after: {1s: w}}
";

/// A loop within a state.
const INNER: &str = "
id: c
initial: out
states:
  out:
    BUDGET
    initial: w
    states:
      w: {invoke: {id: k, src: 'agent:x', onDone: again, onError: again}}
      again: {after: {1s: w}}
";

fn with_budget(chart: &str, budget: &str) -> String {
    chart.replace("BUDGET", budget)
}

#[test]
fn a_budget_counts_only_if_the_loop_stays_in_its_state() {
    let name = "bounded_by_budget";
    let table = [
        (with_budget(LOOP, ""), AGENT),
        // Entering `w` again fills its budget again.
        (with_budget(LOOP, "budget: {tokens: 1000},"), AGENT),
        (with_budget(LOOP, "").replace("initial: w", "initial: w\nbudget: {tokens: 1000}"), HOLDS),
        (with_budget(INNER, "budget: {tokens: 1000}"), HOLDS),
        (with_budget(INNER, "budget: {cost_usd: 1.5}"), HOLDS),
        (with_budget(INNER, "budget: {time: 1h}"), HOLDS),
        // An agent may work without a tool, and a tool without tokens.
        (with_budget(INNER, "budget: {tool_calls: 9}"), AGENT),
        (with_budget(INNER, "budget: {tokens: 9}").replace("agent:x", "tool:Bash"), TOOL),
        (with_budget(INNER, "budget: {tool_calls: 9}").replace("agent:x", "tool:Bash"), HOLDS),
        // Only one of the two ways back leaves the state.
        (with_budget(INNER, "budget: {tokens: 9}").replace("1s: w", "1s: '#out'"), HOLDS),
    ];
    for (chart, expected) in table {
        assert_eq!(verdict(&[&chart], name), expected, "{chart}");
    }
    let leaving = with_budget(INNER, "budget: {tokens: 9}")
        .replace("after: {1s: w}", "after: {1s: '#rest'}")
        .replace("  out:", "  rest: {after: {1s: out}}\n  out:");
    assert_eq!(verdict(&[&leaving], name), AGENT, "{leaving}");
}

const PARENT: &str = "
id: p
initial: w
BUDGET
states:
  w: {invoke: {id: k, src: 'statechart:kid', onDone: again, onError: again}}
  again: {after: {1s: w}}
";

const KID: &str = "
id: kid
initial: w
states:
  w: {budget: {tokens: 9}, invoke: {id: a, src: 'agent:x', onDone: done, onError: done}}
  done: {type: final}
";

/// A child that works in a loop of its own, and ends only on an event.
const LOOPING: &str = "
id: kid
initial: w
states:
  w: {invoke: {id: a, src: 'agent:x', onDone: again, onError: again}, on: {STOP: done}}
  again: {after: {1s: w}}
  done: {type: final}
";

#[test]
fn what_a_child_spends_counts_for_its_parent() {
    let name = "bounded_by_budget";
    let (open, bounded) = (with_budget(PARENT, ""), with_budget(PARENT, "budget: {tokens: 9}"));
    let once = open.replace("onDone: again, onError: again", "onDone: done, onError: done");
    let once = once.replace("again: {after: {1s: w}}", "done: {type: final}");
    // A person decides in each round.
    let asking = KID.replace("onDone: done, onError: done", "onDone: ask, onError: ask").replace(
        "  done:",
        "  ask: {invoke: {id: q, src: human, input: {}, onDone: done, onError: done}}\n  done:",
    );
    let endless = "violated: the child of `k` starts an agent or a model again and again without a budget";
    let table: [(&[&str], &str); 8] = [
        (&[&open, KID], AGENT),
        (&[&bounded, KID], HOLDS),
        (&[&once, KID], HOLDS),
        (&[&open, &asking], HOLDS),
        (&[&once, LOOPING], endless),
        (&[&bounded, LOOPING], HOLDS),
        // A chart that is not known may spend.
        (&[&open], "unknown"),
        (&[&once], HOLDS),
    ];
    for (charts, expected) in table {
        assert_eq!(verdict(charts, name), expected, "{charts:?}");
    }
}

const READING: &str = "
id: c
initial: r
states:
  r: {STATE invoke: {id: k, src: 'SRC', onDone: done, onError: done}}
  done: {type: final}
";

#[test]
fn a_state_that_only_reads_lets_nothing_write() {
    let writer = "{id: kid, initial: w, states: {w: {invoke: {id: a, src: 'tool:Write', onDone: done, onError: done}}, done: {type: final}}}";
    let reader = writer.replace("tool:Write", "tool:Read");
    let table = [
        ("tags: [read_only],", "agent:x", "violated: `r` is read-only and lets `agent:x` use `Write`"),
        ("tags: [read_only],", "model:x", HOLDS),
        (
            "tags: [read_only], tools: {allowed: [Read, 'Wri*']},",
            "agent:x",
            "violated: `r` is read-only and lets `agent:x` use `Wri*`",
        ),
        ("tags: [read_only], tools: {allowed: [Read, 'Wri*'], blocked: [Write]},", "agent:x", HOLDS),
        ("tags: [read_only], tools: {allowed: [Read, 'mcp__*']},", "agent:x", "unknown"),
        ("tags: [read_only], tools: {allowed: [Read, 'mcp__*'], blocked: ['mcp__*']},", "agent:x", HOLDS),
        ("tags: [read_only], tools: {allowed: [Read, Grep, Bash]},", "agent:x", HOLDS),
        ("tags: [read_only], tools: {blocked: [Write, Edit]},", "agent:x", HOLDS),
        (
            "tags: [read_only], tools: {blocked: [Write]},",
            "agent:x",
            "violated: `r` is read-only and lets `agent:x` use `Edit`",
        ),
        // Nothing in the chart decides what a command does.
        ("tags: [read_only],", "tool:Bash", "unknown"),
        ("tags: [read_only], tools: {allowed: [Bash]},", "tool:Bash", HOLDS),
        ("tags: [read_only],", "tool:Grep", HOLDS),
        (
            "tags: [read_only],",
            "statechart:kid",
            "violated: `r` is read-only and starts `statechart:kid`, which calls `Write`",
        ),
        (
            "tools: {allowed: [Read]},",
            "statechart:kid",
            "violated: `r` is read-only and starts `statechart:kid`, which calls `Write`",
        ),
        ("", "statechart:kid", HOLDS),
        ("tags: [read_only],", "statechart:other", "unknown"),
    ];
    for (state, src, expected) in table {
        let chart = READING.replace("STATE", state).replace("SRC", src);
        assert_eq!(verdict(&[&chart, writer], "read_only_phases"), expected, "{state} {src}");
    }
    let chart = READING.replace("STATE", "tags: [read_only],").replace("SRC", "statechart:kid");
    assert_eq!(verdict(&[&chart, &reader], "read_only_phases"), HOLDS);
}

#[test]
fn an_answer_that_only_a_child_sees_is_not_known_to_be_respected() {
    let parent = "
id: p
initial: q
states:
  q: {invoke: {id: k, src: 'statechart:kid', onDone: deploy, onError: stop}}
  deploy: {invoke: {id: deploy, src: 'tool:Write', onDone: stop, onError: stop}}
  stop: {type: final}
";
    let kid = "
id: kid
initial: q
states:
  q: {invoke: {id: ok, src: human, input: {title: \"'ok?'\"}, onDone: done, onError: done}}
  done: {type: final}
";
    let table: [(&[&str], &str); 3] = [
        (&[parent, kid], "unknown"),
        (&[&parent.replace("onDone: deploy,", "onDone: stop,"), kid], HOLDS),
        (&[parent, KID], HOLDS),
    ];
    for (charts, expected) in table {
        assert_eq!(verdict(charts, "approval_respected"), expected, "{charts:?}");
    }
    let bound = report(&[parent, kid]).property("approval_respected").unwrap().bound.clone();
    assert!(bound.contains("`deploy` starts after `k`, whose child asks a person (`ok`)"), "{bound}");
}
