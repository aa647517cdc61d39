//! Lines that the shell filter lets through because the kernel holds them: a read-only agent runs them and writes nothing; an
//! agent that may write does. Files of authority in subdirectories are held in the same way.

use serde_json::{Value, json};

use crate::shell::{Project, has_namespaces};

const READING: &str = "tools: {allowed: [Read, Bash]}\n";

/// Each writes the file `x` where it may.
const WRITING: [&str; 14] = [
    "python3 -c 'open(\"x\", \"w\")'",
    "python3 - <<'E'\nopen('x', 'w')\nE",
    "perl -e 'open(F, \">x\")'",
    "BASH_ENV=./bad.sh bash -c ls",
    "sh bad.sh",
    ". ./bad.sh",
    "bash -c '. ./bad.sh'",
    "find . -maxdepth 0 -exec sh bad.sh \\;",
    "ls bad.sh | xargs -I{} python3 -c 'open(\"x\", \"w\")'",
    "awk -f write.awk open.txt",
    "PATH=$PWD/bin:$PATH evil",
    "GIT_EXTERNAL_DIFF=./bad.sh git diff --no-index open.txt good.sh",
    "python3 -c 'import subprocess; subprocess.run([\"sh\", \"bad.sh\"])'",
    "python3 -c 'import os; os.rename(\"open.txt\", \"x\")'",
];

fn call(line: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": line}))
}

fn project(agent: &str, calls: &[(&str, Value)]) -> Project {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new("", agent, calls);
    let at = |name: &str| project.dir.path().join(name);
    std::fs::write(at("write.awk"), "{ print > \"x\" }\n").unwrap();
    std::fs::create_dir(at("bin")).unwrap();
    std::fs::write(at("bin/evil"), "#!/bin/sh\ntouch x\n").unwrap();
    for name in ["bad.sh", "good.sh", "bin/evil"] {
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    project
}

#[test]
fn a_read_only_agent_is_held_by_the_kernel() {
    if !has_namespaces() {
        println!("kernel: not tried, this machine has no namespaces");
        return;
    }
    let mut wrong = Vec::new();
    for line in WRITING {
        let held = project(READING, &[call(line)]);
        let result = held.run(&[]).join("\n");
        if held.has("x") || result.starts_with("refused:") {
            wrong.push(format!("{line}: {result}"));
        }
        let control = project("", &[call(line)]);
        let result = control.run(&[]).join("\n");
        if !control.has("x") {
            wrong.push(format!("{line}: the control did not write: {result}"));
        }
    }
    println!("kernel: {} of {} held", WRITING.len() - wrong.len(), WRITING.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What a reviewer needs does run: temporary files, interpreters.
    let useful = [
        ("python3 -c 'print(6 * 7)'", "42"),
        ("echo hi > /tmp/x; cat /tmp/x", "hi"),
        ("f=$(mktemp); echo there > $f; cat $f", "there"),
        ("ls | tee /tmp/l | wc -l > /dev/null; grep open /tmp/l", "open.txt"),
        ("[[ $(wc -c < open.txt) -gt 1 ]] && echo big", "big"),
        ("shopt -s globstar; ls **/a.txt", "src/a.txt"),
        ("echo $(( $(wc -l < open.txt) + 41 ))", "42"),
        ("perl -ne 'print if /plain/' open.txt", "plain text"),
        ("awk '{print | \"sort\"}' open.txt", "plain text"),
    ];
    let calls: Vec<_> = useful.iter().map(|(line, _)| call(line)).collect();
    let results = project(READING, &calls).run(&[]);
    for ((line, expected), result) in useful.iter().zip(&results) {
        assert!(result.contains(expected), "{line}: {result}");
    }
}

/// Instructions and settings of editors in a subdirectory, which exist, are new, or are put in the place of others.
#[test]
fn files_of_authority_in_subdirectories_are_held() {
    if !has_namespaces() {
        return;
    }
    let files = [
        "src/AGENTS.md",
        "src/.vscode/tasks.json",
        "src/.claude/agents/a.md",
        "src/CLAUDE.md",
        "src/.envrc",
        ".profile",
        // Editors, debuggers, hooks and other agents.
        ".exrc",
        "src/.nvim.lua",
        ".zed/tasks.json",
        "src/.dir-locals.el",
        "src/.gdbinit",
        "lefthook.yml",
        ".aider.conf.yml",
        "opencode.json",
        ".github/copilot-instructions.md",
        "src/.clinerules",
        ".kiro/steering/a.md",
        ".roo/rules/a.md",
        "src/.Exrc",
        "SRC/AGENTS.MD",
    ];
    let write = |path: &str| {
        // The filter sees a name in a redirection; a program shows what the sandbox does.
        format!(
            "python3 -c 'import os; os.makedirs(os.path.dirname(\"{path}\") or \".\", exist_ok=True); open(\"{path}\", \"w\").write(\"evil\")'"
        )
    };
    let (mut held, mut wrong) = (0, Vec::new());
    // A git directory with such files of its own would be another repository.
    let of_git = [".git/commondir", ".git/config.worktree", ".git/hooks/pre-push"];
    let tried = files.iter().flat_map(|path| [(*path, true), (*path, false)]);
    let tried: Vec<(&str, bool)> = tried.chain(of_git.map(|path| (path, false))).collect();
    for (path, is_there) in tried.iter().copied() {
        let project = Project::new("", "", &[call(&write(path)), call(&write("src/plain.txt"))]);
        let at = project.dir.path().join(path);
        if is_there {
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(&at, "mine").unwrap();
        }
        let results = project.run(&[]);
        let now = std::fs::read_to_string(&at).ok();
        let is_held = now.as_deref() == is_there.then_some("mine");
        match is_held && project.has("src/plain.txt") {
            true => held += 1,
            false => wrong.push(format!("{path} {is_there}: {now:?} {results:?}")),
        }
    }
    let replaced = Project::new(
        "",
        "",
        &[call("mv src old && mkdir src && python3 -c 'open(\"src/AGENTS.md\", \"w\").write(\"evil\")'")],
    );
    std::fs::write(replaced.dir.path().join("src/AGENTS.md"), "mine").unwrap();
    let results = replaced.run(&[]);
    match replaced.has("src/AGENTS.md") || !replaced.has("old/AGENTS.md") {
        true => wrong.push(format!("replaced: {results:?}")),
        false => held += 1,
    }
    println!("subdirectories: {held} of {} held", tried.len() + 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `/var/tmp` is a link to `/tmp` inside, unless something lies in it.
#[test]
fn a_project_below_var_tmp_is_confined_like_any_other() {
    let place = std::path::Path::new("/var/tmp");
    if !place.is_dir() || !crate::shell::has_namespaces() {
        return;
    }
    let outside = tempfile::NamedTempFile::new_in(place).unwrap();
    std::fs::write(outside.path(), "from elsewhere").unwrap();
    let lines = [
        "touch made && echo kept > /tmp/a && cat open.txt".to_owned(),
        format!("cat {}", outside.path().display()),
        "ls ~/outside.txt".to_owned(),
    ];
    let calls: Vec<(&str, serde_json::Value)> =
        lines.iter().map(|line| ("Bash", serde_json::json!({"command": line}))).collect();
    let project = crate::shell::Project::below(place, "", "", &calls);
    let results = project.run(&[]);
    assert!(project.has("made") && results[0].contains("plain text"), "{results:#?}");
    assert!(results[1].contains("No such file") && !results[1].contains("from elsewhere"), "{results:#?}");
    assert!(results[2].contains("No such file"), "{results:#?}");
    println!("below /var/tmp: 2 of 2 held");
}
