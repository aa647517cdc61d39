//! Expressions that fail while an instance runs are shown by every command, though the instance continues.

use std::path::Path;

use expect_test::{Expect, expect};

use crate::support::{directory, played, run};

const SHOP: &str = r#"statechart:
  id: shop
  initial: open
  context: {total: null}
  states:
    open:
      on:
        CHECK: {target: open, guard: "context.total > 5"}
        WORK: working
        PAID: {target: paid, actions: [{type: assign, context_updates: {total: "context.total + 1"}}]}
        LOOP: looping
    # Never comes to rest: the step is refused.
    looping: {always: {target: looping2, guard: "context.total != 1"}}
    looping2: {always: {target: looping, guard: "context.total != 1"}}
    working:
      invoke: {id: job, src: svc, input: {twice: context.total * 2}, onDone: open}
      on: {BACK: open}
    paid: {type: final}
"#;

fn files() -> [(&'static str, &'static str); 1] {
    [("shop.yaml", SHOP)]
}

fn check(commands: &[&str], expect: Expect) {
    let dir = directory(&files());
    played(dir.path(), &["run shop.yaml --id s-1 --input total=none"]);
    expect.assert_eq(&played(dir.path(), commands));
}

/// Returns the lines of `doctor` about faults.
fn doctor(dir: &Path) -> String {
    let text = played(dir, &["doctor"]);
    let mut lines = text.lines().peekable();
    let mut found = String::new();
    while let Some(line) = lines.next() {
        if line.contains("  faults  ") {
            found += &format!("{line}\n");
            if lines.peek().is_some_and(|next| next.starts_with("      ")) {
                found += &format!("{}\n", lines.next().unwrap_or_default());
            }
        }
    }
    found
}

#[test]
fn send_warns_and_the_rest_remembers() {
    check(
        &[
            "send s-1 CHECK",
            "send s-1 PAID --output-format json",
            "show s-1",
            "history s-1",
            "logs s-1",
            "logs s-1 --json",
        ],
        expect![[r#"
            $ rawko send s-1 CHECK
            > CHECK                      [open]
                ignored  no transition accepts it in this state
            --- stderr
            warning: guard failed in state `open` on CHECK: `context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`
            waiting: s-1 is parked; continue with `rawko resume s-1`
              accepts CHECK, WORK, PAID
                rawko send s-1 CHECK
            $ rawko send s-1 PAID --output-format json
            {"v":1,"type":"result","id":"s-1","outcome":"succeeded","exit_code":0,"status":"ended","configuration":["paid"],"context":{"total":"none"},"output":null,"error":null,"step":2,"waits":{"asks":[],"events":[],"timers":[]}}
            --- stderr
            warning: action failed in state `open` on PAID: `assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`
            $ rawko show s-1
            s-1  shop 0.0.0
            status     succeeded
            states     [paid]
            step       2, just now
            started    just now
            faults     2 faults, latest just now
                       step 2: action failed in state `open` on PAID: `assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`
                       step 1: guard failed in state `open` on CHECK: `context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`
            context    total: "none"
            $ rawko history s-1
               0  2026-01-05 09:30:00Z  start                        [open]
               1  2026-01-05 09:30:00Z  > CHECK                      [open]
                      ignored  no transition accepts it in this state
                      fault    guard failed in state `open` on CHECK: `context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`
               2  2026-01-05 09:30:00Z  > PAID                       [paid]
                      fault    action failed in state `open` on PAID: `assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`
                      status   done
            $ rawko logs s-1
            2026-01-05 09:30:00Z  s-1  fault    guard failed in state `open` on CHECK: `context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`
            2026-01-05 09:30:00Z  s-1  fault    action failed in state `open` on PAID: `assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`
            $ rawko logs s-1 --json
            {"v":1,"type":"fault","id":"s-1","step":1,"at_ms":0,"what":"guard","state":"open","at":"CHECK","message":"`context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`"}
            {"v":1,"type":"fault","id":"s-1","step":2,"at_ms":0,"what":"action","state":"open","at":"PAID","message":"`assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`"}
        "#]],
    );
}

#[test]
fn a_delivery_that_nobody_waits_for_warns_too() {
    check(
        &["send s-1 CHECK --no-wait"],
        expect![[r#"
        $ rawko send s-1 CHECK --no-wait
        --- stderr
        ignored: no transition of s-1 accepts it in this state; see `rawko show s-1`
        warning: guard failed in state `open` on CHECK: `context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`
    "#]],
    );
}

#[test]
fn a_run_that_ends_well_in_spite_of_a_fault_warns() {
    let chart = "statechart: {id: shop, initial: paid, context: {total: null}, states: {
        paid: {type: final, output: {twice: context.total * 2}}}}";
    let dir = directory(&[("shop.yaml", chart)]);
    expect![[r#"
        $ rawko run shop.yaml --id s-1 --input total=none
        s-1  shop 0.0.0
        start                        [paid]
            context  total: "none"
            status   done
        --- stderr
        warning: output failed in state `paid`: `*` takes two numbers, not a string and a number in `context.total * 2`
        $ rawko run shop.yaml --id s-2 --input total=none --output-format stream-json
        {"v":1,"type":"started","id":"s-2","step":0,"at_ms":0,"seq":2,"chart":"shop","version":"0.0.0","parent":null,"input":{"total":"none"},"configuration":["paid"],"context":{"total":"none"},"status":"done"}
        {"v":1,"type":"fault","id":"s-2","step":0,"at_ms":0,"what":"output","state":"paid","at":"","message":"`*` takes two numbers, not a string and a number in `context.total * 2`"}
        {"v":1,"type":"result","id":"s-2","outcome":"succeeded","exit_code":0,"status":"ended","configuration":["paid"],"context":{"total":"none"},"output":null,"error":null,"step":0,"waits":{"asks":[],"events":[],"timers":[]}}
        --- stderr
        warning: output failed in state `paid`: `*` takes two numbers, not a string and a number in `context.total * 2`
    "#]].assert_eq(&played(
        dir.path(),
        &[
            "run shop.yaml --id s-1 --input total=none",
            "run shop.yaml --id s-2 --input total=none --output-format stream-json",
        ],
    ));
}

#[test]
fn an_invoke_that_cannot_start_stalls_with_the_reason() {
    check(
        &["send s-1 WORK", "show s-1", "resume s-1", "send s-1 BACK", "ps"],
        expect![[r#"
            $ rawko send s-1 WORK
            > WORK                       [working]
                stalled  the failure of job is not handled; waiting for a retry
                status   error
            --- stderr
            warning: invoke `job` failed in state `working`: `input`: `*` takes two numbers, not a string and a number in `context.total * 2`
            failed: job: execution: invoke `job`: `input`: `*` takes two numbers, not a string and a number in `context.total * 2`
            s-1 keeps its state; retry with `rawko resume s-1`
            --- exit code 1
            $ rawko show s-1
            s-1  shop 0.0.0
            status     stalled
            states     [working]
            step       1, just now
            started    just now
            failed     job: execution: invoke `job`: `input`: `*` takes two numbers, not a string and a number in `context.total * 2`
                       retry with `rawko resume s-1`
            faults     1 fault, latest just now
                       step 1: invoke `job` failed in state `working`: `input`: `*` takes two numbers, not a string and a number in `context.total * 2`
            context    total: "none"
            accepts    BACK → open
            $ rawko resume s-1
            s-1                          [working]
            > retry                      [working]
                stalled  the failure of job is not handled; waiting for a retry
            --- stderr
            warning: invoke `job` failed in state `working`: `input`: `*` takes two numbers, not a string and a number in `context.total * 2`
            failed: job: execution: invoke `job`: `input`: `*` takes two numbers, not a string and a number in `context.total * 2`
            s-1 keeps its state; retry with `rawko resume s-1`
            --- exit code 1
            $ rawko send s-1 BACK
            > BACK                       [open]
                status   active
            --- stderr
            waiting: s-1 is parked; continue with `rawko resume s-1`
              accepts CHECK, WORK, PAID
                rawko send s-1 CHECK
            $ rawko ps
            ID   CHART       STATUS   WAITS FOR  STEP  UPDATED   STATES
            s-1  shop 0.0.0  waiting  event      3     just now  [open]
        "#]],
    );
}

#[test]
fn a_step_that_is_refused_is_shown_in_the_same_places() {
    check(
        &["send s-1 LOOP", "show s-1", "history s-1", "logs s-1"],
        expect![[r#"
            $ rawko send s-1 LOOP
            --- stderr
            error: more than 1000 microsteps without coming to rest (last active: looping2); eventless transitions or raised events feed each other
            --- exit code 1
            $ rawko show s-1
            s-1  shop 0.0.0
            status     waiting
            states     [open]
            step       0, just now
            started    just now
            faults     1 fault, latest just now
                       step 1: step failed on LOOP: more than 1000 microsteps without coming to rest (last active: looping2); eventless transitions or raised events feed each other
            context    total: "none"
            accepts    CHECK [context.total > 5] → open (the guard needs data)
                       WORK → working
                       PAID → paid
            $ rawko history s-1
               0  2026-01-05 09:30:00Z  start                        [open]
               1  2026-01-05 09:30:00Z  > LOOP                       [open]
                      refused  more than 1000 microsteps without coming to rest (last active: looping2); eventless transitions or raised events feed each other
            $ rawko logs s-1
            2026-01-05 09:30:00Z  s-1  refused  > LOOP: more than 1000 microsteps without coming to rest (last active: looping2); eventless transitions or raised events feed each other
        "#]],
    );
}

#[test]
fn doctor_lists_instances_with_recent_faults() {
    let dir = directory(&files());
    played(dir.path(), &["run shop.yaml --id s-1 --input total=none"]);
    let before = doctor(dir.path());
    played(
        dir.path(),
        &["run shop.yaml --id s-2 --input total=none", "send s-1 CHECK", "send s-1 PAID", "send s-2 LOOP"],
    );
    expect![[r#"
        ok       faults    no faults in the last 24h
        warn     faults    s-2: 1 fault, latest just now: step failed on LOOP: more than 1000 microsteps without coming to rest (last active: looping2); eventless transitions or raised events feed each other
                           see each one with `rawko history s-2`
        warn     faults    s-1: 2 faults, latest just now: action failed in state `open` on PAID: `assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`
                           see each one with `rawko history s-1`
    "#]].assert_eq(&(before + &doctor(dir.path())));
}

#[test]
fn doctor_lists_stalled_instances() {
    let chart = SHOP.replace("initial: open", "initial: working");
    let dir = directory(&[("shop.yaml", chart.as_str())]);
    played(dir.path(), &["run shop.yaml --id s-1 --input total=1"]);
    let doctor = played(dir.path(), &["doctor"]);
    let mut lines = doctor.lines().skip_while(|line| !line.contains("  stalled"));
    let (line, help) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    assert!(line.contains("s-1: stalled") && line.contains("`svc`"), "{doctor}");
    assert!(help.contains("`rawko resume s-1`") && help.contains("`rawko cancel s-1`"), "{doctor}");
}

#[test]
fn a_simulation_shows_them_and_its_json_stays_as_it_is() {
    let dir = directory(&files());
    let stimuli = "{\"type\": \"CHECK\"}\n{\"type\": \"PAID\"}\n";
    let text = run(dir.path(), &["simulate", "shop.yaml", "--input", "total=none", "--events", "-"], stimuli);
    expect![[r#"
        start                        [open]
            context  total: "none"
        > CHECK                      [open]
            fault    guard failed in state `open` on CHECK: `context.total > 5`: `>` compares two numbers or two strings, not a string and a number in `context.total > 5`
        > PAID                       [paid]
            status   done
            fault    action failed in state `open` on PAID: `assign total`: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins texts, or use string() in `context.total + 1`
    "#]].assert_eq(&text.stdout);
    let json = run(
        dir.path(),
        &["simulate", "shop.yaml", "--input", "total=none", "--events", "-", "--json"],
        stimuli,
    );
    expect![[r#"
        {"step":0,"stimulus":null,"configuration":["open"],"context":{"total":"none"},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
        {"step":1,"stimulus":{"type":"CHECK"},"configuration":["open"],"context":{"total":"none"},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
        {"step":2,"stimulus":{"type":"PAID"},"configuration":["paid"],"context":{"total":"none"},"status":"done","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
    "#]].assert_eq(&json.stdout);
}
