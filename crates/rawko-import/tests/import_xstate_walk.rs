//! An imported XState configuration behaves as in XState.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::sync::Arc;

use rawko_chart::{Registry, Source, load};
use rawko_core::{Value, World};
use rawko_import::{self as import, ImportOptions};
use rawko_sim::{Simulation, Stimulus, Stubs};

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
    assert_eq!(imported.notes, [], "{}", imported.yaml);
    let loaded = load(&Source::new("player.yaml", imported.yaml.as_str()), &Registry::default());
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
