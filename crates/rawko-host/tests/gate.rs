//! The gate: calls that no rule allows are refused, and the reason names the setting to change.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use rawko_chart::SourceFile;
use rawko_core::Value;
use rawko_host::{Environment, Gate, GateDecision, GateQuestion, Settings};

fn decide(gate: &Gate, name: &str, calls_so_far: u64, policy: &Value) -> GateDecision {
    gate.decide(&GateQuestion {
        name,
        instance: "order-1",
        chart: "order",
        calls_so_far,
        agent: None,
        policy,
        now_ms: 0,
    })
}

/// Prints one line per question: the name, the number of earlier calls, the decision and its reason.
fn check(gate: &Gate, policy: &str, questions: &[(&str, u64)], expected: Expect) {
    let policy = Value::from_json(serde_json::from_str(policy).unwrap());
    let mut told = String::new();
    for (name, calls) in questions {
        let (word, rule) = match decide(gate, name, *calls, &policy) {
            GateDecision::Allowed { rule } => ("allowed", rule),
            GateDecision::Refused { rule, limit: false } => ("refused", rule),
            GateDecision::Refused { rule, limit: true } => ("limit", rule),
        };
        writeln!(told, "{name} after {calls}: {word}: {rule}").unwrap();
    }
    expected.assert_eq(&told);
}

#[test]
fn nothing_is_allowed_that_no_rule_allows_and_deny_wins() {
    let gate = Gate::new(&["charge_card", "book_*", "agent:*"], &["book_secret"], Some(3)).unwrap();
    let questions = [
        ("charge_card", 0),
        ("charge_card", 2),
        ("charge_card", 3),
        ("book_carrier", 0),
        ("book_a/b", 0),
        ("book_secret", 0),
        ("book_secret", 9),
        ("agent:developer", 0),
        ("transfer_money", 0),
        ("Charge_card", 0),
        ("charge_card2", 0),
    ];
    check(
        &gate,
        "null",
        &questions,
        expect![[r#"
        charge_card after 0: allowed: `charge_card` is allowed by `charge_card` in `governance.allow` of .rawko/config.yaml
        charge_card after 2: allowed: `charge_card` is allowed by `charge_card` in `governance.allow` of .rawko/config.yaml
        charge_card after 3: limit: `order-1` has made 3 calls, all that `governance.budget` of .rawko/config.yaml allows
        book_carrier after 0: allowed: `book_carrier` is allowed by `book_*` in `governance.allow` of .rawko/config.yaml
        book_a/b after 0: allowed: `book_a/b` is allowed by `book_*` in `governance.allow` of .rawko/config.yaml
        book_secret after 0: refused: `book_secret` is refused by `book_secret` in `governance.deny` of .rawko/config.yaml
        book_secret after 9: refused: `book_secret` is refused by `book_secret` in `governance.deny` of .rawko/config.yaml
        agent:developer after 0: allowed: `agent:developer` is allowed by `agent:*` in `governance.allow` of .rawko/config.yaml
        transfer_money after 0: refused: `transfer_money` is not in `governance.allow` of .rawko/config.yaml
        Charge_card after 0: refused: `Charge_card` is not in `governance.allow` of .rawko/config.yaml
        charge_card2 after 0: refused: `charge_card2` is not in `governance.allow` of .rawko/config.yaml
    "#]],
    );
    check(
        &Gate::new::<&str>(&[], &[], None).unwrap(),
        "null",
        &[("charge_card", 0)],
        expect![[r#"
        charge_card after 0: refused: `charge_card` is not in `governance.allow` of .rawko/config.yaml
    "#]],
    );
}

#[test]
fn an_open_gate_allows_everything_that_the_state_allows() {
    let policy = r#"{"tools": {"blocked": ["rm"]}, "budget": {"tool_calls": 2}}"#;
    check(
        &Gate::open(),
        policy,
        &[("anything", 1), ("rm", 0)],
        expect![[r#"
            anything after 1: allowed: the gate is open
            rm after 0: refused: `rm` is blocked by `rm` in `tools` of the state
        "#]],
    );
}

#[test]
fn a_state_narrows() {
    let gate = Gate::new(&["*"], &[], None).unwrap();
    let policy = r#"{"tools": {"allowed": ["read_*", "[odd"], "blocked": ["read_secrets"]}, "budget": {"tool_calls": 5}}"#;
    let questions =
        [("read_file", 4), ("read_secrets", 0), ("write_file", 0), ("[odd", 0), ("agent:developer", 7)];
    check(
        &gate,
        policy,
        &questions,
        expect![[r#"
            read_file after 4: allowed: `read_file` is allowed by `*` in `governance.allow` of .rawko/config.yaml
            read_secrets after 0: refused: `read_secrets` is blocked by `read_secrets` in `tools` of the state
            write_file after 0: refused: `write_file` is not allowed by `tools` of the state
            [odd after 0: allowed: `[odd` is allowed by `*` in `governance.allow` of .rawko/config.yaml
            agent:developer after 7: allowed: `agent:developer` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        "#]],
    );
    check(
        &gate,
        r#"{"tools": {"allowed": []}}"#,
        &[("read_file", 0)],
        expect![[r#"
            read_file after 0: refused: `read_file` is not allowed by `tools` of the state
        "#]],
    );
}

#[test]
fn nothing_left_of_a_budget_refuses_what_would_spend_of_it() {
    let gate = Gate::new(&["*"], &[], None).unwrap();
    let questions =
        [("read_file", 0), ("tool:Read", 0), ("model:complete", 0), ("agent:developer", 0), ("work:open", 0)];
    check(
        &gate,
        r#"{"budget": {"tool_calls": 0, "tokens": 9}}"#,
        &questions,
        expect![[r#"
        read_file after 0: limit: `order-1` has used up `budget.tool_calls`, set around the chart `order`
        tool:Read after 0: limit: `order-1` has used up `budget.tool_calls`, set around the chart `order`
        model:complete after 0: allowed: `model:complete` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        agent:developer after 0: allowed: `agent:developer` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        work:open after 0: allowed: `work:open` is allowed by `*` in `governance.allow` of .rawko/config.yaml
    "#]],
    );
    check(
        &gate,
        r#"{"budget": {"tool_calls": 1, "cost_usd": 0.0}}"#,
        &questions,
        expect![[r#"
        read_file after 0: allowed: `read_file` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        tool:Read after 0: allowed: `tool:Read` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        model:complete after 0: limit: `order-1` has used up `budget.cost_usd`, set around the chart `order`
        agent:developer after 0: limit: `order-1` has used up `budget.cost_usd`, set around the chart `order`
        work:open after 0: allowed: `work:open` is allowed by `*` in `governance.allow` of .rawko/config.yaml
    "#]],
    );
}

#[test]
fn what_an_agent_needs_to_be_at_work_is_allowed_with_the_agent() {
    let gate = Gate::new(&["agent:dev*"], &["tool:Bash"], None).unwrap();
    let ask = |name, agent| {
        let policy = &Value::Null;
        gate.decide(&GateQuestion {
            name,
            instance: "a",
            chart: "agent",
            calls_so_far: 0,
            agent,
            policy,
            now_ms: 0,
        })
    };
    let mut told = String::new();
    for agent in [Some("developer"), Some("stranger"), None] {
        for name in ["model:complete", "tool:Read", "tool:Bash", "charge_card"] {
            writeln!(told, "{} {name}: {:?}", agent.unwrap_or("-"), ask(name, agent)).unwrap();
        }
    }
    expect![[r#"
        developer model:complete: Allowed { rule: "`model:complete` is part of the agent; `agent:developer` is allowed by `agent:dev*` in `governance.allow` of .rawko/config.yaml" }
        developer tool:Read: Allowed { rule: "`tool:Read` is part of the agent; `agent:developer` is allowed by `agent:dev*` in `governance.allow` of .rawko/config.yaml" }
        developer tool:Bash: Refused { rule: "`tool:Bash` is refused by `tool:Bash` in `governance.deny` of .rawko/config.yaml", limit: false }
        developer charge_card: Refused { rule: "`charge_card` is not in `governance.allow` of .rawko/config.yaml", limit: false }
        stranger model:complete: Refused { rule: "`agent:stranger` is not in `governance.allow` of .rawko/config.yaml", limit: false }
        stranger tool:Read: Refused { rule: "`agent:stranger` is not in `governance.allow` of .rawko/config.yaml", limit: false }
        stranger tool:Bash: Refused { rule: "`tool:Bash` is refused by `tool:Bash` in `governance.deny` of .rawko/config.yaml", limit: false }
        stranger charge_card: Refused { rule: "`charge_card` is not in `governance.allow` of .rawko/config.yaml", limit: false }
        - model:complete: Refused { rule: "`model:complete` is not in `governance.allow` of .rawko/config.yaml", limit: false }
        - tool:Read: Refused { rule: "`tool:Read` is not in `governance.allow` of .rawko/config.yaml", limit: false }
        - tool:Bash: Refused { rule: "`tool:Bash` is refused by `tool:Bash` in `governance.deny` of .rawko/config.yaml", limit: false }
        - charge_card: Refused { rule: "`charge_card` is not in `governance.allow` of .rawko/config.yaml", limit: false }
    "#]].assert_eq(&told);
}

#[test]
fn a_pattern_that_cannot_be_read_is_an_error() {
    expect!["`book_[x` is not a pattern: unclosed character class; missing ']'"]
        .assert_eq(&Gate::new(&["book_[x"], &[], None).unwrap_err().to_string());
}

#[test]
fn settings_make_the_gate() {
    let text = "governance: {allow: ['book_*'], deny: [book_secret], budget: {calls: 1}}";
    let (settings, _) = Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::default());
    let questions = [("book_carrier", 0), ("book_carrier", 1), ("book_secret", 0), ("transfer_money", 0)];
    check(
        &settings.gate(),
        "null",
        &questions,
        expect![[r#"
            book_carrier after 0: allowed: `book_carrier` is allowed by `book_*` in `governance.allow` of .rawko/config.yaml
            book_carrier after 1: limit: `order-1` has made 1 call, all that `governance.budget` of .rawko/config.yaml allows
            book_secret after 0: refused: `book_secret` is refused by `book_secret` in `governance.deny` of .rawko/config.yaml
            transfer_money after 0: refused: `transfer_money` is not in `governance.allow` of .rawko/config.yaml
        "#]],
    );

    // An unreadable deny pattern might match any name.
    let text = "governance: {allow: ['*'], deny: ['book_[']}";
    let (settings, _) = Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::default());
    check(
        &settings.gate(),
        "null",
        &[("charge_card", 0)],
        expect![[r#"
        charge_card after 0: refused: `charge_card` is refused by `*` in `governance.deny` of .rawko/config.yaml
    "#]],
    );
}

#[test]
fn whoever_may_put_agents_to_work_may_choose_among_them() {
    let questions = [("work:select", 0), ("work:evaluate", 0), ("work:remember", 0), ("work:open", 0)];
    check(
        &Gate::new(&["agent:dev*"], &["work:remember"], None).unwrap(),
        "null",
        &questions,
        expect![[r#"
            work:select after 0: allowed: `work:select` selects or judges the agents, which `agent:dev*` in `governance.allow` of .rawko/config.yaml allows
            work:evaluate after 0: allowed: `work:evaluate` selects or judges the agents, which `agent:dev*` in `governance.allow` of .rawko/config.yaml allows
            work:remember after 0: refused: `work:remember` is refused by `work:remember` in `governance.deny` of .rawko/config.yaml
            work:open after 0: refused: `work:open` is not in `governance.allow` of .rawko/config.yaml
        "#]],
    );
    check(
        &Gate::new(&["charge_card"], &[], None).unwrap(),
        "null",
        &questions[..1],
        expect![[r#"
        work:select after 0: refused: `work:select` is not in `governance.allow` of .rawko/config.yaml
    "#]],
    );
}
