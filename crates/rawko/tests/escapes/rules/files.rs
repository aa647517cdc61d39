//! Tools never write files that carry authority, by any path.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::{SETTINGS, Tally, WORKER, Yard};

/// Paths that are refused.
const PATHS: [&str; 55] = [
    ".rawko/config.yaml",
    "./.rawko/config.yaml",
    "src/../.rawko/config.yaml",
    ".RAWKO/config.yaml",
    ".rawko/agents/evil.md",
    ".rawko/charts/agent.yaml",
    ".rawko/prompts/select.md",
    ".rawko/memories/evil.md",
    ".claude/agents/evil.md",
    ".claude/settings.json",
    ".agents/skills/evil/SKILL.md",
    ".mcp.json",
    ".MCP.json",
    "AGENTS.md",
    "agents.md",
    "sub/AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".git/hooks/pre-commit",
    ".git/config",
    ".gitmodules",
    ".envrc",
    ".husky/pre-commit",
    ".vscode/tasks.json",
    ".bashrc",
    "link/config.yaml",
    "agents-link/evil.md",
    "linked.yaml",
    "target.md",
    "target-folder/evil.md",
    "sub/.rawko/config.yaml",
    // What other programs obey.
    "AGENT.md",
    ".helix/languages.toml",
    ".hg/hgrc",
    ".jj/repo/config.toml",
    "x.code-workspace",
    "lefthook-local.yml",
    ".junie/guidelines.md",
    ".github/prompts/x.prompt.md",
    ".GitHub/Instructions/x.md",
    ".config/mise/config.toml",
    ".mise.toml",
    ".tool-versions",
    ".nvim.lua",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".pdbrc",
    ".Rprofile",
    ".gdbinit",
    ".clinerules-code",
    ".kilocode/rules/x.md",
    // Files of a bare repository, and those that would complete one.
    "bare/config",
    "half/refs/keep",
    "half2/objects/x/y",
    "led/commondir",
];

pub(super) fn attempt(tally: &mut Tally) {
    let write = |path: &str| format!("{{name: Write, input: {{path: '{path}', content: EVIL}}}}");
    let edit = |path: &str| {
        format!("{{name: Edit, input: {{path: '{path}', old_string: 'name', new_string: 'EVIL'}}}}")
    };
    let edited = [".rawko/agents/worker.md", "target.md", "hard.md", "notes.md"];
    let mut calls: Vec<String> = PATHS.iter().map(|path| write(path)).collect();
    calls.extend(edited.iter().map(|path| edit(path)));
    calls.push(write("made.txt"));
    calls.push("{name: MultiEdit, input: {path: AGENTS.md, old_string: name, new_string: EVIL}}".to_owned());
    let yard =
        Yard::with_calls(&calls, &[("AGENTS.md", "name\n"), ("notes.md", "name\n"), ("target.md", WORKER)]);
    yard.write("target-folder/x.md", "---\nname: x\ndescription: X.\n---\nHi.\n");
    yard.write("src/a.txt", "");
    for (file, text) in [
        ("bare/HEAD", "ref: refs/heads/main\n"),
        ("bare/objects/keep", ""),
        ("bare/refs/keep", ""),
        ("half/HEAD", "ref: refs/heads/main\n"),
        ("half/objects/keep", ""),
        ("half2/HEAD", "ref: refs/heads/main\n"),
        ("half2/refs/keep", ""),
        ("led/HEAD", "ref: refs/heads/main\n"),
    ] {
        yard.write(file, text);
    }
    let root = yard.root();
    symlink(".rawko", root.join("link")).unwrap();
    symlink(".rawko/agents", root.join("agents-link")).unwrap();
    symlink(".rawko/config.yaml", root.join("linked.yaml")).unwrap();
    // Agents that are links to files elsewhere in the project.
    fs::remove_file(root.join(".rawko/agents/worker.md")).unwrap();
    symlink("../../target.md", root.join(".rawko/agents/worker.md")).unwrap();
    symlink("../../target-folder", root.join(".rawko/agents/more")).unwrap();
    fs::hard_link(root.join(".rawko/config.yaml"), root.join("hard.md")).unwrap();
    let before = [".rawko/config.yaml", "target.md", "AGENTS.md"].map(|path| yard.read(path));
    let (run, audit) = yard.trust().probe("a");
    assert_eq!(run.code, Some(0), "{run:?}");
    tally.row("a directory that completes a repository", !yard.has("half/refs"), yard.has("half/HEAD"));
    let control =
        yard.read("made.txt").as_deref() == Some("EVIL") && yard.read("notes.md").unwrap().contains("EVIL");
    for path in PATHS {
        let is_changed = yard.read(path).is_some_and(|text| text.contains("EVIL"));
        tally.row(format!("Write {path}"), !is_changed, control);
    }
    for path in [".rawko/agents/worker.md", "target.md"] {
        tally.row(format!("Edit {path}"), !yard.read(path).unwrap().contains("EVIL"), control);
    }
    let after = [".rawko/config.yaml", "target.md", "AGENTS.md"].map(|path| yard.read(path));
    tally.row("Edit of a hard link to the settings", before[0] == after[0], control);
    tally.row("MultiEdit AGENTS.md", before[2] == after[2], control);
    tally.row("the audit names the rule", audit.contains("never written by tools"), control);
    // Redirections of a shell are checked by the same list.
    let shell: Vec<String> = [".rawko/config.yaml", "AGENTS.md", ".mcp.json", ".git/config", "made.txt"]
        .iter()
        .map(|path| format!("{{name: Bash, input: {{command: 'echo EVIL > {path}'}}}}"))
        .collect();
    let yard = Yard::with_calls(&shell, &[("AGENTS.md", "name\n")]);
    yard.write(
        ".rawko/config.yaml",
        &format!("{SETTINGS}tools: {{bash: {{allowed_commands: ['echo *']}}}}\n"),
    );
    yard.trust().probe("a");
    let control = yard.read("made.txt").is_some_and(|text| text.contains("EVIL"));
    for path in [".rawko/config.yaml", "AGENTS.md", ".mcp.json", ".git/config"] {
        let is_changed = yard.read(path).is_some_and(|text| text.contains("EVIL"));
        tally.row(format!("echo > {path}"), !is_changed, control);
    }
}
