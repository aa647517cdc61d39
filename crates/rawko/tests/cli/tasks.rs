//! Tasks from the command line: agents chosen, put to work and judged; every way a task can end, with its exit code; and
//! what a person can do about a task while it runs and afterwards. Only the models are scripted.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use expect_test::expect;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{RAWKO, command, directory, repository, run, stable, transcript};

const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
";

const ARBITER: &str = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: planner, reason: there is no plan yet}}
- {agent: arbiter, when: "arbiter#2", data: {type: SELECT_MODE, mode: developer, reason: the plan can be built}}
- {agent: arbiter, when: "arbiter#3", data: {type: SELECT_MODE, mode: tester, reason: it should be tried}}
- {agent: arbiter, when: "arbiter#4", data: {type: SELECT_MODE, mode: developer, reason: a test fails}}
- {agent: arbiter, when: "arbiter#5", data: {type: SELECT_MODE, mode: tester, reason: it should be tried again}}
- {agent: arbiter, when: "arbiter#6", data: {type: SELECT_MODE, mode: reviewer, reason: all tests pass}}
"#;

/// Planner, developer, tester, reviewer; the first attempt of the developer is not enough.
const LOOP: &str = r#"
- agent: planner
  steps:
    - text: Let me see.
      tool_calls: [{name: Read, input: {path: stock.py}}]
    - tool_calls:
        - name: PlanWrite
          input: {goal: The tests pass., steps: [{id: strip, title: Ignore spaces}, {id: add, title: Add up equal names}]}
    - text: Strip the names, then add up.
- agent: developer
  steps:
    - tool_calls:
        - {name: Edit, input: {path: stock.py, old_string: "    return name, int(count)", new_string: "    return name.strip(), int(count)"}}
        - {name: PlanUpdate, input: {id: strip, status: done}}
    - text: Names are stripped now.
    - expect: One test fails
      tool_calls:
        - {name: Edit, input: {path: stock.py, old_string: "        counts[name] = count", new_string: "        counts[name] = counts.get(name, 0) + count"}}
        - {name: PlanUpdate, input: {id: add, status: done}}
    - text: Equal names are added up.
- agent: tester
  steps:
    - tool_calls: [{name: Bash, input: {command: "python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)"}}]
    - text: One test fails, equal names are not added up.
    - tool_calls: [{name: Bash, input: {command: "python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)"}}]
    - text: All tests pass.
- agent: reviewer
  text: The change is small and right.
"#;

fn agent(name: &str, more: &str) -> (String, String) {
    let text =
        format!("---\nname: {name}\nwhenToUse: For what a {name} does.\n{more}---\nYou are the {name}.\n");
    (format!(".rawko/agents/{name}.md"), text)
}

/// A project with these agents and this script, and something to mend.
fn project(settings: &str, agents: &[(String, String)], script: &str) -> TempDir {
    let dir = directory(&[(".rawko/config.yaml", settings), (".rawko/script.yaml", script)]);
    for (path, text) in agents {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for name in ["stock.py", "test_stock.py"] {
        fs::copy(repository().join("examples/plan-build").join(name), dir.path().join(name)).unwrap();
    }
    dir
}

fn team() -> Vec<(String, String)> {
    // The plan is complete before the tester has tried it: a verdict is a matter of the arbiter then.
    vec![
        agent("planner", ""),
        agent("developer", "transitions: {onSuccess: tester}\n"),
        agent("tester", ""),
        agent("reviewer", "transitions: {onSuccess: complete, onFailure: developer}\n"),
    ]
}

fn whole() -> TempDir {
    let script = format!("{ARBITER}{LOOP}");
    // Ticking the last step would end it before it is tried.
    let script = script.replace("        - {name: PlanUpdate, input: {id: add, status: done}}\n", "");
    project(SETTINGS, &team(), &script)
}

/// Without what differs each time: how long things took, and tokens, which are estimated from prompts with times in them.
fn told(text: &str, dir: &Path) -> String {
    let text = stable(text, dir);
    let lines = text.lines().map(|line| match line.strip_prefix("spent ") {
        Some(spent) => format!("spent … {}\n", spent.split(", ").find(|part| part.contains("tool")).unwrap()),
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn a_task_is_planned_built_tried_mended_and_reviewed() {
    let dir = whole();
    let text = transcript(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "");
    expect![[r#"
        $ rawko task Make the tests pass --id fix
        fix  Make the tests pass
        arbiter    chooses  planner: there is no plan yet
        planner    says     Let me see.
        planner    calls    Read stock.py
        planner    gets     1	"""Counting what lies in a warehouse.""" (+15 lines)
        planner    calls    PlanWrite The tests pass.
        planner    gets     The plan is written. (+3 lines)
                   plan     [ ] Ignore spaces
                            [ ] Add up equal names
        planner    says     Strip the names, then add up.
        arbiter    chooses  developer: the plan can be built
        developer  calls    Edit stock.py
        developer  calls    PlanUpdate strip
        developer  gets     Edited `stock.py` at line 7.
        developer  gets     The step `strip` is changed. (+3 lines)
                   plan     [x] Ignore spaces
        developer  says     Names are stripped now.
        arbiter    chooses  tester: the agent developer declares onSuccess (a rule)
        tester     calls    Bash python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)
        tester     fails    FAILED (+1 lines)
        tester     says     One test fails, equal names are not added up.
        arbiter    chooses  developer: a test fails
        developer  calls    Edit stock.py
        developer  gets     Edited `stock.py` at line 15.
        developer  says     Equal names are added up.
        arbiter    chooses  tester: the agent developer declares onSuccess (a rule)
        tester     calls    Bash python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)
        tester     gets     OK
        tester     says     All tests pass.
        arbiter    chooses  reviewer: all tests pass
        reviewer   says     The change is small and right.
        arbiter    complete The change is small and right. (a rule: the agent reviewer declares onSuccess)

        complete  after 6 iterations: The change is small and right.
        spent … 7 tool calls
        --- stderr
        next: `rawko replay fix --decisions` shows why it went this way
    "#]]
    .assert_eq(&told(&text, dir.path()));
    let mended = fs::read_to_string(dir.path().join("stock.py")).unwrap();
    assert!(mended.contains("counts.get(name, 0) + count"), "{mended}");
}

#[test]
fn a_dry_run_plans_and_changes_nothing() {
    let script = r#"
- agent: planner
  when: dry_run
  steps:
    - tool_calls: [{name: Write, input: {path: stock.py, content: broken}}]
    - expect: refused
      tool_calls: [{name: PlanWrite, input: {goal: g, steps: [{id: a, title: Look}, {id: b, title: Mend}]}}]
    - text: Two steps.
"#;
    let dir = project(SETTINGS, &team(), script);
    let before = fs::read_to_string(dir.path().join("stock.py")).unwrap();
    let text = transcript(dir.path(), &["task", "Make the tests pass", "--dry-run", "--id", "dry"], "");
    expect![[r#"
        $ rawko task Make the tests pass --dry-run --id dry
        dry  Make the tests pass
        planner    calls    Write stock.py
        planner    refused  `Write` is not allowed in the phase `design` (`phases.design.tools`, from rawko's own table of phase…
        planner    calls    PlanWrite g
        planner    gets     The plan is written. (+3 lines)
                   plan     [ ] Look
                            [ ] Mend
        planner    says     Two steps.

        planned  Two steps.
        spent … 2 tool calls
        --- stderr
        next: nothing was changed; the same without --dry-run does it
    "#]].assert_eq(&told(&text, dir.path()));
    assert_eq!(fs::read_to_string(dir.path().join("stock.py")).unwrap(), before);
}

fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn programs_get_a_line_for_everything_and_the_result_last() {
    let dir = whole();
    let ran = run(
        dir.path(),
        &["task", "Make the tests pass", "--id", "fix", "--output-format", "stream-json"],
        "",
    );
    let all = lines(&ran.stdout);
    assert!(all.iter().all(|line| line["v"] == 1 && line["type"].is_string()), "{}", ran.stdout);
    let of = |kind: &str| all.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let decisions: Vec<String> = of("decision").iter().map(|line| decided(&line["decision"])).collect();
    expect![[r#"
        SELECT_MODE planner by model: there is no plan yet
        SELECT_MODE developer by model: the plan can be built
        SELECT_MODE tester by rule: the agent developer declares onSuccess
        SELECT_MODE developer by model: a test fails
        SELECT_MODE tester by rule: the agent developer declares onSuccess
        SELECT_MODE reviewer by model: all tests pass
        COMPLETE - by rule: -"#]]
    .assert_eq(&decisions.join("\n"));
    assert_eq!(of("said")[0]["text"], "Let me see.");
    assert_eq!(of("tool_call")[0]["input"]["path"], "stock.py");
    assert_eq!(of("tool_result").len(), of("tool_call").len());
    let plans: Vec<&Json> = of("plan").iter().map(|line| &line["plan"]["steps"]).collect();
    assert_eq!(plans.last().unwrap()[0]["status"], "done");
    let last = all.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&"result".into(), &"done".into()));
    assert_eq!(last["output"]["outcome"], "complete");
    assert!(
        last["spent"]["tokens"].as_u64() > Some(0) && last["spent"]["tool_calls"] == 7,
        "{}",
        last["spent"]
    );

    let once = whole();
    let ran = run(once.path(), &["task", "Make the tests pass", "--output-format", "json"], "");
    let result: Json = serde_json::from_str(ran.stdout.trim()).unwrap();
    assert_eq!((ran.code, &result["output"]["outcome"]), (Some(0), &"complete".into()));
}

fn decided(decision: &Json) -> String {
    let text = |key: &str| decision[key].as_str().unwrap_or("-").to_owned();
    format!("{} {} by {}: {}", text("type"), text("mode"), text("by"), text("reason"))
}

const ONE: &str = "- {agent: worker, text: Done.}\n";

fn worker(more: &str) -> Vec<(String, String)> {
    vec![agent("worker", more)]
}

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
    /// Name, settings, script, agent, flags, exit code, last words.
    type Case<'c> = (&'c str, &'c str, &'c str, &'c str, &'c [&'c str], i32, &'c str);
    let table: Vec<Case<'_>> = vec![
        ("done", SETTINGS, complete, ONE, &[], 0, "complete  after 1 iteration: Done."),
        ("an agent fails", SETTINGS, "", failing, &[], 1, "failed  after 3 iterations: no"),
        (
            "no such agent",
            SETTINGS,
            "",
            ONE,
            &["--agent", "nobody"],
            2,
            "there is no agent `nobody`; there are",
        ),
        ("no such provider", SETTINGS, "", ONE, &["--model", "x/y"], 2, "there is no provider `x`"),
        ("rate limits", &fast, "", &limited, &[], 3, "the script says rate_limited"),
        (
            "a key that is refused",
            SETTINGS,
            "",
            denied,
            &[],
            41,
            "failed  after 1 iteration: the key is wrong",
        ),
        ("no key at all", &unkeyed, "", ONE, &[], 41, "no key for provider `anthropic`"),
        ("settings", &other, "", ONE, &[], 52, "there is no agent `nobody`"),
        ("no agent may work", "providers: {default: demo/x}\n", "", ONE, &[], 52, "no agent may work here"),
        (
            "the cap",
            SETTINGS,
            retrying,
            &again,
            &["--max-iterations", "1"],
            53,
            "all 1 iterations are used up",
        ),
        ("money", SETTINGS, retrying, dear, &["--max-budget-usd", "0.01"], 53, "`budget.cost_usd`"),
        ("time", SETTINGS, "", slow, &["--timeout", "200ms"], 53, "the time for the task is used up"),
        ("a loop", SETTINGS, "", &round, &[], 54, "loop detected"),
        ("a person", SETTINGS, human, ONE, &[], 55, "asks a person"),
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
        arbiter    fails    the script says rate_limited
                   waits    3ms
        arbiter    fails    the script says rate_limited
                   waits    3ms
        arbiter    fails    the script says rate_limited

        failed  after 0 iterations: the script says rate_limited
        spent … 0 tool calls
        --- stderr
        next: try again later with `rawko task`
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
    - {expect: "`type` must be one of CONTINUE, COMPLETE", data: {type: RETRY, reason: I insist}}
    - data: {type: RETRY, reason: I insist}
- {agent: arbiter, when: "Iteration 1 of", data: {type: SELECT_MODE, mode: worker, reason: begin}}
"#;

#[test]
fn an_endless_retry_stops_at_the_cap_and_resume_goes_on_from_there() {
    let steps = "    - {text: More to do.}\n".repeat(8);
    let script = RETRIES
        .replace("- {agent: worker, text: More to do.}", &format!("- agent: worker\n  steps:\n{steps}"));
    let agents = [agent("worker", ""), agent("other", "")];
    let dir = project(SETTINGS, &agents, &script);
    let first = transcript(dir.path(), &["task", "Do it", "--id", "t", "--max-iterations", "2"], "");
    expect![[r#"
        $ rawko task Do it --id t --max-iterations 2
        t  Do it
        arbiter    chooses  worker: begin
        worker     says     More to do.
        arbiter    again    not good enough
        arbiter    again    worker: not good enough
        worker     says     More to do.
        arbiter    goes on  it is the default agent (the fallback: no rule applies, and no answer could be used)

        limit reached  after 2 iterations: all 2 iterations are used up
        spent … 0 tool calls
        --- stderr
        next: what was done is kept; `rawko resume t --max-iterations 4` goes on
        --- exit code 53
    "#]].assert_eq(&told(&first, dir.path()));
    let too_few = run(dir.path(), &["resume", "t", "--max-iterations", "2"], "");
    assert_eq!((too_few.code, too_few.stdout.as_str()), (Some(2), ""), "{}", too_few.stderr);
    let on = run(dir.path(), &["resume", "t", "--max-iterations", "3", "--output-format", "json"], "");
    let result: Json = serde_json::from_str(on.stdout.trim()).unwrap();
    assert_eq!(on.code, Some(53), "{}", on.stderr);
    assert_eq!(result["output"]["iterations"], 3);
    assert_ne!(result["id"], "t");
    // What was done before is not done again, and what was said is known.
    let history = result["context"]["history"].as_array().unwrap();
    assert_eq!(history.len(), 3);
    assert_eq!(result["context"]["sessions"]["worker"].as_array().unwrap().len(), 6);
}

/// Starts it, or goes on, and kills it after so many lines. Gives the exit code if it came to its end before.
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
    let dir = whole();
    let mut code = killed_after(dir.path(), &begin, 1);
    let mut kills = 1;
    while code.is_none() {
        assert!(kills < 400, "it does not come to an end");
        code = killed_after(dir.path(), &["resume", "fix"], 2 + kills % 4);
        kills += usize::from(code.is_none());
    }
    assert_eq!(code, Some(0), "{}", run(dir.path(), &["show", "fix"], "").stdout);
    assert!(kills >= 10, "only {kills} kills");
    assert_eq!(decisions(dir.path(), "fix"), decisions(undisturbed.path(), "fix"));
    let mended = |dir: &Path| fs::read_to_string(dir.join("stock.py")).unwrap();
    assert_eq!(mended(dir.path()), mended(undisturbed.path()));

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
}

/// The process, once it has said so many lines.
fn running(dir: &Path, args: &[&str], lines: usize) -> (Child, impl BufRead + use<>) {
    let mut child =
        command(dir, args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(out.by_ref().lines().take(lines).count(), lines);
    (child, out)
}

fn configuration(dir: &Path, id: &str) -> String {
    let shown = run(dir, &["show", id, "--json"], "");
    let shown: Json = serde_json::from_str(&shown.stdout).unwrap_or_default();
    shown["configuration"].to_string()
}

const SLOW: &str = r#"
- {agent: arbiter, data: {type: SELECT_MODE, mode: worker, reason: begin}}
- agent: worker
  steps:
    - tool_calls: [{name: PlanWrite, input: {goal: g, steps: [{id: a, title: Look}, {id: b, title: Mend}]}}]
    - {delay_ms: 60000, text: never}
- {agent: other, text: I did it.}
"#;

/// What a person sends to a task at work, from another process, and what becomes of it.
#[test]
fn a_task_at_work_hears_what_a_person_says() {
    let done = "transitions: {onSuccess: complete}\n";
    let table: [(&str, &[&str], &str); 4] = [
        ("cancelled", &["CANCEL"], "cancelled"),
        ("another agent", &["FORCE_AGENT", "--data", r#"{"agentName": "other"}"#], "complete"),
        (
            "nobody of that name",
            &["FORCE_AGENT", "--data", r#"{"agentName": "nobody"}"#, "--no-wait"],
            "executing",
        ),
        ("forgotten", &["RESET"], "idle"),
    ];
    for (name, event, expected) in table {
        let dir = project(SETTINGS, &[agent("worker", ""), agent("other", done)], SLOW);
        let (mut child, _out) = running(dir.path(), &["task", "Do it", "--id", "t"], 5);
        let sent = run(dir.path(), &[&["send", "t"], event].concat(), "");
        assert_eq!(sent.code, Some(0), "{name}: {}{}", sent.stdout, sent.stderr);
        assert_eq!(configuration(dir.path(), "t"), format!("[\"{expected}\"]"), "{name}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

const WAITING: &str = r#"
- agent: arbiter
  steps:
    - {error: {code: rate_limited, retry_after_ms: 3600000}}
    - {data: {type: SELECT_MODE, mode: worker, reason: begin}}
- agent: worker
  text: Done.
- {agent: other, text: I did it.}
"#;

/// The same on a task that nobody runs: it waits for a provider that asked for patience.
#[test]
fn a_parked_task_hears_what_a_person_says() {
    let done = "transitions: {onSuccess: complete}\n";
    let settings = format!("{SETTINGS}task: {{back_off_longest: 2h}}\n");
    let table: [(&str, &[&str], &str); 6] = [
        ("waits no longer", &["RETRY"], "complete"),
        ("cancelled", &["CANCEL"], "cancelled"),
        ("another agent", &["FORCE_AGENT", "--data", r#"{"agentName": "other"}"#], "complete"),
        ("nobody of that name", &["FORCE_AGENT", "--data", r#"{"agentName": "nobody"}"#], "backing_off"),
        ("no step to skip", &["SKIP_STEP"], "backing_off"),
        ("forgotten", &["RESET"], "idle"),
    ];
    for (name, event, expected) in table {
        let dir = project(&settings, &[agent("worker", done), agent("other", done)], WAITING);
        let parked = run(dir.path(), &["task", "Do it", "--id", "t"], "");
        assert_eq!(parked.code, Some(55), "{name}: {}{}", parked.stdout, parked.stderr);
        let sent = run(dir.path(), &[&["send", "t"], event].concat(), "");
        assert_eq!(sent.code, Some(0), "{name}: {}{}", sent.stdout, sent.stderr);
        assert_eq!(configuration(dir.path(), "t"), format!("[\"{expected}\"]"), "{name}");
    }
}

#[test]
fn a_signal_parks_a_task_and_resume_goes_on() {
    let script = SLOW.replace("delay_ms: 60000, text: never", "delay_ms: 1500, text: Done");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), &script);
        let (mut child, _out) = running(dir.path(), &["task", "Do it", "--id", "t"], 5);
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let on = run(dir.path(), &["resume", "t"], "");
        assert_eq!(on.code, Some(0), "{}{}", on.stdout, on.stderr);
        assert!(on.stdout.contains("complete  after 1 iteration: Done"), "{}", on.stdout);
    }
}

const OWN: &str = "
statechart:
  id: my_flow
  initial: working
  context: {task: '', said: null}
  states:
    working:
      invoke:
        id: work
        src: 'agent:worker'
        input: {prompt: \"'Please: ' ~ context.task\"}
        onDone: {target: done, actions: [{type: assign, context_updates: {said: event.data.text}}]}
        onError: failed
    done: {type: final, output: \"{outcome: 'complete', summary: context.said}\"}
    failed: {type: final, tags: [error]}
";

#[test]
fn a_project_replaces_the_chart() {
    let dir = project(SETTINGS, &worker(""), ONE);
    fs::write(dir.path().join("my_flow.yaml"), OWN).unwrap();
    let by_file = transcript(dir.path(), &["task", "Do it", "--chart", "my_flow.yaml", "--id", "t"], "");
    expect![[r#"
        $ rawko task Do it --chart my_flow.yaml --id t
        t  Do it
        start                        [working]
            context  task: "Do it"
            context  said: null
            invoked  work agent:worker {"prompt":"Please: Do it"}
        worker     says     Done.
        work answered                [done]
            answer   worker: Done.
            context  said: null → "Done."
            status   done
            output   {"outcome":"complete","summary":"Done."}

        complete  Done.
        spent … 0 tool calls
    "#]]
    .assert_eq(&told(&by_file, dir.path()));
    // Under rawko's own id it takes the orchestrator's place without a word.
    let own = OWN.replace("id: my_flow", "id: rawko");
    fs::create_dir_all(dir.path().join(".rawko/charts")).unwrap();
    fs::write(dir.path().join(".rawko/charts/rawko.yaml"), own).unwrap();
    let registry = "machine_registry:\n  - {id: rawko, path: rawko.yaml}\n";
    fs::write(dir.path().join(".rawko/charts/registry.yaml"), registry).unwrap();
    let replaced = run(dir.path(), &["task", "Do it", "--id", "u"], "");
    assert_eq!(replaced.code, Some(0), "{}{}", replaced.stdout, replaced.stderr);
    assert!(replaced.stdout.contains("complete  Done."), "{}", replaced.stdout);
}

#[test]
fn another_model_is_asked_the_same_and_may_differ() {
    let settings = SETTINGS.replace("demo: {", "second: {kind: scripted, file: .rawko/second.yaml}, demo: {");
    let script = format!("{ARBITER}{LOOP}")
        .replace("        - {name: PlanUpdate, input: {id: add, status: done}}\n", "");
    let dir = project(&settings, &team(), &script);
    let second = ARBITER
        .replace("mode: developer, reason: the plan can be built", "mode: tester, reason: first the tests");
    let second = second.replace("{type: SELECT_MODE, mode: developer, reason: a test fails}", "[1]");
    fs::write(dir.path().join(".rawko/second.yaml"), second).unwrap();
    assert_eq!(run(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "").code, Some(0));
    let text = transcript(dir.path(), &["replay", "fix", "--decisions", "--model", "second/x"], "");
    expect![[r#"
        $ rawko replay fix --decisions --model second/x
           1  2026-01-05 09:30:00Z  select    chooses  planner: there is no plan yet
              the same: SELECT_MODE planner: there is no plan yet
           3  2026-01-05 09:30:00Z  evaluate  chooses  developer: the plan can be built
              differs: SELECT_MODE tester: first the tests
           5  2026-01-05 09:30:00Z  evaluate  chooses  tester: the agent developer declares onSuccess (a rule)
              a rule decided; nobody is asked
           7  2026-01-05 09:30:00Z  evaluate  chooses  developer: a test fails
              no answer: the answer cannot be used: the answer does not fit its schema: [1] is not of type "object"
           9  2026-01-05 09:30:00Z  evaluate  chooses  tester: the agent developer declares onSuccess (a rule)
              a rule decided; nobody is asked
          11  2026-01-05 09:30:00Z  evaluate  chooses  reviewer: all tests pass
              the same: SELECT_MODE reviewer: all tests pass
          13  2026-01-05 09:30:00Z  evaluate  complete The change is small and right. (a rule: the agent reviewer declares onSuccess)
              a rule decided; nobody is asked
        --- stderr
        note: second/x differs in 1 of 3 decisions
    "#]].assert_eq(&stable(&text, dir.path()));
    let plain = run(dir.path(), &["replay", "fix", "--decisions"], "");
    assert!(plain.stdout.contains("## Task") && plain.stdout.contains("answer\n"), "{}", plain.stdout);
    let none = run(dir.path(), &["replay", "nothing", "--decisions"], "");
    assert_eq!(none.code, Some(2));
}

#[test]
fn the_first_agent_and_the_model_can_be_chosen() {
    let settings = SETTINGS.replace("demo: {", "second: {kind: scripted, file: .rawko/second.yaml}, demo: {");
    let done = "transitions: {onSuccess: complete}\n";
    let script = "- {agent: worker, text: The first model.}\n- {agent: other, text: The first model.}\n";
    let dir = project(&settings, &[agent("worker", done), agent("other", done)], script);
    fs::write(dir.path().join(".rawko/second.yaml"), script.replace("first", "second")).unwrap();
    let table: [(&[&str], &str); 3] = [
        (&["--agent", "other"], "other      says     The first model."),
        (&["--agent", "worker", "--provider", "second"], "worker     says     The second model."),
        (
            &["--agent", "worker", "--provider", "second", "--model", "big"],
            "worker     says     The second model.",
        ),
    ];
    for (args, expected) in table {
        let ran = run(dir.path(), &[&["task", "Do it"], args].concat(), "");
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    }
}

/// The same task with a tester whose words lead somewhere by themselves.
fn with_verdicts() -> TempDir {
    let script = format!("{ARBITER}{LOOP}")
        .replace("        - {name: PlanUpdate, input: {id: add, status: done}}\n", "")
        .replace(
            "    - text: One test fails, equal names are not added up.",
            "    - data: {verdict: broken, report: \"One test fails, equal names are not added up.\"}",
        )
        .replace("    - text: All tests pass.", "    - data: {verdict: passed, report: All tests pass.}");
    let mut agents = team();
    agents[2] = agent("tester", "transitions: {custom: {broken: developer}, onSuccess: reviewer}\n");
    project(SETTINGS, &agents, &script)
}

#[test]
fn a_verdict_decides_without_a_model_and_a_terminal_shows_the_same_as_it_comes() {
    let piped = with_verdicts();
    let ran = run(piped.path(), &["task", "Make the tests pass", "--id", "fix"], "");
    let piped = told(&ran.stdout, piped.path());
    assert_eq!(ran.code, Some(0), "{piped}");
    let decided = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.starts_with("arbiter") || line.contains("verdict"))
            .map(str::to_owned)
            .collect()
    };
    expect![[r#"
        arbiter    chooses  planner: there is no plan yet
        arbiter    chooses  developer: the plan can be built
        arbiter    chooses  tester: the agent developer declares onSuccess (a rule)
        tester     verdict  broken
        arbiter    chooses  developer: the agent tester declares where `broken` leads (a rule)
        arbiter    chooses  tester: the agent developer declares onSuccess (a rule)
        tester     verdict  passed
        arbiter    chooses  reviewer: the agent tester declares onSuccess (a rule)
        arbiter    complete The change is small and right. (a rule: the agent reviewer declares onSuccess)"#]]
    .assert_eq(&decided(&piped).join("\n"));
    for _ in 0..3 {
        let dir = with_verdicts();
        let rawko = format!("{RAWKO} --color never task 'Make the tests pass' --id fix 2> /dev/null");
        let mut terminal = std::process::Command::new("script");
        terminal.args(["-qec", &rawko, "/dev/null"]).current_dir(dir.path()).env("HOME", dir.path());
        let shown = terminal.stdin(Stdio::null()).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap().replace('\r', "");
        assert_eq!(told(&shown, dir.path()), piped);
    }
}
