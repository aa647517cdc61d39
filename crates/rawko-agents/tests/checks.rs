//! Checks: what is run, and how many errors there are, by real commands and by texts of each format.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::{Expect, expect};
use rawko_agents::checks::{Check, CheckReport, Format, Output, count, detect, of_settings, run_all};
use rawko_chart::Source;
use rawko_chart::render::{Style, report};
use rawko_host::{Environment, Settings};

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = project.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project
}

fn own(command: &[&str], format: Format) -> Check {
    Check {
        name: "own".into(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        format,
        timeout: Duration::from_secs(60),
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: String::new(),
    }
}

async fn run(checks: &[Check], root: &Path) -> CheckReport {
    run_all(checks, root, &Environment::of_process()).await
}

const SUMS: &str = "def add(a, b):\n    return a - b\n";
const SUMS_TEST: &str = "import unittest\nfrom sums import add\n\nclass Sums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_zero(self):\n        self.assertEqual(add(1, 0), 1)\n\n    def test_0_failed(self):\n        print('3 failed, FAILED (failures=9)')\n";

#[tokio::test]
async fn a_python_project_from_broken_to_clean() {
    let project = project(&[("sums.py", SUMS), ("test_sums.py", SUMS_TEST)]);
    let checks = detect(project.path());
    assert_eq!(checks[0].reason, "there is a `test_sums.py`");
    let found = run(&checks, project.path()).await;
    assert_eq!((found.errors_total, found.clean), (1, false));
    let result = &found.checks[0];
    assert_eq!(result.summary, "1 of 3 tests failed");
    assert_eq!(result.command, "python3 -m unittest discover -s .");
    assert!(result.findings[0].file.as_ref().unwrap().ends_with("test_sums.py"));
    assert_eq!(result.findings[0].line, Some(6));

    fs::write(project.path().join("sums.py"), SUMS.replace('-', "+")).unwrap();
    fs::remove_dir_all(project.path().join("__pycache__")).unwrap();
    let found = run(&checks, project.path()).await;
    assert_eq!((found.errors_total, found.clean), (0, true), "{found:?}");
    assert_eq!(found.checks[0].summary, "3 tests passed");
}

const NODE_TEST: &str = "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => {});\ntest('group', async (t) => {\n  await t.test('one', () => assert.equal(1, 2));\n  await t.test('two', () => assert.equal(2, 3));\n  await t.test('0 failed', () => {});\n});\ntest('later', { todo: true }, () => assert.fail('not yet'));\n";

#[tokio::test]
async fn a_node_project_with_subtests() {
    let project = project(&[
        ("package.json", r#"{"scripts": {"test": "node --test", "lint": "node -e 0"}}"#),
        ("sum.test.js", NODE_TEST),
    ]);
    let checks = detect(project.path());
    let names: Vec<(&str, String)> =
        checks.iter().map(|check| (check.name.as_str(), check.command.join(" "))).collect();
    assert_eq!(
        names,
        [("lint", "npm run lint".to_owned()), ("test", "node --test --test-reporter=tap".to_owned())]
    );
    let found = run(&checks[1..], project.path()).await;
    assert_eq!(found.errors_total, 2, "{found:?}");
    let finding = &found.checks[0].findings[0];
    assert!(finding.message.starts_with("one: "), "{finding:?}");
    assert!(finding.file.as_ref().unwrap().ends_with("sum.test.js"));
    assert_eq!(finding.line, Some(5));
}

const LIB: &str = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n\n    #[test]\n    fn says_1_failed() {\n        println!(\"test result: FAILED. 0 passed; 9 failed;\");\n    }\n}\n";

#[tokio::test]
async fn a_rust_project_slow() {
    let project = project(&[
        ("Cargo.toml", "[package]\nname = \"sums\"\nedition = \"2024\"\n[workspace]\n"),
        ("src/lib.rs", LIB),
    ]);
    let checks: Vec<Check> = detect(project.path());
    let summaries = |found: &CheckReport| -> Vec<String> {
        found.checks.iter().map(|check| format!("{}: {}", check.name, check.summary)).collect()
    };
    let found = run(&checks, project.path()).await;
    assert_eq!(
        summaries(&found),
        ["cargo check: it compiles", "cargo test: 1 of 2 tests failed"],
        "{found:?}"
    );
    assert_eq!(found.checks[1].findings[0].message, "test tests::adds failed");

    fs::write(project.path().join("src/lib.rs"), LIB.replace("a - b", "a + c")).unwrap();
    let found = run(&checks[..1], project.path()).await;
    assert_eq!(summaries(&found), ["cargo check: 1 compiler error"], "{found:?}");
    let finding = &found.checks[0].findings[0];
    assert_eq!((finding.file.as_deref(), finding.line), (Some("src/lib.rs"), Some(2)));
}

#[tokio::test]
async fn real_commands_and_how_they_end() {
    let root =
        project(&[("results.json", r#"{"summary": {"errors": 2}}"#), ("none.json", r#"{"errors": []}"#)]);
    let json = |pointer: &str| Format::Json { pointer: pointer.into() };
    let shell = |text: &str, format: Format| own(&["sh", "-c", text], format);
    let cases = [
        ("it exits with 0", shell("echo 0 errors, FAILED=no", Format::Exit), 0, "ok"),
        (
            "it exits with 3",
            shell("echo all fine; echo oh no >&2; exit 3", Format::Exit),
            1,
            "it exited with 3: oh no",
        ),
        ("it is ended by a signal", shell("kill -9 $$", Format::Exit), 1, "it was ended by a signal"),
        (
            "there is no such program",
            own(&["no-such-program-here"], Format::Exit),
            1,
            "there is no program `no-such-program-here`",
        ),
        (
            "it takes too long",
            Check { timeout: Duration::from_millis(200), ..shell("sleep 600 & sleep 600", Format::Exit) },
            1,
            "it took longer than 200ms and was ended",
        ),
        ("a count in JSON", own(&["cat", "results.json"], json("/summary/errors")), 2, "2 errors"),
        ("an empty list in JSON", own(&["cat", "none.json"], json("/errors")), 0, "ok"),
        (
            "nothing at the pointer",
            own(&["cat", "none.json"], json("/faults")),
            1,
            "it exited with 0, and its result cannot be read: there is nothing at `/faults`: {\"errors\": []}",
        ),
        (
            "a report in a file",
            Check {
                report: Some("results.json".into()),
                ..own(&["touch", "results.json"], json("/summary/errors"))
            },
            2,
            "2 errors",
        ),
        (
            "a report of an earlier run",
            Check { report: Some("none.json".into()), ..own(&["true"], json("/errors")) },
            1,
            "it exited with 0 and wrote no report",
        ),
        (
            "a report in a file of its own",
            shell("echo noise; echo '[1,2,3]' > \"$0\"", json("")),
            3,
            "3 errors",
        ),
        (
            "it fails although nothing is counted",
            shell("echo '1..1\nok 1 - a'; exit 1", Format::Tap),
            1,
            "it exited with 1: ok 1 - a",
        ),
        (
            "it counts although it exits with 0",
            shell("echo '1..1\nnot ok 1 - a'", Format::Tap),
            1,
            "1 of 1 test failed",
        ),
        (
            "something else than TAP",
            shell("echo all 12 tests ok", Format::Tap),
            1,
            "it exited with 0, and its result cannot be read: no TAP: all 12 tests ok",
        ),
        (
            "a folder outside",
            Check { cwd: "/".into(), ..own(&["true"], Format::Exit) },
            1,
            "/ is not in the project",
        ),
    ];
    for (name, mut check, errors, summary) in cases {
        if name.ends_with("of its own") {
            check.command.push("{report}".into());
        }
        let found = run(&[check], root.path()).await;
        assert_eq!((found.errors_total, found.checks[0].summary.as_str()), (errors, summary), "{name}");
        assert_eq!(found.clean, errors == 0, "{name}");
    }
}

/// What a check started ends with it when its time is up.
#[tokio::test]
async fn nothing_is_left_running() {
    let project = project(&[]);
    let text = "sleep 600 & echo $! > pid; sleep 600";
    let check = Check { timeout: Duration::from_millis(500), ..own(&["sh", "-c", text], Format::Exit) };
    let found = run(&[check], project.path()).await;
    assert_eq!(found.checks[0].summary, "it took longer than 500ms and was ended");
    let pid = fs::read_to_string(project.path().join("pid")).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains(") Z "), "it still runs: {status}");
}

/// Keys to model services are not the business of a project's tests.
#[tokio::test]
async fn a_check_sees_only_what_it_needs() {
    let project = project(&[]);
    let path = std::env::var("PATH").unwrap();
    let environment: Environment =
        [("PATH", path.as_str()), ("OPENAI_API_KEY", "s3cret"), ("WANTED", "yes")].into_iter().collect();
    let check = Check {
        pass_env: vec!["WANTED".into()],
        ..own(&["sh", "-c", "test -z \"$OPENAI_API_KEY\" && test \"$WANTED\" = yes"], Format::Exit)
    };
    let found = run_all(&[check], project.path(), &environment).await;
    assert!(found.clean, "{found:?}");
}

/// `errors: summary`, then a line a finding.
#[track_caller]
fn counted(format: Format, text: &str, exit_code: i32, expected: Expect) {
    let output = Output { exit_code: Some(exit_code), stdout: text.to_owned(), ..Output::default() };
    let counted = count(&format, &output);
    let mut shown = format!("{}: {}\n", counted.errors, counted.summary);
    for finding in counted.findings {
        let place =
            finding.file.map(|file| format!("{file}:{} ", finding.line.unwrap_or(0))).unwrap_or_default();
        shown += &format!("  {place}{}\n", finding.message);
    }
    expected.assert_eq(&shown);
}

#[test]
fn tap() {
    counted(
        Format::Tap,
        "TAP version 13\n1..3\nok 1 - a\nok 2 - 1 failed\nok 3\n",
        0,
        expect![[r#"
        0: 3 tests passed
    "#]],
    );
    counted(
        Format::Tap,
        "1..4\nok 1 a\nnot ok 2 b # TODO later\nnot ok 3 c\n  ---\n  message: 'no'\n  ...\nok 4 # SKIP\n",
        1,
        expect![[r#"
            1: 1 of 4 tests failed
              c: no
        "#]],
    );
    counted(
        Format::Tap,
        "1..5\nok 1\nnot ok 2 - b\n",
        1,
        expect![[r#"
            4: 4 of 5 tests failed
              b
              3 planned tests did not run
        "#]],
    );
    counted(
        Format::Tap,
        "1..2\nok 1\nBail out! no database\n",
        1,
        expect![[r#"
            1: 1 of 2 tests failed
              the tests gave up (`Bail out!`)
              1 planned test did not run
        "#]],
    );
    counted(
        Format::Tap,
        "# Subtest: outer\n    ok 1 - a\n    not ok 2 - b\n    1..2\nnot ok 1 - outer\n1..1\n",
        1,
        expect![[r#"
            1: 1 of 2 tests failed
              b
        "#]],
    );
}

#[test]
fn junit() {
    counted(
        Format::Junit,
        r#"<?xml version="1.0"?><testsuites><testsuite tests="3" failures="1"><testcase classname="t" name="ok"/><testcase classname="t" name="bad" file="t.py" line="7"><failure message="1 != 2&#10;more">trace</failure></testcase><testcase name="skipped"><skipped/></testcase></testsuite></testsuites>"#,
        1,
        expect![[r#"
            1: 1 of 3 tests failed
              t.py:7 t.bad: 1 != 2
        "#]],
    );
    counted(
        Format::Junit,
        r#"<testsuite><testcase name="failure in words only"/></testsuite>"#,
        0,
        expect![[r#"
            0: 1 test passed
        "#]],
    );
    counted(
        Format::Junit,
        "<html/>",
        0,
        expect![[r#"
        1: it exited with 0, and its result cannot be read: `<html>` is not JUnit's: <html/>
          it exited with 0, and its result cannot be read: `<html>` is not JUnit's: <html/>
    "#]],
    );
}

#[test]
fn sarif() {
    counted(
        Format::Sarif,
        r#"{"runs": [{"tool": {"driver": {"rules": [{"id": "E", "defaultConfiguration": {"level": "error"}}]}}, "results": [
        {"ruleId": "E", "message": {"text": "by its rule"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.c"}, "region": {"startLine": 3}}}]},
        {"level": "warning", "message": {"text": "an error in words only"}},
        {"level": "error", "message": {"text": "suppressed"}, "suppressions": [{"kind": "inSource"}]},
        {"level": "error", "message": {"text": "plain"}}]}]}"#,
        0,
        expect![[r#"
            2: 2 errors, 1 lesser finding
              a.c:3 by its rule
              plain
        "#]],
    );
    counted(
        Format::Sarif,
        r#"{"runs": [{"results": []}]}"#,
        0,
        expect![[r#"
        0: ok
    "#]],
    );
}

#[test]
fn cargo() {
    let message = |level: &str, text: &str, line: u32| {
        format!(
            r#"{{"reason":"compiler-message","message":{{"level":"{level}","message":"{text}","code":{{"code":"E0308"}},"spans":[{{"file_name":"src/lib.rs","line_start":{line},"is_primary":true}}]}}}}"#
        )
    };
    let summary = r#"{"reason":"compiler-message","message":{"level":"error","message":"aborting due to 1 previous error","code":null,"spans":[]}}"#;
    let end = |is_ok: bool| format!(r#"{{"reason":"build-finished","success":{is_ok}}}"#);
    let broken = [
        message("error", "mismatched types", 4),
        message("error", "mismatched types", 4),
        message("warning", "1 error", 9),
        summary.into(),
        end(false),
    ];
    counted(
        Format::Cargo,
        &broken.join("\n"),
        101,
        expect![[r#"
            1: 1 compiler error
              src/lib.rs:4 E0308: mismatched types
        "#]],
    );
    counted(
        Format::Cargo,
        &end(true),
        0,
        expect![[r#"
        0: it compiles
    "#]],
    );
    let tests = |failed: u32| {
        format!(
            "{}\n\nrunning 3 tests\ntest a ... ok\ntest it::says_0_failed ... {}\ntest b - should panic ... ok\n\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            end(true),
            if failed > 0 { "FAILED" } else { "ok" },
            if failed > 0 { "FAILED" } else { "ok" },
            3 - failed
        )
    };
    counted(
        Format::Cargo,
        &tests(1),
        101,
        expect![[r#"
        1: 1 of 3 tests failed
          test it::says_0_failed failed
    "#]],
    );
    counted(
        Format::Cargo,
        &tests(0),
        0,
        expect![[r#"
        0: 3 tests passed
    "#]],
    );
    counted(
        Format::Cargo,
        "error: no such command",
        101,
        expect![[r#"
        1: it exited with 101, and its result cannot be read: no messages of cargo; it needs `--message-format=json`: error: no such command
          it exited with 101, and its result cannot be read: no messages of cargo; it needs `--message-format=json`: error: no such command
    "#]],
    );
}

#[test]
fn unittest() {
    counted(
        Format::Unittest,
        "..\n------\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n",
        0,
        expect![[r#"
        0: 2 tests passed
    "#]],
    );
    counted(
        Format::Unittest,
        "E\n======\nERROR: test_a (t.T.test_a)\n------\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test_a\nFAIL: test_b (t.T.test_b)\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=2, expected failures=1)\n",
        1,
        expect![[r#"
            2: 2 of 5 tests failed
              t.py:3 test_a (t.T.test_a)
              test_b (t.T.test_b)
        "#]],
    );
    counted(
        Format::Unittest,
        "FAILED (failures=9)\n",
        0,
        expect![[r#"
        1: it exited with 0, and its result cannot be read: no summary of unittest: FAILED (failures=9)
          it exited with 0, and its result cannot be read: no summary of unittest: FAILED (failures=9)
    "#]],
    );
}

#[test]
fn go() {
    let text = r#"{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/one"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"broken"}"#;
    counted(
        Format::Go,
        text,
        1,
        expect![[r#"
        2: 2 of 3 tests failed
          p: TestB/one
          broken does not build
    "#]],
    );
}

#[test]
fn what_projects_look_like() {
    let cases = [
        (
            "rust",
            project(&[("Cargo.toml", "")]),
            vec!["cargo check: there is a `Cargo.toml`", "cargo test: there is a `Cargo.toml`"],
        ),
        (
            "node, nothing to test",
            project(&[(
                "package.json",
                r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
            )]),
            vec![],
        ),
        (
            "node with yarn",
            project(&[
                ("package.json", r#"{"scripts": {"typecheck": "tsc", "build": "x"}}"#),
                ("yarn.lock", ""),
            ]),
            vec!["typecheck: `package.json` has a script `typecheck`"],
        ),
        (
            "pytest",
            project(&[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("tests/test_a.py", "")]),
            vec!["pytest: `pyproject.toml` configures pytest"],
        ),
        (
            "unittest in a folder",
            project(&[("tests/test_a.py", "")]),
            vec!["unittest: there is a `tests/test_a.py`"],
        ),
        (
            "go",
            project(&[("go.mod", "")]),
            vec!["go vet: there is a `go.mod`", "go test: there is a `go.mod`"],
        ),
        (
            "make",
            project(&[("Makefile", "tests: x\ntest: build\n\ttrue\n")]),
            vec!["make test: the `Makefile` has a target `test`"],
        ),
        ("make, but nothing to test", project(&[("Makefile", "tests: x\n")]), vec![]),
        ("nothing known", project(&[("README.md", "test: it")]), vec![]),
    ];
    for (name, project, expected) in cases {
        let found: Vec<String> =
            detect(project.path()).iter().map(|check| format!("{}: {}", check.name, check.reason)).collect();
        assert_eq!(found, expected, "{name}");
    }
}

fn settings(text: &str) -> Settings {
    Settings::of_source(&Source::new("config.yaml", text), &Environment::default()).0
}

#[test]
fn checks_of_the_settings() {
    let text = "phases: {validate: {checks: [{name: lint, command: ./lint --all, timeout: 1m}, {command: [pytest, \"--junitxml={report}\"], format: junit, cwd: backend}]}}\n";
    let (checks, problems) = of_settings(&settings(text));
    assert!(problems.is_empty());
    let checks = checks.unwrap();
    assert_eq!(checks[0].command, ["sh", "-c", "./lint --all"]);
    assert_eq!((checks[0].timeout, &checks[0].format), (Duration::from_secs(60), &Format::Exit));
    assert_eq!((checks[1].name.as_str(), &checks[1].format), ("pytest --junitxml={report}", &Format::Junit));
    assert_eq!(of_settings(&settings("phases: {validate: {}}\n")).0, None, "nothing said, so detected");
    assert_eq!(of_settings(&settings("phases: {validate: {checks: []}}\n")).0, Some(vec![]), "none wanted");
}

#[test]
fn checks_with_something_wrong() {
    let text = "phases:\n  validate:\n    checks:\n      - {name: a, comand: x}\n      - {name: b, command: []}\n      - {name: c, command: x, format: juint}\n      - {name: d, command: x, format: json}\n      - {name: d, command: x, format: json, pointer: errors}\n      - {name: e, command: x, cwd: /etc}\n      - {name: e, command: x, timeout: 0s}\n      - x\n";
    let (_, problems) = of_settings(&settings(text));
    expect![[r#"
        error[rawko::settings::unknown_key]: a check has no key `comand`
         --> config.yaml:4:19
          |
        4 |       - {name: a, comand: x}
          |                   ^^^^^^
          |
          = help: did you mean `command`?

        error[rawko::settings::missing_key]: a check does not say what is run
         --> config.yaml:4:9
          |
        4 |       - {name: a, comand: x}
          |         ^^^^^^^^^^^^^^^^^^^^
          |
          = help: add `command: [program, argument]`

        error[rawko::settings::invalid_value]: `command` of a check names no program
         --> config.yaml:5:28
          |
        5 |       - {name: b, command: []}
          |                            ^^
          |
          = help: write for example `[cargo, test]`

        error[rawko::settings::invalid_value]: there is no format `juint`
         --> config.yaml:6:39
          |
        6 |       - {name: c, command: x, format: juint}
          |                                       ^^^^^
          |
          = help: did you mean `junit`?

        error[rawko::settings::missing_key]: the format `json` needs a `pointer`
         --> config.yaml:7:39
          |
        7 |       - {name: d, command: x, format: json}
          |                                       ^^^^
          |
          = help: add `pointer: /summary/errors`: a number or a list

        error[rawko::settings::invalid_value]: `errors` is not a JSON pointer
         --> config.yaml:8:54
          |
        8 |       - {name: d, command: x, format: json, pointer: errors}
          |                                                      ^^^^^^
          |
          = help: did you mean `/errors`?

        error[rawko::settings::invalid_value]: `cwd` of a check leads out of the project
         --> config.yaml:9:36
          |
        9 |       - {name: e, command: x, cwd: /etc}
          |                                    ^^^^
          |
          = help: write a path of the project, without `..`

        error[rawko::settings::invalid_value]: `timeout` of a check is nothing
          --> config.yaml:10:40
           |
        10 |       - {name: e, command: x, timeout: 0s}
           |                                        ^^
           |
           = help: write for example `30s`

        error[rawko::settings::invalid_value]: there is a check `e` already
          --> config.yaml:10:9
           |
        10 |       - {name: e, command: x, timeout: 0s}
           |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
           |
           = help: give it another `name`

        error[rawko::settings::wrong_type]: a check must be a map
          --> config.yaml:11:9
           |
        11 |       - x
           |         ^ found text

    "#]]
    .assert_eq(&report(&problems[0].1, &Source::new("config.yaml", text), Style::default()));
}
