//! Checks: real commands, their exit and their error counts.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_host::Environment;
use rawko_programs::checks::{CheckFormat, CheckReport, LanguageServers, ProjectCheck, detect, run_all};

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = project.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project
}

fn own(command: &[&str], format: CheckFormat) -> ProjectCheck {
    ProjectCheck {
        name: "own".into(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        format,
        timeout: Duration::from_secs(60),
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: String::new(),
        decides: true,
        sources: Vec::new(),
    }
}

async fn run(checks: &[ProjectCheck], root: &Path) -> CheckReport {
    let environment = Environment::of_process();
    run_all(checks, root, &environment, &environment.confinement(root), &LanguageServers::default()).await
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
    let found = run(&checks, project.path()).await;
    assert_eq!((found.errors_total, found.clean), (0, true), "{found:?}");
    assert_eq!(found.checks[0].summary, "3 tests passed");
}

/// Compiled code of another source, made to look current: by an agent, or by two edits within a second.
#[tokio::test]
async fn compiled_python_in_the_project_decides_nothing() {
    let project = project(&[("sums.py", &SUMS.replace('-', "+")), ("test_sums.py", SUMS_TEST)]);
    let compile = own(
        &["env", "-u", "PYTHONPYCACHEPREFIX", "python3", "-m", "compileall", "-q", "."],
        CheckFormat::Exit,
    );
    assert!(run(&[compile], project.path()).await.clean);
    assert!(project.path().join("__pycache__").is_dir(), "compiled code lies in the project");
    let sums = project.path().join("sums.py");
    let time = fs::metadata(&sums).unwrap().modified().unwrap();
    fs::write(&sums, SUMS).unwrap();
    fs::File::options().write(true).open(&sums).unwrap().set_modified(time).unwrap();
    let found = run(&detect(project.path()), project.path()).await;
    assert_eq!((found.errors_total, found.clean), (1, false), "{found:?}");
}

/// Compiling the standard library at each start takes longer than most tests.
#[tokio::test]
async fn compiled_python_of_installed_modules_is_read_and_not_written() {
    let project = project(&[("sums.py", SUMS)]);
    let cache = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let variables = [("PATH", &*path), ("XDG_CACHE_HOME", cache.path().to_str().unwrap())];
    let environment: Environment = variables.into_iter().collect();
    let script = "import os, sys, unittest.case, sums\n\
        assert os.path.exists(unittest.case.__cached__), unittest.case.__cached__\n\
        assert not os.path.exists(sums.__cached__), sums.__cached__\n\
        try: open(os.path.join(sys.pycache_prefix, 'x'), 'w')\n\
        except OSError: sys.exit(0)\n\
        sys.exit('the directory can be written')\n";
    for _ in 0..2 {
        let check = own(&["python3", "-c", script], CheckFormat::Exit);
        let confinement = environment.confinement(project.path());
        let found =
            run_all(&[check], project.path(), &environment, &confinement, &LanguageServers::default()).await;
        assert!(found.clean, "{found:?}");
    }
    let made = fs::read_dir(cache.path().join("rawko/python")).unwrap().count();
    assert_eq!(made, 1, "the directory is used again");
}

#[tokio::test]
async fn compiling_python_is_a_check_that_leaves_nothing() {
    let project = project(&[("sums.py", SUMS)]);
    for command in
        [["python3", "-m", "compileall", "-q", "."], ["python3", "-m", "py_compile", "sums.py", "sums.py"]]
    {
        assert!(run(&[own(&command, CheckFormat::Exit)], project.path()).await.clean, "{command:?}");
    }
    assert!(!project.path().join("__pycache__").exists());
    fs::write(project.path().join("sums.py"), "def add(a, b:\n").unwrap();
    let found =
        run(&[own(&["python3", "-m", "compileall", "-q", "."], CheckFormat::Exit)], project.path()).await;
    assert!(!found.clean, "{found:?}");
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
    let checks: Vec<ProjectCheck> = detect(project.path());
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
    let json = |pointer: &str| CheckFormat::Json { pointer: pointer.into() };
    let shell = |text: &str, format: CheckFormat| own(&["sh", "-c", text], format);
    let cases = [
        ("it exits with 0", shell("echo 0 errors, FAILED=no", CheckFormat::Exit), 0, "ok"),
        (
            "it exits with 3",
            shell("echo all fine; echo oh no >&2; exit 3", CheckFormat::Exit),
            1,
            "it exited with 3: oh no",
        ),
        ("it is ended by a signal", shell("kill -9 $$", CheckFormat::Exit), 1, "it was ended by a signal"),
        (
            "there is no such program",
            own(&["no-such-program-here"], CheckFormat::Exit),
            1,
            "there is no program `no-such-program-here`",
        ),
        (
            "it takes too long",
            ProjectCheck {
                timeout: Duration::from_millis(200),
                ..shell("sleep 600 & sleep 600", CheckFormat::Exit)
            },
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
            ProjectCheck {
                report: Some("results.json".into()),
                ..own(&["touch", "results.json"], json("/summary/errors"))
            },
            2,
            "2 errors",
        ),
        (
            "a report of an earlier run",
            ProjectCheck { report: Some("none.json".into()), ..own(&["true"], json("/errors")) },
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
            shell("echo '1..1\nok 1 - a'; exit 1", CheckFormat::Tap),
            1,
            "it exited with 1: ok 1 - a",
        ),
        (
            "it counts although it exits with 0",
            shell("echo '1..1\nnot ok 1 - a'", CheckFormat::Tap),
            1,
            "1 of 1 test failed",
        ),
        (
            "something else than TAP",
            shell("echo all 12 tests ok", CheckFormat::Tap),
            1,
            "it exited with 0, and its result cannot be read: no TAP: all 12 tests ok",
        ),
        (
            "a folder outside",
            ProjectCheck { cwd: "/".into(), ..own(&["true"], CheckFormat::Exit) },
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

/// A timeout terminates a check and its child processes.
#[tokio::test]
async fn nothing_is_left_running() {
    let project = project(&[]);
    let text = "sleep 600.125 & sleep 600.125";
    let check =
        ProjectCheck { timeout: Duration::from_secs(2), ..own(&["sh", "-c", text], CheckFormat::Exit) };
    let found = run(&[check], project.path()).await;
    assert_eq!(found.checks[0].summary, "it took longer than 2s and was ended");
    let lines = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = lines.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    let left: Vec<String> = lines.filter(|line| line.split('\0').any(|word| word == "600.125")).collect();
    assert!(left.is_empty(), "they still run: {left:?}");
}

/// A project's tests do not get the keys of model services.
#[tokio::test]
async fn a_check_sees_only_what_it_needs() {
    let project = project(&[]);
    let path = std::env::var("PATH").unwrap();
    let environment: Environment =
        [("PATH", path.as_str()), ("OPENAI_API_KEY", "s3cret"), ("WANTED", "yes")].into_iter().collect();
    let check = ProjectCheck {
        pass_env: vec!["WANTED".into()],
        ..own(&["sh", "-c", "test -z \"$OPENAI_API_KEY\" && test \"$WANTED\" = yes"], CheckFormat::Exit)
    };
    let confinement = environment.confinement(project.path());
    let servers = LanguageServers::default();
    let found = run_all(&[check], project.path(), &environment, &confinement, &servers).await;
    assert!(found.clean, "{found:?}");
}
