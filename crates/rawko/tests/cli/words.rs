//! The project's instructions from the command line: shown with an agent, and part of what a person trusts.

use expect_test::expect;

use crate::support::{command, run};
use crate::tasks::project::{ONE, SETTINGS, agent, project};

fn words() -> tempfile::TempDir {
    let skills = "skills: [review]\nreasoning: high\n";
    let dir = project(SETTINGS, &[agent("worker", skills)], ONE);
    for (path, text) in [
        ("AGENTS.md", "Use tabs.\n"),
        ("web/CLAUDE.md", "@style.md\n"),
        ("web/style.md", "Two spaces.\n"),
        (
            ".agents/skills/release/SKILL.md",
            "---\nname: release\ndescription: Releases a version.\n---\nTag it.\n",
        ),
        (
            ".claude/skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews code.\n---\nRead it twice.\n",
        ),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

#[test]
fn an_agent_is_shown_with_the_instructions_that_it_gets() {
    let dir = words();
    expect![[r#"
        worker  worker
          from        .rawko/agents/worker.md
          kind        llm
          when        For what a worker does.
          model       default
          tools       all
          reasoning   high

        You are the worker.

        instructions  AGENTS.md (9 bytes, always)
        instructions  web/CLAUDE.md (11 bytes, for files below web/)
        skill         release (.agents/skills/release, read on demand): Releases a version.
        skill         review (.claude/skills/review, in the prompt): Reviews code.
    "#]]
    .assert_eq(&run(dir.path(), &["agents", "show", "worker"], "").stdout);
    let json = run(dir.path(), &["agents", "show", "worker", "--json"], "").stdout;
    let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(shown["reasoning"], "high");
    assert_eq!(shown["projectInstructions"][1]["directory"], "web");
    assert_eq!(shown["projectSkills"][0]["name"], "release");
}

/// Every file that can reach a prompt is trusted by its content: a change asks again.
#[test]
fn a_change_of_instructions_asks_for_trust_again() {
    let dir = words();
    let trusted = |args: &[&str]| {
        let mut command = command(dir.path(), args);
        command.env_remove("RAWKO_TRUST").output().unwrap()
    };
    for path in ["AGENTS.md", "web/CLAUDE.md", "web/style.md", ".agents/skills/release/SKILL.md"] {
        assert!(trusted(&["trust", "--yes"]).status.success(), "{path}");
        assert_ne!(trusted(&["task", "Do it", "--agent", "worker"]).status.code(), Some(52), "{path}");
        let file = dir.path().join(path);
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "\nMore.\n").unwrap();
        let out = trusted(&["task", "Do it", "--agent", "worker"]);
        assert_eq!(out.status.code(), Some(52), "{path}");
        assert!(
            String::from_utf8_lossy(&out.stderr).contains(path),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
    // A file that no prompt has is not part of it.
    assert!(trusted(&["trust", "--yes"]).status.success());
    std::fs::write(dir.path().join("web/other.md"), "x").unwrap();
    assert_ne!(trusted(&["task", "Do it", "--agent", "worker"]).status.code(), Some(52));
}
