//! Changes of files after a person trusted them: those with authority ask again, others do not.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::support::{SETTINGS, Tally, Yard};
use super::trust::{MCP, REGISTERED, yard};

fn imported(it: &Yard) {
    it.write("docs/more.md", "Be brief.");
    it.write("CLAUDE.md", "@docs/more.md\n");
    it.trust();
    it.write("docs/more.md", "Obey.");
}

/// Opening it waits for another process.
fn pipe(it: &Yard, path: &str) {
    assert!(Command::new("mkfifo").arg(it.root().join(path)).status().unwrap().success());
}

fn endless(it: &Yard, path: &str) {
    fs::create_dir_all(it.root().join(path).parent().unwrap()).unwrap();
    symlink("/dev/zero", it.root().join(path)).unwrap();
}

/// Every change of a file with authority asks again; other changes do not.
pub(super) fn attempt(tally: &mut Tally) {
    type Change = (&'static str, fn(&Yard), bool);
    let changes: [Change; 38] = [
        ("settings", |it| it.write(".rawko/config.yaml", &format!("{SETTINGS}# more\n")), true),
        ("a new agent", |it| it.write(".rawko/agents/new.md", "---\nname: new\n---\nHi.\n"), true),
        (
            "a changed agent",
            |it| it.write(".rawko/agents/worker.md", "---\nname: worker\n---\nEvil.\n"),
            true,
        ),
        ("a removed agent", |it| fs::remove_file(it.root().join(".rawko/agents/worker.md")).unwrap(), true),
        ("a chart", |it| it.write(".rawko/charts/agent.yaml", REGISTERED), true),
        ("an uploaded chart", |it| it.write(".rawko/charts/uploaded/x@1.yaml", REGISTERED), true),
        ("a prompt", |it| it.write(".rawko/prompts/select.md", "Choose evil."), true),
        (
            "the script of a model",
            |it| it.write(".rawko/script.yaml", "- {agent: worker, text: Hi.}\n"),
            true,
        ),
        ("Claude's agents", |it| it.write(".claude/agents/x.md", "---\nname: x\n---\nHi.\n"), true),
        ("Claude's settings", |it| it.write(".claude/settings.json", "{}"), true),
        ("Claude's commands", |it| it.write(".claude/commands/x.md", "Do."), true),
        ("MCP servers", |it| it.write(".mcp.json", MCP), true),
        ("AGENTS.md", |it| it.write("AGENTS.md", "Obey."), true),
        ("agents.md in another case", |it| it.write("Agents.MD", "Obey."), true),
        ("CLAUDE.md", |it| it.write("CLAUDE.md", "Obey."), true),
        ("a registered chart", |it| it.write("other/extra.yaml", &format!("{REGISTERED}# x\n")), true),
        ("a new registry", |it| it.write("more/r.yaml", "machine_registry: []\n"), true),
        ("a program that settings start", |it| it.write("services/run.sh", "#!/bin/sh\nevil\n"), true),
        ("a git hook", |it| it.write(".git/hooks/pre-commit", "evil"), true),
        ("a command in git's settings", |it| it.write(".git/config", "[core]\n\tfsmonitor = ./evil\n"), true),
        ("an alias in git's settings", |it| it.write(".git/config", "[alias]\n\tst = !evil\n"), true),
        (
            "the target of a link",
            |it| {
                it.write("elsewhere.md", "---\nname: linked\n---\nHi.\n");
                symlink("../../elsewhere.md", it.root().join(".rawko/agents/linked.md")).unwrap();
                it.trust();
                it.write("elsewhere.md", "---\nname: linked\n---\nEvil.\n");
            },
            true,
        ),
        ("attributes in the git directory", |it| it.write(".git/info/attributes", "* filter=x"), true),
        ("another common directory of git", |it| it.write(".git/commondir", "../other"), true),
        (
            "an included configuration of git",
            |it| {
                it.write(".git/config", "[include]\n\tpath = ../tools/more\n");
                it.write("tools/more", "[user]\n\tname = Ada\n");
                it.trust();
                it.write("tools/more", "[core]\n\tfsmonitor = evil\n");
            },
            true,
        ),
        (
            "a configuration that an included one includes",
            |it| {
                it.write(".git/config", "[include]\n\tpath = ../tools/more\n");
                it.write("tools/more", "[include]\n\tpath = most\n");
                it.write("tools/most", "");
                it.trust();
                it.write("tools/most", "[core]\n\tfsmonitor = evil\n");
            },
            true,
        ),
        (
            "a new hook of a configured directory",
            |it| {
                it.write(".git/config", "[core]\n\thooksPath = hk\n");
                it.write("hk/readme", "x");
                it.trust();
                it.write("hk/pre-commit", "evil");
            },
            true,
        ),
        (
            "a program of git's settings",
            |it| {
                it.write(".git/config", "[core]\n\tfsmonitor = tools/monitor\n");
                it.write("tools/monitor", "true");
                it.trust();
                it.write("tools/monitor", "evil");
            },
            true,
        ),
        ("an imported file", imported, true),
        (
            "a directory of agents that is a link",
            |it| {
                it.write("elsewhere/a.md", "---\nname: a\n---\nHi.\n");
                symlink("../../elsewhere", it.root().join(".rawko/agents/more")).unwrap();
                it.trust();
                it.write("elsewhere/b.md", "---\nname: b\n---\nEvil.\n");
            },
            true,
        ),
        ("an agent that is a pipe", |it| pipe(it, ".rawko/agents/z.md"), true),
        ("MCP servers in a pipe", |it| pipe(it, ".mcp.json"), true),
        ("an agent without an end", |it| endless(it, ".rawko/agents/z.md"), true),
        ("a chart without an end", |it| endless(it, ".rawko/charts/z.yaml"), true),
        ("code", |it| it.write("src/main.py", "print()"), false),
        ("memories", |it| it.write(".rawko/memories/a.md", "---\ntitle: a\n---\nb\n"), false),
        ("other settings of git", |it| it.write(".git/config", "[user]\n\tname = Ada\n"), false),
        ("a sample hook", |it| it.write(".git/hooks/pre-push.sample", "x"), false),
    ];
    for (name, change, asks) in changes {
        let yard = yard();
        yard.trust();
        let before = yard.run(&["run", "probe.yaml", "--id", "a"]);
        assert_eq!(before.code, Some(0), "{name}: {before:?}");
        change(&yard);
        let after = yard.run(&["run", "probe.yaml", "--id", "b"]);
        let held =
            if asks { after.code == Some(52) && after.says("not trusted") } else { after.code == Some(0) };
        yard.trust();
        let control = !yard.run(&["run", "probe.yaml", "--id", "c"]).says("not trusted");
        tally.row(format!("a change of {name}"), held, control);
    }
}
