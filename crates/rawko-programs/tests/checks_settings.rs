//! The checks of a project: from its settings or detected from its files.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::time::Duration;

use expect_test::expect;
use rawko_chart::SourceFile;
use rawko_chart::render::{ReportStyle, report};
use rawko_host::{Environment, Settings};
use rawko_programs::checks::{CheckFormat, detect, of_settings};

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = project.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project
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
            "tests that unittest does not find",
            project(&[("tests/test_a.py", "from a import b\n\ndef test_b():\n    assert b()\n")]),
            vec!["pytest: `tests/test_a.py` has tests that unittest does not find"],
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
    Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::default()).0
}

#[test]
fn checks_of_the_settings() {
    let text = "phases: {validate: {checks: [{name: lint, command: ./lint --all, timeout: 1m}, {command: [pytest, \"--junitxml={report}\"], format: junit, cwd: backend}]}}\n";
    let (checks, problems) = of_settings(&settings(text));
    assert!(problems.is_empty());
    let checks = checks.unwrap();
    assert_eq!(checks[0].command, ["sh", "-c", "./lint --all"]);
    assert_eq!((checks[0].timeout, &checks[0].format), (Duration::from_secs(60), &CheckFormat::Exit));
    assert_eq!(
        (checks[1].name.as_str(), &checks[1].format),
        ("pytest --junitxml={report}", &CheckFormat::Junit)
    );
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

        error[rawko::settings::missing_key]: a check has no `command`
         --> config.yaml:4:9
          |
        4 |       - {name: a, comand: x}
          |         ^^^^^^^^^^^^^^^^^^^^
          |
          = help: add `command: [program, argument]`

        error[rawko::settings::invalid_value]: `command` of a check has no program
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

        error[rawko::settings::invalid_value]: `cwd` of a check is outside the project
         --> config.yaml:9:36
          |
        9 |       - {name: e, command: x, cwd: /etc}
          |                                    ^^^^
          |
          = help: write a path inside the project, without `..`

        error[rawko::settings::invalid_value]: `timeout` of a check must be longer than 0
          --> config.yaml:10:40
           |
        10 |       - {name: e, command: x, timeout: 0s}
           |                                        ^^
           |
           = help: write for example `30s`

        error[rawko::settings::invalid_value]: there is already a check `e`
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
    .assert_eq(&report(&problems[0].1, &SourceFile::new("config.yaml", text), ReportStyle::default()));
}
