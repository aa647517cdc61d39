//! Charts that never come to rest are bounded, and what could not be delivered is shown.

use expect_test::expect;

use crate::parking::Background;
use crate::support::{directory, played, run, transcript};

/// Starts two of itself, and each of them two more.
const GROW: &str = "\
statechart:
  id: grow
  initial: a
  states:
    a: {after: {0ms: b}}
    b:
      type: parallel
      states:
        x: {initial: i, states: {i: {invoke: {id: one, src: {expr: \"'statechart:' ~ 'grow'\"}, onDone: ok, onError: ok}}, ok: {type: final}}}
        y: {initial: i, states: {i: {invoke: {id: two, src: {expr: \"'statechart:' ~ 'grow'\"}, onDone: ok, onError: ok}}, ok: {type: final}}}
      onDone: c
    c: {type: final}
";

#[test]
fn a_family_of_instances_is_bounded() {
    for limit in ["family_instances_max: 40, family_per_hour_max: 100", "family_per_hour_max: 60"] {
        let config = format!("host: {{{limit}}}\n");
        let dir = directory(&[("grow.yaml", GROW), (".rawko/config.yaml", &config)]);
        let ended = run(dir.path(), &["run", "grow.yaml", "--id", "g-1", "--output-format", "json"], "");
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let all = run(dir.path(), &["ps", "--all", "--limit", "0", "--json"], "").stdout;
        let instances = all.matches("\"g-1").count();
        assert!((20..=400).contains(&instances), "{limit}: {instances}\n{all}");
    }
}

#[test]
fn a_run_that_never_rests_ends_at_a_signal() {
    for signal in ["-INT", "-TERM"] {
        let dir = directory(&[("grow.yaml", GROW)]);
        let running = Background::start(dir.path(), &["run", "grow.yaml", "--id", "g-1"], "g-1");
        running.signal(signal);
        let end = running.end();
        assert!(end.ends_with("--- Some(130)\n") || end.ends_with("--- Some(143)\n"), "{end}");
    }
}

const PING: &str = "\
statechart:
  id: ping
  initial: a
  context: {failed: null}
  states:
    a:
      invoke: {id: kid, src: 'statechart:pong'}
      on:
        PING: {actions: [{type: send, target: kid, event: PONG}]}
        error.communication: {target: b, actions: [{type: assign, context_updates: {failed: event.data.message}}]}
    b: {type: final, output: context.failed}
";
const PONG: &str = "\
statechart:
  id: pong
  initial: a
  states:
    a: {entry: [{type: send, target: parent, event: PING}], on: {PONG: {actions: [{type: send, target: parent, event: PING}]}}}
";

#[test]
fn instances_that_answer_each_other_without_end_are_stopped() {
    let dir = directory(&[
        ("ping.yaml", PING),
        ("pong.yaml", PONG),
        (".rawko/config.yaml", "host: {message_hops_max: 21}\n"),
    ]);
    let args = ["run", "ping.yaml", "--with", "pong.yaml", "--id", "p-1", "--output-format", "json"];
    let ended = run(dir.path(), &args, "");
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("more than 21 messages in a row without a delay: a runaway loop"), "{all}");
    assert_eq!(ended.code, Some(0), "{all}");
}

const LOSE: &str = "\
statechart:
  id: lose
  initial: a
  states:
    a: {entry: [{type: send, target: 'no-such', event: HELLO}], always: b}
    b: {type: final}
";
const LATE: &str = "\
statechart:
  id: late
  initial: a
  states:
    a:
      on:
        GO: {actions: [{type: send, target: 'l-1', event: HELLO}]}
        END: {target: b, actions: [{type: send, target: 'l-1', event: HELLO}]}
    b: {type: final}
";

#[test]
fn what_could_not_be_sent_is_a_fault() {
    let dir = directory(&[("lose.yaml", LOSE), ("late.yaml", LATE)]);
    expect![[r#"
        $ rawko run lose.yaml --id l-1
        l-1  lose 0.0.0
        start                        [b]
            sent     no-such HELLO
            status   done
        --- stderr
        warning: send failed: `HELLO` could not be sent: there is no instance, running invoke or endpoint `no-such`
        $ rawko show l-1
        l-1  lose 0.0.0
        status     succeeded
        states     [b]
        step       0, just now
        started    just now
        faults     1 fault, latest just now
                   step 0: send failed: `HELLO` could not be sent: there is no instance, running invoke or endpoint `no-such`
        $ rawko logs l-1
        2026-01-05 09:30:00Z  l-1  fault    send failed: `HELLO` could not be sent: there is no instance, running invoke or endpoint `no-such`
        $ rawko run late.yaml --id l-2 --patience 0s
        l-2  late 0.0.0
        start                        [a]
        --- stderr
        waiting: l-2 is parked; continue with `rawko resume l-2`
          accepts GO, END
            rawko send l-2 GO
        --- exit code 55
        $ rawko send l-2 GO
        > GO                         [a]
            sent     l-1 HELLO
        > error.communication {"name":"HELLO","message":"`HELLO` could not be sent: instance `l-1` has ended"} [a]
            ignored  no transition accepts it in this state
        --- stderr
        warning: send failed: `HELLO` could not be sent: instance `l-1` has ended
        waiting: l-2 is parked; continue with `rawko resume l-2`
          accepts GO, END
            rawko send l-2 GO
        $ rawko send l-2 END
        > END                        [b]
            sent     l-1 HELLO
            status   done
        --- stderr
        warning: send failed: `HELLO` could not be sent: instance `l-1` has ended
        $ rawko history l-2
           0  2026-01-05 09:30:00Z  start                        [a]
           1  2026-01-05 09:30:00Z  > GO                         [a]
                  sent     l-1 HELLO
           2  2026-01-05 09:30:00Z  > error.communication {"name":"HELLO","message":"`HELLO` could not be sent: instance `l-1` has ended"} [a]
                  ignored  no transition accepts it in this state
                  fault    send failed: `HELLO` could not be sent: instance `l-1` has ended
           3  2026-01-05 09:30:00Z  > END                        [b]
                  sent     l-1 HELLO
                  fault    send failed: `HELLO` could not be sent: instance `l-1` has ended
                  status   done
    "#]].assert_eq(&played(
        dir.path(),
        &[
            "run lose.yaml --id l-1",
            "show l-1",
            "logs l-1",
            "run late.yaml --id l-2 --patience 0s",
            "send l-2 GO",
            "send l-2 END",
            "history l-2",
        ],
    ));
    expect![[r#"
        $ rawko simulate lose.yaml
        start                        [b]
            sent     no-such HELLO
            status   done
    "#]]
    .assert_eq(&transcript(dir.path(), &["simulate", "lose.yaml"], ""));
}

const CHILD: &str = "\
statechart:
  id: child
  initial: a
  states:
    a:
      entry:
        - {type: send, target: {expr: instance.parent}, event: HELLO}
        - {type: send, target: {expr: instance.id}, event: OWN}
      on: {OWN: b}
    b: {type: final}
";
const PARENT: &str = "\
statechart:
  id: parent
  initial: a
  context: {heard: 0}
  states:
    a:
      invoke: {id: kid, src: 'statechart:child', onDone: b, onError: failed}
      on: {HELLO: {actions: [{type: assign, context_updates: {heard: context.heard + 1}}]}}
    b: {type: final, output: context.heard}
    failed: {type: final}
";

/// The store does not have the parent yet when the child sends.
#[test]
fn a_child_reaches_its_parent_and_itself_by_id_in_the_first_commit() {
    let dir = directory(&[("child.yaml", CHILD), ("parent.yaml", PARENT)]);
    let text = played(dir.path(), &["run parent.yaml --with child.yaml --id p-1 --output-format json"]);
    assert!(text.contains("\"output\":1") && !text.contains("warning"), "{text}");
    let simulated =
        transcript(dir.path(), &["simulate", "parent.yaml", "--with", "child.yaml", "--json"], "");
    assert!(simulated.contains("\"output\":1"), "{simulated}");
}

const FAILS: &str = "\
statechart:
  id: fails
  initial: a
  states:
    a: {invoke: {id: job, src: svc, onDone: b}}
    b: {type: final}
";

#[test]
fn a_simulation_that_ends_in_an_error_has_the_exit_code_of_a_run() {
    let dir = directory(&[("fails.yaml", FAILS), ("stubs.yaml", "svc: {error: {message: down}}\n")]);
    let simulated = run(dir.path(), &["simulate", "fails.yaml", "--services", "stubs.yaml", "--json"], "");
    assert!(simulated.stdout.contains("\"status\":\"error\""), "{}", simulated.stdout);
    assert_eq!(simulated.code, Some(1));
}
