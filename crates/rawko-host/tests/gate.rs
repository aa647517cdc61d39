//! The gate: what is not allowed is refused, and the rule says where to change it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use rawko_chart::Source;
use rawko_core::Value;
use rawko_host::{Decision, Environment, Gate, Question, Settings};

fn decide(gate: &Gate, name: &str, calls_so_far: u64, policy: &Value) -> Decision {
    gate.decide(&Question { name, instance: "order-1", chart: "order", calls_so_far, policy })
}

/// One line a question: the name, the calls made before, what was decided and why.
fn check(gate: &Gate, policy: &str, questions: &[(&str, u64)], expected: Expect) {
    let policy = Value::from_json(serde_json::from_str(policy).unwrap());
    let mut told = String::new();
    for (name, calls) in questions {
        let (word, rule) = match decide(gate, name, *calls, &policy) {
            Decision::Allowed { rule } => ("allowed", rule),
            Decision::Refused { rule, limit: false } => ("refused", rule),
            Decision::Refused { rule, limit: true } => ("limit", rule),
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
        &[("anything", 1), ("rm", 0), ("anything", 2)],
        expect![[r#"
        anything after 1: allowed: the gate is open
        rm after 0: refused: `rm` is blocked by `rm` in `tools.blocked` of the state, in the chart `order`
        anything after 2: limit: `order-1` has made 2 calls, all that `budget.tool_calls` in the chart `order` allows
    "#]],
    );
}

#[test]
fn a_state_narrows() {
    let gate = Gate::new(&["*"], &[], None).unwrap();
    let policy = r#"{"tools": {"allowed": ["read_*", "[odd"], "blocked": ["read_secrets"]}, "budget": {"tool_calls": 5}}"#;
    let questions = [
        ("read_file", 4),
        ("read_file", 5),
        ("read_secrets", 0),
        ("write_file", 0),
        ("[odd", 0),
        ("agent:developer", 7),
    ];
    check(
        &gate,
        policy,
        &questions,
        expect![[r#"
        read_file after 4: allowed: `read_file` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        read_file after 5: limit: `order-1` has made 5 calls, all that `budget.tool_calls` in the chart `order` allows
        read_secrets after 0: refused: `read_secrets` is blocked by `read_secrets` in `tools.blocked` of the state, in the chart `order`
        write_file after 0: refused: `write_file` is not in `tools.allowed` of the state, in the chart `order`
        [odd after 0: allowed: `[odd` is allowed by `*` in `governance.allow` of .rawko/config.yaml
        agent:developer after 7: allowed: `agent:developer` is allowed by `*` in `governance.allow` of .rawko/config.yaml
    "#]],
    );
    check(
        &gate,
        r#"{"tools": {"allowed": []}}"#,
        &[("read_file", 0)],
        expect![[r#"
        read_file after 0: refused: `read_file` is not in `tools.allowed` of the state, in the chart `order`
    "#]],
    );
}

#[test]
fn a_pattern_that_cannot_be_read_is_an_error() {
    expect!["`book_[x` is not a pattern: unclosed character class; missing ']'"]
        .assert_eq(&Gate::new(&["book_[x"], &[], None).unwrap_err().to_string());
}

#[test]
fn settings_make_the_gate() {
    let text = "governance: {allow: ['book_*'], deny: [book_secret], budget: {calls: 1}}";
    let (settings, _) = Settings::of_source(&Source::new("config.yaml", text), &Environment::default());
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

    // A deny that cannot be read might have meant anything.
    let text = "governance: {allow: ['*'], deny: ['book_[']}";
    let (settings, _) = Settings::of_source(&Source::new("config.yaml", text), &Environment::default());
    check(
        &settings.gate(),
        "null",
        &[("charge_card", 0)],
        expect![[r#"
        charge_card after 0: refused: `charge_card` is refused by `*` in `governance.deny` of .rawko/config.yaml
    "#]],
    );
}
