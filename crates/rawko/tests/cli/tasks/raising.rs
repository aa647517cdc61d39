//! Raising limits that were reached: each of them has to be raised, and earlier spending counts.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use super::project::{ONE, SETTINGS, project, worker};
use crate::support::{Run, run};

const DEAR: &str = r#"
- agent: worker
  steps:
    - {text: One., usage: {input_tokens: 5, output_tokens: 5, cost_usd: 0.02}}
    - {text: Two., usage: {input_tokens: 5, output_tokens: 5, cost_usd: 0.02}}
    - {text: Three., usage: {input_tokens: 5, output_tokens: 5, cost_usd: 0.02}}
    - {text: Four., usage: {input_tokens: 5, output_tokens: 5, cost_usd: 0.02}}
"#;

/// Options, exit code, and text on standard error.
type Attempt<'a> = (&'a [&'a str], i32, &'a str);

fn resumed(dir: &Path, options: &[&str]) -> Run {
    run(dir, &[&["resume", "t", "--output-format", "json"], options].concat(), "")
}

fn check(dir: &Path, attempts: &[Attempt<'_>]) {
    for (options, code, words) in attempts {
        let on = resumed(dir, options);
        assert_eq!(on.code, Some(*code), "{options:?}: {}{}", on.stdout, on.stderr);
        assert!(on.stderr.contains(words), "{options:?}: {}", on.stderr);
    }
}

#[test]
fn money_that_is_spent_stays_spent() {
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: worker}\n"), DEAR);
    let limited = run(dir.path(), &["task", "Do it", "--id", "t", "--max-budget-usd", "0.01"], "");
    assert_eq!(limited.code, Some(53), "{}", limited.stdout);
    assert!(
        limited.stderr.contains("continue with: rawko resume t --max-budget-usd 0.04"),
        "{}",
        limited.stderr
    );
    check(
        dir.path(),
        &[
            (&["--max-iterations", "9"], 2, "t has spent $0.0200; pass a larger --max-budget-usd"),
            (&["--max-budget-usd", "0.02"], 2, "t has spent $0.0200; pass a larger --max-budget-usd"),
            (&["--max-budget-usd", "1", "--timeout", "1h"], 2, "t has not timed out"),
            (&["--max-budget-usd", "1", "--max-iterations", "2"], 2, "t has used 2 iterations"),
        ],
    );
    let on = resumed(dir.path(), &["--max-budget-usd", "0.05"]);
    let result: Json = serde_json::from_str(on.stdout.trim()).unwrap();
    // Two more responses, the second of which exceeds the budget; the first one counts.
    assert_eq!(on.code, Some(53), "{}", on.stderr);
    assert_eq!((&result["spent"]["tokens"], &result["spent"]["cost_usd"]), (&30.into(), &0.06.into()));
    assert_eq!(result["context"]["sessions"]["worker"].as_array().unwrap().len(), 6);
}

#[test]
fn iterations_that_are_raised_leave_the_budget_as_it_was() {
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: worker}\n"), DEAR);
    let task = ["task", "Do it", "--id", "t", "--max-budget-usd", "0.05", "--max-iterations", "1"];
    assert_eq!(run(dir.path(), &task, "").code, Some(53));
    let on = resumed(dir.path(), &["--max-iterations", "9"]);
    let result: Json = serde_json::from_str(on.stdout.trim()).unwrap();
    assert_eq!(on.code, Some(53), "{}", on.stderr);
    assert!(on.stderr.contains("--max-budget-usd 0.12"), "{}", on.stderr);
    assert_eq!(result["spent"]["cost_usd"], 0.06);
}

#[test]
fn time_that_is_used_up_goes_on_with_more() {
    let slow = "- agent: worker\n  steps: [{delay_ms: 600000, text: never}]\n";
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), slow);
    let limited = run(dir.path(), &["task", "Do it", "--id", "t", "--timeout", "200ms"], "");
    assert_eq!(limited.code, Some(53), "{}", limited.stdout);
    assert!(limited.stderr.contains("continue with: rawko resume t --timeout 30m"), "{}", limited.stderr);
    check(
        dir.path(),
        &[
            (&["--max-iterations", "60"], 2, "t has timed out; pass --timeout with the additional time"),
            // The new time is a limit like the first.
            (&["--timeout", "100ms"], 53, "--timeout 30m"),
        ],
    );
    fs::write(dir.path().join(".rawko/script.yaml"), ONE).unwrap();
    check(dir.path(), &[(&["--timeout", "10m"], 0, "")]);
}
