//! Valid agent files in all their forms, and their precedence.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use rawko_agents::agent::{AgentKind, Agents, Level, ModelChoice};
use rawko_chart::render::{ReportStyle, report};
use rawko_chart::{Finding, SourceFile};
use rawko_host::Environment;

/// Prints the only agent of a valid text as JSON, without empty values.
#[track_caller]
fn check(name: &str, text: &str, expected: Expect) {
    let source = SourceFile::new(name, text);
    let (agents, findings) = Agents::of_source(&source, &Environment::default());
    assert!(findings.is_empty(), "{}", report(&findings, &source, ReportStyle::default()));
    let mut json = serde_json::to_value(&agents.all()[0]).unwrap();
    prune(&mut json);
    expected.assert_eq(&(serde_json::to_string_pretty(&json).unwrap() + "\n"));
}

fn prune(json: &mut serde_json::Value) {
    if let serde_json::Value::Object(map) = json {
        map.values_mut().for_each(prune);
        map.retain(|_, value| match value {
            serde_json::Value::Null => false,
            serde_json::Value::Array(items) => !items.is_empty(),
            serde_json::Value::Object(map) => !map.is_empty(),
            _ => true,
        });
    }
}

#[test]
fn every_key_in_yaml() {
    check(
        ".rawko/agents/developer.yaml",
        r#"
name: developer
displayName: The Developer
whenToUse: Writes code for a step of the plan
systemPrompt: |
  You write code.
provider: {name: anthropic, model: claude-sonnet-4-5}
visionModel: openai/gpt-5
kind: llm
tools:
  allowed: [Read, Edit, Bash, mcp__git__*]
  blocked: [WebFetch]
  bashFilter: {allowedCommands: ["cargo *", git status], blockedPatterns: ["rm -rf"]}
transitions: {onSuccess: complete, onFailure: developer, onMaxIterations: complete, custom: {needs_review: complete}}
limits: {maxIterations: 20, timeout: 10m, maxTokens: 100000}
memory: {scope: project}
metadata: {team: core}
roles: [coder]
task_types: [feature, bug]
"#,
        expect![[r#"
            {
              "name": "developer",
              "displayName": "The Developer",
              "whenToUse": "Writes code for a step of the plan",
              "systemPrompt": "You write code.",
              "kind": "llm",
              "model": {
                "provider": "anthropic",
                "model": "claude-sonnet-4-5"
              },
              "visionModel": {
                "provider": "openai",
                "model": "gpt-5"
              },
              "tools": {
                "allowed": [
                  "Read",
                  "Edit",
                  "Bash",
                  "mcp__git__*"
                ],
                "blocked": [
                  "WebFetch"
                ],
                "bashFilter": {
                  "allowedCommands": [
                    "cargo *",
                    "git status"
                  ],
                  "blockedPatterns": [
                    "rm -rf"
                  ]
                }
              },
              "transitions": {
                "onSuccess": "complete",
                "onFailure": "developer",
                "onMaxIterations": "complete",
                "custom": {
                  "needs_review": "complete"
                }
              },
              "limits": {
                "maxIterations": 20,
                "timeout": 600000,
                "maxTokens": 100000
              },
              "memory": {
                "scope": "project"
              },
              "metadata": {
                "team": "core"
              },
              "roles": [
                "coder"
              ],
              "taskTypes": [
                "feature",
                "bug"
              ],
              "file": ".rawko/agents/developer.yaml",
              "level": "project"
            }
        "#]],
    );
}

#[test]
fn snake_case_and_frontmatter() {
    check(
        ".rawko/agents/explorer.md",
        "---\nwhen_to_use: Finds things\ndisplay_name: Explorer\nmodel: ollama/llama3\nvision_model: haiku\n\
         limits: {max_iterations: 5}\ntransitions: {on_success: complete}\ntools: {bash_filter: {allowed_commands: [ls]}}\n\
         metadata: {roles: [reader], task_types: [search]}\n---\n\nYou look for things.\n\n---\n\nAnd find them.\n",
        expect![[r#"
            {
              "name": "explorer",
              "displayName": "Explorer",
              "whenToUse": "Finds things",
              "systemPrompt": "You look for things.\n\n---\n\nAnd find them.",
              "kind": "llm",
              "model": {
                "provider": "ollama",
                "model": "llama3"
              },
              "visionModel": {
                "provider": "anthropic",
                "model": "haiku"
              },
              "tools": {
                "bashFilter": {
                  "allowedCommands": [
                    "ls"
                  ]
                }
              },
              "transitions": {
                "onSuccess": "complete"
              },
              "limits": {
                "maxIterations": 5
              },
              "metadata": {
                "roles": [
                  "reader"
                ],
                "task_types": [
                  "search"
                ]
              },
              "roles": [
                "reader"
              ],
              "taskTypes": [
                "search"
              ],
              "file": ".rawko/agents/explorer.md",
              "level": "project"
            }
        "#]],
    );
}

#[test]
fn a_program_and_a_person() {
    check(
        ".rawko/agents/coder.yaml",
        "whenToUse: Writes code\nkind: acp\ncommand: [npx, some-agent]\nargs: [--acp]\nenv: {LEVEL: 3}\ncwd: backend\n",
        expect![[r#"
            {
              "name": "coder",
              "displayName": "coder",
              "whenToUse": "Writes code",
              "systemPrompt": "",
              "kind": "acp",
              "command": {
                "program": "npx",
                "args": [
                  "some-agent",
                  "--acp"
                ],
                "env": {
                  "LEVEL": "3"
                },
                "cwd": "backend"
              },
              "file": ".rawko/agents/coder.yaml",
              "level": "project"
            }
        "#]],
    );
    check(
        ".rawko/agents/boss.yaml",
        "description: Has the last word\nkind: human\n",
        expect![[r#"
            {
              "name": "boss",
              "displayName": "boss",
              "whenToUse": "Has the last word",
              "systemPrompt": "",
              "kind": "human",
              "file": ".rawko/agents/boss.yaml",
              "level": "project"
            }
        "#]],
    );
}

/// Written by Claude's own tools, with a description that is not valid YAML.
const CLAUDE: &str = "---\nname: code-reviewer\ndescription: Use this agent when: code was written. Examples: <example>\n\
Context: a change. user: \"hi\"\nname: nobody\n</example>\ntools: Read, Grep, Glob, Bash(git log:*), Bash(npm test)\nmodel: sonnet\ncolor: purple\n\
permissionMode: plan\n---\n\nYou review code.\n";

#[test]
fn claudes_files_load_as_they_are() {
    let project = tempfile::tempdir().unwrap();
    write(project.path(), ".claude/agents/code-reviewer.md", CLAUDE);
    write(
        project.path(),
        ".claude/agents/team/plain.md",
        "---\nname: plain\ndescription: Does it\nmodel: inherit\ncolor: red\npermissionMode: default\n---\nDo it.",
    );
    write(project.path(), ".claude/agents/notes.txt", "nothing of ours");
    let listed = "---\nname: listed\ndescription: Say: this\ntools:\n  - Read\n  - 'Grep'\n---\nDo it.";
    write(project.path(), ".claude/agents/listed.md", listed);
    let all = "---\nname: all\ndescription: Does everything\ntools: All tools\n---\nDo it.";
    write(project.path(), ".claude/agents/all.md", all);
    let (agents, problems) = Agents::read(project.path(), &Environment::default());
    assert!(problems.is_empty(), "{}", shown(&problems));
    let reviewer = agents.get("code-reviewer").unwrap();
    assert_eq!(reviewer.when_to_use.lines().count(), 4);
    assert_eq!(reviewer.model.as_ref().unwrap().to_string(), "anthropic/sonnet");
    assert_eq!(reviewer.tools.allowed.as_ref().unwrap(), &["Read", "Grep", "Glob", "Bash"]);
    let filter = reviewer.tools.bash_filter.as_ref().unwrap();
    assert_eq!(filter.allowed_commands.as_ref().unwrap(), &["git log", "git log *", "npm test"]);
    assert_eq!(reviewer.system_prompt, "You review code.");
    assert_eq!(reviewer.level, Level::ProjectClaude);
    assert_eq!(agents.get("listed").unwrap().tools.allowed.as_ref().unwrap(), &["Read", "Grep"]);
    assert_eq!(agents.get("all").unwrap().tools.allowed, None);
    let plain = agents.get("plain").unwrap();
    assert_eq!((&plain.model, &plain.tools.allowed, plain.kind), (&None, &None, AgentKind::Llm));
}

/// Each key limits the agent; none is dropped.
#[test]
fn limits_of_claudes_files_hold_or_refuse_the_agent() {
    let read = |keys: &str, level: &str| {
        let project = tempfile::tempdir().unwrap();
        let text = format!("---\nname: it\ndescription: Does it\n{keys}\n---\nDo it.");
        write(project.path(), &format!("{level}/it.md"), &text);
        let (agents, problems) = Agents::read(project.path(), &Environment::default());
        (agents.get("it").cloned(), shown(&problems))
    };
    for (keys, finding) in [
        ("permissionMode: bypassPermissions", "cannot switch off permissions"),
        ("permissionMode: dontAsk", "does not have the permission mode `dontAsk`"),
        ("maxTurns: 0", "`maxTurns` must be at least 1"),
        ("isolation: container", "cannot isolate the agent"),
        ("hooks: {PreToolUse: []}", "does not run hooks"),
        ("mcpServers: [{a: {command: x}}]", "does not start MCP servers"),
        ("new-limit-of-claude: 1", "an agent has no key `new-limit-of-claude`"),
        ("allowedTools: Read", "an agent has no key `allowedTools`"),
        ("disallowedTools: Wirte", "there is no tool `Wirte`"),
        ("description2: When: used\nmax-turns: 3", "an agent has no key `max-turns`"),
    ] {
        for level in [".claude/agents", ".rawko/agents"] {
            let (agent, problems) = read(keys, level);
            // Only Claude's files may be invalid YAML, which is an error of its own elsewhere.
            let is_refused =
                problems.contains(finding) || (keys.contains("When:") && level == ".rawko/agents");
            assert!(agent.is_none() && is_refused, "{level}: {keys}: {problems}");
        }
    }
    let usable = |keys: &str| {
        let (agent, problems) = read(keys, ".claude/agents");
        agent.unwrap_or_else(|| panic!("{keys}: {problems}"))
    };
    assert_eq!(usable("skills: [a, b]").skills, ["a", "b"]);
    assert_eq!(usable("skills: a, b").skills, ["a", "b"]);
    let plan = usable("permissionMode: plan").layer();
    assert!(
        !plan.allows("Write") && !plan.allows("Edit") && !plan.allows("mcp__a__b") && plan.allows("Read")
    );
    assert_eq!(usable("maxTurns: 3").limits.max_iterations, Some(3));
    assert_eq!(usable("maxTurns: 3\nlimits: {maxIterations: 2}").limits.max_iterations, Some(2));
    assert!(!usable("disallowedTools: Bash, mcp__git").layer().allows("mcp__git__log"));
    let one = usable("mcpServers: [one]").layer();
    assert!(
        one.allows("Read") && one.allows("Task") && one.allows("mcp__one__x") && !one.allows("mcp__two__x")
    );
    let none = usable("tools: Read, mcp__two__x\nmcpServers: [one]").layer();
    assert!(none.allows("Read") && !none.allows("mcp__two__x") && !none.allows("mcp__one__x"));
}

#[test]
fn what_models_are_called() {
    let choice = |provider: Option<&str>, model: &str| {
        Some(ModelChoice { provider: provider.map(str::to_owned), model: Some(model.to_owned()) })
    };
    for (text, expected) in [
        ("openai/gpt-5", choice(Some("openai"), "gpt-5")),
        ("openrouter/meta/llama", choice(Some("openrouter"), "meta/llama")),
        ("glm-4.6", choice(None, "glm-4.6")),
        ("opus", choice(Some("anthropic"), "opus")),
        ("claude-haiku-4-5", choice(Some("anthropic"), "claude-haiku-4-5")),
        ("inherit", None),
    ] {
        assert_eq!(ModelChoice::parse(text), expected, "{text}");
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn shown(problems: &[(SourceFile, Vec<Finding>)]) -> String {
    problems.iter().map(|(source, findings)| report(findings, source, ReportStyle::default())).collect()
}

#[test]
fn the_nearest_file_of_a_name_is_the_agent() {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let agent = |prompt: &str| format!("---\ndescription: d\n---\n{prompt}");
    write(project.path(), ".rawko/agents/a.md", &agent("project"));
    write(project.path(), ".claude/agents/a.md", &agent("project claude"));
    write(project.path(), ".claude/agents/b.md", &agent("project claude"));
    write(home.path(), ".config/rawko/agents/b.md", &agent("user"));
    write(home.path(), ".config/rawko/agents/c.md", &agent("user"));
    write(home.path(), ".claude/agents/c.md", &agent("user claude"));
    write(home.path(), ".claude/agents/d.md", &agent("user claude"));
    let environment: Environment = [("HOME", home.path().to_str().unwrap())].into_iter().collect();
    let (agents, problems) = Agents::read(project.path(), &environment);
    assert!(problems.is_empty());
    let prompts: Vec<(&str, &str)> =
        agents.all().iter().map(|agent| (agent.name.as_str(), agent.system_prompt.as_str())).collect();
    assert_eq!(prompts, [("a", "project"), ("b", "project claude"), ("c", "user"), ("d", "user claude")]);
    assert_eq!(agents.shadowed().len(), 3);

    let xdg = tempfile::tempdir().unwrap();
    write(xdg.path(), "rawko/agents/e.md", &agent("xdg"));
    let environment: Environment = [("XDG_CONFIG_HOME", xdg.path().to_str().unwrap())].into_iter().collect();
    let (agents, _) = Agents::read(Path::new("/nonexistent"), &environment);
    assert_eq!(agents.get("e").unwrap().level, Level::User);
}

#[test]
fn a_broken_file_keeps_its_name() {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(
        project.path(),
        ".rawko/agents/a.md",
        "---\ntools: {blokced: [Bash]}\ndescription: d\n---\nproject",
    );
    write(project.path(), ".rawko/agents/b.md", "---\ndescription: d\ntransitions: {onSuccess: a}\n---\nB.");
    write(home.path(), ".config/rawko/agents/a.md", "---\ndescription: d\n---\nuser");
    let environment: Environment = [("HOME", home.path().to_str().unwrap())].into_iter().collect();
    let (agents, problems) = Agents::read(project.path(), &environment);
    assert!(agents.get("a").is_none(), "the user's agent must not take the place of the project's");
    assert_eq!(agents.unusable()[0].name, "a");
    assert!(agents.get("b").is_some(), "a transition to a broken agent is not a second mistake");
    assert_eq!(problems.len(), 1);
}

#[test]
fn charts_see_roles_and_what_the_file_says() {
    let source = SourceFile::new(
        "a.yaml",
        "name: ada\nrole: reviewer\nsystemPrompt: x\nwhenToUse: y\nmetadata: {task_type: audit}\n",
    );
    let (agents, _) = Agents::of_source(&source, &Environment::default());
    let entry = &agents.entries()[0];
    assert_eq!(
        (entry.id.as_str(), &entry.roles[..], &entry.task_types[..]),
        ("ada", &["reviewer".to_owned()][..], &["audit".to_owned()][..])
    );
    assert_eq!(entry.details.get("whenToUse").as_str(), Some("y"));
}

#[test]
fn the_gate_is_told_where_a_rule_stands() {
    let source = SourceFile::new(
        ".rawko/agents/ada.yaml",
        "systemPrompt: x\nwhenToUse: y\ntools: {blocked: [Bash]}\n",
    );
    let (agents, _) = Agents::of_source(&source, &Environment::default());
    let layer = agents.all()[0].layer();
    assert_eq!(layer.source, "the agent `ada` (`tools` in .rawko/agents/ada.yaml)");
    assert_eq!(layer.blocked, ["Bash"]);
}
