//! Stopping and resuming a run: Ctrl-C, SIGTERM, `kill -9`, a full store.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use expect_test::expect;

use crate::support::{command, directory, played, run, stable};

/// Waits an hour, or until an event arrives.
pub(crate) const WAITER: &str = "\
statechart:
  id: waiter
  initial: waiting
  context: {told: null}
  states:
    waiting:
      on:
        TOLD: {target: done, actions: [{type: assign, context_updates: {told: event.data.what}}]}
      after: {1h: given_up}
    done: {type: final, output: {told: context.told}}
    given_up: {type: final}
";

/// A run in the background, and its output.
pub(crate) struct Background {
    pub(crate) child: Child,
    /// The line that was waited for.
    pub(crate) line: String,
    out: BufReader<ChildStdout>,
}

impl Background {
    /// Starts a command and waits for a line that contains `until`.
    pub(crate) fn start(dir: &std::path::Path, args: &[&str], until: &str) -> Background {
        let mut child = command(dir, args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(until) {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it said `{until}`");
        }
        Background { child, line, out }
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Returns the rest of the output, and the exit status.
    pub(crate) fn end(mut self) -> String {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.out, &mut text).unwrap();
        let output = self.child.wait_with_output().unwrap();
        text += "--- stderr\n";
        text += &String::from_utf8(output.stderr).unwrap();
        format!("{text}--- {:?}\n", output.status.code())
    }
}

const RUN: [&str; 6] = ["run", "waiter.yaml", "--id", "w-1", "--patience", "2h"];

#[test]
fn ctrl_c_pauses_and_resume_goes_on() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    running.signal("-INT");
    let parked = running.end();
    let after = played(dir.path(), &["resume w-1 --patience 0s", "send w-1 TOLD --data what=hello"]);
    expect![[r#"
            context  told: null
            timer    after 1h in waiting (in 1h)
        > pause by ada               [waiting]
        --- stderr
        paused: w-1; continue with `rawko resume w-1`
        --- Some(130)
        $ rawko resume w-1 --patience 0s
        w-1                          [waiting]
        > resume by ada              [waiting]
        --- stderr
        waiting: w-1 is parked; continue with `rawko resume w-1`
          accepts TOLD
            rawko send w-1 TOLD
          timer: after 1h in waiting (in 1h)
        --- exit code 55
        $ rawko send w-1 TOLD --data what=hello
        > TOLD {"what":"hello"}      [done]
            context  told: null → "hello"
            status   done
            output   {"told":"hello"}
    "#]]
    .assert_eq(&(stable(&parked, dir.path()) + &after));
}

#[test]
fn terminating_parks_too() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    running.signal("-TERM");
    assert!(running.end().ends_with("parked: continue with `rawko resume w-1`\n--- Some(143)\n"));
}

const SLOW: &str = "\
statechart:
  id: slow
  initial: working
  context: {answer: null}
  states:
    working:
      invoke:
        id: work
        src: work
        onDone: {target: done, actions: [{type: assign, context_updates: {answer: event.data.calls}}]}
        onError: {target: failed, actions: [{type: assign, context_updates: {answer: event.data.category}}]}
    done: {type: final, output: {calls: context.answer}}
    failed: {type: final, output: {category: context.answer}}
";

/// A service whose first call hangs and is killed with its host; later calls return at once.
fn killed_at_work(on_restart: &str) -> tempfile::TempDir {
    let script = "if [ -e called ]; then echo '{\"calls\": 2}'; else touch called; exec sleep 60; fi\n";
    let settings = format!(
        "services:\n  work: {{command: [sh, work.sh], on_restart: {on_restart}}}\ngovernance: {{allow: [work]}}\n"
    );
    let files = [
        ("slow.yaml", SLOW),
        ("waiter.yaml", WAITER),
        ("work.sh", script),
        (".rawko/config.yaml", settings.as_str()),
    ];
    let dir = directory(&files);
    let mut running = Background::start(dir.path(), &["run", "slow.yaml", "--id", "s-1"], "invoked");
    while !dir.path().join("called").exists() {
        std::thread::yield_now();
    }
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    dir
}

#[test]
fn killed_while_a_service_runs_it_goes_on() {
    for (on_restart, output) in [("retry", "{\"calls\":2}"), ("unknown", "{\"category\":\"interrupted\"}")] {
        let dir = killed_at_work(on_restart);
        let resumed = run(dir.path(), &["resume", "s-1", "--output-format", "json"], "");
        let result: serde_json::Value = serde_json::from_str(&resumed.stdout).unwrap();
        assert_eq!(result["output"].to_string(), output, "{result}");
    }
}

#[test]
fn another_command_leaves_a_killed_run_as_it_is() {
    let dir = killed_at_work("retry");
    let other = run(dir.path(), &["run", "waiter.yaml", "--id", "w-1"], "");
    assert_eq!(other.code, Some(55), "{}", other.stderr);
    let shown = run(dir.path(), &["show", "s-1"], "");
    assert!(shown.stdout.contains("no host runs it; continue with `rawko resume s-1`"), "{}", shown.stdout);
}

const GROWING: &str = "\
statechart:
  id: growing
  initial: growing
  context: {all: []}
  states:
    growing:
      on: {ENOUGH: done}
      after:
        1ms: {target: growing, reenter: true, actions: [more]}
    done: {type: final, output: {count: 'length(context.all) > 5'}}
  actions:
    more: {type: assign, context_updates: {all: 'context.all + [now()]'}}
";

#[test]
fn a_run_that_meets_a_full_store_stops_and_says_so() {
    let dir = directory(&[("growing.yaml", GROWING), (".rawko/config.yaml", "store: {size_max: 200 KiB}\n")]);
    let stuck = run(dir.path(), &["run", "growing.yaml", "--id", "g-1", "--output-format", "json"], "");
    assert_eq!(stuck.code, Some(3), "{}", stuck.stderr);
    assert!(stuck.stderr.starts_with("stopped: the store is full"), "{}", stuck.stderr);
    let result: serde_json::Value = serde_json::from_str(&stuck.stdout).unwrap();
    assert_eq!((&result["outcome"], &result["error"]["category"]), (&"stalled".into(), &"store".into()));
    std::fs::write(dir.path().join(".rawko/config.yaml"), "store: {size_max: 20 MiB}\n").unwrap();
    let sent = run(dir.path(), &["send", "g-1", "ENOUGH", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&sent.stdout).unwrap();
    assert_eq!(result["output"]["count"], true, "{}", sent.stderr);
}

#[test]
fn a_full_store_is_told_and_loses_nothing() {
    let waiter = WAITER.replace("      on:\n", "      on:\n        NOTED: {actions: []}\n");
    let dir = directory(&[("waiter.yaml", &waiter), (".rawko/config.yaml", "store: {size_max: 200 KiB}\n")]);
    played(dir.path(), &["run waiter.yaml --id w-1"]);
    // Text that deduplication cannot shrink.
    let mut code = None;
    for number in 0..200 {
        let text: String =
            (0..4_000).map(|at: u32| char::from(b'a' + ((at * at * 7 + number) % 26) as u8)).collect();
        std::fs::write(dir.path().join("data.json"), format!("{{\"what\": \"{number} {text}\"}}")).unwrap();
        let sent = run(dir.path(), &["send", "w-1", "NOTED", "--data", "@data.json"], "");
        if sent.code != Some(0) {
            assert!(sent.stderr.contains("the store is full"), "{}", sent.stderr);
            code = sent.code;
            break;
        }
    }
    assert_eq!(code, Some(3));
    std::fs::write(dir.path().join(".rawko/config.yaml"), "store: {size_max: 2 MiB}\n").unwrap();
    let sent =
        run(dir.path(), &["send", "w-1", "TOLD", "--data", "what=room", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&sent.stdout).unwrap();
    assert_eq!(result["output"]["told"], "room", "{}", sent.stderr);
    assert_eq!(run(dir.path(), &["doctor"], "").code, Some(0));
}

#[test]
fn a_running_instance_keeps_its_chart_when_the_file_changes() {
    let chart = |output: &str| {
        format!(
            "statechart: {{id: c, version: 1.0.0, initial: a, states: {{a: {{on: {{GO: b}}}}, b: {{type: final, output: \"'{output}'\"}}}}}}\n"
        )
    };
    let dir = directory(&[("c.yaml", &chart("old"))]);
    let told = |args: &[&str]| run(dir.path(), args, "").stdout;
    told(&["run", "c.yaml", "--id", "x"]);
    std::fs::write(dir.path().join("c.yaml"), chart("new")).unwrap();
    told(&["run", "c.yaml", "--id", "y"]);
    assert!(told(&["send", "x", "GO"]).contains("\"old\""));
    assert!(told(&["send", "y", "GO"]).contains("\"new\""));
}

/// A service without a sandbox that detaches a process, and the host is killed: the next host ends it before it reports
/// the call.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_host_left_running_is_ended_by_the_next() {
    const WORD: &str = "119.4711042";
    let settings = format!(
        "services:\n  slow:\n    command: [bash, -c, \"env -i setsid sleep {WORD} > /dev/null 2>&1 & sleep 60\"]\n    \
         sandbox: \"off\"\ngovernance: {{allow: [slow]}}\n"
    );
    let chart = "id: calls\ninitial: calling\nstates:\n  calling: {invoke: {id: s, src: slow, onDone: done, onError: done}}\n  \
                 done: {type: final}\n";
    let dir = directory(&[(".rawko/config.yaml", settings.as_str()), ("calls.yaml", chart)]);
    let runs = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let mut lines = processes.filter_map(|it| std::fs::read_to_string(it.path().join("cmdline")).ok());
        lines.any(|line| line == format!("sleep\0{WORD}\0"))
    };
    let mut killed = command(dir.path(), &["run", "calls.yaml", "--id", "c-1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !runs() {
        assert!(killed.try_wait().unwrap().is_none(), "it ended before the service ran");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Another test may have ended it since: that is the same search.
    let told = run(dir.path(), &["resume", "c-1"], "");
    assert!(told.stdout.contains("interrupted"), "{}{}", told.stdout, told.stderr);
    assert!(!runs());
}
