//! The guides are tested: their files are written, their commands are run, and the output must match (except for times
//! and process ids). A block ```` ```yaml file=order.yaml ```` is a file; each `$ …` line of a `console` block is a
//! shell command.

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::expect_file;

use crate::support::{ELSEWHERE, RAWKO, directory, repository, run, stable};

#[test]
fn getting_started() {
    check("getting-started.md");
}

#[test]
fn checking() {
    check("checking.md");
}

#[test]
fn simulating() {
    check("simulating.md");
}

#[test]
fn running() {
    check("running.md");
}

#[test]
fn migrating() {
    check("migrating.md");
}

#[test]
fn operations() {
    check("operations.md");
}

#[test]
fn agents() {
    check("agents.md");
}

#[test]
fn tasks() {
    check("tasks.md");
}

#[test]
fn tools() {
    check("tools.md");
}

#[test]
fn workflows() {
    check("workflows.md");
}

#[test]
fn phases() {
    check("phases.md");
}

#[test]
fn testing() {
    check("testing.md");
}

/// The README's commands run from the repository root.
#[test]
fn readme() {
    let path = repository().join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let home = directory(&[]);
    expect_file![&path].assert_eq(&replayed(&text, &repository(), home.path()));
    check_charts(&text);
}

/// The charts in the reference are valid.
#[test]
fn charts() {
    check_charts(&fs::read_to_string(repository().join("docs/guide/charts.md")).unwrap());
}

fn check_charts(text: &str) {
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    for chart in blocks.filter(|block| block.starts_with("statechart:")) {
        let run = run(&repository(), &["check", "-"], chart);
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    }
}

fn check(guide: &str) {
    let path = repository().join("docs/guide").join(guide);
    let dir = directory(&[]);
    let text = fs::read_to_string(&path).unwrap();
    expect_file![&path].assert_eq(&replayed(&text, dir.path(), dir.path()));
}

/// Returns the guide with the actual output in every console block.
fn replayed(text: &str, dir: &Path, home: &Path) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(name) = info.split("file=").nth(1) {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, block.join("\n") + "\n").unwrap();
        }
        if info == "console" {
            out += &block
                .iter()
                .filter(|line| line.starts_with("$ "))
                .map(|line| shown(line, dir, home))
                .collect::<String>();
        } else {
            out += &block.iter().map(|line| format!("{line}\n")).collect::<String>();
        }
        out += "```\n";
    }
    out
}

/// Returns a command and its output. A guide prints an exit code with `echo $?`.
fn shown(line: &str, dir: &Path, home: &Path) -> String {
    let binaries = Path::new(RAWKO).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(binaries.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = Command::new("bash");
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    let output = command
        .arg("-c")
        .arg(format!("{} 2>&1", &line[2..]))
        .current_dir(dir)
        .env("PATH", path.unwrap())
        .env("USER", "ada")
        .env("HOME", home)
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    format!("{line}\n{}", stable(&String::from_utf8(output.stdout).unwrap(), dir))
}
