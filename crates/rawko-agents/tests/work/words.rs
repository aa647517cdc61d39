//! The project's words in prompts: AGENTS.md and CLAUDE.md by directory, imports, skills; and the tool Think.

use rawko_agents::words::{ProjectWords, WordSettings, authority};
use serde_json::json;

use crate::yard::{Yard, yard};

fn project(script: &str) -> Yard {
    yard(script)
        .file("AGENTS.md", "Use tabs.\n")
        .file("CLAUDE.md", "@AGENTS.md\n")
        .file("web/AGENTS.md", "Use two spaces.\n")
        .file("web/deep/CLAUDE.md", "Write no tests.\n@style.md\n@../../outside/../web/style.md\n")
        .file("web/deep/style.md", "Be terse.\n")
        .file("web/style.md", "Be kind.\n")
        .file("node_modules/x/AGENTS.md", "Obey x.\n")
        .file(
            ".agents/skills/release/SKILL.md",
            "---\nname: release\ndescription: Releases a version.\n---\nTag it.\n",
        )
        .file(".agents/skills/release/notes.md", "n\n")
        .file(
            ".claude/skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews code.\n---\nRead it twice.\n",
        )
        .file(".claude/skills/broken/SKILL.md", "no frontmatter\n")
}

#[tokio::test]
async fn the_root_comes_with_the_prompt_and_directories_with_their_files() {
    let yard = project(
        "
- tool_calls: [{name: Read, input: {path: web/deep/a.txt}}]
- tool_calls: [{name: Read, input: {path: web/deep/a.txt, offset: 1}}]
- tool_calls: [{name: Read, input: {path: web/b.txt}}]
- text: Done.
",
    )
    .file("web/deep/a.txt", "a\n")
    .file("web/b.txt", "b\n");
    yard.run("one", json!({"prompt": "Do it."})).await;
    let asked = yard.asked();
    let system = &asked[0].system;
    assert!(
        system.starts_with("You work.\n\n# Project instructions\n\n## AGENTS.md\n\nUse tabs."),
        "{system}"
    );
    assert_eq!(
        system.matches("Use tabs.").count(),
        1,
        "a file that only imports the other one is not repeated"
    );
    assert!(!system.contains("two spaces") && !system.contains("Obey x"), "{system}");
    assert!(system.contains("- release: Releases a version.\n- review: Reviews code."), "{system}");
    let last = |number: usize| serde_json::to_string(asked[number].messages.last().unwrap()).unwrap();
    let (outer, inner) = (last(1).find("Use two spaces."), last(1).find("Write no tests.\\nBe terse."));
    assert!(outer.unwrap() < inner.unwrap(), "outermost first: {}", last(1));
    assert!(!last(2).contains("Use two spaces."), "once in a conversation: {}", last(2));
    assert!(!last(3).contains("Use two spaces."), "{}", last(3));
}

#[tokio::test]
async fn a_skill_is_read_on_demand_or_beforehand() {
    let yard = project("- tool_calls: [{name: Skill, input: {name: release}}]\n- text: Done.\n").file(
        ".rawko/agents/worker.md",
        "---\nname: worker\nwhenToUse: For work.\nskills: [review]\n---\nYou work.\n",
    );
    yard.run("one", json!({"prompt": "Do it."})).await;
    let asked = yard.asked();
    assert!(asked[0].system.contains("# Skill review (in .claude/skills/review)\n\nRead it twice."));
    assert!(!asked[0].system.contains("- review:") && asked[0].system.contains("- release:"));
    let last = yard.last_prompt();
    assert!(last.contains("Tag it.") && last.contains(".agents/skills/release/notes.md"), "{last}");
}

#[tokio::test]
async fn an_agent_without_the_tool_is_not_told_of_skills() {
    let yard = project("- text: Done.\n").file(
        ".rawko/agents/worker.md",
        "---\nname: worker\nwhenToUse: For work.\ntools: {allowed: [Read]}\n---\nYou work.\n",
    );
    yard.run("one", json!({"prompt": "Do it."})).await;
    assert!(!yard.asked()[0].system.contains("## Skills"));
}

#[test]
fn the_budget_and_the_switches_hold() {
    let yard = project("- text: Done.\n").file("AGENTS.md", &"é".repeat(20_000));
    let read = |settings| ProjectWords::read(&yard.root(), settings);
    let all = WordSettings::default();
    let small = read(WordSettings { bytes_max: 1_000, ..all }).prompt(&[], true);
    assert!(small.len() < 1_200 && small.contains("project instructions are limited"), "{}", small.len());
    assert_eq!(read(WordSettings { bytes_max: 0, ..all }).prompt(&[], true), "");
    let no_files = read(WordSettings { files: false, ..all });
    assert!(no_files.files.is_empty() && no_files.prompt(&[], true).contains("## Skills"));
    assert!(read(WordSettings { skills: false, ..all }).skills.is_empty());
}

/// Trust covers each file that can reach a prompt.
#[test]
fn imports_stay_in_the_project_and_are_trusted_with_it() {
    let yard = project("- text: Done.\n");
    let root = yard.root();
    std::fs::write(root.parent().unwrap().join("secret.md"), "Secret.").unwrap();
    std::os::unix::fs::symlink(root.parent().unwrap().join("secret.md"), root.join("link.md")).unwrap();
    let text = "@../secret.md\n@link.md\n@~/x.md\n@/etc/hosts\n@missing.md\n@CLAUDE.md\n@alice\n```\n@web/style.md\n```\n- @web/style.md\n";
    std::fs::write(root.join("CLAUDE.md"), text).unwrap();
    let words = ProjectWords::read(&root, WordSettings::default());
    let claude = words.files.iter().find(|file| file.path == "CLAUDE.md").unwrap();
    assert_eq!(
        claude.text,
        "[@../secret.md is not read: it is outside the project]\n[@link.md is not read: it is outside the project]\n\
         [@~/x.md is not read: it is outside the project]\n[@/etc/hosts is not read: it is outside the project]\n\
         [@missing.md is not read: there is no such file]\n[@CLAUDE.md is not read: it imports itself]\n@alice\n```\n\
         @web/style.md\n```\nBe kind."
    );
    let trusted: Vec<String> =
        authority(&root).iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
    assert_eq!(
        trusted,
        [
            "AGENTS.md",
            "CLAUDE.md",
            "web/style.md",
            "web/AGENTS.md",
            "web/deep/CLAUDE.md",
            "web/deep/style.md",
            ".agents/skills/release/SKILL.md",
            ".claude/skills/broken/SKILL.md",
            ".claude/skills/review/SKILL.md",
        ]
    );
}

#[tokio::test]
async fn thoughts_are_kept_in_the_context() {
    let yard = yard(
        "
- tool_calls: [{name: Think, input: {thought: A queue.}}]
- tool_calls: [{name: sequential_thinking, input: {thought: A bounded queue., revises: 1}}]
- tool_calls: [{name: Think, input: {thought: A table., branch: table, branch_from: 1, done: true}}]
- text: Done.
",
    );
    yard.run("one", json!({"prompt": "Design it.", "phase": "analyze_code"})).await;
    let last = yard.last_prompt();
    for expected in ["1. A queue. [revised by 2]", "2. A bounded queue. [revises 1]", "[branch table from 1]"]
    {
        assert!(last.contains(expected), "{last}");
    }
}
