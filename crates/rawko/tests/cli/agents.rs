//! Agents from the command line: listing them, their problems, and a whole run that survives repeated kills.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use expect_test::expect;

use crate::support::{STORIES_MAX, command, directory, repository, run, slowed, transcript};

const SETTINGS: &str = "governance: {allow: ['agent:*']}\nproviders: {default: demo/x, demo: {kind: scripted, file: script.yaml}}\n";

/// Copies the example's project, because agents change files.
fn project() -> tempfile::TempDir {
    let from = repository().join("examples/plan-build");
    let dir = tempfile::tempdir().unwrap();
    for name in
        ["stock.py", "test_stock.py", ".rawko/config.yaml", ".rawko/script.yaml", "charts/plan_build.yaml"]
    {
        let to = dir.path().join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.join(name), to).unwrap();
    }
    dir
}

#[test]
fn the_example_has_the_charts_that_rawko_comes_with() {
    for name in ["plan_build.yaml", "plan_build.scenario.yaml"] {
        let own = fs::read_to_string(repository().join("charts").join(name)).unwrap();
        let copy = fs::read_to_string(repository().join("examples/plan-build/charts").join(name)).unwrap();
        assert_eq!(own, copy, "{name}");
    }
}

#[test]
fn agents_are_listed_shown_and_checked() {
    let broken = "---\nname: tester\nwhenToUse: For tests.\ntols: {allowed: [Read]}\n---\nYou test.\n";
    let good = "---\nname: developer\nwhenToUse: For code.\nmodel: demo/big\ntools: {blocked: [WebFetch], bashFilter: {allowedCommands: [cargo]}}\nlimits: {maxIterations: 5}\n---\nYou write code.\n";
    let dir = directory(&[
        (".rawko/config.yaml", SETTINGS),
        ("script.yaml", "- text: Done.\n"),
        (".rawko/agents/developer.md", good),
        (".rawko/agents/tester.md", broken),
    ]);
    expect![[r#"
        $ rawko agents list
        NAME       KIND  MODEL     FROM                        WHEN TO USE
        builder    llm   default   rawko's own builder.md      Making a planned change to the project's files.
        developer  llm   demo/big  .rawko/agents/developer.md  For code.
        explorer   llm   default   rawko's own explorer.md     Wide searches through the project; returns files and lines.
        planner    llm   default   rawko's own planner.md      Analysis, research and planning. Changes no files.
        --- stderr
        broken: `tester` in .rawko/agents/tester.md is invalid; see `rawko agents check`
    "#]].assert_eq(&transcript(dir.path(), &["agents", "list"], ""));
    expect![[r#"
        $ rawko agents show developer
        developer  developer
          from        .rawko/agents/developer.md
          kind        llm
          when        For code.
          model       demo/big
          tools       all
          blocked     WebFetch
          commands    cargo
          completions at most 5

        You write code.
    "#]]
    .assert_eq(&transcript(dir.path(), &["agents", "show", "developer"], ""));
    expect![[r#"
        $ rawko agents show nobody
        --- stderr
        error: agent `nobody` not found; available: builder, developer, explorer, planner
        --- exit code 2
    "#]]
    .assert_eq(&transcript(dir.path(), &["agents", "show", "nobody"], ""));
    expect![[r#"
        $ rawko agents check
        error[rawko::agents::unknown_key]: an agent has no key `tols`
         --> .rawko/agents/tester.md:4:1
          |
        4 | tols: {allowed: [Read]}
          | ^^^^
          |
          = help: did you mean `tools`?

        ok      agent builder: asks x
        ok      agent developer: asks big
        ok      agent explorer: asks x
        ok      agent planner: asks x
        --- exit code 52
    "#]]
    .assert_eq(&transcript(dir.path(), &["agents", "check"], ""));
}

/// Starts or resumes it, and kills it after this many lines. Returns the exit code if it ended before.
fn killed_after(dir: &Path, args: &[&str], lines: usize) -> Option<i32> {
    let mut child =
        command(dir, args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let read = out.lines().take(lines).count();
    if read < lines {
        return child.wait().unwrap().code();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn a_piece_of_work_that_is_killed_again_and_again_ends_the_same_way() {
    // On a busy machine a kill may come late, and the work may be over after a few of them.
    let enough = (0..STORIES_MAX).any(|story| kill_again_and_again(story * 150) >= 10);
    assert!(enough, "less than 10 kills, however slow the models are");
}

/// Runs it with models that take `ms` per response. Returns the number of kills.
fn kill_again_and_again(ms: u64) -> usize {
    let dir = project();
    let script = dir.path().join(".rawko/script.yaml");
    fs::write(&script, slowed(&fs::read_to_string(&script).unwrap(), ms)).unwrap();
    let begin = ["run", "charts/plan_build.yaml", "--id", "fix", "--input", "goal=Make the tests pass"];
    let mut code = killed_after(dir.path(), &begin, 2);
    let mut kills = 1;
    while code.is_none() {
        assert!(kills < 400, "it does not come to an end");
        // Some kills come immediately, some in the middle: every line is a step on disk.
        code = killed_after(dir.path(), &["resume", "fix"], 3 + kills % 7);
        kills += usize::from(code.is_none());
    }
    let told = run(dir.path(), &["show", "fix"], "");
    assert_eq!(code, Some(0), "{}{}", told.stdout, told.stderr);
    let mended = fs::read_to_string(dir.path().join("stock.py")).unwrap();
    assert!(mended.contains("return name.strip(), int(count)"), "{mended}");
    assert_eq!(mended.matches("counts.get(name, 0) + count").count(), 1, "{mended}");

    // Completed calls were not repeated.
    let audit = run(dir.path(), &["logs", "--audit", "--json"], "").stdout;
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    let mut tools = 0;
    for line in audit.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let service = line["service"].as_str().unwrap();
        if line["decision"] == "answered" && (service.starts_with("tool:") || service.starts_with("model:")) {
            *answered.entry(line["effect"].as_str().unwrap().to_owned()).or_default() += 1;
            tools += usize::from(service.starts_with("tool:"));
        }
    }
    assert!(answered.values().all(|times| *times == 1), "{answered:#?}");
    // The same calls as without a kill, except for one with an unknown outcome.
    assert!((10..=11).contains(&tools), "{tools}: {answered:#?}");
    kills
}
