//! Settings of the project only narrow those of the user, and those of the user the managed ones; misspelt and
//! unreadable settings stop every command that acts.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::{CHART, SETTINGS, Tally, WORKER, Yard};

pub(super) fn attempt(tally: &mut Tally) {
    lifting(tally);
    sandbox(tally);
    grants_of_charts(tally);
    policies_of_charts(tally);
    governance(tally);
    misspelt(tally);
    unreadable(tally);
}

fn bash(command: &str) -> String {
    format!("{{name: Bash, input: {{command: \"{command}\"}}}}")
}

/// A tool call of an agent that the outer settings forbid and the project's try to allow.
fn lifting(tally: &mut Tally) {
    let write = || "{name: Write, input: {path: made.txt, content: x}}".to_owned();
    let touch = || bash("touch made.txt");
    let fetch = || "{name: WebFetch, input: {url: 'http://127.0.0.1:9/x'}}".to_owned();
    let rows: [(&str, String, &str, &str); 12] = [
        (
            "blocked: [Bash]",
            touch(),
            "tools: {blocked: [Bash]}",
            "tools: {allowed: [Bash, Write], blocked: []}",
        ),
        ("blocked: [shell], an alias", touch(), "tools: {blocked: [shell]}", "tools: {allowed: ['*']}"),
        ("blocked: [Write, Edit]", write(), "tools: {blocked: [Write, Edit]}", "tools: {blocked: []}"),
        ("allowed: [Read]", write(), "tools: {allowed: [Read]}", "tools: {allowed: ['*']}"),
        ("allowed: []", write(), "tools: {allowed: []}", "tools: {allowed: [Write]}"),
        (
            "allowed_commands",
            touch(),
            "tools: {bash: {allowed_commands: ['git status']}}",
            "tools: {bash: {allowed_commands: ['*']}}",
        ),
        (
            "blocked_patterns",
            touch(),
            "tools: {bash: {blocked_patterns: ['touch']}}",
            "tools: {bash: {blocked_patterns: []}}",
        ),
        (
            "web.hosts",
            fetch(),
            "tools: {web: {hosts: [docs.rs]}}",
            "tools: {web: {private: ['127.0.0.1:9']}}",
        ),
        (
            "web.hosts by a wider list",
            fetch(),
            "tools: {web: {hosts: [docs.rs]}}",
            "tools: {web: {hosts: ['*'], private: ['*']}}",
        ),
        ("governance.deny", write(), "governance: {deny: ['agent:*']}", ""),
        ("governance.allow", write(), "governance: {allow: ['x*']}", ""),
        ("governance.budget", write(), "governance: {allow: ['*'], budget: {calls: 1}}", ""),
    ];
    for (name, call, outer, project) in rows {
        let settings = format!("{SETTINGS}{project}\n");
        let settings = match outer.contains("budget") {
            true => settings.replace("['*']}", "['*'], budget: {calls: 1000}}"),
            false => settings,
        };
        let acted = |yard: &Yard, id: &str| {
            let (_, audit) = yard.trust().probe(id);
            // A fetch that is allowed fails to connect; one that is refused never tries.
            yard.has("made.txt") || (call.contains("WebFetch") && !audit.contains("refused"))
        };
        let new = || Yard::with_calls(std::slice::from_ref(&call), &[(".rawko/config.yaml", &settings)]);
        let control = acted(&new(), "control");
        let user = new();
        user.write_user(outer);
        tally.row(format!("project lifts the user's {name}"), !acted(&user, "a"), control);
        let mut managed = new();
        let file = managed.home().join("managed.yaml");
        fs::write(&file, outer).unwrap();
        managed.env = vec![("RAWKO_MANAGED_SETTINGS", file.display().to_string())];
        managed.write_user(if project.is_empty() { "" } else { project });
        tally.row(format!("user and project lift the managed {name}"), !acted(&managed, "a"), control);
    }
}

/// The project turns off the sandbox that the person requires.
fn sandbox(tally: &mut Tally) {
    let settings = format!("{SETTINGS}tools: {{bash: {{sandbox: off}}}}\n");
    let made = |user: &str| {
        let yard = Yard::with_calls(&[], &[(".rawko/config.yaml", &settings)]);
        let outside = yard.home().join("outside.txt");
        let call = bash(&format!("python3 -c \\\"open('{}', 'w')\\\"", outside.display()));
        let script = format!(
            "- agent: worker\n  steps:\n    - text: Trying.\n      tool_calls: [{call}]\n    - text: Ended.\n"
        );
        yard.write(".rawko/script.yaml", &script);
        yard.write_user(user);
        yard.trust().probe("a");
        outside.exists()
    };
    let control = made("");
    for user in ["tools: {bash: {sandbox: require}}", "tools: {bash: {sandbox: auto}}"] {
        tally.row(format!("project turns off the sandbox, user: {user}"), !made(user), control);
    }
}

/// A chart of the project gives a grant without the settings' rules.
fn grants_of_charts(tally: &mut Tally) {
    let tool = "statechart:\n  id: probe\n  initial: a\n  states:\n    a:\n      invoke:\n        id: call\n        src: 'tool:Bash'\n        input: {call: {id: \"'c'\", name: \"'Bash'\", input: {command: \"'touch made.txt'\"}}, grant: {layers: []}, loop: {}}\n        onDone: done\n        onError: done\n    done: {type: final}\n";
    let agent = "statechart:\n  id: probe\n  initial: a\n  states:\n    a:\n      invoke: {id: work, src: 'agent:worker', input: {prompt: \"'Go'\", grant: {layers: []}}, onDone: done, onError: done}\n    done: {type: final}\n";
    for (name, chart) in [("tool:Bash", tool), ("agent:worker", agent)] {
        let yard = Yard::with_calls(&[bash("touch made.txt")], &[("probe.yaml", chart)]);
        yard.trust().probe("control");
        let control = yard.has("made.txt");
        let _ = fs::remove_file(yard.root().join("made.txt"));
        yard.write_user("tools: {blocked: [Bash]}");
        yard.probe("a");
        tally.row(format!("a chart calls {name} with an empty grant"), !yard.has("made.txt"), control);
    }
}

/// A state blocks a tool under a wrong name. One that knows only some tools allows no more.
fn policies_of_charts(tally: &mut Tally) {
    for (name, policy, expected) in [
        ("blocked: [Bahs]", "{blocked: [Bahs]}", Some(52)),
        ("blocked: 'Bahs(touch:*)'", "{blocked: 'Bahs(touch:*)'}", Some(52)),
        ("blocked: [Bash]", "{blocked: [Bash]}", Some(0)),
        ("allowed: [Raed]", "{allowed: [Raed, Grep]}", Some(0)),
        ("blocked: [mcp__services__own, Bash]", "{blocked: [mcp__services__own, Bash]}", Some(0)),
    ] {
        let with =
            |policy: &str| CHART.replace("    working:\n", &format!("    working:\n      tools: {policy}\n"));
        let yard = Yard::with_calls(&[bash("touch made.txt")], &[("probe.yaml", &with(policy))]);
        let run = yard.trust().run(&["run", "probe.yaml"]);
        let check = yard.run(&["check", "probe.yaml"]).code;
        let is_wrong = expected != Some(0) || policy.contains("Raed");
        let is_reported = check == Some(if is_wrong { 52 } else { 0 });
        let control =
            Yard::with_calls(&[bash("touch made.txt")], &[("probe.yaml", &with("{blocked: [Write]}"))]);
        control.trust().probe("control");
        let held = run.code == expected && is_reported && !yard.has("made.txt");
        tally.row(format!("a state: {name}"), held, control.has("made.txt"));
    }
}

/// A service that the user denies.
fn governance(tally: &mut Tally) {
    let chart = "statechart:\n  id: probe\n  initial: a\n  states:\n    a: {invoke: {id: call, src: own, onDone: done, onError: done}}\n    done: {type: final}\n";
    let settings = format!("{SETTINGS}services: {{own: {{command: [touch, made.txt]}}}}\n");
    for outer in [
        "governance: {deny: [own]}",
        "governance: {deny: ['*']}",
        "governance: {allow: [other]}",
        "governance: {allow: []}",
    ] {
        let yard = Yard::new(&[("probe.yaml", chart), (".rawko/config.yaml", &settings)]);
        yard.trust().probe("control");
        let control = yard.has("made.txt");
        let _ = fs::remove_file(yard.root().join("made.txt"));
        yard.write_user(outer);
        yard.probe("a");
        tally.row(
            format!("project calls a service despite the user's {outer}"),
            !yard.has("made.txt"),
            control,
        );
    }
}

/// A rule that is misspelt protects nothing, so nothing runs.
fn misspelt(tally: &mut Tally) {
    let rows = [
        "tool: {blocked: [Bash]}",
        "tools: {bocked: [Bash]}",
        "tools: {blocked: Bash}",
        "tools: {blocked: [Bsah]}",
        "tools: {blocked: [Wirte]}",
        "tools: {blocked: ['Write Bash']}",
        "tools: {blocked: [FileWriter]}",
        "tools: {bash: {sandbx: require}}",
        "tools: {bash: {sandbox: requre}}",
        "tools: {bash: {sandbox: [require]}}",
        "tools: {bash: {allowed_command: [ls]}}",
        "tools: {bash: {blocked_patterns: ['(']}}",
        "tools: {bahs: {sandbox: require}}",
        "tools: {web: {host: [docs.rs]}}",
        "tools: {web: {hosts: docs.rs}}",
        "tools: [Read]",
        "sandbox: require",
        "phases: {research: {tols: [Read]}}",
        "phases: {reserach: {tools: [Read]}}",
        "phases: {research: {blocked: [Bsah]}}",
        "phases: {research: {limits: {completion: 1}}}",
        "phases: {research: {tools: Read}}",
        "phases: {validate: {check: []}}",
        "phases: {validate: {checks: [{comand: [ls]}]}}",
        "phases: {implement: {checks: [{command: [ls]}]}}",
        "governence: {deny: ['*']}",
        "loop: {completions_mx: 1}",
        "task: {max_iteration: 1}",
        "task: {max_iterations: many}",
        "turns: {agent: {}}",
        "server: {token: x}",
        "retention: {ages: 1d}",
        "telemetry: {endpont: x}",
        "host: {generation_max: 1}",
        "agents: {worker: {tools: {blocked: [Bash]}}}",
        "permissons: {deny: [Bash]}",
        "queue: {at_onec: 2}",
        "queue: {at_once: many}",
        "queue: 3",
        "tools: {blocked: [Bash]}\ntools: {blocked: []}",
    ];
    let valid = Yard::with_calls(&[bash("touch made.txt")], &[]);
    valid.trust().probe("control");
    let control = valid.has("made.txt");
    for (number, text) in rows.into_iter().enumerate() {
        let settings = format!("{SETTINGS}{text}\n");
        let project = Yard::with_calls(&[bash("touch made.txt")], &[(".rawko/config.yaml", &settings)]);
        let run = project.trust().run(&["run", "probe.yaml"]);
        let mut held = run.code == Some(52) && !project.has("made.txt") && run.says("config.yaml");
        // Each is reported by one of the commands that explain settings.
        held &= match number % 2 {
            0 => project.run(&["doctor"]).code == Some(1),
            _ => project.run(&["check", "."]).code == Some(52),
        };
        tally.row(format!("project: {text}"), held, control);
        if number % 4 == 0 {
            let user = Yard::with_calls(&[bash("touch made.txt")], &[]);
            user.write_user(text);
            let run = user.trust().run(&["run", "probe.yaml"]);
            let held = run.code == Some(52) && !user.has("made.txt");
            tally.row(format!("user: {text}"), held, control);
        }
    }
}

/// Settings that cannot be read.
fn unreadable(tally: &mut Tally) {
    type Damage = (&'static str, fn(&std::path::Path));
    let damages: [Damage; 7] = [
        ("a directory", |path| fs::create_dir_all(path).unwrap()),
        ("a link to nothing", |path| symlink("/nowhere/at/all", path).unwrap()),
        ("not UTF-8", |path| fs::write(path, b"tools: {blocked: [\xff]}").unwrap()),
        ("broken YAML", |path| fs::write(path, "tools: {blocked: [Bash").unwrap()),
        ("a list", |path| fs::write(path, "- tools\n").unwrap()),
        ("a word", |path| fs::write(path, "nothing\n").unwrap()),
        ("another name", |path| fs::write(path.with_file_name("config.yml"), "tools: {}\n").unwrap()),
    ];
    for (name, damage) in damages {
        let yard = Yard::with_calls(&[bash("touch made.txt")], &[(".rawko/agents/worker.md", WORKER)]);
        yard.trust().probe("control");
        let control = yard.has("made.txt");
        let _ = fs::remove_file(yard.root().join("made.txt"));
        let user = yard.home().join(".config/rawko/config.yaml");
        fs::create_dir_all(user.parent().unwrap()).unwrap();
        damage(&user);
        let run = yard.run(&["run", "probe.yaml", "--id", "b"]);
        tally.row(
            format!("the user's settings are {name}"),
            run.code == Some(52) && !yard.has("made.txt"),
            control,
        );
    }
    let broken = Yard::with_calls(&[bash("touch made.txt")], &[]);
    fs::remove_dir_all(broken.root().join(".rawko")).unwrap();
    broken.write(".rawko", "a file");
    let held = broken.trust().run(&["run", "probe.yaml"]).code == Some(52);
    fs::remove_file(broken.root().join(".rawko")).unwrap();
    tally.row("a file in place of `.rawko`", held, broken.run(&["run", "probe.yaml"]).code != Some(52));
    let mut yard = Yard::with_calls(&[bash("touch made.txt")], &[]);
    yard.trust();
    yard.env = vec![("RAWKO_MANAGED_SETTINGS", "/nowhere/managed.yaml".to_owned())];
    let held = yard.run(&["run", "probe.yaml"]).code == Some(52);
    yard.env.clear();
    tally.row("managed settings are missing", held, yard.run(&["run", "probe.yaml"]).code == Some(0));
}
