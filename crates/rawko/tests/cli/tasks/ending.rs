//! Every way a task can end, with its exit code, and how it continues, including kills and signals.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value as Json;

use super::hearing::SLOW;
use super::project::{ONE, SETTINGS, agent, decided, lines, project, running, team, told, whole, worker};
use crate::support::{STORIES_MAX, command, run, slowed, transcript};

/// Name, settings, more of the agent's file, script, arguments, exit code, words.
type Way<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [&'a str], i32, &'a str);

#[test]
fn every_way_to_end_has_its_exit_code() {
    let complete = "transitions: {onSuccess: complete}\n";
    let failing = "- agent: worker\n  steps: [{error: {code: invalid_request, message: no}}]\n";
    let limited = "- agent: worker\n  steps:\n    - {error: {code: rate_limited, retry_after_ms: 1}}\n"
        .to_owned()
        + &"    - {error: {code: rate_limited, retry_after_ms: 1}}\n".repeat(30);
    let fast = SETTINGS.replace("demo: {", "back_off: {first: 1ms}, demo: {");
    let fast = fast + "task: {back_off_first: 1ms}\nloop: {retries_max: 1}\n";
    let unkeyed = SETTINGS.replace("demo/x", "anthropic/claude-sonnet-4-5");
    let denied =
        "- agent: worker\n  steps: [{error: {code: authentication_failed, message: the key is wrong}}]\n";
    let round = "- agent: worker\n  steps:\n".to_owned()
        + &"    - tool_calls: [{name: Read, input: {path: stock.py}}]\n".repeat(60);
    let again = "- {agent: worker, text: More to do.}\n".to_owned();
    let dear = "- {agent: worker, text: More., usage: {input_tokens: 5, output_tokens: 5, cost_usd: 0.02}}\n";
    let slow = "- agent: worker\n  steps: [{delay_ms: 60000, text: never}]\n";
    let other = format!("{SETTINGS}arbiter: {{fallback_agent: nobody}}\n");
    let retrying = "transitions: {onSuccess: worker}\n";
    let human = "kind: human\n";
    let table: Vec<Way<'_>> = vec![
        ("done", SETTINGS, complete, ONE, &[], 0, "complete  after 1 iteration: Done."),
        (
            "an agent fails",
            SETTINGS,
            "",
            failing,
            &[],
            1,
            "failed  after 1 iteration: no; to use another model",
        ),
        (
            "no such agent",
            SETTINGS,
            "",
            ONE,
            &["--agent", "nobody"],
            2,
            "agent `nobody` not found; available:",
        ),
        ("no such provider", SETTINGS, "", ONE, &["--model", "x/y"], 2, "there is no provider `x`"),
        ("nor alone", SETTINGS, "", ONE, &["--provider", "x"], 2, "there is no provider `x`"),
        ("rate limits", &fast, "", &limited, &[], 3, "scripted error: rate_limited"),
        (
            "a key that is refused",
            SETTINGS,
            "",
            denied,
            &[],
            41,
            "failed  after 1 iteration: the key is wrong",
        ),
        ("no key at all", &unkeyed, "", ONE, &[], 41, "no API key for provider `anthropic`"),
        ("settings", &other, "", ONE, &[], 52, "there is no agent `nobody`"),
        ("no agent may work", "providers: {default: demo/x}\n", "", ONE, &[], 52, "not set up for agents"),
        (
            "the cap",
            SETTINGS,
            retrying,
            &again,
            &["--max-iterations", "1"],
            53,
            "reached the limit of 1 iteration",
        ),
        ("money", SETTINGS, retrying, dear, &["--max-budget-usd", "0.01"], 53, "`budget.cost_usd`"),
        ("time", SETTINGS, "", slow, &["--timeout", "200ms"], 53, "reached the time limit of the task"),
        ("a loop", SETTINGS, "", &round, &[], 54, "loop detected"),
        ("a person", SETTINGS, human, ONE, &[], 55, "pending request"),
    ];
    for (name, settings, more, script, args, code, words) in table {
        let dir = project(settings, &worker(more), script);
        let args = [&["task", "Do it", "--id", "t"], args].concat();
        let mut command = command(dir.path(), &args);
        let output = command.env_remove("ANTHROPIC_API_KEY").stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}:\n{text}");
        assert!(text.contains(words), "{name}:\n{text}");
    }
}

#[test]
fn a_rate_limited_arbiter_backs_off_and_fails_within_the_limit() {
    let errors = "    - {error: {code: rate_limited, retry_after_ms: 3}}\n".repeat(9);
    let script = format!("- agent: arbiter\n  steps:\n{errors}    - {{text: never}}\n");
    let settings = format!("{SETTINGS}task: {{back_off_first: 1ms}}\n");
    let dir = project(&settings, &team(), &script);
    let text = transcript(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "");
    expect![[r#"
        $ rawko task Make the tests pass --id fix
        fix  Make the tests pass
        arbiter    failed   scripted error: rate_limited
                   waiting  3ms
        arbiter    failed   scripted error: rate_limited
                   waiting  3ms
        arbiter    failed   scripted error: rate_limited
                   waiting  4ms
        arbiter    failed   scripted error: rate_limited
                   waiting  8ms
        arbiter    failed   scripted error: rate_limited
                   waiting  16ms
        arbiter    failed   scripted error: rate_limited
                   waiting  32ms
        arbiter    failed   scripted error: rate_limited

        failed  after 0 iterations: scripted error: rate_limited
        spent … 0 tool calls
        --- stderr
        next: temporary failure; try again later
        --- exit code 3
    "#]]
    .assert_eq(&told(&text, dir.path()));
}

const RETRIES: &str = r#"
- {agent: worker, text: More to do.}
- {agent: other, text: Nothing.}
- agent: arbiter
  steps:
    - data: {type: RETRY, reason: not good enough}
    - {expect: "`type` must be one of SELECT_MODE, CONTINUE, COMPLETE", data: {type: RETRY, reason: I insist}}
    - data: {type: RETRY, reason: I insist}
- {agent: arbiter, when: "Iteration 1 of", data: {type: SELECT_MODE, mode: worker, reason: begin}}
"#;

#[test]
fn an_endless_retry_stops_at_the_cap_and_resume_goes_on_from_there() {
    let steps = "    - {text: More to do.}\n".repeat(8);
    let script = RETRIES
        .replace("- {agent: worker, text: More to do.}", &format!("- agent: worker\n  steps:\n{steps}"));
    let agents = [agent("worker", ""), agent("other", "")];
    let settings = format!("{SETTINGS}arbiter: {{fallback_agent: worker}}\n");
    let dir = project(&settings, &agents, &script);
    let first = transcript(dir.path(), &["task", "Do it", "--id", "t", "--max-iterations", "2"], "");
    expect![[r#"
        $ rawko task Do it --id t --max-iterations 2
        t  Do it
        arbiter    →        worker: begin
        worker     says     More to do.
        arbiter    retry    not good enough
        arbiter    retry    worker: not good enough
        worker     says     More to do.
        arbiter    continue it is the default agent (fallback: no rule applies, and no answer could be used)

        stopped: reached the limit of 2 iterations
        spent … 0 tool calls
        --- stderr
        next: work is kept; continue with: rawko resume t --max-iterations 4
        --- exit code 53
    "#]]
    .assert_eq(&told(&first, dir.path()));
    let too_few = run(dir.path(), &["resume", "t", "--max-iterations", "2"], "");
    assert_eq!((too_few.code, too_few.stdout.as_str()), (Some(2), ""), "{}", too_few.stderr);
    let on = run(dir.path(), &["resume", "t", "--max-iterations", "3", "--output-format", "json"], "");
    let result: Json = serde_json::from_str(on.stdout.trim()).unwrap();
    assert_eq!(on.code, Some(53), "{}", on.stderr);
    assert_eq!(result["output"]["iterations"], 3);
    assert_ne!(result["id"], "t");
    // Earlier work is not repeated, and earlier messages are kept.
    let history = result["context"]["history"].as_array().unwrap();
    assert_eq!(history.len(), 3);
    assert_eq!(result["context"]["sessions"]["worker"].as_array().unwrap().len(), 6);
}

/// Starts or resumes it, and kills it after this many lines. Returns the exit code if it ended before.
fn killed_after(dir: &Path, args: &[&str], lines: usize) -> Option<i32> {
    let mut child =
        command(dir, args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let read = BufReader::new(child.stdout.take().unwrap()).lines().take(lines).count();
    if read < lines {
        return child.wait().unwrap().code();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn decisions(dir: &Path, id: &str) -> Vec<String> {
    let told = run(dir, &["replay", id, "--decisions", "--json"], "");
    lines(&told.stdout).iter().map(|line| decided(&line["decision"])).collect()
}

#[test]
fn a_task_that_is_killed_again_and_again_decides_the_same_and_repeats_no_tool() {
    let undisturbed = whole();
    let begin = ["task", "Make the tests pass", "--id", "fix"];
    assert_eq!(run(undisturbed.path(), &begin, "").code, Some(0));
    // On a busy machine a kill may come late, and the task may be over after a few of them.
    let enough =
        (0..STORIES_MAX).any(|story| kill_again_and_again(undisturbed.path(), &begin, story * 150) >= 10);
    assert!(enough, "less than 10 kills, however slow the models are");
}

/// Runs it with models that take `ms` per response. Returns the number of kills.
fn kill_again_and_again(undisturbed: &Path, begin: &[&str], ms: u64) -> usize {
    let dir = whole();
    let script = dir.path().join(".rawko/script.yaml");
    fs::write(&script, slowed(&fs::read_to_string(&script).unwrap(), ms)).unwrap();
    let mut code = killed_after(dir.path(), begin, 1);
    let mut kills = 1;
    while code.is_none() {
        assert!(kills < 400, "it does not come to an end");
        // At most one line more than an ended task prints, so that the end is seen.
        code = killed_after(dir.path(), &["resume", "fix"], 2 + kills % 5);
        kills += usize::from(code.is_none());
    }
    assert_eq!(code, Some(0), "{}", run(dir.path(), &["show", "fix"], "").stdout);
    assert_eq!(decisions(dir.path(), "fix"), decisions(undisturbed, "fix"));
    let mended = |dir: &Path| fs::read_to_string(dir.join("stock.py")).unwrap();
    assert_eq!(mended(dir.path()), mended(undisturbed));

    let audit = run(dir.path(), &["logs", "--audit", "--json"], "").stdout;
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&audit).iter().filter(|line| line["decision"] == "answered") {
        let effect = line["effect"].as_str().unwrap().to_owned();
        if ["tool:", "model:", "work:"].iter().any(|kind| line["service"].as_str().unwrap().starts_with(kind))
        {
            *answered.entry(effect).or_default() += 1;
        }
    }
    assert!(answered.values().all(|times| *times == 1), "{answered:#?}");
    kills
}

#[test]
fn a_signal_parks_a_task_and_resume_goes_on() {
    let waiting = SLOW.replace("delay_ms: 60000", "delay_ms: 600000");
    let done = SLOW.replace("delay_ms: 60000, text: never", "text: Done");
    // The call would run for minutes: it is parked after the grace.
    let settings = format!("{SETTINGS}shutdown: {{grace: 500ms}}\n");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let dir = project(&settings, &worker("transitions: {onSuccess: complete}\n"), &waiting);
        let (mut child, _out) = running(dir.path(), &["task", "Do it", "--id", "t"], 5);
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        fs::write(dir.path().join(".rawko/script.yaml"), &done).unwrap();
        let on = run(dir.path(), &["resume", "t"], "");
        assert_eq!(on.code, Some(0), "{}{}", on.stdout, on.stderr);
        assert!(on.stdout.contains("complete  after 1 iteration: Done"), "{}", on.stdout);
    }
}
