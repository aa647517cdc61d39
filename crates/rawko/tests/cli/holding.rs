//! One process holds a store and others work through it: events, answers, new instances, and taking over when it ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;

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
        ("-INT", "paused: w-2; continue with `rawko resume w-2`\n--- Some(130)\n", "paused"),
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

/// Plays a host that ends when it has read a request: once, then the store is free. Returns the request.
fn ending_holder(dir: &std::path::Path, socket: &str) -> std::thread::JoinHandle<String> {
    let _ = fs::remove_file(socket);
    let listener = UnixListener::bind(socket).unwrap();
    let holder = LockHolder {
        pid: 1,
        command: "rawko serve".into(),
        started_ms: 1_700_000_000_000,
        socket: Some(socket.to_owned()),
        drives: None,
    };
    let lock = Lock::take(&store_of(dir), &holder).unwrap();
    let socket = socket.to_owned();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("hello"));
        stream.write_all(b"{\"ok\":{\"pong\":{\"pid\":1}}}\n").unwrap();
        let request = lines.next().unwrap().unwrap();
        fs::remove_file(socket).unwrap();
        drop(lock);
        request
    })
}

/// The host ends between a request and its answer: the command asks the next host, here itself.
#[test]
fn a_request_whose_host_ends_reaches_the_next_one() {
    let dir = directory(&[("waiter.yaml", WAITER), ("asker.yaml", ASKER), ("broken.yaml", BROKEN)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    let socket = Lock::holder(&store_of(dir.path())).unwrap().socket.unwrap();
    running.signal("-TERM");
    running.end();
    played(dir.path(), &["run asker.yaml --id a-1", "run broken.yaml --id b-1", "run waiter.yaml --id w-2"]);
    let cases: [(&[&str], &str); 7] = [
        (&["send", "w-1", "TOLD", "--data", "what=hello"], "output   {\"told\":\"hello\"}"),
        (&["approve", "a-1"], "[yes]"),
        (&["resume", "b-1"], "retry"),
        (&["pause", "w-2"], "w-2  paused"),
        (&["fork", "w-2", "--id", "w-3"], "forked from w-2"),
        (&["cancel", "w-2"], "status   cancelled"),
        (&["run", "waiter.yaml", "--id", "w-4"], "[waiting]"),
    ];
    for (args, shows) in cases {
        let holder = ending_holder(dir.path(), &socket);
        let ran = run(dir.path(), args, "");
        let request = holder.join().unwrap();
        assert!(request.contains("\"op\""), "{args:?}: {request}");
        assert!(ran.stdout.contains(shows), "{args:?}: {} {}", ran.stdout, ran.stderr);
        assert!(!ran.stderr.contains("exited"), "{args:?}: {}", ran.stderr);
    }
    let history = run(dir.path(), &["history", "w-1"], "").stdout;
    assert_eq!(history.matches("TOLD").count(), 1, "{history}");
}

const ASKER: &str = "
statechart:
  id: asker
  initial: asking
  states:
    asking: {invoke: {id: q, src: human, input: {title: \"'ok?'\"}, onDone: yes, onError: no}}
    yes: {type: final}
    no: {type: final}
";

const BROKEN: &str = "
statechart:
  id: broken
  initial: calling
  states:
    calling: {invoke: {id: c, src: not_there, onDone: done}}
    done: {type: final}
";

/// Charts of `--with` belong to the run: the next host has them from the store.
#[test]
fn a_run_keeps_the_charts_that_it_was_started_with() {
    let parent = "
statechart:
  id: parent
  initial: waiting
  states:
    waiting: {on: {GO: calling}, after: {1h: done}}
    calling: {invoke: {id: child, src: 'statechart:child', onDone: done, onError: failed}}
    done: {type: final, output: \"'with a child'\"}
    failed: {type: final}
";
    let child = "statechart: {id: child, initial: a, states: {a: {type: final}}}";
    let dir = directory(&[("parent.yaml", parent), ("child.yaml", child)]);
    let args = ["run", "parent.yaml", "--with", "child.yaml", "--id", "p-1", "--patience", "2h"];
    let running = Background::start(dir.path(), &args, "[waiting]");
    running.signal("-KILL");
    running.end();
    fs::remove_file(dir.path().join("child.yaml")).unwrap();
    let sent = run(dir.path(), &["send", "p-1", "GO"], "");
    assert!(sent.stdout.contains("with a child"), "{} {}", sent.stdout, sent.stderr);
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
