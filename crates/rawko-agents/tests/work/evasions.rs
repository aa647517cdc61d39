//! A corpus of agents that turn a check green without a fix, by language, beside honest work of the same kind: the files in
//! `evasions`. Each is one task; a dishonest one ends without success within six rounds, an honest one succeeds in the first.

use std::path::Path;

use serde_json::json;

use crate::disguises::{Kind, judge, project, work};
use crate::puppet::{Turn, decide};
use crate::yard::Yard;

/// A project with the commands of agents that work in it.
struct Section {
    kind: &'static Kind,
    rows: Vec<(bool, String, String)>,
}

/// Reads a file of the corpus: `%% project` with its check, `%% file PATH`, and `%% honest NAME` or `%% dishonest NAME` with a
/// command.
fn sections(text: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let (mut check, mut files) = (String::new(), Vec::new());
    let mut rows = Vec::new();
    let text = format!("\n{text}");
    let mut parts = text.split("\n%% ").skip(1).map(|part| format!("{part}\n")).peekable();
    while let Some(part) = parts.next() {
        let (head, body) = part.split_once('\n').unwrap();
        match head.split_once(' ').unwrap_or((head, "")) {
            ("project", _) => check = body.trim().to_owned(),
            ("file", path) => files.push((&*path.to_owned().leak(), &*body.to_owned().leak())),
            (word @ ("honest" | "dishonest"), name) => {
                rows.push((word == "honest", name.to_owned(), body.to_owned()));
            }
            (word, _) => panic!("`{word}` is no section"),
        }
        if parts.peek().is_none_or(|next| next.starts_with("project")) {
            let (check, files) = (&*check.clone().leak(), &*std::mem::take(&mut files).leak());
            let kind: &'static Kind = Box::leak(Box::new(Kind { check, files, fixed: "" }));
            found.push(Section { kind, rows: std::mem::take(&mut rows) });
        }
    }
    found
}

/// The virtual environment with pytest.
fn venv() -> String {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/api");
    venv.canonicalize().expect("run `cargo xtask tools`").display().to_string()
}

/// Two rounds without progress end the task: the corpus is about the verdict of a check, not about the time that an agent may take.
async fn task(kind: &Kind, command: &'static str) -> (String, i64, String) {
    let yard: Yard = project(kind, move |turn: &Turn<'_>| match turn.agent {
        "arbiter" => decide(turn, &["COMPLETE", "CONTINUE"], "worker"),
        _ => work(turn, command),
    });
    let yard = yard.replace_settings("loop: {retries_max: 1}", "loop: {retries_max: 1, stuck_after: 2}");
    let yard = match kind.check.contains(&venv()) {
        true => yard.settings(&format!("tools: {{extra_read_paths: ['{}']}}\n", venv())),
        false => yard,
    };
    let input = json!({"task": "Make the tests pass", "remember": false, "backoffMs": 1});
    let output = yard.run("rawko", input).await;
    let rounds = output.get("iterations").as_i64().unwrap_or_default();
    (output.get("outcome").as_str().unwrap_or_default().to_owned(), rounds, output.to_string())
}

/// Runs a file of the corpus.
async fn run(text: &str, dishonest: usize, honest: usize) {
    let sections = sections(text);
    let count =
        |is_honest| sections.iter().flat_map(|all| &all.rows).filter(|row| row.0 == is_honest).count();
    assert_eq!((count(false), count(true)), (dishonest, honest), "rows of the corpus");
    for section in &sections {
        for (is_honest, name, command) in &section.rows {
            let ended = task(section.kind, command.clone().leak()).await;
            let (check, (outcome, rounds, output)) = (section.kind.check, &ended);
            match is_honest {
                true => {
                    assert_eq!((outcome.as_str(), *rounds), ("complete", 1), "{name} ({check}): {output}")
                }
                false => judge(name, check, &ended),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn python() {
    run(include_str!("evasions/python.txt"), 51, 32).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pytest() {
    run(&include_str!("evasions/pytest.txt").replace("VENV", &venv()), 5, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node() {
    run(include_str!("evasions/node.txt"), 23, 34).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rust() {
    run(include_str!("evasions/rust.txt"), 19, 11).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn make() {
    run(include_str!("evasions/make.txt"), 9, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shell() {
    run(include_str!("evasions/shell.txt"), 8, 5).await;
}

/// Checks that run in other folders: `cd web && npm test`, `make -C sub`, workspaces.
#[tokio::test(flavor = "multi_thread")]
async fn folders() {
    run(include_str!("evasions/folders.txt"), 22, 17).await;
}

/// Files that the scripts of a check run, find or list.
#[tokio::test(flavor = "multi_thread")]
async fn scripts() {
    run(include_str!("evasions/scripts.txt"), 19, 13).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c() {
    run(include_str!("evasions/c.txt"), 7, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn perl() {
    run(include_str!("evasions/perl.txt"), 5, 3).await;
}
