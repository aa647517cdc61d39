//! What comes after a completion, budgets, and where the thresholds come from.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::expect;
use rawko_agents::loop_control::{
    Budget, ExitGuard, Limit, LoopSettings, NarrowingError, Next, Situation, Spent, decide_next,
};
use rawko_agents::{StopReason, Usage};
use rawko_chart::render::{Style, report};
use rawko_chart::{Document, Source};
use rawko_core::Value;
use rawko_host::{Environment, Settings, SettingsReader};
use serde_json::json;

fn missing() -> ExitGuard {
    ExitGuard::Missing { text: "there is no plan yet".into() }
}

fn after(stop_reason: StopReason, pending_tools: u64, exit_guard: &ExitGuard) -> Situation<'_> {
    Situation {
        stop_reason,
        pending_tools,
        exit_guard,
        challenges: 0,
        continuations: 0,
        filtered: 0,
        completions: 1,
        budget_left: Budget::default(),
    }
}

/// In one word.
fn word(next: &Next) -> String {
    match next {
        Next::CallTools { at_most } => format!("call {at_most}"),
        Next::Done => "done".into(),
        Next::Challenge { .. } => "challenge".into(),
        Next::ContinueAfterLength { .. } => "continue".into(),
        Next::Filtered { .. } => "filtered".into(),
        Next::Limit { which } => format!("limit {}", which.as_str()),
    }
}

#[test]
fn what_comes_next() {
    use StopReason::{ContentFilter, Length, Other, Stop, ToolCalls};
    let (met, open) = (ExitGuard::Met, missing());
    let used_up = Budget { tokens: Some(0), ..Budget::default() };
    let two_calls = Budget { tool_calls: Some(2), ..Budget::default() };
    let no_calls = Budget { tool_calls: Some(0), ..Budget::default() };
    let cases = [
        ("stop ends it", after(Stop, 0, &met), "done"),
        (
            "stop ends it, also at the limit",
            Situation { completions: 999, budget_left: used_up, ..after(Stop, 0, &met) },
            "done",
        ),
        ("stop without the goal is challenged", after(Stop, 0, &open), "challenge"),
        (
            "a bounded number of times",
            Situation { challenges: 3, ..after(Stop, 0, &open) },
            "limit challenges",
        ),
        ("stop with tools pending is not meant", after(Stop, 2, &met), "call 2"),
        ("tools are called", after(ToolCalls, 3, &open), "call 3"),
        (
            "limits come before tools",
            Situation { completions: 200, ..after(ToolCalls, 3, &open) },
            "limit completions",
        ),
        (
            "budgets come before tools",
            Situation { budget_left: used_up, ..after(ToolCalls, 3, &met) },
            "limit tokens",
        ),
        (
            "as many tools as are left",
            Situation { budget_left: two_calls, ..after(ToolCalls, 3, &met) },
            "call 2",
        ),
        (
            "no tools are left",
            Situation { budget_left: no_calls, ..after(ToolCalls, 1, &met) },
            "limit tool_calls",
        ),
        (
            "no tools are left and none are asked for",
            Situation { budget_left: no_calls, ..after(Stop, 0, &open) },
            "challenge",
        ),
        ("tool calls announced but not made", after(ToolCalls, 0, &met), "challenge"),
        ("cut off", after(Length, 0, &open), "continue"),
        ("cut off when the goal is reached", after(Length, 0, &met), "continue"),
        (
            "cut off too often",
            Situation { continuations: 3, ..after(Length, 0, &open) },
            "limit continuations",
        ),
        ("cut off behind a whole tool call", after(Length, 1, &open), "call 1"),
        ("filtered", after(ContentFilter, 0, &open), "filtered"),
        ("filtered in the middle of a tool call", after(ContentFilter, 1, &open), "filtered"),
        (
            "filtered again and again",
            Situation { filtered: 2, ..after(ContentFilter, 0, &open) },
            "limit filtered",
        ),
        ("a reason nobody knows", after(Other, 0, &met), "challenge"),
        ("a reason nobody knows, with tools", after(Other, 1, &met), "call 1"),
        (
            "no money",
            Situation {
                budget_left: Budget { cost_usd: Some(0.0), ..Budget::default() },
                ..after(Length, 0, &met)
            },
            "limit cost",
        ),
        (
            "no time",
            Situation {
                budget_left: Budget { time_ms: Some(0), ..Budget::default() },
                ..after(Stop, 0, &open)
            },
            "limit time",
        ),
    ];
    for (name, situation, expected) in cases {
        assert_eq!(word(&decide_next(situation, &LoopSettings::default())), expected, "{name}");
    }
}

#[test]
fn a_challenge_says_what_is_missing() {
    let open = missing();
    let Next::Challenge { text } = decide_next(after(StopReason::Stop, 0, &open), &LoopSettings::default())
    else {
        panic!()
    };
    assert_eq!(text, "You stopped, but there is no plan yet. Go on, or say what keeps you from it.");
}

/// A model that does the same for ever always comes to an end.
#[test]
fn every_loop_ends() {
    let settings = LoopSettings::default();
    let open = missing();
    for (stop_reason, pending) in [
        (StopReason::ToolCalls, 1),
        (StopReason::ToolCalls, 0),
        (StopReason::Stop, 0),
        (StopReason::Length, 0),
        (StopReason::ContentFilter, 0),
        (StopReason::Other, 0),
    ] {
        let mut situation = after(stop_reason, pending, &open);
        let mut rounds = 0;
        loop {
            match decide_next(situation, &settings) {
                Next::Done | Next::Limit { .. } => break,
                Next::Challenge { .. } => situation.challenges += 1,
                Next::ContinueAfterLength { .. } => situation.continuations += 1,
                Next::Filtered { .. } => situation.filtered += 1,
                Next::CallTools { .. } => {}
            }
            situation.completions += 1;
            rounds += 1;
            assert!(rounds <= settings.completions_max, "{stop_reason:?}");
        }
    }
}

#[test]
fn budgets_add_up() {
    let project = Budget { tokens: Some(1000), cost_usd: Some(2.0), ..Budget::default() };
    let state = Budget { tokens: Some(5000), cost_usd: Some(0.5), tool_calls: Some(10), ..Budget::default() };
    let both = project.narrowed(state);
    assert_eq!(both, Budget { tokens: Some(1000), cost_usd: Some(0.5), time_ms: None, tool_calls: Some(10) });
    assert_eq!(both, state.narrowed(project));

    let usage = Usage { input_tokens: 300, output_tokens: 100, cost_usd: Some(0.1), ..Usage::default() };
    let own = Spent::of_usage(&usage);
    let child = Spent { tool_calls: 4, ..Spent::of_usage(&Usage { cost_usd: None, ..usage }) };
    let all = own.plus(&child).plus(&Spent { time_ms: 5, ..Spent::default() });
    assert_eq!(all, Spent { tokens: 800, cost_usd: 0.1, time_ms: 5, tool_calls: 4, unpriced_tokens: 400 });
    assert_eq!(both.exceeded(&all), None);
    assert_eq!(
        both.remaining(&all),
        Budget { tokens: Some(200), cost_usd: Some(0.4), time_ms: None, tool_calls: Some(6) }
    );
    assert_eq!(both.exceeded(&all.plus(&own)), Some(Limit::Tokens));
    assert_eq!(both.remaining(&all.plus(&own).plus(&own)).tokens, Some(0), "never less than nothing");
    assert_eq!(Budget::default().exceeded(&all), None);
}

#[test]
fn thresholds_from_the_settings() {
    let text = "loop: {notice_after: 2, build_time_max: 30m, polling_tools: [\"mcp__ci__*\"], cost_max_usd: 1.5, tool_calls_max: 0}\n";
    let (settings, findings) =
        Settings::of_source(&Source::new("config.yaml", text), &Environment::default());
    assert!(findings.is_empty());
    let (own, problems) = LoopSettings::of_settings(&settings);
    assert!(problems.is_empty());
    let expected = LoopSettings {
        notice_after: 2,
        build_time_max_ms: 30 * 60_000,
        polling_tools: vec!["mcp__ci__*".into()],
        budget: Budget { cost_usd: Some(1.5), tool_calls: Some(0), ..Budget::default() },
        ..LoopSettings::default()
    };
    assert_eq!(own, expected);
}

#[test]
fn thresholds_that_are_none() {
    let text = "notice_aftr: 2\nblock_after: 1\ncycle_max: 9\nbuild_time_max: soon\ncost_max_usd: -1\ntokens_max: many\ndoom_after: 2\n";
    let environment = Environment::default();
    let mut reader = SettingsReader::new(&environment);
    LoopSettings::default().take(&mut reader, &Document::read(text).unwrap());
    expect![[r#"
        error[rawko::settings::unknown_key]: `loop` has no key `notice_aftr`
         --> config.yaml:1:1
          |
        1 | notice_aftr: 2
          | ^^^^^^^^^^^
          |
          = help: did you mean `notice_after`?

        error[rawko::settings::invalid_value]: `block_after` of `loop` is at least 2
         --> config.yaml:2:14
          |
        2 | block_after: 1
          |              ^
          |
          = help: write a larger number

        error[rawko::settings::invalid_value]: `cycle_max` of `loop` is at most 5
         --> config.yaml:3:12
          |
        3 | cycle_max: 9
          |            ^
          |
          = help: write a smaller number

        error[rawko::settings::invalid_value]: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
         --> config.yaml:4:17
          |
        4 | build_time_max: soon
          |                 ^^^^
          |
          = help: `build_time_max` of `loop` is a length of time

        error[rawko::settings::invalid_value]: `cost_max_usd` of `loop` is at least 0
         --> config.yaml:5:15
          |
        5 | cost_max_usd: -1
          |               ^^
          |
          = help: write an amount of US dollars

        error[rawko::settings::wrong_type]: `tokens_max` of `loop` must be a whole number
         --> config.yaml:6:13
          |
        6 | tokens_max: many
          |             ^^^^ found text

        error[rawko::settings::invalid_value]: an agent is told after 3 rounds, blocked after 4 and stopped after 2
         --> config.yaml:1:1
          |
        1 | notice_aftr: 2
          | ^^^^^^^^^^^^^^
          |
          = help: `notice_after` ≤ `block_after` ≤ `doom_after`

    "#]].assert_eq(&report(
        &reader.findings,
        &Source::new("config.yaml", text),
        Style::default(),
    ));
}

#[test]
fn a_state_only_narrows() {
    let own = LoopSettings { polling_tools: vec!["a".into(), "b".into()], ..LoopSettings::default() };
    let state: Value = json!({
        "challenges_max": 1, "completions_max": 10_000, "build_time_max": "5m", "tokens_max": 7, "polling_tools": ["b", "c"],
        "cycle_max": 1, "notice_after": 0
    })
    .into();
    let narrow = own.narrowed(&state).unwrap();
    let expected = LoopSettings {
        challenges_max: 1,
        build_time_max_ms: 5 * 60_000,
        budget: Budget { tokens: Some(7), ..Budget::default() },
        polling_tools: vec!["b".into()],
        notice_after: 2,
        ..own.clone()
    };
    assert_eq!(narrow, expected);
    assert_eq!(own.narrowed(&Value::Null).unwrap(), own);
    assert_eq!(
        own.narrowed(&json!({"chalenges_max": 1}).into()),
        Err(NarrowingError::UnknownKey("chalenges_max".into()))
    );
    assert!(own.narrowed(&json!({"challenges_max": "few"}).into()).is_err());
    assert!(own.narrowed(&json!([1]).into()).is_err());
}
