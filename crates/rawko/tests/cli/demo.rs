//! `rawko demo`, the README's first command: the whole loop offline, with real files, real tests, and recovery from a
//! failure.

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::expect;
use serde_json::Value as Json;

use crate::support::{RAWKO, command, directory, repository, run, transcript};

fn unittest(dir: &Path) -> (bool, String) {
    let output = Command::new("python3").args(["-m", "unittest"]).current_dir(dir).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_whole_loop_runs_offline_and_mends_what_failed() {
    let dir = directory(&[]);
    let own = Path::new(RAWKO).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&others))).unwrap();
    let demo = command(dir.path(), &["demo", "slugs"]).env("PATH", path).output().unwrap();
    let [stdout, stderr] = [demo.stdout, demo.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(demo.status.code(), Some(0), "{stdout}{stderr}");
    let slugs = dir.path().join("slugs");
    assert!(stdout.contains("The agents changed slugs.py and test_slugs.py."), "{stdout}");
    // Where rawko is in the path, no alias is needed.
    assert!(!stdout.contains("alias") && stdout.contains("  cd slugs\n"), "{stdout}");
    readme_shows(&format!("{stdout}{stderr}"));

    // The files and the tests are real.
    let mended = fs::read_to_string(slugs.join("slugs.py")).unwrap();
    assert!(mended.contains("while free in taken"), "{mended}");
    let (passes, told) = unittest(&slugs);
    assert!(passes && told.contains("Ran 4 tests"), "{told}");
    let memory = fs::read_to_string(slugs.join(".rawko/memories/tests-run-with-python3-m-unittest.md"));
    assert!(memory.is_ok_and(|text| text.contains("nothing to install")));

    // The agents in order, and the results of the test runs.
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

/// A user may have settings, even invalid ones, and agents of their own: the demo ignores them.
#[test]
fn the_users_own_settings_and_agents_have_no_part_in_it() {
    let mine =
        "governance: {deny: ['tool:Bash']}\ntask: {max_iterations: 1}\nproviders: {default: nobody/x}\n";
    for folder in [".config", "mine"] {
        let dir = directory(&[
            (&format!("{folder}/rawko/config.yaml"), mine),
            (&format!("{folder}/rawko/agents/planner.md"), "---\nname: [\n---\n"),
        ]);
        let mut demo = command(dir.path(), &["demo", "slugs"]);
        if folder == "mine" {
            demo.env("XDG_CONFIG_HOME", dir.path().join(folder));
        }
        let output = demo.output().unwrap();
        let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert_eq!(output.status.code(), Some(0), "{folder}: {told}");
        assert!(told.contains("The agents changed slugs.py and test_slugs.py."), "{folder}: {told}");
    }
}

/// The README shows lines of the demo's output: some are omitted, but none is invented and the order is kept.
fn readme_shows(printed: &str) {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    // The project's directory differs in every run.
    let printed = printed.replace("in slugs.", "in /tmp/rawko-demo-4711.");
    let mut rest = printed.as_str();
    for line in shown.lines().filter(|line| !line.is_empty() && !line.starts_with('…')) {
        let at = rest
            .find(line)
            .unwrap_or_else(|| panic!("the README shows `{line}`\nthe demo prints\n{printed}"));
        rest = &rest[at + line.len()..];
    }
}

/// Without a directory it creates a new one every time, and prints how to run this rawko from there.
#[test]
fn a_temporary_directory_is_made_and_named() {
    let dir = directory(&[]);
    let mut places = Vec::new();
    for _ in 0..2 {
        let output = command(dir.path(), &["demo"]).env("TMPDIR", dir.path()).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told}");
        let place = told.lines().find_map(|line| line.strip_prefix("  cd ")).unwrap().to_owned();
        assert!(Path::new(&place).starts_with(dir.path()) && Path::new(&place).join("slugs.py").is_file());
        assert!(told.contains("  alias rawko=/"), "{told}");
        places.push(place);
    }
    assert_ne!(places[0], places[1]);
}

/// The store outlives the directory: a second demo in its place gets another id.
#[test]
fn a_removed_demo_can_be_run_again() {
    let dir = directory(&[]);
    for id in ["demo", "demo-2"] {
        let demo = run(dir.path(), &["demo", "slugs"], "");
        assert_eq!(demo.code, Some(0), "{id}: {}{}", demo.stdout, demo.stderr);
        assert!(demo.stdout.contains(&format!("  rawko history {id} ")), "{id}: {}", demo.stdout);
        let slugs = dir.path().join("slugs");
        assert_eq!(run(&slugs, &["history", id], "").code, Some(0));
        fs::remove_dir_all(slugs).unwrap();
    }
}

/// Existing files are never overwritten.
#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let dir = directory(&[("slugs/slugs.py", "mine\n")]);
    expect![[r#"
        $ rawko demo slugs
        --- stderr
        error: `slugs` is not empty; pass an empty or new directory
        --- exit code 2
    "#]]
    .assert_eq(&transcript(dir.path(), &["demo", "slugs"], ""));
    assert_eq!(fs::read_dir(dir.path().join("slugs")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(dir.path().join("slugs/slugs.py")).unwrap(), "mine\n");
}
