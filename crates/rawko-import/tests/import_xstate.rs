//! Imports of XState configurations as goldens.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use expect_test::{Expect, expect};
use rawko_chart::{Registry, Severity, SourceFile, load};
use rawko_import::{self as import, ImportOptions};

fn check(json: &str, expected: Expect) {
    let options = ImportOptions { id: Some("example"), ..ImportOptions::default() };
    let imported = import::xstate(json, options).unwrap();
    assert_loads(&imported.yaml);
    expected.assert_eq(&imported.yaml);
}

/// The output of an import is a valid chart.
fn assert_loads(yaml: &str) {
    let loaded = load(&SourceFile::new("imported.yaml", yaml), &Registry::default());
    let fatal: Vec<_> =
        loaded.findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect();
    assert!(loaded.chart.is_some(), "{yaml}\n{fatal:#?}");
}

#[test]
fn a_configuration_with_everything_that_is_data() {
    check(
        r##"{
  "id": "player",
  "initial": "stopped",
  "context": {"volume": 5, "title": null},
  "on": {"RESET": ".stopped", "*": {"actions": {"type": "xstate.log", "value": "what?"}}},
  "states": {
    "stopped": {
      "tags": "idle",
      "on": {
        "PLAY": "playing",
        "LOAD": [{"target": "playing.buffering", "guard": {"type": "xstate.stateIn", "stateValue": {"playing": "normal"}}}, {"target": "#player.broken"}]
      }
    },
    "playing": {
      "initial": "buffering",
      "description": "Sound is heard.",
      "entry": [{"type": "xstate.raise", "event": {"type": "STARTED", "at": 3}}, {"type": "xstate.assign", "assignment": {"title": "a song", "volume": 7}}],
      "exit": {"type": "xstate.cancel", "sendId": "tick"},
      "states": {
        "buffering": {"after": {"1500": "normal"}, "always": {"target": "normal", "reenter": true}},
        "normal": {"type": "parallel", "states": {"sound": {}, "picture": {}}, "onDone": "#end"},
        "hist": {"type": "history", "history": "deep", "target": "normal"}
      },
      "on": {"STOP": {"target": "stopped", "actions": [{"type": "xstate.raise", "event": {"type": "TICK"}, "delay": 100, "id": "tick"}]}, "IGNORE": {}}
    },
    "broken": {"meta": {"label": "Broken"}},
    "end": {"id": "end", "type": "final", "output": {"ok": true, "by": "player"}}
  }
}"##,
        expect![[r##"
            # Imported from XState. Review these points (line numbers refer to the original):
            #   line 27: changed: the output of a top-level final state: XState reports it only through the machine's `output`, here it is the result
            statechart:
              id: player
              version: 1.0.0
              initial: stopped
              on:
                RESET: .stopped
                '*':
                  actions:
                    - {type: log, message: 'what?'}
              context:
                volume: 5
                title: null
              states:
                stopped:
                  tags: [idle]
                  on:
                    PLAY: playing
                    LOAD:
                      - {target: playing.buffering, guard: "stateIn('playing.normal')"}
                      - {target: '#player.broken'}
                playing:
                  description: Sound is heard.
                  initial: buffering
                  entry:
                    - {type: raise, event: STARTED, data: {at: 3}}
                    - {type: assign, context_updates: {title: "'a song'", volume: 7}}
                  exit:
                    - {type: cancel, id: tick}
                  on:
                    STOP:
                      target: stopped
                      actions:
                        - {type: send, target: self, event: TICK, delay: 100, id: tick}
                    IGNORE: {}
                  states:
                    buffering:
                      always: {target: normal, reenter: true}
                      after:
                        '1500': normal
                    normal:
                      type: parallel
                      onDone: '#end'
                      states:
                        sound: {}
                        picture: {}
                    hist: {type: history, variant: deep, target: normal}
                broken:
                  meta: {label: Broken}
                end:
                  type: final
                  id: end
                  output: {ok: true, by: "'player'"}
        "##]],
    );
}

#[test]
fn what_was_code_is_named_and_noted() {
    check(
        r##"{
  "initial": "idle",
  "states": {
    "idle": {
      "entry": ["greet", null, {"type": "track", "params": {"page": "home"}}],
      "on": {"GO": {"target": "busy", "guard": "isReady"}, "TRY": {"target": "busy", "guard": {"type": "and", "guards": ["isReady", {"type": "not", "guards": ["isTired"]}]}}},
      "after": {"PATIENCE": "busy"}
    },
    "busy": {
      "invoke": {"src": "fetchUser", "id": "user", "input": {"name": "x"}, "onDone": {"target": "idle", "actions": ["greet"]}, "onError": "#(machine).idle", "systemId": "u"},
      "activities": ["beeping"]
    }
  }
}"##,
        expect![[r##"
            # Imported from XState. Review these points (line numbers refer to the original):
            #   line 5: to be written: the action `greet` was code: it became a call of the handler `greet`
            #   line 5: to be written: an action that was code
            #   line 5: to be written: the action `track` was code: it became a call of the handler `track`
            #   line 6: to be written: the guard `isReady` was code: it is `false` until its expression is written under `guards`
            #   line 6: to be written: the guard `isReady_and_not_isTired` was code: it is `false and (not false)` until its expression is written under `guards`
            #   line 7: to be written: the delay `PATIENCE` was code; it is now `context.PATIENCE`: give it milliseconds
            #   line 10: changed: `fetchUser` must be a service of the project, `statechart:<id>` or `agent:<id>`
            #   line 10: changed: `systemId` of an invoke: it is reached by its id
            #   line 11: not carried over: `activities`: use `invoke`
            statechart:
              id: example
              version: 1.0.0
              initial: idle
              context:
                PATIENCE: null
              states:
                idle:
                  entry:
                    - greet
                    - {type: log, message: 'to be written: an action that was code'}
                    - {type: invoke, handler: track, params: {page: home}}
                  on:
                    GO: {target: busy, guard: isReady}
                    TRY: {target: busy, guard: isReady_and_not_isTired}
                  after:
                    context.PATIENCE: busy
                busy:
                  invoke:
                    id: user
                    src: fetchUser
                    input: {name: "'x'"}
                    onDone:
                      target: idle
                      actions: [greet]
                    onError: '#example.idle'
              guards:
                isReady: false
                isReady_and_not_isTired: false and (not false)
              actions:
                greet: {type: invoke, handler: greet}
        "##]],
    );
}

#[test]
fn malformed_texts_say_where() {
    for (json, expected) in [
        ("{\n \"states\": }", expect!["line 2: expected value"]),
        (
            "[]",
            expect![
                "this is neither SCXML, XState, LangGraph nor DOT: expected an `<scxml>` element, a JSON object with `states` or with `nodes` and `edges`, or a `digraph`"
            ],
        ),
        (
            "{\"nodes\": []}",
            expect![
                "this is neither SCXML, XState, LangGraph nor DOT: expected an `<scxml>` element, a JSON object with `states` or with `nodes` and `edges`, or a `digraph`"
            ],
        ),
    ] {
        let error = import::xstate(json, ImportOptions::default()).unwrap_err();
        expected.assert_eq(&error.to_string());
    }
}

/// XState accepts a machine of any keys; `{}` has one state.
#[test]
fn machines_of_few_keys_are_imported() {
    for json in ["{}", r#"{"id": "m"}"#, r#"{"tags": "busy"}"#, r#"{"version": "1.0.0"}"#] {
        let imported = import::xstate(json, ImportOptions::default()).unwrap();
        assert!(imported.yaml.contains("running"), "{json}: {}", imported.yaml);
    }
}

/// As `JSON.stringify(machine)` writes it: every state has `on`, and a final one has nothing in it.
#[test]
fn a_final_state_may_have_empty_transitions() {
    let json = r#"{"id": "m", "initial": "a", "states": {"a": {"initial": "b", "states": {"b": {"type": "final", "on": {}, "invoke": []}}}}}"#;
    let imported = import::xstate(json, ImportOptions::default()).unwrap();
    assert_eq!(imported.notes, [], "{}", imported.yaml);
}

#[test]
fn events_with_spaces_are_renamed_and_code_of_an_editor_is_to_be_written() {
    check(
        r##"{
  "id": "cart",
  "initial": "open",
  "context": "{{ createInitialContext() }}",
  "states": {
    "open": {
      "on": {"add item": "full", "add_item": "open", "add item.*": {"actions": {"type": "xstate.raise", "event": {"type": "add item", "count": "{{ 3 }}"}}}},
      "invoke": {"src": "load", "input": {"id": "{{ event.output.id }}", "max": "{{ 10 }}", "text": "{{name}}, hello"}}
    },
    "full": {}
  }
}"##,
        expect![[r##"
            # Imported from XState. Review these points (line numbers refer to the original):
            #   line 4: to be written: `createInitialContext()` is code: it is null until you write it
            #   line 7: changed: the event `add item` became `add_item_`: names of events have no spaces, and `*` only at the end
            #   line 7: changed: the event `add item.*` became `add_item_.*`: names of events have no spaces, and `*` only at the end
            #   line 8: to be written: `event.output.id` is code: it is null until you write it
            #   line 8: changed: `load` must be a service of the project, `statechart:<id>` or `agent:<id>`
            statechart:
              id: cart
              version: 1.0.0
              initial: open
              states:
                open:
                  on:
                    add_item_: full
                    add_item: open
                    add_item_.*:
                      actions:
                        - {type: raise, event: add_item_, data: {count: 3}}
                  invoke: {src: load, input: {id: null, max: 10, text: "'{{name}}, hello'"}}
                full: {}
        "##]],
    );
}
