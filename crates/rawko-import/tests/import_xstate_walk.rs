//! An imported XState configuration behaves as in XState.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Value, World};
use rawko_import::{self as import, ImportOptions, NoteKind};
use rawko_sim::{Simulation, Stimulus, Stubs};
use serde_json::Value as Json;

/// Regions, history, delays, raised events, a wildcard, a forbidden event and re-entering in one chart.
const PLAYER: &str = r##"{
  "id": "player", "initial": "stopped",
  "context": {"mood": "calm"},
  "on": {"POWER": "#player.off"},
  "states": {
    "stopped": {"on": {"PLAY": "playing", "RESUME": "playing.hist"}},
    "playing": {
      "initial": "buffering",
      "entry": {"type": "xstate.assign", "assignment": {"mood": "busy"}},
      "on": {
        "STOP": "stopped",
        "AGAIN": {"target": "playing", "reenter": true},
        "HERE": {"target": ".buffering"},
        "*": {"actions": {"type": "xstate.log", "value": "what?"}}
      },
      "states": {
        "buffering": {"after": {"1000": "running"}, "on": {"STOP": {}}},
        "running": {
          "type": "parallel",
          "states": {
            "sound": {"initial": "on", "states": {"on": {"on": {"MUTE": "off"}}, "off": {"type": "final"}}},
            "picture": {"initial": "on", "states": {"on": {"on": {"xstate.done.state.player.playing.running.sound": "off"}}, "off": {"type": "final"}}}
          },
          "onDone": {"target": "ended", "actions": {"type": "xstate.raise", "event": {"type": "ENDED"}}}
        },
        "ended": {"on": {"ENDED": {"target": "#end"}}},
        "hist": {"type": "history", "history": "deep"}
      }
    },
    "off": {"type": "final", "output": "off"},
    "end": {"id": "end", "type": "final", "output": {"why": "over"}}
  }
}"##;

#[test]
fn a_player_walks_as_in_xstate() {
    let imported = import::xstate(PLAYER, ImportOptions::default()).unwrap();
    let lost: Vec<_> = imported.notes.iter().filter(|note| note.kind == NoteKind::Lost).collect();
    assert_eq!(lost, Vec::<&import::Note>::new(), "{}", imported.yaml);
    let loaded = load(&SourceFile::new("player.yaml", imported.yaml.as_str()), &Registry::default());
    let chart = Arc::new(loaded.chart.expect(&imported.yaml));
    let mut simulation = Simulation::new(chart, Vec::new(), Stubs::default(), World::default(), Value::Null);
    assert_eq!(simulation.start().configuration, ["stopped"]);
    for (stimulus, expected) in [
        ("PLAY", "playing.buffering"),
        ("STOP", "playing.buffering"),
        ("1000", "playing.running.sound.on playing.running.picture.on"),
        ("BOO", "playing.running.sound.on playing.running.picture.on"),
        ("HERE", "playing.buffering"),
        ("1000", "playing.running.sound.on playing.running.picture.on"),
        ("STOP", "stopped"),
        ("RESUME", "playing.running.sound.on playing.running.picture.on"),
        ("AGAIN", "playing.buffering"),
        ("1000", "playing.running.sound.on playing.running.picture.on"),
        ("MUTE", "end"),
    ] {
        let stimulus = match stimulus.parse() {
            Ok(ms) => Stimulus::advance(ms),
            Err(_) => Stimulus::event(stimulus, Value::Null),
        };
        let line = simulation.apply(&stimulus);
        assert_eq!(line.configuration.join(" "), expected, "after {stimulus:?}");
    }
    let snapshot = simulation.snapshot().unwrap();
    assert_eq!(snapshot.output().get("why"), &Value::str("over"));
}

/// Machines and walks of the real XState, from `tests/tools/xstate-walks.mjs`.
fn walks(arguments: &[&str], machines: Option<&str>) -> Vec<Json> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = root.join("target/tools/node");
    assert!(
        tools.join("node_modules/xstate").is_dir(),
        "xstate is not installed: run `cargo xtask tools` (npm packages of tests/tools/package.json)"
    );
    let mut command = Command::new("node");
    command.arg(root.join("tests/tools/xstate-walks.mjs")).arg(tools).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("node runs");
    let mut stdin = child.stdin.take().unwrap();
    let machines = machines.unwrap_or_default().to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(machines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "node failed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The comparison of one machine.
enum Verdict {
    Agrees,
    /// Not carried over, with the reason.
    Refused(String),
    Differs(String),
}

/// The name of an event in an imported chart.
fn here(event: &str) -> String {
    event
        .replace("xstate.done.actor.", "done.invoke.")
        .replace("xstate.error.actor.", "error.invoke.")
        .replace(char::is_whitespace, "_")
}

fn compare(machine: &Json) -> Verdict {
    let config = machine["config"].as_str().unwrap();
    let imported = import::xstate(config, ImportOptions::default()).unwrap();
    if let Some(note) = imported.notes.iter().find(|note| note.kind == NoteKind::Lost) {
        return Verdict::Refused(note.to_string());
    }
    // Guards that were code and hold in this walk: `guards` of the line names them.
    let truths = machine["guards"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let yaml = truths.fold(imported.yaml.clone(), |yaml, name| {
        let plain = yaml.replace(&format!("\n    {name}: false"), &format!("\n    {name}: true"));
        let quoted = format!("\n    '{}': false", name.replace('\'', "''"));
        plain.replace(&quoted, &quoted.replace(": false", ": true"))
    });
    let loaded = load(&SourceFile::new("machine.yaml", yaml.as_str()), &Registry::default());
    let Some(chart) = loaded.chart else {
        return Verdict::Differs(format!("does not load: {:?}\n{}", loaded.findings, imported.yaml));
    };
    let mut simulation =
        Simulation::new(Arc::new(chart), Vec::new(), Stubs::default(), World::default(), Value::Null);
    for step in machine["walk"].as_array().unwrap() {
        let stimulus = &step["stimulus"];
        let line = match (&stimulus["type"], stimulus["advance"].as_u64()) {
            (Json::String(event), _) => simulation.apply(&Stimulus::event(&here(event), Value::Null)),
            (_, Some(ms)) => simulation.apply(&Stimulus::advance(ms)),
            _ => simulation.start(),
        };
        let mut leaves: Vec<_> = line.configuration.iter().map(ToString::to_string).collect();
        leaves.retain(|leaf| leaf != "running" || config.contains("running"));
        leaves.sort();
        let log: Vec<_> = line.log.iter().map(ToString::to_string).collect();
        let ours = (leaves.join(" "), log.join(" "));
        let text = |key: &str| -> String {
            let items = step[key].as_array().unwrap().iter();
            let items = items.map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
            items.collect::<Vec<_>>().join(" ")
        };
        let theirs = (text("configuration").trim().to_owned(), text("log"));
        if ours != theirs {
            return Verdict::Differs(format!(
                "after {stimulus}:\n  ours   {ours:?}\n  xstate {theirs:?}\n{config}\n{}",
                imported.yaml
            ));
        }
    }
    Verdict::Agrees
}

/// `RAWKO_XSTATE_WALKS="SEED COUNT"` runs others, `RAWKO_XSTATE_FILE` those of a file in the script's format.
#[test]
fn random_machines_walk_as_in_xstate() {
    let chosen = std::env::var("RAWKO_XSTATE_WALKS").unwrap_or_else(|_| "7 400".to_owned());
    let machines = match std::env::var_os("RAWKO_XSTATE_FILE") {
        Some(file) => {
            let text = std::fs::read_to_string(file).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        }
        None => walks(&chosen.split(' ').collect::<Vec<_>>(), None),
    };
    let (mut agreed, mut refused, mut rejected) = (0, BTreeMap::<String, usize>::new(), 0);
    let mut different = Vec::new();
    for machine in &machines {
        if machine.get("error").is_some() {
            rejected += 1;
            continue;
        }
        match compare(machine) {
            Verdict::Agrees => agreed += 1,
            Verdict::Refused(why) => *refused.entry(why).or_default() += 1,
            Verdict::Differs(how) => different.push(how),
        }
    }
    let count = refused.values().sum::<usize>();
    println!(
        "{agreed} agree, {count} refused, {} differ, {rejected} rejected by XState\n{refused:#?}",
        different.len()
    );
    different.sort_by_key(String::len);
    if let Some(file) = std::env::var_os("RAWKO_XSTATE_REPORT") {
        std::fs::write(file, different.join("\n=====\n")).unwrap();
    }
    assert!(different.is_empty(), "{} differ; the shortest:\n{}", different.len(), different[0]);
    assert!(agreed * 10 >= machines.len() * 6, "only {agreed} of {} agree", machines.len());
}

/// Machines with the documented features, one per line.
#[test]
fn documented_features_walk_as_in_xstate() {
    let lines = include_str!("import_xstate/machines.jsonl");
    let machines = walks(&["-", ""], Some(lines));
    assert_eq!(machines.len(), lines.lines().count());
    let mut different = Vec::new();
    for machine in &machines {
        assert_eq!(machine.get("error"), None, "{}", machine["config"]);
        match compare(machine) {
            Verdict::Agrees => {}
            Verdict::Refused(how) | Verdict::Differs(how) => {
                different.push(format!("{how}\n{}", machine["config"]))
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
