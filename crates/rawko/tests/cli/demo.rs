//! `rawko demo`, the README's first command: the whole loop offline, with real files, real tests, and a failure that is
//! recovered from.

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::expect;
use serde_json::Value as Json;

use crate::support::{directory, repository, run, transcript};

fn unittest(dir: &Path) -> (bool, String) {
    let output = Command::new("python3").args(["-m", "unittest"]).current_dir(dir).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_whole_loop_runs_offline_and_mends_what_failed() {
    let dir = directory(&[]);
    let demo = run(dir.path(), &["demo", "slugs"], "");
    assert_eq!(demo.code, Some(0), "{}{}", demo.stdout, demo.stderr);
    let slugs = dir.path().join("slugs");
    assert!(demo.stdout.contains("The agents changed slugs.py and test_slugs.py."), "{}", demo.stdout);

    // The files are real, and so are the tests.
    let mended = fs::read_to_string(slugs.join("slugs.py")).unwrap();
    assert!(mended.contains("while free in taken"), "{mended}");
    let (passes, told) = unittest(&slugs);
    assert!(passes && told.contains("Ran 4 tests"), "{told}");
    let memory = fs::read_to_string(slugs.join(".rawko/memories/tests-run-with-python3-m-unittest.md"));
    assert!(memory.is_ok_and(|text| text.contains("nothing to install")));

    // Who worked, in which order, and how the test runs ended.
    let listed = run(&slugs, &["ps", "--json", "--chart", "rawko"], "").stdout;
    let listed: Json = serde_json::from_str(&listed).unwrap();
    let id = listed["instances"][0]["id"].as_str().unwrap().to_owned();
    let shown = run(&slugs, &["show", &id, "--json"], "").stdout;
    let shown: Json = serde_json::from_str(&shown).unwrap();
    let history = shown["context"]["history"].as_array().unwrap();
    let agents: Vec<&str> = history.iter().map(|entry| entry["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["planner", "developer", "tester", "developer", "tester", "reviewer"]);
    let said: Vec<&str> = history.iter().map(|entry| entry["output"].as_str().unwrap()).collect();
    assert!(said[2].starts_with("1 of 4 tests fails"), "{said:?}");
    assert!(said[4].starts_with("All 4 tests pass"), "{said:?}");
    let steps = shown["context"]["plan"]["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["status"] == "done"), "{steps:#?}");
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let dir = directory(&[]);
    let demo = run(dir.path(), &["demo", "slugs"], "");
    let printed = format!("{}{}", demo.stdout, demo.stderr);
    let is_printed =
        |line: &&str| !line.is_empty() && !line.starts_with('…') && !printed.contains(line.trim_end());
    let invented: Vec<&str> = shown.lines().filter(is_printed).collect();
    assert!(invented.is_empty(), "the README shows {invented:#?}\nthe demo prints\n{printed}");
}

/// What is in the way is never overwritten.
#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let dir = directory(&[("slugs/slugs.py", "mine\n")]);
    expect![[r#"
        $ rawko demo slugs
        --- stderr
        error: `slugs` is not empty, and the demo needs a directory of its own
        --- exit code 2
    "#]]
    .assert_eq(&transcript(dir.path(), &["demo", "slugs"], ""));
    assert_eq!(fs::read_dir(dir.path().join("slugs")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(dir.path().join("slugs/slugs.py")).unwrap(), "mine\n");
}
