//! The portable implementation, forced on Linux: it lists its limits, `require` starts nothing, and what does not
//! need the kernel still holds.

use std::process::{Command, Output};

use serde_json::json;

use crate::shell::Project;

fn rawko(project: &Project, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rawko"));
    command.args(args).current_dir(project.dir.path()).stdin(std::process::Stdio::null());
    command.env("HOME", project.home.path()).env("USER", "ada").env("RAWKO_TRUST", "all");
    command.env_remove("XDG_CONFIG_HOME").env_remove("RAWKO_STORE").env("RAWKO_PLATFORM", "portable");
    command.output().unwrap()
}

const SESSION: &str = "ps -o sid= -p $$ | tr -d ' ' > session; echo $$ >> session; env > variables";

#[test]
fn without_a_kernel_that_confines_require_starts_nothing_and_auto_says_so() {
    let calls = [
        ("Bash", json!({"command": SESSION})),
        ("Write", json!({"path": "../outside", "content": "x"})),
        ("Write", json!({"path": ".mcp.json", "content": "{}"})),
        ("Read", json!({"path": "/etc/passwd"})),
        ("Bash", json!({"command": "echo '{}' > .mcp.json"})),
        ("Write", json!({"path": "made/here", "content": "x"})),
    ];
    for (mode, runs) in [("require", false), ("auto", true)] {
        let project = Project::new(&format!("tools: {{bash: {{sandbox: {mode}}}}}\n"), "", &calls);
        let done = rawko(&project, &["run", "look.yaml", "--id", "t"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let results = project.results();
        assert_eq!(results.len(), calls.len(), "{mode}: {said}");
        assert_eq!(project.has("session"), runs, "{mode}: {results:?}");
        assert!(project.has("made/here"), "the file tools work: {results:?}");
        for held in &results[1..4] {
            assert!(held.starts_with("refused:"), "{mode}: {results:?}");
        }
        assert!(!project.has(".mcp.json"), "{mode}: {results:?}");
        if !runs {
            assert!(results[0].contains("settings require a sandbox"), "{results:?}");
            continue;
        }
        assert!(said.contains("programs are not confined on this system"), "{said}");
        let read = |name: &str| std::fs::read_to_string(project.dir.path().join(name)).unwrap();
        let session = read("session");
        let (own, pid) = session.trim().split_once('\n').unwrap();
        assert_eq!(own, pid, "bash leads a session of its own");
        assert!(!read("variables").contains("RAWKO_TRUST"), "the environment is short");
    }
}

#[test]
fn doctor_lists_each_layer() {
    let project = Project::new("", "", &[]);
    let shown = String::from_utf8(rawko(&project, &["doctor"]).stdout).unwrap();
    for layer in ["PID namespace", "mount namespace", "network namespace", "Landlock", "seccomp"] {
        assert!(shown.contains(&format!("no {layer}")), "{layer}: {shown}");
    }
    assert!(shown.contains("own session"), "{shown}");
}
