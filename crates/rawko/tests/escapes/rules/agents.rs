//! Limits in Claude's agent files hold, or the agent is refused.

use super::support::{SETTINGS, Tally, Yard};

/// Leaves a file once it is started.
const SERVERS: &str = r#"{"mcpServers": {"one": {"command": "touch", "args": ["one-started"]}, "two": {"command": "touch", "args": ["two-started"]}}}"#;

pub(super) fn attempt(tally: &mut Tally) {
    limits(tally);
    shapes(tally);
    delegation(tally);
    servers(tally);
}

fn agent(frontmatter: &str) -> String {
    format!("---\nname: worker\ndescription: Works.\n{frontmatter}---\nYou work.\n")
}

/// The agent writes a file, with a tool and with a command, in its second turn.
fn yard(folder: &str, frontmatter: &str) -> Yard {
    let script = "\
- agent: worker
  steps:
    - text: Looking.
      tool_calls: [{name: Glob, input: {pattern: '*'}}]
    - text: Writing.
      tool_calls:
        - {name: Write, input: {path: made.txt, content: x}}
        - {name: Bash, input: {command: touch touched.txt}}
    - text: Ended.
";
    let yard = Yard::with_calls(&[], &[(".rawko/script.yaml", script)]);
    std::fs::remove_file(yard.root().join(".rawko/agents/worker.md")).unwrap();
    yard.write(&format!("{folder}/worker.md"), &agent(frontmatter));
    yard
}

fn limits(tally: &mut Tally) {
    // Each keeps the agent from writing at all.
    let rows = [
        "permissionMode: plan\n",
        "permission_mode: plan\n",
        "permissionMode: bypassPermissions\n",
        "permissionMode: dontAsk\n",
        "permissionMode: nonsense\n",
        "permissionMode: [plan]\n",
        "maxTurns: 1\n",
        "maxTurns: none\n",
        "maxTurns: 0\n",
        "disallowedTools: Write, Edit, Bash\n",
        "disallowedTools: [Write, Edit, Bash]\n",
        "disallowedTools: Wirte, Bsah\n",
        "tools: Read, Glob\n",
        "tools: []\n",
        "isolation: worktree\n",
        "hooks:\n  PreToolUse:\n    - matcher: Write\n      hooks: [{type: command, command: 'exit 2'}]\n",
        "skills: [careful]\n",
        "mcpServers:\n  own: {command: touch, args: [own-started]}\n",
        "allowedTools: Read\n",
        "allowed-tools: Read\n",
        "max_turn: 1\n",
        "MaxTurns: 1\n",
        "permissions: {deny: [Write, Bash]}\n",
        "sandbox: true\n",
        "readOnly: true\n",
        "timeout: 1s\n",
        // Not YAML, which Claude accepts.
        "note: Use it when: ever\npermissionMode: plan\n",
        "note: Use it when: ever\nmax-turns: 1\n",
        "note: Use it when: ever\ndisallowedTools: Read\ndisallowedTools: Write, Bash\n",
        "disallowedTools: Write Bash\n",
        "disallowedTools: FileWriter, Terminal2\n",
        "tools:\n",
    ];
    for folder in [".claude/agents", ".rawko/agents"] {
        let free = yard(folder, "color: blue\nmodel: inherit\n");
        let free = if folder.starts_with(".rawko") { yard(folder, "color: blue\n") } else { free };
        free.trust().probe("control");
        let control = free.has("made.txt") && free.has("touched.txt");
        for (number, frontmatter) in rows.iter().enumerate() {
            // Our own folder has the same reader, so every third row is enough.
            if folder.starts_with(".rawko") && number % 3 != 0 {
                continue;
            }
            let yard = yard(folder, frontmatter);
            yard.trust().probe("a");
            let held = !yard.has("made.txt") && !yard.has("touched.txt");
            let name = frontmatter.lines().last().unwrap_or_default();
            tally.row(format!("{folder}: {name}"), held, control);
        }
    }
}

/// Files whose limits a reader could overlook.
fn shapes(tally: &mut Tally) {
    let free = yard(".claude/agents", "");
    free.trust().probe("control");
    let control = free.has("made.txt");
    let limited = agent("permissionMode: plan\n");
    for (name, text) in [
        ("a blank line before the frontmatter", format!("\n\n{limited}")),
        ("spaces before the frontmatter", format!("  {limited}")),
        ("a byte order mark", format!("\u{feff}{limited}")),
        ("an invisible character", format!("\u{200b}{limited}")),
        ("line ends of Windows", limited.replace('\n', "\r\n")),
        ("no frontmatter", "You work.\n".to_owned()),
        ("a title before the frontmatter", format!("# Worker\n{limited}")),
        ("a frontmatter without end", limited.replacen("---\nYou", "You", 1)),
    ] {
        let yard = yard(".claude/agents", "");
        yard.write(".claude/agents/worker.md", &text);
        yard.trust().probe("a");
        tally.row(format!("Claude's file with {name}"), !yard.has("made.txt"), control);
    }
}

/// An agent that may not delegate, and one whose helper may not do more than itself.
fn delegation(tally: &mut Tally) {
    let script = |name: &str| {
        format!(
            "- agent: worker\n  steps:\n    - text: Delegating.\n      tool_calls: [{{name: {name}, input: {{agent: helper, prompt: Write.}}}}]\n    - text: Ended.\n\
             - agent: helper\n  steps:\n    - text: Writing.\n      tool_calls: [{{name: Write, input: {{path: made.txt, content: x}}}}]\n    - text: Ended.\n"
        )
    };
    let made = |frontmatter: &str, name: &str| {
        let yard = yard(".claude/agents", frontmatter);
        yard.write(".rawko/script.yaml", &script(name));
        yard.write(".claude/agents/helper.md", "---\nname: helper\ndescription: Helps.\n---\nHelp.\n");
        yard.trust().probe("a");
        yard.has("made.txt")
    };
    let control = made("", "Task");
    for (frontmatter, name) in [
        ("disallowedTools: Task\n", "Task"),
        ("disallowedTools: Agent\n", "Task"),
        ("disallowedTools: Task\n", "delegate"),
        ("tools: Read, Write\n", "Task"),
        ("permissionMode: plan\n", "Task"),
        ("disallowedTools: Write, Edit\n", "Task"),
    ] {
        let row = format!("delegation by {name} with {}", frontmatter.trim_end());
        tally.row(row, !made(frontmatter, name), control);
    }
}

/// MCP servers start only for agents that can use them.
fn servers(tally: &mut Tally) {
    let started = |frontmatter: &str, more: &str| {
        let settings = format!("{SETTINGS}{more}\n");
        let yard = yard(".claude/agents", frontmatter);
        yard.write(".mcp.json", SERVERS);
        yard.write(".rawko/config.yaml", &settings);
        yard.trust().probe("a");
        (yard.has("one-started"), yard.has("two-started"))
    };
    let control = started("", "") == (true, true);
    for (name, frontmatter, more, expected) in [
        ("blocked in the settings", "", "tools: {blocked: ['mcp__*']}", (false, false)),
        ("one blocked in the settings", "", "tools: {blocked: [mcp__one]}", (false, true)),
        ("not in the agent's tools", "tools: Read, Write\n", "", (false, false)),
        ("disallowed", "disallowedTools: mcp__one, mcp__two\n", "", (false, false)),
        // With Write, because a server of an agent that may not write cannot leave its trace.
        ("one of the agent's tools", "tools: Read, Write, mcp__two__x\n", "", (false, true)),
        ("mcpServers", "mcpServers: [two]\n", "", (false, true)),
        ("no mcpServers", "mcpServers: []\n", "", (false, false)),
        ("plan mode", "permissionMode: plan\n", "", (false, false)),
    ] {
        tally.row(format!("MCP servers: {name}"), started(frontmatter, more) == expected, control);
    }
}
