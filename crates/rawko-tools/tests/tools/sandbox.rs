//! The sandbox for commands, on a kernel that has every layer. What each layer does is tested with the launcher.

use rawko_tools::{BashSettings, Grant, Sandbox, ToolOutcome, ToolSettings};
use serde_json::json;

use super::support::{Bench, allowing, verdict};

fn in_force(outcome: &ToolOutcome) -> String {
    outcome.data.get("sandbox").to_string()
}

fn with(sandbox: Sandbox) -> Bench {
    Bench::with(ToolSettings {
        bash: BashSettings { sandbox, ..BashSettings::default() },
        ..ToolSettings::default()
    })
}

#[tokio::test]
async fn it_is_said_what_is_in_force() {
    if rawko_process::is_portable() {
        return;
    }
    let outcome = Bench::new().bash("echo fine").await;
    assert_eq!(outcome.content, "fine\n");
    let said = in_force(&outcome);
    assert!(said.starts_with("namespaces, landlock v") && said.ends_with(", seccomp"), "{said}");
    assert_eq!(in_force(&with(Sandbox::Off).bash("true").await), "none: switched off in settings");
    let required = with(Sandbox::Require).bash("echo fine").await;
    assert_eq!(required.content, "fine\n");
}

#[tokio::test]
async fn programs_write_in_the_project_and_nowhere_else() {
    if rawko_process::is_portable() {
        return;
    }
    let bench = Bench::new();
    let outside = bench.outside().join("made");
    // Without a redirection that the filter could see: a program opens the file.
    let outcome = bench.bash(&format!("touch inside $TMPDIR/x; cp inside {}", outside.display())).await;
    assert!(bench.root().join("inside").exists(), "{}", outcome.content);
    assert!(!outside.exists(), "{}", outcome.content);
    let other = bench
        .bash("echo fine > /dev/null; ls / > /dev/null && cat /etc/passwd > /dev/null && echo read")
        .await;
    assert_eq!(other.content, "read\n", "the system can be read");
}

#[tokio::test]
async fn this_process_stays_free() {
    let bench = Bench::new();
    bench.bash("true").await;
    std::fs::write(bench.outside().join("ours"), "x").unwrap();
}

#[tokio::test]
async fn paths_that_settings_name_are_writable() {
    let cache = tempfile::tempdir().unwrap();
    let extra_write_paths = vec![cache.path().canonicalize().unwrap()];
    let bench = Bench::with(ToolSettings { extra_write_paths, ..ToolSettings::default() });
    let outcome = bench
        .bash(&format!("touch {0}/a && echo x > {0}/b", cache.path().canonicalize().unwrap().display()))
        .await;
    assert_eq!(outcome.content, "[no output]");
    assert!(cache.path().join("a").exists() && cache.path().join("b").exists());
}

/// A read-only line gets no write access at all, so that a program that is not what its name suggests cannot write
/// either.
#[tokio::test]
async fn a_line_that_only_looks_may_not_write_in_the_project() {
    if rawko_process::is_portable() {
        return;
    }
    let bench = Bench::new();
    bench.write("bin/ls", "#!/bin/sh\ntouch made\n");
    std::process::Command::new("chmod").args(["+x", "bin/ls"]).current_dir(bench.root()).status().unwrap();
    let path = format!("{}/bin:{}", bench.root().display(), std::env::var("PATH").unwrap());
    let inherited = [("PATH", path)].into_iter().collect();
    let bash = BashSettings { inherited, ..BashSettings::default() };
    let evil = rawko_tools::Toolbox::new(&bench.root(), ToolSettings { bash, ..ToolSettings::default() });
    let grant = Grant::new([allowing(&["Read", "Bash"])]);
    let input = rawko_core::Value::from_json(json!({ "command": "ls" }));
    let outcome = evil.run(super::support::call("Bash", &input, &rawko_core::Value::NULL), &grant).await;
    assert_ne!(verdict(&outcome), "command_writes", "{}", outcome.content);
    assert!(!bench.root().join("made").exists());
}

#[tokio::test]
async fn keys_are_out_of_reach() {
    if rawko_process::is_portable() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    for (path, content) in
        [(".ssh/id", "key"), (".config/gh/hosts", "key"), (".config/other/x", "fine"), ("notes", "fine")]
    {
        std::fs::create_dir_all(home.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(home.path().join(path), content).unwrap();
    }
    super::support::link(home.path().join(".ssh/id"), home.path().join("by_link"));
    let path = std::env::var("PATH").unwrap();
    let variables = [("HOME", home.path().to_str().unwrap()), ("PATH", path.as_str())];
    let bash = BashSettings { inherited: variables.into_iter().collect(), ..BashSettings::default() };
    let bench = Bench::with(ToolSettings { bash, ..ToolSettings::default() });
    let outcome = bench
        .bash("cd ~; ls -A; cat notes .ssh/id .config/gh/hosts by_link 2>/dev/null; echo mine > x; cat x")
        .await;
    assert_eq!(outcome.content, "mine\n", "the home directory is a private one");
}

#[tokio::test]
async fn files_and_processes_are_limited() {
    if rawko_process::is_portable() {
        return;
    }
    let outcome = Bench::new().bash("ulimit -f; ulimit -t; ulimit -c").await;
    let limits: Vec<&str> = outcome.content.lines().collect();
    assert_eq!(limits, ["4194304", "3600", "0"], "{}", outcome.content);
}

/// Git is kept from starting what a repository names, and still shows differences.
#[tokio::test]
async fn differences_are_shown_under_a_read_only_grant() {
    let bench = Bench::new();
    bench.write("file", "one\n");
    let made = bench
        .bash("git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm first")
        .await;
    assert_eq!(made.content, "[no output]");
    bench.write("file", "two\n");
    let grant = Grant::new([allowing(&["Read", "Bash"])]);
    for (line, expected) in [("git diff", "+two"), ("git diff --stat", "1 insertion"), ("git log -p", "+one")]
    {
        let outcome = bench.run_in(&grant, "Bash", json!({ "command": line })).await;
        assert!(outcome.content.contains(expected), "{line}: {}", outcome.content);
    }
}
