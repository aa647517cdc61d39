//! What an agent may change without changing what judges it: files that a check names are put back, and a changed
//! definition fails. Each row is one change after the task began.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_programs::checks::{CheckBase, CheckFormat, ProjectCheck};

fn check(command: &[&str]) -> ProjectCheck {
    ProjectCheck {
        name: "own".to_owned(),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        format: CheckFormat::Exit,
        timeout: Duration::from_secs(5),
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: String::new(),
        decides: true,
        sources: Vec::new(),
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
    let base = CheckBase::of(root, vec![check(command)], &protected);
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

/// A project: the files, the command of its check, and what an agent writes. `None` deletes a file.
type Trick<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a [(&'a str, Option<&'a str>)]);

/// Each of these would turn a failing check into a passing one.
#[test]
fn tricks_are_undone_or_fail() {
    let make = "CMD = sh run.sh\ntest: unit\nunit:\n\t$(CMD)\n";
    let with_make: &[(&str, &str)] = &[("Makefile", make), ("run.sh", "exit 1\n")];
    let npm: &[(&str, &str)] =
        &[("package.json", r#"{"scripts": {"test": "npm run unit", "unit": "exit 1"}}"#)];
    let tricks: &[Trick<'_>] = &[
        (&[("a.py", "")], &["python3", "-m", "unittest"], &[("unittest.py", Some(""))]),
        (&[("a.py", "")], &["python3", "-m", "unittest"], &[("unittest/__main__.py", Some(""))]),
        (&[("a.py", "")], &["python3.12", "-m", "pytest", "-q"], &[("pytest.py", Some(""))]),
        (&[("checks/run.py", "1")], &["python3", "-m", "checks.run"], &[("checks/run.py", Some(""))]),
        (&[("checks/__main__.py", "1")], &["python3", "checks"], &[("checks/__main__.py", Some(""))]),
        (&[("a", "")], &["sh", "check.sh"], &[("check.sh", Some("exit 0"))]),
        (&[("my check.sh", "1")], &["sh", "my check.sh"], &[("my check.sh", Some(""))]),
        (&[("sub/check.sh", "1")], &["sh", "-c", "cd sub && sh check.sh"], &[("sub/check.sh", Some(""))]),
        (&[("a b/c.sh", "1")], &["sh", "-c", "sh 'a b/c.sh'"], &[("a b/c.sh", None)]),
        (with_make, &["make", "test"], &[("run.sh", Some("exit 0"))]),
        (with_make, &["make"], &[("run.sh", None)]),
        (with_make, &["make", "test"], &[("Makefile", Some("CMD = true\ntest: unit\nunit:\n\t$(CMD)\n"))]),
        (with_make, &["make", "unit"], &[("unit", Some(""))]),
        (with_make, &["make", "test"], &[("GNUmakefile", Some("test:\n\ttrue\n"))]),
        (npm, &["npm", "test"], &[(".npmrc", Some("script-shell=/bin/true\n"))]),
        (
            npm,
            &["npm", "test"],
            &[("package.json", Some(r#"{"scripts": {"test": "npm run unit", "unit": "exit 0"}}"#))],
        ),
    ];
    for (files, command, edits) in tricks {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        files.iter().for_each(|(path, text)| write(path, text));
        let base = CheckBase::of(root, vec![check(command)], &[]);
        let before = (base.restore(root), base.redefined(root));
        assert_eq!(before, ((Vec::new(), Vec::new()), Vec::new()), "{command:?}: nothing has changed yet");
        for (path, text) in *edits {
            match text {
                Some(text) => write(path, text),
                None => fs::remove_file(root.join(path)).unwrap(),
            }
        }
        let (restored, lost) = base.restore(root);
        let count = restored.len() + lost.len() + base.redefined(root).len();
        assert!(count > 0, "{command:?} after {edits:?}: {base:?}");
    }
}

/// Putting a file back does not damage the project: links stay links, and programs can still run.
#[test]
fn links_and_permissions_come_back() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    fs::create_dir(root.join("bin")).unwrap();
    fs::write(root.join("bin/real.sh"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(root.join("bin/real.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("bin/real.sh", root.join("check.sh")).unwrap();
    let base = CheckBase::of(root, vec![check(&["./check.sh"])], &[]);
    assert_eq!(base.restore(root), (Vec::new(), Vec::new()), "a link is no change");
    fs::write(root.join("check.sh"), "#!/bin/sh\nexit 0\n").unwrap();
    assert_eq!(base.restore(root).0, ["bin/real.sh"]);
    fs::remove_file(root.join("check.sh")).unwrap();
    fs::remove_file(root.join("bin/real.sh")).unwrap();
    fs::write(root.join("check.sh"), "exit 0").unwrap();
    assert_eq!(base.restore(root).0, ["bin/real.sh", "check.sh"]);
    assert!(root.join("check.sh").is_symlink());
    let metadata = fs::metadata(root.join("check.sh")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o755);
    fs::set_permissions(root.join("bin/real.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(base.restore(root).0, ["bin/real.sh"], "a program that cannot run decides nothing");
    assert_eq!(base.restore(root), (Vec::new(), Vec::new()));
}

/// Ignored by git or new: a protected pattern covers it.
#[test]
fn protected_patterns_cover_ignored_and_new_files() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    fs::create_dir(root.join("tests")).unwrap();
    fs::write(root.join(".gitignore"), "tests/\n").unwrap();
    fs::write(root.join("tests/a.sh"), "exit 1\n").unwrap();
    let base = CheckBase::of(root, vec![check(&["sh", "run"])], &["tests/**".to_owned()]);
    fs::write(root.join("tests/a.sh"), "exit 0\n").unwrap();
    fs::write(root.join("tests/b.sh"), "exit 0\n").unwrap();
    let (restored, lost) = base.restore(root);
    assert_eq!(restored, ["tests/a.sh"]);
    let lost: Vec<&str> = lost.iter().map(|check| check.summary.as_str()).collect();
    assert_eq!(lost, ["tests/b.sh is protected and new since the task began; remove it"]);
}

/// A check that finds its tests by `git ls-files` does not run one that left the index.
#[test]
fn a_test_that_leaves_the_index_fails_the_checks_that_list_it() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    fs::write(root.join("test_a.py"), "assert False\n").unwrap();
    fs::write(root.join("a.py"), "x = 1\n").unwrap();
    let git = |args: &[&str]| {
        assert!(std::process::Command::new("git").args(args).current_dir(root).status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    let lists = check(&["sh", "-c", "for t in $(git ls-files 'test_*'); do python3 $t || exit 1; done"]);
    let base = CheckBase::of(root, vec![lists], &[]);
    git(&["rm", "-q", "--cached", "a.py"]);
    assert_eq!(base.redefined(root).len(), 0);
    git(&["rm", "-q", "--cached", "test_a.py"]);
    assert_eq!(base.redefined(root).len(), 1);
}
