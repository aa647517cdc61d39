//! A task succeeds only if the project's checks pass: models that claim success, change what judges them or hide a change
//! end without it, and honest work succeeds.

use super::project::{agent, project};
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

#[test]
fn a_task_succeeds_only_if_the_checks_pass() {
    let own = "phases: {validate: {checks: [{name: own, command: sh check.sh}]}}\n";
    let ignored = "phases: {validate: {checks: [{name: out, command: 'test \"$(cat out/x)\" = good'}]}}\n";
    let none = "phases: {validate: {checks: []}}\n";
    let pass = write("check.sh", "exit 0");
    let (good, bad) = (write("out/x", "good"), write("out/x", "bad"));
    type Row<'a> = (&'a str, &'a str, Vec<&'a str>, Vec<&'a str>, i32, &'a str);
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
