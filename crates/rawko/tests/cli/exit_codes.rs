//! Every exit code, with its message.

use expect_test::{Expect, expect};

use crate::support::{directory, transcript};

pub(crate) const GOOD: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: open}
    open:
      on: {CLOSED: closed, REMOVED: gone}
    gone: {type: final}
";

const BROKEN: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: opne}
    open: {on: {CLOSED: closed}}
";

/// A chart that sends itself events for ever.
const RUNAWAY: &str = "\
statechart:
  id: spinner
  initial: a
  context: {on: true}
  states:
    a:
      on: {GO: b}
    b:
      always: {target: c, guard: context.on}
    c:
      always: {target: b, guard: context.on}
";

fn check(args: &[&str], stdin: &str, expect: Expect) {
    let files = [
        ("good.yaml", GOOD),
        ("broken.yaml", BROKEN),
        ("runaway.yaml", RUNAWAY),
        ("bad.scenario.yaml", "chart: good.yaml\nscenarios:\n  - name: x\n    stesp: []\n"),
        (
            "failing.scenario.yaml",
            "chart: good.yaml\nscenarios:\n  - name: x\n    steps:\n      - expect: {status: done}\n",
        ),
        ("notes.txt", "nothing"),
    ];
    let dir = directory(&files);
    expect.assert_eq(&transcript(dir.path(), args, stdin));
}

#[test]
fn zero_is_done() {
    check(
        &["check", "good.yaml"],
        "",
        expect![[r#"
        $ rawko check good.yaml
        1 chart, no problems found
    "#]],
    );
}

#[test]
fn one_is_a_failed_scenario() {
    check(
        &["test", "failing.scenario.yaml", "--no-coverage"],
        "",
        expect![[r#"
            $ rawko test failing.scenario.yaml --no-coverage
            failing.scenario.yaml
              FAILED  x
                      line 5, after start: status
                        expected  "done"
                        actual    "active"

            1 scenario: 0 passed, 1 failed
            --- exit code 1
        "#]],
    );
}

#[test]
fn one_is_a_simulation_that_could_not_go_on() {
    check(
        &["simulate", "runaway.yaml"],
        "{\"type\":\"GO\"}\n",
        expect![[r#"
        $ rawko simulate runaway.yaml
        start                        [a]
            context  on: true
        > GO                         [a]
            status   error
        --- stderr
        error: step 1: more than 1000 microsteps without coming to rest (last active: c); eventless transitions or raised events feed each other
        --- exit code 1
    "#]],
    );
}

#[test]
fn two_is_usage() {
    check(
        &[],
        "",
        expect![[r#"
            $ rawko 
            --- stderr
            Statechart runtime for AI agents: check, test and run workflows that survive crashes

            Usage: rawko [OPTIONS] <COMMAND>

            Get started:
              demo         Watch agents fix a small project (offline, no API key)
              init         Set up a project for agents
              trust        Review and trust the files of a project that start programs
              task         Run a task with the project's agents
              attach       Join a running task from another terminal

            Charts:
              check        Check a chart or a whole project for problems
              verify       Prove properties of a chart, or find a shortest violation
              simulate     Step through a chart in virtual time, with stubbed services
              test         Run scenario tests of charts in virtual time
              graph        Draw a chart as Mermaid, PlantUML, Graphviz DOT or SVG
              charts       List the charts of the project and of its instances
              import       Convert SCXML, XState, LangGraph or DOT to a rawko chart
              schema       Print the JSON Schema of the chart format

            Runs:
              run          Run a chart and follow its progress
              pause        Pause instances until they are resumed
              resume       Continue a paused or interrupted instance, or retry a failed one
              queue        List, run and change the queue of tasks
              ps           List instances, newest first
              top          Watch all tasks and instances; open, pause and answer them
              show         Show the state of an instance, now or after a past step
              history      Print the journal of an instance, step by step
              logs         Print log lines, emitted events and failures
              send         Send an event to an instance
              approve      Approve a pending request of an instance, or fill in its form
              deny         Deny a pending request of an instance
              cancel       Cancel an instance: run exit actions, stop timers and calls
              fork         Start a new instance from a past step of another
              migrate      Move instances to another version of their chart
              replay       Replay a task, or compare its decisions with another model's
              diff         Print the files that an instance changed
              undo         Restore the files that an instance changed
              worktrees    List, show, merge and remove worktrees of agents

            Agents:
              agents       List, show and check the agents of a project
              channels     Manage channels: shared conversations of agents and people
              chat         Join a channel from the terminal

            Editors and other agents:
              acp          Serve an editor as an agent of the Agent Client Protocol
              hook         Answer a hook of Claude Code from the state of a chart
              lsp          Serve an editor as a language server for charts
              mcp          Serve workflows to MCP clients; log in to MCP servers

            Server:
              serve        Host the project and serve its web page and API
              triggers     List schedules and webhooks, with their runs
              worker       Run instances that live on Restate

            Maintenance:
              doctor       Check the store, settings, services, agents, charts and models
              audit        Verify the journals and the audit against their hash chains
              backup       Copy the store to a file, even while a host runs
              restore      Replace the store with a backup; the old store is kept
              prune        Remove ended instances by age, outcome or size (dry run without --yes)
              instance     Export an instance to a file, or import one
              completions  Print a shell completion script

            Options:
                  --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]
              -h, --help          Print help
              -V, --version       Print version

            Exit codes:
              0    success
              1    failure: an instance failed or was cancelled, a scenario, simulation or property failed
              2    usage error: invalid arguments, an unreadable file, an unknown instance
              3    temporary failure, try again later: disk full, store in use; a property is undecided
              41   credentials: an API key or the operator credential is missing or was rejected
              52   invalid chart or settings, or a project that is not trusted
              53   budget or limit reached
              54   loop detected, or stuck without progress
              55   waiting for a person, an event or a timer, or paused
              130  interrupted: the instance is paused (143: terminated; it continues with `resume` or `serve`)

            Pass `-` as a file to read standard input. Data goes to standard output, messages to standard
            error. Set NO_COLOR to turn off colours. See `rawko help COMMAND` for options and examples.
            --- exit code 2
        "#]],
    );
    check(
        &["chekc", "good.yaml"],
        "",
        expect![[r#"
        $ rawko chekc good.yaml
        --- stderr
        error: unrecognized subcommand 'chekc'

          tip: some similar subcommands exist: 'schema', 'check'

        Usage: rawko [OPTIONS] <COMMAND>

        For more information, try '--help'.
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "good.yaml", "--input", "nonsense"],
        "",
        expect![[r#"
        $ rawko simulate good.yaml --input nonsense
        --- stderr
        error: invalid --input `nonsense`: expected KEY=VALUE
        --- exit code 2
    "#]],
    );
}

#[test]
fn two_is_a_file_that_is_not_there() {
    check(
        &["check", "nowhere.yaml"],
        "",
        expect![[r#"
        $ rawko check nowhere.yaml
        --- stderr
        error: file `nowhere.yaml` not found
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "nowhere.yaml"],
        "",
        expect![[r#"
        $ rawko simulate nowhere.yaml
        --- stderr
        error: file `nowhere.yaml` not found
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "good.yaml", "--events", "nowhere.jsonl"],
        "",
        expect![[r#"
        $ rawko simulate good.yaml --events nowhere.jsonl
        --- stderr
        error: file `nowhere.jsonl` not found
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "good.yaml", "--services", "nowhere.json"],
        "",
        expect![[r#"
        $ rawko simulate good.yaml --services nowhere.json
        --- stderr
        error: file `nowhere.json` not found
        --- exit code 2
    "#]],
    );
    check(
        &["graph", "."],
        "",
        expect![[r#"
            $ rawko graph .
            --- stderr
            error: `.` is a directory, not a file
            --- exit code 2
        "#]],
    );
    check(
        &["test", "nowhere.scenario.yaml"],
        "",
        expect![[r#"
        $ rawko test nowhere.scenario.yaml
        --- stderr
        error: file `nowhere.scenario.yaml` not found
        --- exit code 2
    "#]],
    );
    check(
        &["test", "good.yaml"],
        "",
        expect![[r#"
        $ rawko test good.yaml
        --- stderr
        error: there are no scenario files beside `good.yaml` (scenario files are named NAME.scenario.yaml, next to NAME.yaml)
        --- exit code 2
    "#]],
    );
    check(
        &["import", "nowhere.scxml"],
        "",
        expect![[r#"
        $ rawko import nowhere.scxml
        --- stderr
        error: file `nowhere.scxml` not found
        --- exit code 2
    "#]],
    );
}

#[test]
fn two_is_a_malformed_stimulus_after_the_lines_before_it() {
    check(
        &["simulate", "good.yaml", "--json"],
        "{\"type\":\"OPENED\"}\n\n{\"typ\":\"CLOSED\"}\n",
        expect![[r#"
            $ rawko simulate good.yaml --json
            {"step":0,"stimulus":null,"configuration":["closed"],"context":{},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
            {"step":1,"stimulus":{"type":"OPENED"},"configuration":["open"],"context":{},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
            --- stderr
            error: <stdin>, line 3: unknown key `typ`: a stimulus has `type` and `data`, or `advance`
            --- exit code 2
        "#]],
    );
    check(
        &["simulate", "good.yaml", "--json"],
        "{\"type\":\n",
        expect![[r#"
            $ rawko simulate good.yaml --json
            {"step":0,"stimulus":null,"configuration":["closed"],"context":{},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
            --- stderr
            error: <stdin>, line 1: not JSON: EOF while parsing a value at column 8
            --- exit code 2
        "#]],
    );
}

#[test]
fn fifty_two_is_an_invalid_chart() {
    check(
        &["check", "broken.yaml"],
        "",
        expect![[r#"
            $ rawko check broken.yaml
            error[rawko::chart::unknown_target]: there is no state `opne` here
             --> broken.yaml:6:20
              |
            6 |       on: {OPENED: opne}
              |                    ^^^^
              |
              = help: did you mean `open`?

            1 chart, 1 error
            --- exit code 52
        "#]],
    );
    check(
        &["simulate", "broken.yaml"],
        "",
        expect![[r#"
            $ rawko simulate broken.yaml
            --- stderr
            error[rawko::chart::unknown_target]: there is no state `opne` here
             --> broken.yaml:6:20
              |
            6 |       on: {OPENED: opne}
              |                    ^^^^
              |
              = help: did you mean `open`?

            error: `broken.yaml` is invalid
            --- exit code 52
        "#]],
    );
    check(
        &["graph", "broken.yaml"],
        "",
        expect![[r#"
            $ rawko graph broken.yaml
            --- stderr
            error[rawko::chart::unknown_target]: there is no state `opne` here
             --> broken.yaml:6:20
              |
            6 |       on: {OPENED: opne}
              |                    ^^^^
              |
              = help: did you mean `open`?

            error: `broken.yaml` is invalid
            --- exit code 52
        "#]],
    );
    check(
        &["test", "bad.scenario.yaml"],
        "",
        expect![[r#"
            $ rawko test bad.scenario.yaml
            bad.scenario.yaml
              error[rawko::scenario::unknown_key]: a scenario has no key `stesp`
               --> bad.scenario.yaml:4:5
                |
              4 |     stesp: []
                |     ^^^^^
                |
                = help: did you mean `steps`?

            1 file could not be run
            --- exit code 52
        "#]],
    );
    check(
        &["import", "notes.txt"],
        "",
        expect![[r#"
        $ rawko import notes.txt
        --- stderr
        error: cannot import `notes.txt`: this is neither SCXML, XState, LangGraph nor DOT: expected an `<scxml>` element, a JSON object with `states` or with `nodes` and `edges`, or a `digraph`
        --- exit code 52
    "#]],
    );
}
