//! `rawko check`: slips in what charts call, and files that several arguments name.

use crate::support::{directory, run};

const CHART: &str = "statechart: {id: a, initial: s, states: {s: {type: final}}}\n";
const CHART_B: &str = "statechart: {id: b, initial: s, states: {s: {type: final}}}\n";

#[test]
fn a_file_that_several_arguments_name_is_checked_once() {
    let dir = directory(&[("a.yaml", CHART), ("folder/b.yaml", CHART_B)]);
    let run = run(dir.path(), &["check", "folder/b.yaml", "./a.yaml", "."], "");
    let text = run.stdout;
    assert!(text.contains("2 charts, no problems found"), "{text}");
}

/// Names of rawko's own services, keys of a service's input in an action, and keys and events of the project's charts.
#[test]
fn slips_in_what_a_project_calls() {
    let main = "\
statechart:
  id: main
  version: '1.0.0'
  initial: open
  context: {total: null}
  states:
    open:
      entry:
        - {type: invoke, handler: charge_card, params: {amont: 1}}
        - {type: invoke, handler: 'tool:Raed'}
      invoke: {src: 'work:opne', onDone: kid, onError: kid}
    kid:
      invoke:
        id: kid
        src: statechart:kid@1.0.0
        input: {colour: \"'red'\"}
        onDone: {target: done, actions: {type: assign, context_updates: {total: event.data.totl}}}
        onError: done
      on:
        STOP: {actions: {type: send, target: kid, event: OG}}
    done: {type: final, output: {total: context.total}}
";
    let kid = "\
statechart:
  id: kid
  version: '1.0.0'
  initial: a
  context: {size: 1}
  events: {GO: {}}
  states:
    a: {on: {GO: b}}
    b: {type: final, output: {total: context.size}}
";
    let config = "services:\n  charge_card: {command: [pay], input: {type: object, required: [amount], \
                  properties: {amount: {type: number}}, additionalProperties: false}}\n";
    let dir =
        directory(&[("main.yaml", main), (".rawko/charts/kid.yaml", kid), (".rawko/config.yaml", config)]);
    let run = run(dir.path(), &["check", "."], "");
    assert_eq!(run.code, Some(52), "{}", run.stderr);
    for expected in [
        "unknown key `amont`",
        "there is no service `tool:Raed` in this project",
        "there is no service `work:opne` in this project",
        "the input of `statechart:kid@1.0.0` has no key `colour`",
        "`event.data` has no key `totl`",
        "`events` of `statechart:kid` does not declare `OG`",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
}
