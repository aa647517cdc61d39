//! The `turns` section: its options and its findings.

use expect_test::expect;
use rawko_chart::SourceFile;
use rawko_chart::render::{ReportStyle, report};
use rawko_host::{Environment, Settings};
use rawko_server::TurnSettings;

fn read(text: &str) -> (TurnSettings, String) {
    let source = SourceFile::new(".rawko/config.yaml", text);
    let (settings, _) = Settings::of_source(&source, &Environment::of_process());
    let (turns, problems) = TurnSettings::read(&settings, std::path::Path::new("."));
    let words = problems.iter().map(|(_, findings)| report(findings, &source, ReportStyle { color: false }));
    (turns, words.collect())
}

#[test]
fn options_are_said_for_all_for_channels_and_for_agents() {
    let (turns, problems) = read(
        "turns:
  defaultTimeoutSeconds: 30
  humanInterruptMode: queue
  agents:
    ada: {defaultTimeoutSeconds: 90, command: [python3, ada.py], env: {MOOD: good}}
  channels:
    standup:
      turnOrder: manual
      agents:
        ada: {announceTimeouts: false}
        bob: {}
",
    );
    assert_eq!(problems, "");
    let (ada, bob) =
        (turns.layers("standup").for_agent(&"ada".into()), turns.layers("standup").for_agent(&"bob".into()));
    assert_eq!(
        (ada.timeout_ms, ada.announce_timeouts, bob.timeout_ms, bob.announce_timeouts),
        (90_000, false, 30_000, true)
    );
    assert_eq!(turns.layers("standup").for_channel().order, rawko_turns::TurnOrder::Manual);
    assert_eq!(turns.layers("other").for_channel().order, rawko_turns::TurnOrder::RoundRobin);
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    let (_, problems) = read(
        "turns:
  defaultTimeoutSecond: 30
  humanInterruptMode: loud
  agents:
    a.b: {}
    ada: {command: [], autoDetectTurnEnd: maybe}
  channels:
    standup: {agents: {ada: {command: x}}}
",
    );
    expect![[r#"
        error[rawko::settings::unknown_key]: `turns` has no key `defaultTimeoutSecond`
         --> .rawko/config.yaml:2:3
          |
        2 |   defaultTimeoutSecond: 30
          |   ^^^^^^^^^^^^^^^^^^^^
          |
          = help: did you mean `defaultTimeoutSeconds`?

        error[rawko::settings::invalid_value]: invalid value of `humanInterruptMode`: unknown variant `loud`, expected one of `queue`, `interrupt`, `inject`, `parallel`
         --> .rawko/config.yaml:3:23
          |
        3 |   humanInterruptMode: loud
          |                       ^^^^
          |
          = help: see the guide on channels

        error[rawko::settings::invalid_value]: invalid name `a.b`
         --> .rawko/config.yaml:5:5
          |
        5 |     a.b: {}
          |     ^^^
          |
          = help: use letters, digits, `-` and `_`

        error[rawko::settings::invalid_value]: `command` of agent `ada` is empty
         --> .rawko/config.yaml:6:20
          |
        6 |     ada: {command: [], autoDetectTurnEnd: maybe}
          |                    ^^
          |
          = help: write the program and its arguments

        error[rawko::settings::invalid_value]: invalid value of `autoDetectTurnEnd`: invalid type: string "maybe", expected a boolean
         --> .rawko/config.yaml:6:43
          |
        6 |     ada: {command: [], autoDetectTurnEnd: maybe}
          |                                           ^^^^^
          |
          = help: see the guide on channels

        error[rawko::settings::unknown_key]: agent `ada` has no key `command`
         --> .rawko/config.yaml:8:30
          |
        8 |     standup: {agents: {ada: {command: x}}}
          |                              ^^^^^^^
          |
          = help: the keys here are `defaultTimeoutSeconds`, `humanInterruptMode`, `announceTimeouts`, `announceDisconnects`, `announceEmpty`, `autoDetectTurnEnd`, `autoDetectSilenceSeconds`, `waitTimeoutSeconds`, `humanHoldSeconds`, `reconnectGraceSeconds`, `turnOrder`, `restWhenQuiet`, `tellAfterRounds`, `stuckAfterRounds`, `turnsUnattendedMax` and `joinMessages`

    "#]].assert_eq(&problems);
}
