//! The same sequence of commands on this machine and on Restate: all output and every exit code is the same, except for
//! times, addresses and the host's name.

use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::Value as Json;
use tempfile::TempDir;

use rawko_testkit::RestateOptions;

use crate::support::{Place, RAWKO, Ran, Site, demo_task, directory, free_address};

/// It waits on a timer, asks a person, calls a program, and has another person pack.
const ORDER: &str = "
statechart:
  id: order
  version: 1.0.0
  initial: resting
  context: {amount: 0, approver: null, receipt: null, notes: []}
  states:
    resting: {after: {100ms: asking}}
    asking:
      invoke:
        id: approval
        src: human
        input: {title: \"'Pay ' + string(context.amount) + '?'\", expires: \"'24h'\"}
        onDone:
          - {target: charging, guard: event.data.approved, actions: [remember, {type: log, message: approved}]}
          - {target: rejected, actions: [remember]}
        onError: rejected
      exit: [{type: log, message: asked}]
      on:
        WITHDRAWN: rejected
        NOTED: {actions: [{type: assign, context_updates: {notes: 'append(context.notes, event.data.text)'}}]}
    charging:
      invoke:
        id: payment
        src: charge
        input: {amount: context.amount}
        onDone: {target: packing, actions: [{type: assign, context_updates: {receipt: event.data.receipt}}]}
    packing:
      invoke: {id: parcel, src: statechart:parcel, onDone: shipped, onError: rejected}
    shipped: {type: final, output: {receipt: context.receipt}}
    rejected: {type: final, output: {by: context.approver}}
  actions:
    remember: {type: assign, context_updates: {approver: event.data.by}}
";

const PARCEL: &str = "
statechart:
  id: parcel
  version: 1.0.0
  initial: packing
  states:
    packing: {invoke: {id: packer, src: human, input: {title: \"'Packed?'\"}, onDone: packed, onError: packed}}
    packed: {type: final, output: {boxes: 1}}
";

const CHARGE: &str = "\
import json, os, sys
call = json.load(sys.stdin)
if os.path.exists('card_service_is_down'):
    sys.exit('no route to the card service')
print(json.dumps({'receipt': 'r-' + str(call['input']['amount'])}))
";

const SETTINGS: &str = "
services: {charge: {command: [python3, charge.py], on_restart: retry}}
governance: {allow: [charge]}
";

/// The commands and their exit codes. A word in brackets is an action on the project instead.
const WALK: &[(&str, i32)] = &[
    ("charts", 0),
    ("run order --id a --input amount=5", 55),
    ("show a", 0),
    ("show a --json", 0),
    ("ps", 0),
    ("ps --waiting person --json", 0),
    // An event, a duplicate, one that is not handled, and one to an unknown instance.
    ("send a NOTED --data text=hello --key k1", 0),
    ("send a NOTED --data text=hello --key k1", 0),
    ("send a NOBODY -v", 1),
    ("send nobody NOTED", 2),
    // Answers, also for a child by the name of its parent.
    ("approve nobody", 2),
    ("approve a --ask other", 2),
    ("approve a --as bo --comment fine", 0),
    ("ps --all --waiting person", 0),
    ("approve a --as carl", 0),
    ("approve a", 1),
    // Reading the past.
    ("show a", 0),
    ("show a --at 2", 0),
    ("show a --at 99", 2),
    ("history a", 0),
    ("history a -v", 0),
    ("history a --json", 0),
    ("logs", 0),
    ("logs a --json", 0),
    ("logs a --audit", 0),
    // Forks: a step, other values, existing ids, unknown steps and keys.
    ("fork a --at 2 --set amount=90 --id b", 0),
    ("show b", 0),
    ("fork a --at 2 --id b", 2),
    ("fork a --at 77 --id c", 2),
    ("fork a --at 1 --set nokey=1 --id c", 2),
    ("fork a --at 1 --set amount=1+ --id c", 2),
    ("deny b --as ada --comment no --output-format json", 0),
    ("history b", 0),
    // Cancelling an instance.
    ("run order --id d --input amount=7 --output-format json", 55),
    ("cancel d --reason twice", 0),
    ("cancel d", 1),
    ("send d NOTED", 1),
    ("history d --json", 0),
    // Retrying a failure.
    ("run order --id e --input amount=8 --output-format stream-json", 55),
    ("(down)", 0),
    ("approve e", 1),
    ("show e", 0),
    ("resume e", 1),
    ("(up)", 0),
    ("resume e", 55),
    ("history e", 0),
    ("logs e", 0),
    ("fork e --at 1 --run --id f --output-format stream-json", 55),
    ("send f WITHDRAWN --no-wait", 0),
    ("send f WITHDRAWN --output-format json", 1),
    ("ps --all", 0),
    ("ps --status done --chart order", 0),
    ("ps --status cancelled --json", 0),
    // Unknown names.
    ("run order --id a", 2),
    ("show nobody", 2),
    ("history nobody", 2),
    ("logs nobody", 2),
    ("resume nobody", 2),
    ("cancel nobody", 2),
    ("fork nobody", 2),
    ("replay nobody --decisions", 2),
    ("replay a --decisions", 0),
    ("resume a", 0),
];

fn project() -> TempDir {
    directory(&[
        (".rawko/charts/order.yaml", ORDER),
        (".rawko/charts/parcel.yaml", PARCEL),
        (".rawko/config.yaml", SETTINGS),
        ("charge.py", CHARGE),
    ])
}

/// Masks times, durations, journal positions and hosts in the output.
struct Plain(Vec<(Regex, &'static str)>);

impl Plain {
    fn new() -> Plain {
        let table = [
            // First, because later patterns could match a part of a generated id.
            (r"rawko-[a-z0-9]{6}\b", "MADE-UP"),
            (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?", "MOMENT"),
            (r#"("\w*(_ms|seq)"): ?-?\d+"#, "$1:N"),
            (r"\d[\d.]*(ms|s|m|h)\b( \d+s)?( ago)?|just now", "WHILE"),
            // The prompts contain the elapsed time, and digits count.
            (r"spent [\d,]+ tokens", "spent N tokens"),
            (r"is hosted by Restate at \S+|is parked; continue with `rawko resume \S+`", "IS HOSTED"),
            // Columns are as wide as their content.
            (r" {2,}", "  "),
            // Restate drives every instance; without a host of its own, a store waits for one.
            (r"waiting  host|running  work", "IS MOVED"),
        ];
        Plain(table.map(|(pattern, instead)| (Regex::new(pattern).unwrap(), instead)).to_vec())
    }

    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (pattern, instead)| {
            pattern.replace_all(&text, *instead).into_owned()
        })
    }

    fn ran(&self, ran: &Ran) -> String {
        format!("exit code {:?}\n{}{}", ran.code, self.text(&ran.stdout), self.text(&ran.stderr))
    }
}

fn change(project: &Path, what: &str) {
    let mark = project.join("card_service_is_down");
    match what {
        "(down)" => fs::write(mark, "").unwrap(),
        _ => fs::remove_file(mark).unwrap(),
    }
}

#[test]
fn every_command_says_the_same_on_both_hosts() {
    let (here, there) = (project(), project());
    let embedded = Place::embedded(here.path());
    let site = Site::new(there.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    let plain = Plain::new();
    for (command, code) in WALK {
        if command.starts_with('(') {
            change(here.path(), command);
            change(there.path(), command);
            continue;
        }
        let (one, other) = (embedded.run(command), site.place.run(command));
        assert_eq!(one.code, Some(*code), "{command}: {one:?}");
        assert_eq!(plain.ran(&one), plain.ran(&other), "{command}\n{}", worker.said());
    }
    for place in [&embedded, &site.place] {
        pages_go_on_where_the_last_one_ended(place);
    }
}

/// Cursors differ between hosts; the pages they select do not.
fn pages_go_on_where_the_last_one_ended(place: &Place) {
    let json = |command: &str| -> Json { serde_json::from_str(&place.run(command).stdout).unwrap() };
    let ids = |page: &Json| -> Vec<String> {
        let rows = page["instances"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let (mut seen, mut page) = (Vec::new(), json("ps --limit 2 --json"));
    loop {
        seen.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        page = json(&format!("ps --limit 2 --json --before {next}"));
    }
    assert_eq!(seen, ["f", "e", "d", "b", "a"]);
    // The last instance of a page may have changed since and no longer be on the list.
    let next = json("ps --limit 2 --json")["next"].clone();
    let done = json(&format!("ps --status done --json --before {}", next.as_str().unwrap()));
    assert_eq!(ids(&done), ["b", "a"]);

    let first = place.run("history a --limit 2");
    let after = first.stderr.trim().rsplit(' ').next().unwrap();
    let rest = place.run(&format!("history a --after {after}"));
    let whole = place.run("history a").stdout;
    assert_eq!(first.stdout + &rest.stdout, whole);
}

/// The orchestrator with its agents (scripted models, real files, real tests): it ends at a limit, continues with a
/// higher one, and its decisions can be replayed.
#[test]
fn the_demo_mends_its_project_on_both_hosts() {
    let (here, there) = (directory(&[]), directory(&[]));
    for project in [&here, &there] {
        let made = Command::new(RAWKO).args(["init", "--demo"]).current_dir(project.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let embedded = Place::embedded(here.path());
    let site = Site::new(there.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    let task = demo_task();
    let walk: [(&[&str], i32); 4] = [
        (&["task", &task, "--id", "demo", "--max-iterations", "2"], 53),
        (&["resume", "demo", "--max-iterations", "20"], 0),
        (&["replay", "demo", "--decisions"], 0),
        (&["ps", "--status", "done"], 0),
    ];
    let plain = Plain::new();
    for (words, code) in walk {
        let (one, other) = (embedded.run_words(words), site.place.run_words(words));
        assert_eq!(one.code, Some(code), "{words:?}: {one:?}");
        assert_eq!(plain.ran(&one), plain.ran(&other), "{words:?}\n{}", worker.said());
    }
    let tests = Command::new("python3").args(["-m", "unittest"]).current_dir(there.path()).output().unwrap();
    assert!(tests.status.success(), "{tests:?}");
    let listed: Json = serde_json::from_str(&site.place.run("ps --json").stdout).unwrap();
    let second = listed["instances"][0]["id"].as_str().unwrap();
    let shown: Json = serde_json::from_str(&site.place.run(&format!("show {second} --json")).stdout).unwrap();
    let history = shown["context"]["history"].as_array().unwrap();
    let agents: Vec<&str> = history.iter().map(|entry| entry["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["planner", "developer", "tester", "developer", "tester", "reviewer"]);
}
