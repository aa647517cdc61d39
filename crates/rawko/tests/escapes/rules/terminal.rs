//! Text from models, tools, files and names never steers a terminal.

use super::support::{SETTINGS, Tally, Yard};

/// Sequences that a terminal obeys, or that hide text: clipboard, title, colours, cursor, C1, overwriting, direction.
const EVIL: &str = "MARK\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;owned\u{1b}\\\u{1b}[2J\u{1b}[31m\u{1b}P+q\u{1b}\\\u{9b}2J\u{9d}0;c1\u{9c}\u{90}x\rover\u{8}\u{8}\u{7f}\u{0}\u{202e}bidi\u{2066}\u{200b}\u{feff}\u{e0041}END";

fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    })
}

/// As a YAML string with escapes.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | ';' | '=' | '+' => c.to_string(),
        other => format!("\\U{:08x}", other as u32),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

fn yard() -> Yard {
    let evil = quoted(EVIL);
    let script = format!(
        "- agent: worker\n  steps:\n    - text: {evil}\n      tool_calls:\n        - {{name: Read, input: {{path: evil.txt}}}}\n        - {{name: Bash, input: {{command: 'cat evil.txt'}}}}\n        - {{name: {evil}, input: {{}}}}\n        - {{name: Read, input: {{path: {evil}}}}}\n    - text: {evil}\n"
    );
    let chart = format!(
        "statechart:\n  id: probe\n  description: {evil}\n  initial: working\n  context: {{note: {evil}}}\n  states:\n    working:\n      entry: [{{type: log, message: {evil}}}]\n      invoke: {{id: work, src: 'agent:worker', input: {{prompt: context.note}}, onDone: asking, onError: asking}}\n    asking:\n      invoke: {{id: ask, src: human, input: {{question: context.note}}, onDone: calling, onError: calling}}\n    calling:\n      invoke: {{id: call, src: own, onDone: done, onError: done}}\n    done: {{type: final, output: {{text: context.note}}}}\n"
    );
    let settings = format!(
        "{SETTINGS}services: {{own: {{command: [sh, -c, 'cat evil.txt >&2; cat evil.txt; exit 1'], description: {evil}}}}}\n"
    );
    let agent = format!("---\nname: worker\ndisplayName: {evil}\nwhenToUse: {evil}\n---\n{EVIL}\n");
    let yard = Yard::new(&[
        ("probe.yaml", &chart),
        (".rawko/config.yaml", &settings),
        (".rawko/script.yaml", &script),
        ("evil.txt", EVIL),
        (".rawko/agents/worker.md", &agent.replace('\0', "")),
        (
            "broken.yaml",
            &format!(
                "statechart:\n  id: {evil}\n  initial: {evil}\n  states: {{a: {{on: {{X: {evil}}}}}}}\n"
            ),
        ),
    ]);
    yard.write(
        &format!("{}.yaml", EVIL.replace(['/', '\0', '\\'], "")),
        "statechart: {id: x, initial: y, states: {}}\n",
    );
    yard
}

pub(super) fn attempt(tally: &mut Tally) {
    let yard = yard();
    // What a person reviews before trusting it.
    let review = yard.run(&["trust"]);
    tally.row("trust", is_clean(&review.stdout) && is_clean(&review.stderr), review.code == Some(52));
    yard.trust();
    let commands: [(&[&str], bool); 69] = [
        (&["run", "probe.yaml", "--id", "p"], true),
        (&["run", "probe.yaml", "--id", "q", "-v"], true),
        (&["run", "probe.yaml", "--id", "r", "--output-format", "json"], true),
        (&["run", "probe.yaml", "--id", "s", "--output-format", "stream-json"], true),
        (&["run", "broken.yaml"], true),
        (&["task", EVIL_TASK, "--id", "t"], true),
        (&["ps", "--all"], false),
        (&["ps", "--all", "--json"], false),
        (&["show", "p"], true),
        (&["show", "p", "--json"], true),
        (&["history", "p"], true),
        (&["history", "p", "-v"], true),
        (&["history", "p", "--json"], true),
        (&["history", "p.worker.0.1"], true),
        (&["history", "p.worker.0.1", "-v"], true),
        (&["logs", "p"], true),
        (&["logs", "--json"], true),
        (&["logs", "p", "--audit"], true),
        (&["logs", "--audit", "--json"], true),
        (&["approve", "p"], true),
        (&["deny", "q"], true),
        (&["history", "p", "--json"], true),
        (&["agents", "list"], true),
        (&["agents", "show", "worker"], true),
        (&["agents", "show", "worker", "--json"], true),
        (&["agents", "check"], false),
        (&["check", "."], true),
        (&["check", "broken.yaml"], true),
        (&["check", ".", "--json"], true),
        (&["doctor"], false),
        (&["doctor", "--json"], false),
        (&["charts"], false),
        (&["trust", "--json"], false),
        (&["--color", "never", "simulate", "probe.yaml"], true),
        (&["replay", "p"], true),
        (&["task", EVIL_TASK, "--id", "u", "--queue"], true),
        (&["queue"], true),
        (&["mcp", "login", EVIL_TASK], true),
        (&["channels", "create", EVIL_TASK], true),
        // Errors of the command line repeat the argument.
        (&["serve", "--listen", EVIL_TASK], true),
        (&["run", "probe.yaml", "--host", EVIL_TASK], true),
        (&["completions", EVIL_TASK], true),
        (&["schema", EVIL_TASK], true),
        (&[EVIL_TASK], true),
        (&["show", "p", EVIL_TASK], true),
        (&["attach", EVIL_TASK], true),
        (&["diff", EVIL_TASK], true),
        (&["undo", EVIL_TASK], true),
        (&["pause", EVIL_TASK], true),
        (&["resume", EVIL_TASK], true),
        (&["cancel", EVIL_TASK], true),
        (&["fork", EVIL_TASK], true),
        (&["send", EVIL_TASK, "X"], true),
        (&["worktrees", "merge", EVIL_TASK], true),
        (&["import", EVIL_TASK], true),
        (&["verify", "broken.yaml"], true),
        (&["test", EVIL_TASK], true),
        (&["instance", "export", EVIL_TASK, "x"], true),
        (&["instance", "import", EVIL_TASK], true),
        (&["replay", EVIL_TASK], true),
        (&["simulate", "broken.yaml"], true),
        (&["graph", "broken.yaml"], true),
        (&["restore", EVIL_TASK], true),
        (&["prune", "--outcome", EVIL_TASK], true),
        (&["triggers", EVIL_TASK], true),
        (&["queue", "remove", EVIL_TASK], true),
        (&["ps", "--status", EVIL_TASK], true),
        (&["acp", EVIL_TASK], true),
        (&["lsp", EVIL_TASK], true),
    ];
    for (args, shows) in commands {
        let run = yard.run(args);
        let held = is_clean(&run.stdout) && is_clean(&run.stderr);
        // The text itself is shown, so that nothing is hidden either.
        let control = !shows || run.says("MARK");
        if !control || !held {
            eprintln!("{args:?} {:?}\n{:?}\n{:?}", run.code, run.stdout, run.stderr);
        }
        tally.row(format!("terminal: rawko {}", args.join(" ").replace(EVIL_TASK, "…")), held, control);
    }
    // With colours, only the console's own sequences are left.
    for args in [["history", "p"], ["logs", "p"], ["show", "p"], ["check", "."], ["agents", "list"]] {
        let run = yard.run(&["--color", "always", args[0], args[1]]);
        let without = own_colours_removed(&run.stdout);
        let control = run.stdout.contains("\u{1b}[") && run.says("MARK");
        tally.row(format!("terminal, in colour: rawko {}", args.join(" ")), is_clean(&without), control);
    }
}

const EVIL_TASK: &str = "MARK\u{1b}]0;title\u{7}\u{9b}2J\u{202e}";

/// Removes `ESC [ … m`. A sequence of the model begins with `\u001b` instead.
fn own_colours_removed(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        out += part[end..].strip_prefix('m').unwrap_or("\u{1b}");
    }
    out
}
