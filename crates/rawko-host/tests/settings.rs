//! Settings: every problem is reported at once with its position, and valid settings take effect.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::{Strategy, any, prop_assert, proptest};
use rawko_chart::codes::{self, settings::ALL};
use rawko_chart::render::{ReportStyle, report};
use rawko_chart::{Finding, SourceFile};
use rawko_core::Value;
use rawko_host::{Environment, OnRestart, Settings};

fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().copied().collect()
}

fn read(text: &str) -> (Settings, Vec<Finding>) {
    Settings::of_source(
        &SourceFile::new("config.yaml", text),
        &environment(&[("CARD_TOKEN", "s3cret"), ("REGION", "eu")]),
    )
}

/// Prints one line per problem: position, code, message, help.
fn check(text: &str, expected: Expect) {
    let (_, findings) = read(text);
    let line = |finding: &Finding| {
        let before = &text[..finding.span.start as usize];
        let (row, column) =
            (before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1);
        let code = finding.code.trim_start_matches("rawko::");
        let label = if finding.label.is_empty() { String::new() } else { format!(" ({})", finding.label) };
        let help = finding.help.as_deref().map(|help| format!("\n     {help}")).unwrap_or_default();
        format!("{row}:{column} {code}: {}{label}{help}\n", finding.message)
    };
    expected.assert_eq(&findings.iter().map(line).collect::<String>());
}

const COMPLETE: &str = r#"
services:
  charge_card:
    http: {url: "http://127.0.0.1:8080/charge", headers: {Authorization: "Bearer ${CARD_TOKEN}"}}
    on_restart: retry
    timeout: 30s
    description: Charges a card
    provenance: {owner: payments, reviewed: 2026-11-01}
  book_carrier:
    command: [python3, services/book_carrier.py]
    cwd: .
    env: {REGION: eu, PORT: 8080}
    pass_env: [CARD_TOKEN]
    output_max: 1MiB
  timers.start: {command: [python3, services/timer.py]}
endpoints:
  admin_channel: {http: {url: "https://example.test/admin", method: put}}
governance:
  allow: [charge_card, "book_*", "agent:*", timers.start, admin_channel]
  deny: ["book_secret"]
  budget: {calls: 1000}
store: {path: state/rawko.db, size_max: 2GiB}
host: {instances_in_memory: 12}
env: [REGION, LOCALE]
providers:
"#;

#[test]
fn complete_settings_have_no_problems() {
    check(COMPLETE, expect![""]);
    let (settings, _) = read(COMPLETE);
    let root = Path::new("project");
    assert_eq!(settings.services(root).names(), ["book_carrier", "charge_card", "timers.start"]);
    assert_eq!(settings.endpoints(root).names(), ["admin_channel"]);
    assert_eq!(settings.store_path(root), Some(root.join("state/rawko.db")));
    assert_eq!(settings.store_size_max(), Some(2 << 30));
    assert_eq!(settings.instances_in_memory(), Some(12));
    assert_eq!(settings.env(), Value::map([("REGION", Value::str("eu"))]));
    let restarts = |name| settings.services(root).find(name).unwrap().on_restart();
    assert_eq!((restarts("charge_card"), restarts("book_carrier")), (OnRestart::Retry, OnRestart::Unknown));
}

#[test]
fn the_audit_sees_names_of_variables_and_never_values() {
    let (settings, _) = read(COMPLETE);
    let services = settings.services(Path::new("project"));
    let provenance = |name: &str| services.find(name).unwrap().provenance().to_string() + "\n";
    expect![[r#"
        {"command":["python3","services/book_carrier.py"],"cwd":".","env":{"REGION":"…","PORT":"…"},"pass_env":["CARD_TOKEN"],"settings":".rawko/config.yaml"}
        {"http":"http://127.0.0.1:8080/charge","method":"POST","headers":{"authorization":"${CARD_TOKEN}"},"settings":".rawko/config.yaml","description":"Charges a card","provenance":{"owner":"payments","reviewed":"2026-11-01"}}
    "#]]
    .assert_eq(&(provenance("book_carrier") + &provenance("charge_card")));
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn empty_settings_are_settings() {
    for text in ["", "# nothing yet\n", "services:\ngovernance:\nenv:\n", "{}"] {
        let (settings, findings) = read(text);
        assert_eq!(findings, [], "{text}");
        assert_eq!(settings.store_path(Path::new("p")), None);
        assert_eq!((settings.store_size_max(), settings.instances_in_memory()), (None, None));
    }
}

#[test]
fn unknown_keys() {
    check(
        "servces: {}\nservices:\n  a: {comand: [x], http: {ur: y}, colour: red}\ngovernance: {alow: [a], budget: {call: 1}}\nstore: {dir: x}\nhost: {threads: 2}\n",
        expect![[r#"
            1:1 settings::unknown_key: a settings file has no key `servces`
                 did you mean `services`?
            3:7 settings::unknown_key: service `a` has no key `comand`
                 did you mean `command`?
            3:27 settings::unknown_key: `http` of service `a` has no key `ur`
                 did you mean `url`?
            3:35 settings::unknown_key: service `a` has no key `colour`
                 the keys here are `command`, `sandbox`, `http`, `remote`, `cwd`, `env`, `pass_env`, `output_max`, `on_restart`, `timeout`, `description`, `provenance`, `input`, `output` and `tool`
            4:14 settings::unknown_key: `governance` has no key `alow`
                 did you mean `allow`?
            4:34 settings::unknown_key: `budget` has no key `call`
                 did you mean `calls`?
            5:9 settings::unknown_key: `store` has no key `dir`
                 the keys here are `path` and `size_max`
            6:8 settings::unknown_key: `host` has no key `threads`
                 the keys here are `instances_in_memory`, `generations_max`, `children_per_second_max`, `zero_delay_steps_max`, `failed_calls_max`, `family_instances_max`, `family_per_second_max`, `family_per_hour_max`, `message_hops_max` and `messages_per_cause_max`
        "#]],
    );
}

#[test]
fn wrong_types() {
    check(
        "services:\n  a: {command: python3 x.py}\n  b: {command: [x, 1], env: [A], pass_env: A, timeout: [1], description: 2}\n  c: [x]\n  d: {http: http://localhost}\ngovernance: {allow: a, deny: [1], budget: {calls: many}}\nstore: {path: 1, size_max: [1]}\nhost: {instances_in_memory: lots}\nenv: REGION\n",
        expect![[r#"
            2:16 settings::wrong_type: `command` of service `a` must be a list (found text)
            3:20 settings::wrong_type: an item of `command` of service `b` must be text (found a whole number)
            3:29 settings::wrong_type: `env` of service `b` must be a map (found a list)
            3:44 settings::wrong_type: `pass_env` of service `b` must be a list (found text)
            3:56 settings::wrong_type: `timeout` of service `b` must be text (found a list)
            3:74 settings::wrong_type: `description` of service `b` must be text (found a whole number)
            4:6 settings::wrong_type: service `c` must be a map (found a list)
            5:13 settings::wrong_type: `http` of service `d` must be a map (found text)
            6:21 settings::wrong_type: `allow` of `governance` must be a list (found text)
            6:31 settings::wrong_type: an item of `deny` of `governance` must be text (found a whole number)
            6:51 settings::wrong_type: `calls` of `budget` must be a whole number (found text)
            7:15 settings::wrong_type: `path` of `store` must be text (found a whole number)
            7:28 settings::wrong_type: `size_max` of `store` must be text (found a list)
            8:29 settings::wrong_type: `instances_in_memory` of `host` must be a whole number (found text)
            9:6 settings::wrong_type: `env` must be a list (found text)
        "#]],
    );
    check(
        "just text",
        expect![[r#"
        1:1 settings::wrong_type: a settings file must be a map (found text)
    "#]],
    );
}

#[test]
fn missing_and_conflicting_keys() {
    check(
        "governance: {allow: ['*']}\nservices:\n  a: {}\n  b: {http: {method: GET}}\n  c: {command: [x], http: {url: 'http://h'}}\n  d: {http: {url: 'http://h', timeout: 1s}, timeout: 2s, cwd: x, pass_env: [REGION]}\n  e: {command: []}\n  f:\n",
        expect![[r#"
            3:3 settings::missing_key: service `a` has none of `command`, `http` and `remote`
                 add `command: [program, argument]`, `http: {url: …}` or `remote: {}`
            4:13 settings::missing_key: `http` of service `b` has no `url`
                 add `url: "https://…"`
            5:21 settings::conflicting_keys: service `c` is both a command and an HTTP call
                 remove one of them, or define two services
            6:31 settings::conflicting_keys: duplicate `timeout`
                 remove one of them
            6:58 settings::conflicting_keys: `cwd` has no effect with `http`
                 it applies to programs; use `${NAME}` in headers
            6:66 settings::conflicting_keys: `pass_env` has no effect with `http`
                 it applies to programs; use `${NAME}` in headers
            7:16 settings::invalid_value: `command` of service `e` is empty
                 for example `[python3, services/name.py]`
            8:3 settings::missing_key: service `f` has none of `command`, `http` and `remote`
                 add `command: [program, argument]`, `http: {url: …}` or `remote: {}`
        "#]],
    );
}

#[test]
fn remote_services() {
    check(
        "governance: {allow: ['*']}\nservices:\n  a: {remote: {}, timeout: 1s, on_restart: retry, input: {type: string}}\n  b: {remote: {wait: soon, retry: 3s}}\n  c: {remote: {}, command: [x]}\n  d: {remote: {}, cwd: x}\n  e: {remote: 5s}\nendpoints:\n  f: {remote: {}}\n",
        expect![[r#"
            4:22 settings::invalid_value: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
                 `wait` of service `b` is a duration
            4:28 settings::unknown_key: `remote` of service `b` has no key `retry`
                 the keys here are `wait` and `reconnect`
            5:7 settings::conflicting_keys: service `c` is both `remote` and `command`
                 remove one of them, or define two services
            6:19 settings::conflicting_keys: `cwd` has no effect with `remote`
                 it applies to programs that rawko starts
            7:15 settings::wrong_type: `remote` of service `e` must be a map (found text)
            9:7 settings::invalid_value: endpoint `f` cannot be `remote`
                 only `services` can be remote
        "#]],
    );
}

#[test]
fn values_that_mean_nothing() {
    check(
        r#"governance: {allow: ["*", "book_[x"]}
services:
  a: {http: {url: ftp://h/x, method: CHARGE, headers: {"a b": x, Idempotency-Key: y}}}
  b: {http: {url: "http://me:pass@h/"}, timeout: soon, on_restart: again}
  c: {command: [x], cwd: ../up, env: {1A: x, B: "${", C: "${a b}"}, pass_env: [A-B], timeout: 0, output_max: huge}
  d: {command: [x], cwd: /tmp}
  human: {command: [x]}
  statechart:x: {command: [x]}
governance_: 1
store: {size_max: -1}
host: {instances_in_memory: 0}
env: [A B]
"#,
        expect![[r#"
            1:27 settings::invalid_value: `book_[x` is not a pattern: unclosed character class; missing ']'
                 a name, where `*` stands for anything: `book_*`, `agent:*`
            3:19 settings::invalid_value: `url` of service `a` is not an HTTP address
                 write for example `https://example.test/charge`
            3:38 settings::invalid_value: `method` of service `a` cannot be `CHARGE`
                 one of `GET`, `POST`, `PUT`, `PATCH` and `DELETE`
            3:56 settings::invalid_value: `a b` cannot be the name of a header
                 letters, digits and `-`
            3:66 settings::invalid_value: the header `Idempotency-Key` is set by rawko
                 remove it
            4:19 settings::invalid_value: `url` of service `b` has a user or a password in it
                 put them into a header: `Authorization: "Basic ${NAME}"`
            4:50 settings::invalid_value: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
                 `timeout` of service `b` is a duration
            4:68 settings::invalid_value: `on_restart` of service `b` cannot be `again`
                 `retry` when calling it twice with one idempotency key does no harm, else `unknown`
            5:26 settings::invalid_value: `cwd` of service `c` is outside the project
                 use a directory of the project, without `..`
            5:39 settings::invalid_value: `1A` cannot be the name of a variable
                 letters, digits and `_`, not beginning with a digit
            5:49 settings::invalid_value: `B` in `env` of service `c`: a `${` has no `}`
                 a variable is written `${NAME}`, a plain `${` as `$${`
            5:58 settings::invalid_value: `C` in `env` of service `c`: `${a b}` is not the name of a variable
                 a variable is written `${NAME}`, a plain `${` as `$${`
            5:80 settings::invalid_value: `A-B` cannot be the name of a variable
                 letters, digits and `_`, not beginning with a digit
            5:95 settings::invalid_value: `timeout` of service `c` must be longer than 0
                 write for example `30s`
            5:110 settings::invalid_value: `huge` is not a size
                 write for example `500MB`, `2GiB` or a number of bytes
            6:26 settings::invalid_value: `cwd` of service `d` is outside the project
                 use a directory of the project, without `..`
            7:3 settings::invalid_value: `human` cannot be the name of a service
                 in a chart it means a request to a person; give it another name
            8:3 settings::invalid_value: `statechart:x` cannot be the name of a service
                 in a chart it means another chart; give it another name
            9:1 settings::unknown_key: a settings file has no key `governance_`
                 did you mean `governance`?
            10:19 settings::invalid_value: `-1` is not a size
                 write for example `500MB`, `2GiB` or a number of bytes
            11:29 settings::invalid_value: `instances_in_memory` of `host` must be at least 1
                 write a larger number
            12:7 settings::invalid_value: `A B` cannot be the name of a variable
                 letters, digits and `_`, not beginning with a digit
        "#]],
    );
}

#[test]
fn variables_that_are_not_set_and_services_that_are_never_allowed() {
    check(
        r#"services:
  a: {http: {url: "${BASE}/charge", headers: {X: "${CARD_TOKEN} ${MISSING}"}}}
  b: {command: [x], env: {A: "${NOPE}"}, pass_env: [GONE, REGION]}
  c: {command: [x]}
endpoints:
  d: {http: {url: "http://h"}}
governance: {allow: [a, "c*"], deny: [c]}
"#,
        expect![[r#"
            2:19 settings::unset_variable: the environment variable `BASE` is not set
                 set it where the host is started, or correct its name
            2:50 settings::unset_variable: the environment variable `MISSING` is not set
                 set it where the host is started, or correct its name
            3:30 settings::unset_variable: the environment variable `NOPE` is not set
                 set it where the host is started, or correct its name
            3:53 settings::unset_variable: the environment variable `GONE` is not set
                 set it where the host is started, or correct its name
            3:3 settings::never_allowed: every call of `b` is refused
                 `b` is not in `governance.allow` of .rawko/config.yaml
            4:3 settings::never_allowed: every call of `c` is refused
                 `c` is refused by `c` in `governance.deny` of .rawko/config.yaml
            6:3 settings::never_allowed: every call of `d` is refused
                 `d` is not in `governance.allow` of .rawko/config.yaml
        "#]],
    );
    check(
        "services: {charge_card: {command: [x]}}",
        expect![[r#"
        1:12 settings::never_allowed: every call of `charge_card` is refused
             `charge_card` is not in `governance.allow` of .rawko/config.yaml
    "#]],
    );
}

#[test]
fn what_is_not_yaml_is_said_as_for_charts() {
    check(
        "services: [a\n",
        expect![[r#"
        1:11 chart::yaml_syntax: invalid YAML: unclosed bracket '['
             check for a missing colon, quote or bracket, or wrong indentation, here or just before
    "#]],
    );
    check(
        "store: {}\nstore: {}\n",
        expect![[r#"
        2:1 chart::duplicate_key: the key `store` is written twice (written again here)
             keep one of them; several transitions for one event are written as a list
    "#]],
    );
}

#[test]
fn a_report_shows_the_place() {
    let text = "services:\n  charge_card:\n    comand: [python3]\n    http: {url: \"http://h\"}\ngovernance: {allow: [charge_card]}\n";
    let (_, findings) = read(text);
    expect![[r#"
        error[rawko::settings::unknown_key]: service `charge_card` has no key `comand`
         --> .rawko/config.yaml:3:5
          |
        3 |     comand: [python3]
          |     ^^^^^^
          |
          = help: did you mean `command`?

    "#]]
    .assert_eq(&report(&findings, &SourceFile::new(".rawko/config.yaml", text), ReportStyle::default()));
}

#[test]
fn the_settings_on_a_page_show_what_the_page_is_about() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors/settings");
    for code in ALL.iter().filter(|code| **code != codes::settings::UNREADABLE) {
        let page = fs::read_to_string(pages.join(format!("{}.md", code.slug()))).unwrap();
        let text = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let (_, findings) =
            Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::default());
        let found: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        assert!(found.contains(&code.name), "the settings of {} give {found:?}", code.name);
    }
}

/// The settings in the guide are valid.
#[test]
fn the_settings_in_the_guide_have_no_problems() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/settings.md");
    let guide = fs::read_to_string(guide).unwrap();
    let blocks: Vec<&str> =
        guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    let set = environment(&[("CARD_TOKEN", "x"), ("CARRIER_TOKEN", "x")]);
    for text in blocks {
        let (_, findings) = Settings::of_source(&SourceFile::new("settings.md", text), &set);
        let problems = report(&findings, &SourceFile::new("settings.md", text), ReportStyle::default());
        assert!(findings.is_empty(), "{problems}");
    }
}

/// Generates settings with a piece removed, doubled or moved.
fn damaged() -> impl Strategy<Value = String> {
    (0..COMPLETE.len(), 0..40usize, 0..COMPLETE.len(), any::<bool>()).prop_map(|(from, length, to, keep)| {
        let piece = &COMPLETE[from..(from + length).min(COMPLETE.len())];
        let mut text = COMPLETE.to_owned();
        text.insert_str(to, piece);
        if !keep {
            let from = if to <= from { from + piece.len() } else { from };
            text.replace_range(from..(from + piece.len()).min(text.len()), "");
        }
        text
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_or_complained_about(text in damaged()) {
        let (settings, findings) = read(&text);
        for finding in &findings {
            prop_assert!(text.get(finding.span.range()).is_some(), "{finding:?}");
        }
        let _ = report(&findings, &SourceFile::new("config.yaml", text.as_str()), ReportStyle::default());
        let _ = (settings.services(Path::new(".")), settings.endpoints(Path::new(".")), settings.gate());
    }
}
