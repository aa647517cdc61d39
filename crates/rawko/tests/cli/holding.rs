//! One process holds a store and others work through it: events, answers, new instances, and taking over when it ends.

use std::fs;

use rawko_store::{Lock, LockHolder};

use expect_test::expect;

use crate::parking::{Background, WAITER};
use crate::support::{directory, played, run, stable, store_of};

const RUN: [&str; 6] = ["run", "waiter.yaml", "--id", "w-1", "--patience", "2h"];

#[test]
fn events_go_through_the_process_that_holds_the_store() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    let meanwhile = played(
        dir.path(),
        &[
            "send w-1 NONSENSE",
            "fork w-1 --id w-2",
            "cancel w-2 --reason enough",
            "send w-1 TOLD --data what=hello",
        ],
    );
    let told = stable(&running.end(), dir.path());
    expect![[r#"
        $ rawko send w-1 NONSENSE
        --- stderr
        error: instance `w-1` refuses the event: no state of the chart handles the event `NONSENSE`; its events are `TOLD`
        --- exit code 1
        $ rawko fork w-1 --id w-2
        w-2
        forked from w-1 at step 0    [waiting]
            context  told: null
        --- stderr
        waiting: w-2 is hosted by process 0
          accepts TOLD
            rawko send w-2 TOLD
          timer: after 1h in waiting (in 1h)
        $ rawko cancel w-2 --reason enough
        > cancel "enough"            [waiting]
            status   cancelled
        --- stderr
        cancelled: w-2
        $ rawko send w-1 TOLD --data what=hello
        > TOLD {"what":"hello"}      [done]
            context  told: null → "hello"
            status   done
            output   {"told":"hello"}

        # the one that held it
            context  told: null
            timer    after 1h in waiting (in 1h)
        > TOLD {"what":"hello"}      [done]
            context  told: null → "hello"
            status   done
            output   {"told":"hello"}
        --- stderr
        --- Some(0)
    "#]]
    .assert_eq(&(meanwhile + "\n# the one that held it\n" + &told));
    assert_eq!(fs::read_dir(dir.path().join(".local/state/rawko/run")).unwrap().count(), 0);
}

#[test]
fn a_second_run_starts_through_the_first_and_takes_over_when_it_ends() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let first = Background::start(dir.path(), &RUN, "[waiting]");
    let args = ["run", "waiter.yaml", "--id", "w-2", "--patience", "2h"];
    let second = Background::start(dir.path(), &args, "[waiting]");
    first.signal("-INT");
    assert!(first.end().ends_with("--- Some(130)\n"));
    // The event is delivered regardless of which process hosts.
    let sent = run(dir.path(), &["send", "w-2", "TOLD", "--data", "what=hello"], "");
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let told = second.end();
    assert!(told.contains("output   {\"told\":\"hello\"}") && told.ends_with("--- Some(0)\n"), "{told}");
}

#[test]
fn ctrl_c_pauses_its_own_instance_in_another_process_and_sigterm_detaches() {
    for (signal, told, status) in [
        ("-INT", "paused: w-2 moves only when it is resumed: `rawko resume w-2`\n--- Some(130)\n", "paused"),
        ("-TERM", "detached: w-2 continues in process 0\n--- Some(143)\n", "waiting"),
    ] {
        let dir = directory(&[("waiter.yaml", WAITER)]);
        let first = Background::start(dir.path(), &RUN, "[waiting]");
        let args = ["run", "waiter.yaml", "--id", "w-2", "--patience", "2h"];
        let second = Background::start(dir.path(), &args, "[waiting]");
        second.signal(signal);
        let end = stable(&second.end(), dir.path());
        assert!(end.ends_with(told), "{signal}: {end}");
        for (id, status) in [("w-1", "waiting"), ("w-2", status)] {
            let shown = run(dir.path(), &["show", id, "--json"], "");
            let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
            assert_eq!(shown["status"], status, "{signal}: {id}");
        }
        first.signal("-INT");
        first.end();
    }
}

#[test]
fn a_holder_that_does_not_listen_is_named() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    played(dir.path(), &["run waiter.yaml --id w-1"]);
    let holder = LockHolder {
        pid: 1,
        command: "rawko serve".into(),
        started_ms: 1_700_000_000_000,
        socket: None,
        drives: None,
    };
    let lock = Lock::take(&store_of(dir.path()), &holder).unwrap();
    let told = played(dir.path(), &["send w-1 TOLD", "show w-1 --at 0", "doctor"]);
    drop(lock);
    let (refused, looked) = told.split_once("$ rawko show").unwrap();
    expect![[r#"
        $ rawko send w-1 TOLD
        --- stderr
        error: DIR/.local/state/rawko/projects/PROJECT/rawko.db is in use by `rawko serve` (process 0, since 2026-01-05 09:30:00Z); it accepts no requests; wait until it ends
        --- exit code 3
    "#]].assert_eq(refused);
    assert!(looked.contains("[waiting]"), "looking needs no lock: {looked}");
    assert!(looked.contains("in use by `rawko serve`"), "{looked}");
}
