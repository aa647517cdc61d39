//! The section `triggers`: valid settings, and the message of each mistake.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use expect_test::{Expect, expect};
use rawko_chart::SpannedValue;
use rawko_core::Value;
use rawko_settings::{Environment, SettingsReader};
use rawko_triggers::{CommandKind, DueTime, Trigger, WebhookDelivery, read_section};

fn read(text: &str) -> (Vec<Trigger>, String) {
    let environment: Environment = [("SECRET", "s3cret")].into_iter().collect();
    let mut reader = SettingsReader::new(&environment);
    let (all, _) = read_section(&mut reader, &SpannedValue::read(text).unwrap(), "config.yaml");
    let lines: Vec<String> = reader.findings.iter().map(|finding| finding.message.clone()).collect();
    (all, lines.join("\n"))
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&read(text).1);
}

#[test]
fn mistakes_are_named_and_secrets_are_not() {
    check(
        "a: {schedule: '0 25 * * *', start: {chart: c}}",
        expect!["invalid hour `25`: `25` is not between 0 and 23"],
    );
    check(
        "a: {schedule: {zone: UTC}, start: {chart: c}}",
        expect!["`schedule` of trigger `a` requires `cron`"],
    );
    check(
        "a: {schedule: {cron: '@daily', missed: never}, start: {chart: c}}",
        expect!["unknown policy `never` for missed runs"],
    );
    check(
        "a: {schedule: {cron: '@daily', missed: all, at_most: 101}, start: {chart: c}}",
        expect!["`at_most` belongs to `missed: all`, and is 100 at most"],
    );
    check("a: {start: {chart: c}}", expect!["trigger `a` requires either `schedule` or `webhook`"]);
    check(
        "a: {schedule: '@daily', webhook: {signature: none}, start: {chart: c}}",
        expect!["trigger `a` requires either `schedule` or `webhook`"],
    );
    check(
        "a: {schedule: '@daily', start: {chart: c}, task: {text: due}}",
        expect!["trigger `a` requires one of `start`, `send` and `task`"],
    );
    check(
        "a: {webhook: {secret: '${SECRET}'}, start: {chart: c}}",
        expect!["`webhook` of trigger `a` requires `signature`"],
    );
    check(
        "a: {webhook: {signature: github}, start: {chart: c}}",
        expect!["`webhook` of trigger `a` requires `secret`"],
    );
    check(
        "a: {webhook: {signature: github, secret: 'hunter2'}, start: {chart: c}}",
        expect!["`secret` of trigger `a` must name an environment variable"],
    );
    check(
        "a: {webhook: {signature: github, secret: '${RAWKO_TOKEN}'}, start: {chart: c}}",
        expect!["`secret` of trigger `a` must name an environment variable"],
    );
    check(
        "a: {webhook: {signature: none, secret: '${SECRET}'}, start: {chart: c}}",
        expect!["`secret` of `webhook` of trigger `a` is not used"],
    );
    check("a b: {schedule: '@daily', start: {chart: c}}", expect!["invalid name `a b`"]);
    check("a: {schedule: '@daily', start: {}}", expect!["`start` requires `chart`"]);
}

#[test]
fn rules_give_commands_with_the_same_ids_each_time() {
    let (all, problems) = read(
        "
nightly: {schedule: {cron: '0 3 * * *', zone: Europe/Zurich}, start: {chart: report, input: {day: due, n: 3, list: [trigger]}}}
hub:
  webhook: {signature: github, secret: '${SECRET}'}
  rules:
    - {when: kind == 'push', send: {instance: \"'pr-' ~ string(payload.number)\", event: PUSHED, data: payload.after}}
    - {when: kind == 'issues', task: {text: \"'Triage ' ~ payload.url\", queue: true}}
    - {when: kind == 'star', start: {chart: star, id: payload.id}}
",
    );
    assert_eq!(problems, "");
    let (nightly, hub) = (&all[0], &all[1]);
    let due = DueTime::from_ms(1_794_967_200_000);
    let command = nightly.at(nightly.schedule().unwrap(), due, 0).unwrap().unwrap();
    assert_eq!(command.instance, "trigger:nightly:20261118T0200Z");
    let CommandKind::Start { chart, input } = command.kind else { panic!("{command:?}") };
    assert_eq!(chart, "report");
    assert_eq!(
        input.to_json().to_string(),
        r#"{"day":"2026-11-18T03:00:00+01:00","n":3,"list":["nightly"]}"#
    );
    let on = |kind: &str, json: serde_json::Value| {
        let (key, kind, payload) = ("d-1".to_owned(), kind.to_owned(), Value::from_json(json));
        hub.on(&WebhookDelivery { key, content_key: None, kind, payload }, &Value::Null, 0)
    };
    let sent = on("push", serde_json::json!({"number": 7, "after": "abc"})).unwrap().unwrap();
    assert_eq!(
        (sent.instance.as_str(), sent.key.as_str(), sent.is_own_id),
        ("pr-7", "trigger:hub:d-1", false)
    );
    let task = on("issues", serde_json::json!({"url": "u"})).unwrap().unwrap();
    assert_eq!(task.instance, "trigger:hub:d-1");
    assert_eq!(task.kind, CommandKind::Task { text: "Triage u".to_owned(), agent: None, queue: true });
    assert_eq!(on("watch", serde_json::json!({})).unwrap(), None);
    let wrong = |json| on("star", json).unwrap_err().to_string();
    assert_eq!(wrong(serde_json::json!({"id": 7})), "rule 3: `id` must be text, not number");
    assert!(wrong(serde_json::json!({"id": "../x"})).contains("`../x` is not a valid instance id"));
    assert!(on("push", serde_json::json!({"number": []})).unwrap_err().to_string().starts_with("rule 1: "));
}
