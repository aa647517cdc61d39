//! Confinement: every path out of the project is refused, and the refusal names the rule.
//!
//! The race that these tables cannot show: a directory on the path is replaced by a link after it was checked. The
//! kernel resolves and opens in one step (`RESOLVE_BENEATH`), so there is no gap; the last test swaps links as fast as
//! it can while files are read and written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rawko_tools::ToolSettings;
use serde_json::json;

use super::support::{Bench, link, verdict};

/// `project/` has links in and out; `secret` is its sibling.
fn bench() -> Bench {
    let bench = Bench::new();
    let (root, outside) = (bench.root(), bench.outside());
    std::fs::create_dir_all(outside.join("elsewhere")).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    std::fs::write(outside.join("elsewhere/secret"), "secret").unwrap();
    bench.write("src/a.txt", "inside");
    bench.write(".git/config", "[core]");
    bench.write(".rawko/state/rawko.db", "db");
    link("../secret", root.join("relative_out"));
    link(outside.join("secret"), root.join("absolute_out"));
    link(outside.join("elsewhere"), root.join("dir_out"));
    link("src", root.join("dir_in"));
    link("a.txt", root.join("src/file_in"));
    link(root.join("src"), root.join("absolute_in"));
    link("dir_out/secret", root.join("chained_out"));
    link("/etc/hostname-that-is-not-there", root.join("dangling_out"));
    link("nothing", root.join("dangling_in"));
    link(".git", root.join("git_by_link"));
    link("loop", root.join("loop"));
    bench
}

#[tokio::test]
async fn what_is_read_is_in_the_project() {
    let bench = bench();
    let root = bench.root();
    for (path, expected) in [
        ("src/a.txt", "ok"),
        ("./src/./a.txt", "ok"),
        ("src/../src/a.txt", "ok"),
        ("dir_in/a.txt", "ok"),
        ("src/file_in", "ok"),
        ("absolute_in/a.txt", "ok"),
        (&format!("{}/src/a.txt", root.display()), "ok"),
        (&format!("{}/../secret", root.display()), "path_outside"),
        ("../secret", "path_outside"),
        ("src/../../secret", "path_outside"),
        ("../project/src/a.txt", "path_outside"),
        ("/etc/passwd", "path_outside"),
        ("/", "path_outside"),
        ("/proc/self/environ", "path_outside"),
        ("relative_out", "path_outside"),
        ("absolute_out", "path_outside"),
        ("chained_out", "path_outside"),
        ("dir_out/secret", "path_outside"),
        ("dir_in/../dir_out/secret", "path_outside"),
        ("loop", "failed"),
        ("dangling_in", "failed"),
        ("a\0b", "failed"),
        ("", "failed"),
    ] {
        let outcome = bench.run("Read", json!({ "path": path })).await;
        assert_eq!(verdict(&outcome), expected, "{path}: {}", outcome.content);
        assert!(!outcome.content.contains("     1\tsecret"), "{path}");
    }
}

#[tokio::test]
async fn what_is_written_is_in_the_project_and_not_protected() {
    let bench = bench();
    for (path, expected) in [
        ("new/deep/file", "ok"),
        ("dir_in/b.txt", "ok"),
        ("absolute_in/c.txt", "ok"),
        ("src/file_in", "ok"),
        ("../new", "path_outside"),
        ("/tmp/rawko-should-not-be-here", "path_outside"),
        ("relative_out", "path_outside"),
        ("absolute_out", "path_outside"),
        ("dir_out/new", "path_outside"),
        ("dir_out/new/deep", "path_outside"),
        ("dangling_out", "path_outside"),
        ("dangling_in", "path_outside"),
        (".git/config", "path_protected"),
        (".git/hooks/pre-commit", "path_protected"),
        ("git_by_link/config", "path_protected"),
        ("git_by_link/hooks/new", "path_protected"),
        ("sub/.git/config", "path_protected"),
        (".GIT/config", "path_protected"),
        (".git", "path_protected"),
        (".rawko/state/rawko.db", "path_protected"),
        (".rawko/state/new/file", "path_protected"),
        ("src/../.rawko/state/x", "path_protected"),
        (".rawko/agents/new.md", "path_protected"),
        ("docs/AGENTS.md", "path_protected"),
        ("src", "failed"),
        ("", "failed"),
        ("src/a.txt/below", "failed"),
    ] {
        let outcome = bench.run("Write", json!({ "path": path, "content": "x" })).await;
        assert_eq!(verdict(&outcome), expected, "{path}: {}", outcome.content);
    }
    assert!(
        std::fs::symlink_metadata(bench.root().join("src/file_in")).unwrap().is_symlink(),
        "the link stays"
    );
    assert_eq!(bench.text("src/a.txt"), "x", "and its target is written");
    assert_eq!(bench.text(".git/config"), "[core]");
    assert!(!bench.root().join("sub").exists(), "no directory is made on the way to what is protected");
    assert_eq!(std::fs::read_dir(bench.outside().join("elsewhere")).unwrap().count(), 1);
}

#[tokio::test]
async fn edit_is_confined_as_well() {
    let bench = bench();
    for (path, expected) in [
        ("relative_out", "path_outside"),
        ("dir_out/secret", "path_outside"),
        (".git/config", "path_protected"),
    ] {
        let old = if path.starts_with(".git") { "core" } else { "secret" };
        let outcome = bench.run("Edit", json!({ "path": path, "old_string": old, "new_string": "x" })).await;
        assert_eq!(verdict(&outcome), expected, "{path}: {}", outcome.content);
    }
}

#[tokio::test]
async fn searching_does_not_follow_links_out() {
    let bench = bench();
    let found = bench.run("Grep", json!({ "pattern": "secret|db|core" })).await;
    assert_eq!(found.content, "Nothing matches `secret|db|core`.");
    let listed = bench.run("Glob", json!({ "pattern": "**/*" })).await;
    assert_eq!(listed.content, "src/a.txt");
    for path in ["dir_out", "..", "/etc", "relative_out"] {
        for tool in ["Grep", "Glob"] {
            let outcome = bench.run(tool, json!({ "pattern": "*", "path": path })).await;
            let expected =
                if tool == "Grep" { ["failed", "path_outside"] } else { ["path_outside", "path_outside"] };
            assert!(expected.contains(&verdict(&outcome)), "{tool} {path}: {}", outcome.content);
        }
    }
}

#[tokio::test]
async fn a_refusal_names_the_rule_and_its_place() {
    let outcome = bench().run("Read", json!({ "path": "../secret" })).await;
    assert_eq!(
        outcome.content,
        "refused: `../secret` is outside the project (rule path_outside, from the confinement of tools to the project)."
    );
    assert!(outcome.is_error);
    assert_eq!(outcome.refusal.unwrap().source, "the confinement of tools to the project");
}

#[tokio::test]
async fn a_project_that_is_not_there_is_said_to_be_so() {
    let toolbox = rawko_tools::Toolbox::new("/no/such/project".as_ref(), ToolSettings::default());
    let (input, plan) = (rawko_core::Value::from_json(json!({ "path": "x" })), rawko_core::Value::NULL);
    let outcome = toolbox.run(super::support::call("Read", &input, &plan), &Default::default()).await;
    assert_eq!(verdict(&outcome), "failed");
}

/// A directory is repeatedly swapped for a link to the outside while files in it are read and written: no file outside
/// is ever read or written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swapping_a_directory_for_a_link_does_not_help() {
    let bench = bench();
    let (root, outside) = (bench.root(), bench.outside());
    bench.write("swapped/secret", "inside");
    link(outside.join("elsewhere"), root.join("swapped_link"));
    let is_over = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (is_over, root) = (Arc::clone(&is_over), root.clone());
        move || {
            while !is_over.load(Ordering::Relaxed) {
                let _ = rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    root.join("swapped"),
                    rustix::fs::CWD,
                    root.join("swapped_link"),
                    rustix::fs::RenameFlags::EXCHANGE,
                );
            }
        }
    });
    for round in 0..300 {
        let read = bench.run("Read", json!({ "path": "swapped/secret" })).await;
        assert!(!read.content.contains("secret\n") || read.is_error, "round {round}: {}", read.content);
        bench.run("Write", json!({ "path": "swapped/new", "content": "x" })).await;
    }
    is_over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let outside: Vec<_> =
        std::fs::read_dir(outside.join("elsewhere")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret"]);
}
