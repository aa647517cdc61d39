//! Files of a project are used only after a person trusted them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::support::{CHART, SETTINGS, Tally, Yard};
use super::{changes, server};

/// Leaves a file if the project's own MCP server is started.
pub(super) const MCP: &str = r#"{"mcpServers": {"evil": {"command": "touch", "args": ["started"]}}}"#;
pub(super) const REGISTERED: &str = "statechart: {id: extra, initial: a, states: {a: {type: final}}}\n";

/// Waits for an answer or an event.
const WAITING: &str = "\
statechart:
  id: waiting
  initial: asking
  states:
    asking:
      invoke: {id: ask, src: human, onDone: working, onError: working}
      on: {X: working}
    working:
      invoke: {id: work, src: 'agent:worker', input: {prompt: \"'Go'\"}, onDone: done, onError: done}
    done: {type: final}
";

pub(super) fn attempt(tally: &mut Tally) {
    commands(tally);
    changes::attempt(tally);
    environment(tally);
    records(tally);
    readers(tally);
    written_by_rawko(tally);
    by_agents(tally);
    programs(tally);
    grants(tally);
    server::attempt(tally);
    stores(tally);
}

pub(super) fn yard() -> Yard {
    let calls = ["{name: Write, input: {path: made.txt, content: x}}".to_owned()];
    Yard::with_calls(
        &calls,
        &[
            ("services/run.sh", "#!/bin/sh\necho '{}'\n"),
            ("other/registry.yaml", "machine_registry: [{id: extra, version: 1.0.0, src: extra.yaml}]\n"),
            ("other/extra.yaml", REGISTERED),
            (
                ".rawko/config.yaml",
                &format!("{SETTINGS}services: {{own: {{command: [sh, services/run.sh]}}}}\n"),
            ),
        ],
    )
}

/// Every command that acts stops in an untrusted project.
fn commands(tally: &mut Tally) {
    let acting: [&[&str]; 17] = [
        &["run", "probe.yaml", "--id", "a"],
        &["run", "-"],
        &["run", "extra"],
        &["task", "Do it", "--id", "t"],
        &["task", "Do it", "--id", "u", "--queue"],
        &["mcp"],
        &["mcp", "login", "own"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["send", "p", "X"],
        &["resume", "p"],
        &["approve", "p"],
        &["deny", "p"],
        &["cancel", "p"],
        &["fork", "p", "--at", "0"],
        &["chat", "room"],
        &["worker", "--listen", "127.0.0.1:0"],
        &["replay", "p", "--decisions", "--model", "demo/x"],
    ];
    for args in acting {
        let yard = yard();
        yard.write("wait.yaml", WAITING);
        // An instance exists from before: only the trust is missing.
        let waiting = yard.trust().run(&["run", "wait.yaml", "--id", "p"]);
        assert_eq!(waiting.code, Some(55), "{waiting:?}");
        yard.run(&["trust", "--revoke"]);
        let run = yard.run_with(args, CHART);
        let held = run.code == Some(52) && run.says("rawko trust") && !yard.has("made.txt");
        // A worker without Restate would wait for it.
        let control = args[0] == "worker" || !yard.trust().run_with(args, CHART).says("not trusted");
        tally.row(format!("untrusted: rawko {}", args.join(" ")), held, control);
    }
}

/// `RAWKO_TRUST` is the hash of the content, and nothing that merely looks like consent.
fn environment(tally: &mut Tally) {
    let mut yard = yard();
    let listed = yard.run(&["trust", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let hash = listed["hash"].as_str().unwrap().to_owned();
    let short = hash[..16].to_owned();
    for value in ["", "1", "true", "yes", "*", "ALL", &"0".repeat(64), &short] {
        yard.env = vec![("RAWKO_TRUST", value.to_owned())];
        let held = yard.run(&["run", "probe.yaml"]).code == Some(52);
        yard.env = vec![("RAWKO_TRUST", hash.clone())];
        let control = yard.run(&["run", "probe.yaml"]).code == Some(0);
        tally.row(format!("RAWKO_TRUST={value}"), held, control);
    }
}

/// Records count for one place and one content.
fn records(tally: &mut Tally) {
    let trusted = yard();
    trusted.trust();
    let control = trusted.run(&["run", "probe.yaml"]).code == Some(0);
    let copy = trusted.home().join("copy");
    let copied = Command::new("cp").arg("-r").arg(trusted.root()).arg(&copy).status().unwrap();
    assert!(copied.success());
    let run = trusted.run(&["run", copy.join("probe.yaml").to_str().unwrap()]);
    tally.row("a copy of a trusted project", run.code == Some(52), control);

    let folder = trusted.home().join(".local/state/rawko/trust");
    let mode = fs::metadata(&folder).unwrap().permissions().mode() & 0o777;
    tally.row("others read the records", mode == 0o700, control);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    tally.row("others write the records", trusted.run(&["run", "probe.yaml"]).code != Some(0), control);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let control = trusted.run(&["run", "probe.yaml"]).code == Some(0);

    let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&record).unwrap();
    for (name, damaged) in [
        ("a damaged record", "{".to_owned()),
        ("an empty record", String::new()),
        ("a record of another version", text.replace("\"v\":1", "\"v\":9")),
    ] {
        fs::write(&record, damaged).unwrap();
        tally.row(name, trusted.run(&["run", "probe.yaml"]).code == Some(52), control);
    }
    fs::write(&record, text).unwrap();
    let control = trusted.run(&["run", "probe.yaml"]).code == Some(0);
    assert_eq!(trusted.run(&["trust", "--revoke"]).code, Some(0));
    tally.row("revoked trust", trusted.run(&["run", "probe.yaml"]).code == Some(52), control);
}

/// Commands that only read need no trust, and start nothing of the project.
fn readers(tally: &mut Tally) {
    let yard = yard();
    yard.trust().run(&["run", "probe.yaml", "--id", "p"]);
    yard.write(".mcp.json", MCP);
    let reading: [&[&str]; 10] = [
        &["check", "."],
        &["graph", "probe.yaml"],
        &["simulate", "probe.yaml", "--json"],
        &["ps", "--all"],
        &["show", "p"],
        &["history", "p"],
        &["logs", "p"],
        &["doctor"],
        &["agents", "list"],
        &["agents", "check"],
    ];
    for args in reading {
        let run = yard.run(args);
        let held = !yard.has("started");
        tally.row(format!("untrusted MCP server in rawko {}", args.join(" ")), held, run.code.is_some());
    }
    // The same server is started once it is trusted.
    let started = yard.trust().run(&["agents", "check"]);
    tally.row("a trusted MCP server is started", true, yard.has("started") && started.code.is_some());
}

/// An agent trusts what it changed, by a command of its own.
fn by_agents(tally: &mut Tally) {
    let rawko = env!("CARGO_BIN_EXE_rawko");
    for (name, command) in [
        ("trust --yes", format!("{rawko} trust --yes more; touch made.txt")),
        ("RAWKO_TRUST=all", format!("RAWKO_TRUST=all {rawko} run more/probe.yaml; touch made.txt")),
    ] {
        let call = format!("{{name: Bash, input: {{command: '{command}'}}}}");
        let chart = "statechart: {id: own, initial: a, states: {a: {invoke: {id: i, src: own, onDone: b, onError: b}}, b: {type: final}}}\n";
        let settings = "services: {own: {command: [touch, owned.txt]}}\ngovernance: {allow: ['*']}\n";
        let more = [("more/.rawko/config.yaml", settings), ("more/probe.yaml", chart)];
        let yard = Yard::with_calls(&[call], &more);
        yard.trust().probe("a");
        let control = yard.has("made.txt");
        let after = yard.run(&["run", "more/probe.yaml"]);
        let held = after.code == Some(52) && !yard.has("more/owned.txt");
        yard.run(&["trust", "--yes", "more"]);
        yard.run(&["run", "more/probe.yaml"]);
        tally.row(format!("an agent runs {name}"), held, control && yard.has("more/owned.txt"));
    }
}

/// An agent changes the program of a service, which the same chart calls afterwards.
fn programs(tally: &mut Tally) {
    let chart = "\
statechart:
  id: probe
  initial: working
  states:
    working:
      invoke: {id: work, src: 'agent:worker', input: {prompt: \"'Go'\"}, onDone: calling, onError: calling}
    calling: {invoke: {id: call, src: own, onDone: done, onError: done}}
    done: {type: final}
";
    let settings = format!("{SETTINGS}services: {{own: {{command: [sh, services/run.sh]}}}}\n");
    let yard = |path: &str| {
        let call = format!("{{name: Write, input: {{path: {path}, content: 'touch owned.txt'}}}}");
        let program = ("services/run.sh", "touch ran.txt; echo '{}'\n");
        Yard::with_calls(&[call], &[("probe.yaml", chart), (".rawko/config.yaml", &settings), program])
    };
    let other = yard("services/other.sh");
    other.trust().probe("control");
    let changed = yard("services/run.sh");
    changed.trust().probe("a");
    tally.row("an agent changes the program of a service", !changed.has("owned.txt"), other.has("ran.txt"));
    // The program itself is not written either, by any means.
    let by_bash = |path: &str| {
        let command = format!("python3 -c \\\"open('{path}', 'w').write('touch owned.txt')\\\"");
        let call = format!("{{name: Bash, input: {{command: \"{command}\"}}}}");
        let program = ("services/run.sh", "touch ran.txt; echo '{}'\n");
        let yard = Yard::with_calls(&[call], &[(".rawko/config.yaml", &settings), program]);
        yard.trust().probe("b");
        yard.read(path).is_some_and(|text| text.contains("owned"))
    };
    tally.row(
        "a command writes the program of a service",
        !by_bash("services/run.sh"),
        by_bash("services/other.sh"),
    );
    tally.row(
        "Write of the program of a service",
        !changed.read("services/run.sh").is_some_and(|text| text.contains("owned")),
        other.read("services/other.sh").is_some_and(|text| text.contains("owned")),
    );
}

/// Grants of settings are shown before they are trusted.
fn grants(tally: &mut Tally) {
    let rows = [
        ("a program without a sandbox", "tools: {unconfined: [checks]}", "without a sandbox: checks"),
        ("no sandbox", "tools: {bash: {sandbox: off}}", "without a sandbox"),
        ("hosts", "tools: {network: {hosts: [a.example]}}", "connect to: a.example"),
        ("a path to read", "tools: {extra_read_paths: [/opt/other]}", "may read: /opt/other"),
        ("a path to write", "tools: {extra_write_paths: [/opt/other]}", "may write: /opt/other"),
        ("a variable", "tools: {bash: {env: [CORP_KEY]}}", "get: CORP_KEY"),
        ("completions for a server", "tools: {sampling: {servers: [notes]}}", "may use the model: notes"),
        ("a listening address", "server: {listen: '0.0.0.0:7411'}", "listens on: 0.0.0.0:7411"),
        ("names of the server", "server: {hosts: [a.example]}", "answers to the names: a.example"),
        (
            "a service without a sandbox",
            "services: {own: {command: [ls], sandbox: off}}",
            "own: runs without a sandbox",
        ),
    ];
    let plain = Yard::with_calls(&[], &[]).run(&["trust"]);
    for (name, settings, shown) in rows {
        let settings = format!("{SETTINGS}{settings}\n");
        let run = Yard::with_calls(&[], &[(".rawko/config.yaml", &settings)]).run(&["trust"]);
        tally.row(format!("settings grant {name} unseen"), run.says(shown), !plain.says(shown));
    }
    for key in ["pager.log", "submodule.a.update", "alias.st", "filter.x.clean", "gpg.program", "brand.new"] {
        let yard = Yard::with_calls(&[], &[]);
        let git = |args: &[&str]| {
            let done =
                std::process::Command::new("git").args(args).current_dir(yard.root()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q"]);
        yard.trust();
        git(&["config", "user.name", "ada"]);
        let control = yard.run(&["run", "probe.yaml", "--id", "a"]).code == Some(0);
        git(&["config", key, "!touch owned"]);
        let run = yard.run(&["run", "probe.yaml", "--id", "b"]);
        tally.row(format!("git's key {key} unseen"), run.code == Some(52), control);
    }
}

/// A stranger's settings choose the store of another project, which a command changes as a whole.
fn stores(tally: &mut Tally) {
    let victim = yard();
    victim.trust().run(&["run", "probe.yaml", "--id", "p"]);
    let settings = format!("{SETTINGS}store: {{path: ../victim.db}}\n");
    victim.run(&["backup", victim.root().join("../victim.db").to_str().unwrap()]);
    victim.write(".rawko/config.yaml", &settings);
    let all: &[&str] = &["prune", "--outcome", "succeeded", "--yes"];
    let run = victim.run(all);
    let control = victim.trust().run(all);
    tally.row(
        "prune of a store that an untrusted file chose",
        run.says("not trusted"),
        !control.says("not trusted"),
    );
}

/// `init` trusts what it wrote, and nothing that was there before.
fn written_by_rawko(tally: &mut Tally) {
    let is_trusted = |yard: &Yard| {
        let listed = yard.run(&["trust", "--json"]);
        serde_json::from_str::<serde_json::Value>(&listed.stdout).unwrap()["trusted"] == true
    };
    let clean = Yard::new(&[]);
    assert_eq!(clean.run(&["init"]).code, Some(0));
    let control = is_trusted(&clean);
    for (name, path, text) in [
        ("MCP servers", ".mcp.json", MCP),
        ("an agent", ".rawko/agents/evil.md", "---\nname: evil\n---\nHi.\n"),
        ("settings", ".rawko/config.yaml", SETTINGS),
    ] {
        let cloned = Yard::new(&[(path, text)]);
        assert_eq!(cloned.run(&["init"]).code, Some(0));
        tally.row(format!("init beside {name} of a stranger"), !is_trusted(&cloned), control);
    }
}
