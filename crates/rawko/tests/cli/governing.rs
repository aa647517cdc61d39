//! Denied calls: refused, audited, and reported to the chart as an error.

use expect_test::{Expect, expect};

use crate::running::{CHARGE, ORDER, SETTINGS};
use crate::support::{directory, played, run};

fn check(files: &[(&str, &str)], commands: &[&str], expect: Expect) {
    let dir = directory(files);
    expect.assert_eq(&played(dir.path(), commands));
}

const PROBE: &str = "\
statechart:
  id: probe
  initial: trying
  context: {why: null}
  states:
    trying:
      invoke:
        id: attempt
        src: format_disk
        onDone: done
        onError:
          target: refused
          actions: [{type: assign, context_updates: {why: event.data.category}}]
    done: {type: final}
    refused: {type: final, output: {why: context.why}}
";

#[test]
fn a_command_that_is_not_allowed_is_refused_and_audited() {
    let settings =
        "services:\n  format_disk: {command: [touch, formatted]}\ngovernance: {allow: [charge_card]}\n";
    let dir = directory(&[("probe.yaml", PROBE), (".rawko/config.yaml", settings)]);
    let told = played(dir.path(), &["run probe.yaml --id p-1", "logs p-1 --audit"]);
    expect![[r#"
        $ rawko run probe.yaml --id p-1
        p-1  probe 0.0.0
        start                        [trying]
            context  why: null
            invoked  attempt format_disk
        attempt failed               [refused]
            error    refused: `format_disk` is not in `governance.allow` of .rawko/config.yaml
            context  why: null → "refused"
            status   done
            output   {"why":"refused"}
        --- stderr
        warning[rawko::settings::never_allowed]: every call of `format_disk` is refused
         --> .rawko/config.yaml:2:3
          |
        2 |   format_disk: {command: [touch, formatted]}
          |   ^^^^^^^^^^^
          |
          = help: `format_disk` is not in `governance.allow` of .rawko/config.yaml

        $ rawko logs p-1 --audit
        2026-01-05 09:30:00Z  p-1/0/0  refused  format_disk `format_disk` is not in `governance.allow` of .rawko/config.yaml
        2026-01-05 09:30:00Z  p-1/0/0  failed   format_disk refused: `format_disk` is not in `governance.allow` of .rawko/config.yaml
    "#]].assert_eq(&told);
    assert!(!dir.path().join("formatted").exists());
}

#[test]
fn a_budget_that_is_used_up_has_its_own_exit_code() {
    let settings = SETTINGS.to_owned() + "  budget: {calls: 0}\n";
    let files = [("order.yaml", ORDER), (".rawko/config.yaml", &settings), ("charge.sh", CHARGE)];
    check(
        &files,
        &["run order.yaml --id o-1 --input amount=30"],
        expect![[r#"
        $ rawko run order.yaml --id o-1 --input amount=30
        o-1  order 1.0.0
        start                        [charging]
            context  amount: 30
            context  by: null
            context  receipt: null
            invoked  payment charge_card {"amount":30}
        payment failed               [charging]
            error    limit: `o-1` has made 0 calls, all that `governance.budget` of .rawko/config.yaml allows
            stalled  the failure of payment is not handled; waiting for a retry
            status   error
        --- stderr
        failed: payment: limit: `o-1` has made 0 calls, all that `governance.budget` of .rawko/config.yaml allows
        o-1 keeps its state; retry with `rawko resume o-1`
        --- exit code 53
    "#]],
    );
}

/// A stub stands for a service, not for the permission to call it.
#[test]
fn a_simulation_refuses_what_a_run_refuses() {
    let scenario = "services: {format_disk: {done: 1}}\n\
                    scenarios: [{name: formatted, steps: [{expect: {configuration: done}}]}]\n";
    let files = [
        ("probe.yaml", PROBE),
        ("probe.scenario.yaml", scenario),
        ("stubs.yaml", "{format_disk: {done: 1}}"),
        ("none.jsonl", ""),
    ];
    let simulate = ["simulate", "probe.yaml", "--services", "stubs.yaml", "--events", "none.jsonl"];
    let open = [&simulate[..], &["--open-gate"]].concat();
    let cases = [
        (Some("{allow: [charge_card]}"), Some("is not in `governance.allow`")),
        (Some("{deny: ['format_*']}"), Some("`governance.deny`")),
        (Some("{allow: ['*'], budget: {calls: 0}}"), Some("`governance.budget`")),
        (Some("{allow: ['*']}"), None),
        // The settings allow nothing yet, so only what they deny is refused.
        (Some("{deny: ['other_*']}"), None),
        // No project, no rules.
        (None, None),
    ];
    for (governance, reason) in cases {
        let settings = governance.map(|rules| format!("governance: {rules}\n"));
        let own = settings.iter().map(|text| (".rawko/config.yaml", text.as_str()));
        let dir = directory(&files.iter().copied().chain(own).collect::<Vec<_>>());
        let (text, opened) = (run(dir.path(), &simulate, ""), run(dir.path(), &open, ""));
        assert_eq!(text.stdout.contains("[done]"), reason.is_none(), "{governance:?}: {}", text.stdout);
        assert!(opened.stdout.contains("[done]"), "{governance:?}: {}", opened.stdout);
        let (tested, opened) =
            (run(dir.path(), &["test"], ""), run(dir.path(), &["test", "--open-gate"], ""));
        assert_eq!(tested.code, Some(i32::from(reason.is_some())), "{governance:?}: {}", tested.stdout);
        assert_eq!(opened.code, Some(0), "{governance:?}: {}", opened.stdout);
        if let Some(reason) = reason {
            for printed in [text.stdout, tested.stdout] {
                assert!(printed.contains("refused") && printed.contains(reason), "{reason}: {printed}");
            }
        }
    }
}

/// `verify` explores without a gate, so the traces that it saves play without one.
#[test]
fn a_saved_trace_of_verify_fails_in_a_project_that_allows_less() {
    let chart = "statechart:\n  id: probe\n  initial: a\n  states:\n    \
                 a: {invoke: {id: x, src: charge, onDone: b, onError: c}}\n    b: {type: final}\n    \
                 c: {type: final, tags: [failed]}\n  properties:\n    unpaid: {never: \"in('b')\"}\n";
    let dir = directory(&[("probe.yaml", chart), (".rawko/config.yaml", "governance: {allow: [other]}\n")]);
    let verified = run(dir.path(), &["verify", "probe.yaml", "--save", "probe.scenario.yaml"], "");
    assert_eq!(verified.code, Some(1), "{verified:?}");
    let tested = run(dir.path(), &["test", "--no-coverage"], "");
    assert_eq!(tested.code, Some(1), "the scenario fails until the chart is fixed: {tested:?}");
}

/// A rule that cannot be read refuses nothing, so nothing is simulated with such settings.
#[test]
fn settings_with_errors_stop_a_simulation() {
    let files = [("probe.yaml", PROBE), ("none.jsonl", "")];
    for settings in
        ["governance: [\n", "governance: {deny: ['charge_['], allow: ['*']}\n", "governence: {}\n"]
    {
        let dir = directory(&[&files[..], &[(".rawko/config.yaml", settings)]].concat());
        let simulate = ["simulate", "probe.yaml", "--events", "none.jsonl"];
        let refused = run(dir.path(), &simulate, "");
        assert_eq!(refused.code, Some(52), "{settings}: {refused:?}");
        assert!(refused.stderr.contains("invalid settings"), "{settings}: {refused:?}");
        let open = run(dir.path(), &[&simulate[..], &["--open-gate"]].concat(), "");
        assert_eq!(open.code, Some(0), "{settings}: {open:?}");
    }
}
