//! The sources of loop control thresholds, and the rule that a chart's state can only narrow them.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::expect;
use rawko_arbiter::loop_control::{LoopSettings, NarrowingError};
use rawko_chart::render::{ReportStyle, report};
use rawko_chart::{SourceFile, SpannedValue};
use rawko_core::Value;
use rawko_host::{Environment, Settings, SettingsReader};
use serde_json::json;

#[test]
fn thresholds_from_the_settings() {
    let text =
        "loop: {notice_after: 2, build_time_max: 30m, polling_tools: [\"mcp__ci__*\"], depth_max: 1}\n";
    let (settings, findings) =
        Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::default());
    assert!(findings.is_empty());
    let (own, problems) = LoopSettings::of_settings(&settings);
    assert!(problems.is_empty());
    let expected = LoopSettings {
        notice_after: 2,
        build_time_max_ms: 30 * 60_000,
        polling_tools: vec!["mcp__ci__*".into()],
        depth_max: 1,
        ..LoopSettings::default()
    };
    assert_eq!(own, expected);
}

#[test]
fn thresholds_that_are_none() {
    let text = "notice_aftr: 2\nblock_after: 1\ncycle_max: 9\nbuild_time_max: soon\nprompt_tokens_max: many\ndoom_after: 2\n";
    let environment = Environment::default();
    let mut reader = SettingsReader::new(&environment);
    LoopSettings::default().take(&mut reader, &SpannedValue::read(text).unwrap());
    expect![[r#"
        error[rawko::settings::unknown_key]: `loop` has no key `notice_aftr`
         --> config.yaml:1:1
          |
        1 | notice_aftr: 2
          | ^^^^^^^^^^^
          |
          = help: did you mean `notice_after`?

        error[rawko::settings::invalid_value]: `block_after` of `loop` must be at least 2
         --> config.yaml:2:14
          |
        2 | block_after: 1
          |              ^
          |
          = help: write a larger number

        error[rawko::settings::invalid_value]: `cycle_max` of `loop` must be at most 5
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
          = help: `build_time_max` of `loop` is a duration

        error[rawko::settings::wrong_type]: `prompt_tokens_max` of `loop` must be a whole number
         --> config.yaml:5:20
          |
        5 | prompt_tokens_max: many
          |                    ^^^^ found text

        error[rawko::settings::invalid_value]: an agent is warned after 3 rounds, blocked after 4 and stopped after 2
         --> config.yaml:1:1
          |
        1 | notice_aftr: 2
          | ^^^^^^^^^^^^^^
          |
          = help: `notice_after` ≤ `block_after` ≤ `doom_after`

    "#]].assert_eq(&report(
        &reader.findings,
        &SourceFile::new("config.yaml", text),
        ReportStyle::default(),
    ));
}

#[test]
fn a_state_only_narrows() {
    let own = LoopSettings { polling_tools: vec!["a".into(), "b".into()], ..LoopSettings::default() };
    let state: Value = json!({
        "challenges_max": 1, "completions_max": 10_000, "build_time_max": "5m", "polling_tools": ["b", "c"],
        "cycle_max": 1, "notice_after": 0
    })
    .into();
    let narrow = own.narrowed(&state).unwrap();
    let expected = LoopSettings {
        challenges_max: 1,
        build_time_max_ms: 5 * 60_000,
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
