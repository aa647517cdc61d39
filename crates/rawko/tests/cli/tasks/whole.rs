//! A whole task: for people and for programs, plan only, with another chart or model, and replayed.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value as Json;
use tempfile::TempDir;

use super::project::{
    ARBITER, LOOP, ONE, SETTINGS, agent, decided, lines, project, team, told, whole, worker,
};
use crate::support::{RAWKO, repository, run, stable, transcript};

#[test]
fn a_task_is_planned_built_tried_mended_and_reviewed() {
    let dir = whole();
    let text = transcript(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "");
    expect![[r#"
        $ rawko task Make the tests pass --id fix
        fix  Make the tests pass
        arbiter    →        planner: there is no plan yet
        planner    says     Let me see.
        planner    calls    Read stock.py
        planner    result   1	"""Counting what lies in a warehouse.""" (+15 lines)
        planner    calls    PlanWrite The tests pass.
        planner    result   The plan is written. (+3 lines)
                   plan     [ ] Ignore spaces
                            [ ] Add up equal names
        planner    says     Strip the names, then add up.
        arbiter    →        developer: the plan can be built
        developer  calls    Edit stock.py
        developer  calls    PlanUpdate strip
        developer  result   Edited `stock.py` at line 7.
        developer  result   The step `strip` is changed. (+3 lines)
                   plan     [x] Ignore spaces
        developer  says     Names are stripped now.
        arbiter    →        tester (rule: developer.onSuccess)
        tester     calls    Bash python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)
        tester     error    FAILED (+1 line)
        tester     says     One test fails, equal names are not added up.
        arbiter    →        developer: a test fails
        developer  calls    Edit stock.py
        developer  result   Edited `stock.py` at line 15.
        developer  says     Equal names are added up.
        arbiter    →        tester (rule: developer.onSuccess)
        tester     calls    Bash python3 -m unittest -q > /dev/null 2>&1 && echo OK || (echo FAILED; exit 1)
        tester     result   OK
        tester     says     All tests pass.
        arbiter    →        reviewer: all tests pass
        reviewer   says     The change is small and right.
        arbiter    complete The change is small and right. (rule: reviewer.onSuccess)

        complete  after 6 iterations: The change is small and right.
        unverified  this project has no checks that could confirm it
        changed  stock.py (+2 -2)
        spent … 7 tool calls
        --- stderr
        next: see the decisions: rawko replay fix --decisions
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
      tool_calls: [{name: PlanWrite, input: {goal: g, steps: [{id: a, title: Look}, {id: b, title: Mend, depends_on: [a], acceptance: [all tests pass]}]}}]
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
        planner    result   The plan is written. (+4 lines)
                   plan     [ ] Look
                            [ ] Mend
                                after Look
                                accepted if all tests pass
        planner    says     Two steps.

        planned  Two steps.
        spent … 2 tool calls
        --- stderr
        next: nothing was changed; run it again without --dry-run
    "#]].assert_eq(&told(&text, dir.path()));
    assert_eq!(fs::read_to_string(dir.path().join("stock.py")).unwrap(), before);
}

/// Every line conforms to the published schema, and a line that does not is rejected.
fn check_schema(all: &[Json]) {
    let file = fs::read_to_string(repository().join("docs/formats/stream.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&file).unwrap()).unwrap();
    let mut kinds = BTreeSet::new();
    for line in all {
        assert!(schema.is_valid(line), "{line:#}");
        if kinds.insert(line["type"].as_str().unwrap()) {
            for key in line.as_object().unwrap().keys().filter(|key| !OPTIONAL.contains(&key.as_str())) {
                let mut less = line.clone();
                less.as_object_mut().unwrap().remove(key);
                assert!(!schema.is_valid(&less), "`{key}` may be missing: {line:#}");
            }
        }
    }
    let kinds: Vec<&str> = kinds.into_iter().collect();
    expect!["decision delta emitted invoked log plan result said sent started step timer tool_call tool_result tool_use"]
        .assert_eq(&kinds.join(" "));
}

/// Keys that are missing on some lines.
const OPTIONAL: [&str; 3] = ["output", "story", "spent"];

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
    check_schema(&all);
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
    assert_eq!((&last["type"], &last["status"]), (&"result".into(), &"ended".into()));
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
    // Options that the chart does not declare are rejected.
    let options = [
        ["--agent", "worker"],
        ["--max-iterations", "3"],
        ["--timeout", "5m"],
        ["--provider", "demo"],
        ["--model", "demo/x"],
    ];
    for option in options {
        let args = [&["task", "Do it", "--chart", "my_flow.yaml"][..], &option].concat();
        let ran = run(dir.path(), &args, "");
        assert_eq!(ran.code, Some(2), "{option:?}: {}{}", ran.stdout, ran.stderr);
        let words = format!("chart `my_flow` does not support `{}`", option[0]);
        assert!(ran.stderr.contains(&words), "{option:?}: {}", ran.stderr);
    }
    // A chart with rawko's own id replaces the orchestrator silently.
    let own = OWN.replace("id: my_flow", "id: rawko");
    fs::create_dir_all(dir.path().join(".rawko/charts")).unwrap();
    fs::write(dir.path().join(".rawko/charts/rawko.yaml"), own).unwrap();
    let registry = "machine_registry:\n  - {id: rawko, version: 1.0.0, src: rawko.yaml}\n";
    fs::write(dir.path().join(".rawko/charts/registry.yaml"), registry).unwrap();
    assert_eq!(run(dir.path(), &["check", "."], "").code, Some(0));
    let replaced = run(dir.path(), &["task", "Do it", "--id", "u"], "");
    assert_eq!(replaced.code, Some(0), "{}{}", replaced.stdout, replaced.stderr);
    assert!(replaced.stdout.contains("complete  Done."), "{}", replaced.stdout);
}

/// A broken replacement of a chart must not fall back to rawko's own.
#[test]
fn a_chart_of_the_projects_that_cannot_be_used_is_not_replaced_by_rawkos() {
    let slip = OWN.replace("target: done", "target: nowhere");
    let table = [
        ("rawko.yaml", slip.replace("id: my_flow", "id: rawko"), "rawko"),
        ("another_name.yaml", slip.replace("id: my_flow", "id: rawko"), "rawko"),
        ("rawko.yaml", "statechart:\n  id: [rawko\n".to_owned(), "rawko"),
        ("agent.yaml", slip.replace("id: my_flow", "id: agent"), "agent"),
    ];
    for (name, text, id) in table {
        let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), ONE);
        fs::create_dir_all(dir.path().join(".rawko/charts")).unwrap();
        fs::write(dir.path().join(".rawko/charts").join(name), text).unwrap();
        for args in [&["task", "Do it"][..], &["run", id]] {
            let ran = run(dir.path(), args, "");
            assert_eq!(ran.code, Some(52), "{name} {args:?}: {}{}", ran.stdout, ran.stderr);
            let words = format!("error: `.rawko/charts/{name}` is invalid");
            assert!(ran.stderr.contains(&words) && ran.stderr.contains("rawko::"), "{name}: {}", ran.stderr);
        }
    }
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
           2  2026-01-05 09:30:00Z  select    →        planner: there is no plan yet
              same: SELECT_MODE planner: there is no plan yet
           9  2026-01-05 09:30:00Z  evaluate  →        developer: the plan can be built
              differs: SELECT_MODE tester: first the tests
          15  2026-01-05 09:30:00Z  evaluate  →        tester (rule: developer.onSuccess)
              decided by a rule; model not asked
          20  2026-01-05 09:30:00Z  evaluate  →        developer: a test fails
              no response: the answer cannot be used: the answer does not fit its schema: [1] is not of type "object"
          25  2026-01-05 09:30:00Z  evaluate  →        tester (rule: developer.onSuccess)
              decided by a rule; model not asked
          30  2026-01-05 09:30:00Z  evaluate  →        reviewer: all tests pass
              same: SELECT_MODE reviewer: all tests pass
          34  2026-01-05 09:30:00Z  evaluate  complete The change is small and right. (rule: reviewer.onSuccess)
              decided by a rule; model not asked
        --- stderr
        note: second/x differs in 1 of 3 decisions; no usable response for 1
    "#]].assert_eq(&stable(&text, dir.path()));
    let plain = run(dir.path(), &["replay", "fix", "--decisions", "-v"], "");
    assert!(plain.stdout.contains("## Task") && plain.stdout.contains("answer\n"), "{}", plain.stdout);
    let none = run(dir.path(), &["replay", "nothing", "--decisions"], "");
    assert_eq!(none.code, Some(2));
}

/// Without any response there is no comparison, and the exit code gives the reason.
#[test]
fn another_model_that_answers_nothing_is_no_success() {
    let settings = SETTINGS.replace("demo: {", "second: {kind: scripted, file: .rawko/second.yaml}, demo: {");
    let dir = project(&settings, &team(), &format!("{ARBITER}{LOOP}"));
    assert_eq!(run(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "").code, Some(0));
    let all = |step: &str| format!("- {{agent: arbiter, steps: [{}]}}\n", [step; 9].join(", "));
    let table = [
        (all("{error: {code: authentication_failed}}"), "second/x", 41),
        (all("{error: {code: rate_limited}}"), "second/x", 3),
        (all("{text: I would rather not.}"), "second/x", 1),
        (String::from("[]"), "second/x", 1),
        (String::from("[]"), "anthropic/x", 41),
        (String::from("[]"), "nobody/x", 2),
    ];
    for (script, model, code) in table {
        fs::write(dir.path().join(".rawko/second.yaml"), &script).unwrap();
        for format in [&[][..], &["--json"]] {
            let args = [&["replay", "fix", "--decisions", "--model", model], format].concat();
            let ran = run(dir.path(), &args, "");
            assert_eq!(ran.code, Some(code), "{model} {script}: {}{}", ran.stdout, ran.stderr);
        }
    }
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

/// An agent named by a person gets the same memories as one selected by the arbiter.
#[test]
fn an_agent_that_is_named_is_told_what_is_known() {
    let done = "transitions: {onSuccess: complete}\n";
    let script = "- {agent: other, expect: Tie each of them twice., text: Done.}\n";
    let dir = project(SETTINGS, &[agent("worker", done), agent("other", done)], script);
    fs::create_dir_all(dir.path().join(".rawko/memories")).unwrap();
    let memory = "---\ntitle: Knots\nagents: [other]\n---\nTie each of them twice.\n";
    fs::write(dir.path().join(".rawko/memories/knots.md"), memory).unwrap();
    let ran = run(dir.path(), &["task", "Tie knots", "--agent", "other"], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

/// The same task with a tester whose verdict triggers a rule.
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
        arbiter    →        planner: there is no plan yet
        arbiter    →        developer: the plan can be built
        arbiter    →        tester (rule: developer.onSuccess)
        tester     verdict  broken
        arbiter    →        developer (rule: tester.broken)
        arbiter    →        tester (rule: developer.onSuccess)
        tester     verdict  passed
        arbiter    →        reviewer (rule: tester.onSuccess)
        arbiter    complete The change is small and right. (rule: reviewer.onSuccess)"#]]
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
