//! The examples match their transcripts, their charts are valid, and their scenarios cover every state.

use expect_test::expect_file;

use crate::support::{RAWKO, by_ada, repository, run, transcript};

/// Runs the commands of an example, as its README gives them, and compares them with the transcript beside it.
fn check(example: &str, commands: &[&[&str]]) {
    let dir = repository().join("examples").join(example);
    let shown: Vec<_> = commands.iter().map(|args| transcript(&dir, args, "")).collect();
    expect_file![dir.join("transcript.txt")].assert_eq(&shown.join("\n"));
}

#[test]
fn traffic_light() {
    check(
        "traffic-light",
        &[&["check", "."], &["simulate", "traffic-light.yaml", "--events", "events.jsonl"], &["test"]],
    );
}

#[test]
fn code_review() {
    check(
        "code-review",
        &[
            &["check", "."],
            &["simulate", "code_review.yaml", "--services", "stubs.yaml", "--events", "events.jsonl"],
            &["test"],
        ],
    );
}

#[test]
fn order() {
    check(
        "order",
        &[
            &["check", "."],
            &[
                "simulate",
                "order.yaml",
                "--with",
                "parcel.yaml",
                "--services",
                "stubs.yaml",
                "--events",
                "events.jsonl",
                "--input",
                "order_id=o-17",
                "--input",
                "amount=250",
            ],
            &["test"],
        ],
    );
}

#[test]
fn pipeline() {
    check(
        "pipeline",
        &[
            &["check", "."],
            &["simulate", "pipeline.yaml", "--services", "stubs.yaml", "--events", "events.jsonl"],
            &["test"],
        ],
    );
}

#[test]
fn review_votes() {
    check(
        "review-votes",
        &[
            &["check", "."],
            &["simulate", "review_votes.yaml", "--services", "stubs.yaml", "--events", "events.jsonl"],
            &["test"],
        ],
    );
}

/// The only example that calls real services: payment over HTTP, commands, people, children, compensation.
#[test]
fn fulfilment() {
    check("fulfilment", &[&["check", "."], &["test"]]);
    let dir = repository().join("examples/fulfilment");
    let output = std::process::Command::new("sh")
        .arg("run.sh")
        .current_dir(&dir)
        .env("RAWKO", RAWKO)
        .env_remove("RAWKO_STORE")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches("error").count(), 0);
    let shown = by_ada(&String::from_utf8(output.stdout).unwrap());
    let shown: Vec<String> = shown.lines().map(timeless).collect();
    expect_file![dir.join("run.txt")].assert_eq(&(shown.join("\n") + "\n"));
}

/// Agents with real tools, real test runs and real refusals.
#[test]
fn plan_build() {
    let dir = repository().join("examples/plan-build");
    let output = std::process::Command::new("sh")
        .arg("run.sh")
        .current_dir(&dir)
        .env("RAWKO", RAWKO)
        .env("HOME", "/nonexistent")
        .env_remove("RAWKO_STATE_DIR")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("RAWKO_STORE")
        .env_remove("RAWKO_MODEL")
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let shown: Vec<String> =
        shown.lines().map(|line| without_trees(&without_moments(&timeless(line)))).collect();
    expect_file![dir.join("run.txt")].assert_eq(&(shown.join("\n") + "\n"));
}

/// npm, pytest, cargo and git in the sandbox. The script of the model expects what each of them prints.
#[test]
fn real_tools() {
    let venv = repository().join("target/tools/api");
    let venv = venv.canonicalize().expect("run `cargo xtask tools`");
    let config = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .arg("run.sh")
        .current_dir(repository().join("examples/real-tools"))
        .env("RAWKO", RAWKO)
        .env("PYTEST_HOME", venv)
        .env("XDG_CONFIG_HOME", config.path())
        .env_remove("RAWKO_STORE")
        .env_remove("RAWKO_MODEL")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for check in ["passed  npm:", "passed  pytest:", "passed  cargo:", "All tests pass."] {
        assert!(shown.contains(check), "{check}: {shown}");
    }
}

/// Replaces hashes of all files: `run.txt` is one of them.
fn without_trees(line: &str) -> String {
    let is_tree = |word: &&str| word.len() == 32 && word.chars().all(|letter| letter.is_ascii_hexdigit());
    let trees: Vec<&str> = line.split('"').filter(is_tree).collect();
    trees.iter().fold(line.to_owned(), |line, tree| line.replace(tree, "<hash of the files>"))
}

/// Removes timestamps and the duration of tests.
fn without_moments(line: &str) -> String {
    let mut kept = String::new();
    let mut digits = String::new();
    for letter in line.chars().chain(['\n']) {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        kept += if digits.len() == 13 { "1790000000000" } else { &digits };
        digits.clear();
        kept.push(letter);
    }
    kept.trim_end_matches('\n').to_owned()
}

/// Removes the parts of a line that depend on time and speed.
fn timeless(line: &str) -> String {
    // Tokens are estimated from prompts that contain times.
    if let Some(spent) = line.strip_prefix("spent ") {
        let calls = spent.split(", ").find(|part| part.contains("tool call")).unwrap_or_default();
        return format!("spent … {calls}");
    }
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let is_date = word.len() == 10 && word.starts_with("20") && word.matches('-').count() == 2;
        let is_time = word.len() == 9 && word.ends_with('Z') && word.matches(':').count() == 2;
        words.push(if is_date {
            "2026-11-16".to_owned()
        } else if is_time {
            "12:00:00Z".to_owned()
        } else {
            word.to_owned()
        });
    }
    let mut line = words.join(" ");
    for seconds in 1..60 {
        line = line
            .replace(&format!("{seconds}s ago  "), "just now")
            .replace(&format!("{seconds}s ago"), "just now");
    }
    line
}

#[test]
fn every_example_is_sound_and_covered() {
    let examples = repository().join("examples");
    let checked = run(&examples, &["check", ".", "--strict"], "");
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    let tested = run(&examples, &["test", "--json"], "");
    assert_eq!(tested.code, Some(0), "{}", tested.stdout);
    let results: serde_json::Value = serde_json::from_str(&tested.stdout).unwrap();
    for chart in results["coverage"].as_array().unwrap() {
        assert_eq!(chart["percent"], 100, "{chart}");
    }
}

#[test]
fn the_schema_accepts_every_example_and_refuses_what_is_none() {
    let schema: serde_json::Value =
        serde_json::from_str(&run(&repository(), &["schema"], "").stdout).unwrap();
    let accepts =
        |text: &str| jsonschema::is_valid(&schema, &rawko_chart::SpannedValue::read(text).unwrap().to_json());
    let charts = [
        "traffic-light/traffic-light.yaml",
        "code-review/code_review.yaml",
        "order/order.yaml",
        "order/parcel.yaml",
        "pipeline/pipeline.yaml",
        "pipeline/.rawko/charts/rollout.yaml",
        "pipeline/.rawko/charts/registry.yaml",
    ];
    for chart in charts {
        let text = std::fs::read_to_string(repository().join("examples").join(chart)).unwrap();
        assert!(accepts(&text), "{chart}");
        assert!(!accepts(&text.replace("id:", "idd:")), "{chart} with a misspelt key");
    }
}
