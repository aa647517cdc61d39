//! Every exit code, with its message.

use expect_test::{Expect, expect};

use crate::support::{RAWKO, command, directory, transcript};

const GOOD: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: open}
    open:
      on: {CLOSED: closed, REMOVED: gone}
    gone:
      type: final
";

const BROKEN: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: opne}
    open:
      on: {CLOSED: closed}
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
        1 chart, nothing to complain about
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
            The statechart runtime for AI agents

            Usage: rawko [OPTIONS] <COMMAND>

            Commands:
              init         Prepare a project for agents: settings, four agents, a chart, and a README to edit
                           from
              demo         Watch agents work on a small project, offline
              check        Find everything that is wrong with a chart, or with all charts of a project
              simulate     Play a chart through in virtual time, without any service or agent
              graph        Draw a chart as Mermaid, PlantUML, Graphviz DOT or SVG
              test         Run scenario files: what a chart should do, step by step in virtual time
              task         Have a task done by the project's agents
              run          Run a chart for real: timers, services, child charts and people, kept on disk
              resume       Go on with an instance that was parked, or try again what failed
              ps           List instances, newest first
              show         Show where an instance stands, now or after a past step
              history      Tell what happened to an instance, step by step
              logs         Print what instances logged and emitted, and what failed
              send         Send an event to an instance
              approve      Say yes to what an instance asks a person, or fill in its form
              deny         Say no to what an instance asks a person
              cancel       End an instance: its exit actions run, timers and calls stop
              fork         Go on from a past step in a new instance, with other values if wanted
              replay       Look again at what was decided, and what another model would decide
              agents       List, show and check the agents of a project
              serve        Host the project and serve its page: instances go on, people look and act, agents
                           take turns
              worker       Work for Restate: take the steps of its instances and make their calls
              channels     Channels: list, create, show, steer, post, read
              chat         Talk in a channel
              charts       List the charts that a project offers and those its instances run on
              doctor       Check the store, the settings, services, agents and charts, and say what to do
              backup       Copy the store to a file, also while a host runs
              restore      Replace the store by a backup; the replaced one is kept
              instance     Export an instance to a file, or import one
              prune        Remove ended instances by age, outcome or size (dry run without --yes)
              import       Turn SCXML or an XState v5 JSON configuration into a rawko chart
              schema       Print the JSON Schema of the chart format
              completions  Print a completion script for a shell

            Options:
                  --color <WHEN>  When to use colour; auto is on a terminal, unless `NO_COLOR` is set [default:
                                  auto] [possible values: auto, always, never]
              -h, --help          Print help (see more with '--help')
              -V, --version       Print version

            Exit codes:
              0    done
              1    failed: an instance failed or was cancelled, a scenario did not hold, a simulation failed
              2    usage: wrong arguments, a file that cannot be read, an instance that is not there
              3    try again later: the disk is full, somebody else holds the store, a provider is out of reach
              41   credentials: a provider does not take the key, or there is none
              52   the chart or the settings are invalid
              53   a budget or a limit is used up
              54   a loop was detected
              55   waiting for a person, an event or a timer
              130  interrupted; 143 terminated: what ran is parked

            Every command reads standard input when the file is `-`, writes its data to standard output and
            everything else to standard error.
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
        error: --input needs KEY=VALUE, not `nonsense`
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
        error: there is no file `nowhere.yaml`
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "nowhere.yaml"],
        "",
        expect![[r#"
        $ rawko simulate nowhere.yaml
        --- stderr
        error: there is no file `nowhere.yaml`
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "good.yaml", "--events", "nowhere.jsonl"],
        "",
        expect![[r#"
        $ rawko simulate good.yaml --events nowhere.jsonl
        --- stderr
        error: there is no file `nowhere.jsonl`
        --- exit code 2
    "#]],
    );
    check(
        &["simulate", "good.yaml", "--services", "nowhere.json"],
        "",
        expect![[r#"
        $ rawko simulate good.yaml --services nowhere.json
        --- stderr
        error: there is no file `nowhere.json`
        --- exit code 2
    "#]],
    );
    check(
        &["graph", "."],
        "",
        expect![[r#"
            $ rawko graph .
            --- stderr
            error: `.` is a directory; a file is needed here
            --- exit code 2
        "#]],
    );
    check(
        &["test", "nowhere.scenario.yaml"],
        "",
        expect![[r#"
        $ rawko test nowhere.scenario.yaml
        --- stderr
        error: there is no file `nowhere.scenario.yaml`
        --- exit code 2
    "#]],
    );
    check(
        &["test", "good.yaml"],
        "",
        expect![[r#"
        $ rawko test good.yaml
        --- stderr
        error: there are no scenario files beside `good.yaml` (a scenario file is called NAME.scenario.yaml and lies beside NAME.yaml)
        --- exit code 2
    "#]],
    );
    check(
        &["import", "nowhere.scxml"],
        "",
        expect![[r#"
        $ rawko import nowhere.scxml
        --- stderr
        error: there is no file `nowhere.scxml`
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

            error: `broken.yaml` cannot be used
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

            error: `broken.yaml` cannot be used
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
        error: cannot import `notes.txt`: this is neither SCXML nor an XState configuration: expected an `<scxml>` element or a JSON object with `states`
        --- exit code 52
    "#]],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = directory(&[("good.yaml", GOOD)]);
    // `head` reads one line and exits, while the binary has megabytes to write.
    let script = format!(
        "yes '{{\"type\":\"OPENED\"}}' | head -n 20000 | '{RAWKO}' simulate good.yaml --json 2>err | head -n 1 >out; \
         echo ${{PIPESTATUS[2]}} >code"
    );
    let status =
        std::process::Command::new("bash").arg("-c").arg(script).current_dir(dir.path()).status().unwrap();
    assert!(status.success());
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("err"), "");
    assert_eq!(read("code"), "0\n");
    assert!(read("out").starts_with("{\"step\":0,"));
}

#[test]
fn an_interrupt_ends_it_by_the_signal_which_a_shell_shows_as_130() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    let dir = directory(&[("good.yaml", GOOD)]);
    let mut child = command(dir.path(), &["simulate", "good.yaml", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}
