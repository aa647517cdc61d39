//! A task succeeds only if the project's checks pass: models that claim success, change what judges them or hide a change
//! end without it, and honest work succeeds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::project::{agent, project, running};
use crate::support::run;

const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
";
/// Rounds of default settings within which a task without progress ends.
const ROUNDS: usize = 6;

/// The arbiter's decisions after each round, of which the last is repeated, and the worker's steps, likewise.
fn script(decisions: &[&str], work: &[&str]) -> String {
    let padded = |steps: &[&str]| -> Vec<String> {
        let last = steps.last().copied().unwrap_or_default();
        let all = steps.iter().copied().chain(std::iter::repeat_n(last, ROUNDS * 2));
        all.map(str::to_owned).collect()
    };
    // The first question is who begins.
    let arbiter = padded(decisions).into_iter().zip(2..);
    let arbiter: String = arbiter
        .map(|(step, number)| {
            format!("- {{agent: arbiter, when: \"arbiter#{number}\", steps: [{step}, {step}, {step}]}}\n")
        })
        .collect();
    let work: String = padded(work).iter().map(|step| format!("    - {step}\n")).collect();
    format!("{arbiter}- agent: worker\n  steps:\n{work}")
}

const COMPLETE: &str = "{data: {type: COMPLETE, reason: all tests pass}}";
const CONTINUE: &str = "{data: {type: CONTINUE, reason: more to do}}";
const DONE: &str = "{text: All tests pass now.}";

fn write(path: &str, content: &str) -> String {
    format!("{{tool_calls: [{{name: Write, input: {{path: {path}, content: {content}}}}}]}}")
}

/// A name, settings, decisions of the arbiter, steps of the worker, the exit code, and a part of the output.
type Row<'a> = (&'a str, &'a str, Vec<&'a str>, Vec<&'a str>, i32, &'a str);

#[test]
fn a_task_succeeds_only_if_the_checks_pass() {
    let own = "phases: {validate: {checks: [{name: own, command: sh check.sh}]}}\n";
    let ignored = "phases: {validate: {checks: [{name: out, command: 'test \"$(cat out/x)\" = good'}]}}\n";
    let none = "phases: {validate: {checks: []}}\n";
    let pass = write("check.sh", "exit 0");
    let (good, bad) = (write("out/x", "good"), write("out/x", "bad"));
    let table: Vec<Row<'_>> = vec![
        ("a claim", "", vec![COMPLETE], vec![DONE], 54, "stuck  after 5 iterations"),
        ("the check is changed", own, vec![COMPLETE], vec![&pass, DONE], 54, "failed  own:"),
        (
            "a change in an ignored file",
            ignored,
            vec![CONTINUE, COMPLETE],
            vec![&good, DONE, &bad, DONE],
            54,
            "failed  out:",
        ),
        ("work in an ignored file", ignored, vec![COMPLETE], vec![&good, DONE], 0, "passed  out:"),
        ("no checks", none, vec![COMPLETE], vec![DONE], 0, "unverified  this project has no checks"),
        ("the arbiter gives up", "", vec!["{data: {type: ABORT, reason: no}}"], vec![DONE], 1, "gives up"),
        ("the arbiter asks", "", vec!["{data: {type: ASK, reason: Which one?}}"], vec![DONE], 55, "asks"),
    ];
    for (name, more, decisions, work, code, words) in table {
        let dir = project(&format!("{SETTINGS}{more}"), &[agent("worker", "")], &script(&decisions, &work));
        std::fs::write(dir.path().join("check.sh"), "exit 1\n").unwrap();
        std::fs::write(dir.path().join(".gitignore"), "out/\n").unwrap();
        let ran = run(dir.path(), &["task", "Make the tests pass", "--id", "t"], "");
        assert_eq!(ran.code, Some(code), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(words), "{name}: {}{}", ran.stdout, ran.stderr);
        let rounds = ran.stdout.matches("worker     says").count();
        assert!(rounds <= ROUNDS, "{name}: {rounds} rounds\n{}", ran.stdout);
    }
}

/// Waits until a file has this text.
fn wait_for(file: &Path, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while fs::read_to_string(file).is_ok_and(|now| now != text) {
        assert!(Instant::now() < deadline, "{} stays as it is", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_task_leaves_no_changed_check_to_the_next() {
    const CHECK: &str = "test -e solved\n";
    let own = format!("{SETTINGS}phases: {{validate: {{checks: [{{name: own, command: sh check.sh}}]}}}}\n");
    for is_cancelled in [false, true] {
        let waiting = script(&[CONTINUE], &[&write("check.sh", "exit 0"), "{delay_ms: 600000, text: never}"]);
        let dir = project(&own, &[agent("worker", "")], &waiting);
        let check = dir.path().join("check.sh");
        fs::write(&check, CHECK).unwrap();
        let (mut child, _out) = running(dir.path(), &["task", "Make the tests pass", "--id", "t"], 1);
        wait_for(&check, "exit 0");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fs::read_to_string(&check).unwrap(), "exit 0", "killed while it is changed");
        if is_cancelled {
            let cancelled = run(dir.path(), &["cancel", "t"], "");
            assert_eq!(cancelled.code, Some(0), "{}", cancelled.stderr);
            assert!(cancelled.stderr.contains("put back: check.sh"), "{}", cancelled.stderr);
            assert_eq!(fs::read_to_string(&check).unwrap(), CHECK);
        }
        fs::write(dir.path().join(".rawko/script.yaml"), script(&[COMPLETE], &[DONE])).unwrap();
        let next = run(dir.path(), &["task", "Make the tests pass", "--id", "u"], "");
        assert_eq!(next.code, Some(54), "{}{}", next.stdout, next.stderr);
        assert_eq!(fs::read_to_string(&check).unwrap(), CHECK);
    }
}

#[test]
fn a_task_that_waits_for_a_person_is_answered_and_not_resumed() {
    let asking = "- agent: worker\n  steps:\n    - tool_calls: [{name: AskUser, input: {question: Which one?}}]\n    - {text: Done.}\n";
    let projects = [
        (agent("worker", "kind: human\n"), script(&[COMPLETE], &[DONE])),
        (agent("worker", ""), script(&["{data: {type: ASK, reason: Which one?}}"], &[DONE])),
        (agent("worker", ""), asking.to_owned()),
    ];
    for (worker, script) in projects {
        let dir = project(SETTINGS, &[worker], &script);
        let ran = run(dir.path(), &["task", "Do it", "--id", "t"], "");
        assert_eq!(ran.code, Some(55), "{}{}", ran.stdout, ran.stderr);
        for args in [&["show", "t"][..], &["show", "t", "--verbose"], &["ps"]] {
            let shown = run(dir.path(), args, "");
            assert!(!shown.stdout.contains("rawko resume"), "{args:?}: {}", shown.stdout);
        }
        assert!(run(dir.path(), &["show", "t"], "").stdout.contains("rawko approve"));
    }
}
