//! What an agent may change without changing what judges it: files that a check names are put back, and a changed
//! definition fails. Each row is one change after the task began.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_programs::checks::{Base, Check, Format};

fn check(command: &[&str]) -> Check {
    Check {
        name: "own".to_owned(),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        format: Format::Exit,
        timeout: Duration::from_secs(5),
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: String::new(),
        decides: true,
    }
}

const FILES: &[(&str, &str)] = &[
    ("check.sh", "exit 1\n"),
    ("tools/run.js", "process.exit(1)\n"),
    ("tests/test_a.py", "assert False\n"),
    ("package.json", r#"{"scripts": {"test": "node tools/run.js", "lint": "eslint ."}, "version": "1"}"#),
    ("Makefile", "test:\n\tsh check.sh\n\nclean:\n\trm x\n"),
    (
        "pyproject.toml",
        "[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n[tool.mypy]\nstrict = true\n",
    ),
    ("Cargo.toml", "[package]\nname = \"a\"\n[lib]\ntest = true\n[dependencies]\n"),
];

/// The paths that were put back, and the number of definitions that fail, after a change.
fn judged(command: &[&str], protected: &[&str], change: impl Fn(&Path)) -> (Vec<String>, usize) {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    for (path, text) in FILES {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    let protected: Vec<String> = protected.iter().map(|&pattern| pattern.to_owned()).collect();
    let base = Base::of(root, vec![check(command)], &protected);
    assert_eq!(
        (base.restore(root).0, base.redefined(root).len()),
        (Vec::new(), 0),
        "nothing has changed yet"
    );
    change(root);
    let (restored, lost) = base.restore(root);
    for path in &restored {
        let before = FILES.iter().find(|(name, _)| name == path).unwrap().1;
        assert_eq!(fs::read_to_string(root.join(path)).unwrap(), before);
    }
    (restored, lost.len() + base.redefined(root).len())
}

/// A change after the task began.
type Change = fn(&Path);
/// A name, the command, protected patterns, the change, files put back, and failing definitions.
type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], Change, &'a [&'a str], usize);

#[test]
fn files_that_a_check_names_are_put_back_and_changed_definitions_fail() {
    let sh: &[&str] = &["sh", "check.sh"];
    let (npm, make, pytest): (&[&str], &[&str], &[&str]) =
        (&["npm", "test"], &["make", "test"], &["python3", "-m", "pytest"]);
    let cargo: &[&str] = &["cargo", "test"];
    let table: &[Row<'_>] = &[
        ("the script", sh, &[], |root| fs::write(root.join("check.sh"), "exit 0").unwrap(), &["check.sh"], 0),
        ("deleted", sh, &[], |root| fs::remove_file(root.join("check.sh")).unwrap(), &["check.sh"], 0),
        (
            "a link in its place",
            sh,
            &[],
            |root| {
                fs::remove_file(root.join("check.sh")).unwrap();
                std::os::unix::fs::symlink("/bin/true", root.join("check.sh")).unwrap();
            },
            &["check.sh"],
            0,
        ),
        (
            "a folder in its place",
            sh,
            &[],
            |root| {
                fs::remove_file(root.join("check.sh")).unwrap();
                fs::create_dir(root.join("check.sh")).unwrap();
            },
            &["check.sh"],
            0,
        ),
        (
            "the file of npm's script",
            npm,
            &[],
            |root| fs::write(root.join("tools/run.js"), "").unwrap(),
            &["tools/run.js"],
            0,
        ),
        (
            "npm's script",
            npm,
            &[],
            |root| fs::write(root.join("package.json"), r#"{"scripts": {"test": "true"}}"#).unwrap(),
            &[],
            1,
        ),
        (
            "another part of package.json",
            npm,
            &[],
            |root| {
                let text = fs::read_to_string(root.join("package.json")).unwrap();
                fs::write(root.join("package.json"), text.replace("\"1\"", "\"2\"")).unwrap();
            },
            &[],
            0,
        ),
        (
            "package.json is gone",
            npm,
            &[],
            |root| fs::remove_file(root.join("package.json")).unwrap(),
            &[],
            1,
        ),
        (
            "a script before the test",
            npm,
            &[],
            |root| {
                let text = r#"{"scripts": {"pretest": "exit 0", "test": "node tools/run.js"}}"#;
                fs::write(root.join("package.json"), text).unwrap();
            },
            &[],
            1,
        ),
        ("the rule", make, &[], |root| fs::write(root.join("Makefile"), "test:\n\ttrue\n").unwrap(), &[], 1),
        (
            "the file of the rule",
            make,
            &[],
            |root| fs::write(root.join("check.sh"), "exit 0").unwrap(),
            &["check.sh"],
            0,
        ),
        (
            "another rule",
            make,
            &[],
            |root| {
                let text = fs::read_to_string(root.join("Makefile")).unwrap();
                fs::write(root.join("Makefile"), text.replace("rm x", "rm y")).unwrap();
            },
            &[],
            0,
        ),
        (
            "options of pytest",
            pytest,
            &[],
            |root| {
                let text = fs::read_to_string(root.join("pyproject.toml")).unwrap();
                fs::write(root.join("pyproject.toml"), text.replace("-q", "-q --ignore=tests")).unwrap();
            },
            &[],
            1,
        ),
        (
            "a new pytest.ini",
            pytest,
            &[],
            |root| fs::write(root.join("pytest.ini"), "[pytest]\n").unwrap(),
            &[],
            1,
        ),
        (
            "another section of pyproject.toml",
            pytest,
            &[],
            |root| {
                let text = fs::read_to_string(root.join("pyproject.toml")).unwrap();
                fs::write(root.join("pyproject.toml"), text.replace("\"a\"", "\"b\"")).unwrap();
            },
            &[],
            0,
        ),
        (
            "tests of a crate switched off",
            cargo,
            &[],
            |root| {
                let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
                fs::write(root.join("Cargo.toml"), text.replace("test = true", "test = false")).unwrap();
            },
            &[],
            1,
        ),
        (
            "a dependency of a crate",
            cargo,
            &[],
            |root| {
                let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
                fs::write(root.join("Cargo.toml"), text + "serde = \"1\"\n").unwrap();
            },
            &[],
            0,
        ),
        ("a test", pytest, &[], |root| fs::write(root.join("tests/test_a.py"), "").unwrap(), &[], 0),
        (
            "a protected test",
            pytest,
            &["tests/**"],
            |root| fs::write(root.join("tests/test_a.py"), "").unwrap(),
            &["tests/test_a.py"],
            0,
        ),
    ];
    for (name, command, protected, change, restored, failing) in table {
        let found = judged(command, protected, change);
        let expected = (restored.iter().map(|&path| path.to_owned()).collect(), *failing);
        assert_eq!(found, expected, "{name}");
    }
}
