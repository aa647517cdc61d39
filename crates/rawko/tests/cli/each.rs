//! Fan-outs (`invoke … each`) with the real binary: killed between items, items that people answer, budgets.

use std::collections::BTreeMap;

use expect_test::expect;

use crate::parking::Background;
use crate::queue::until;
use crate::support::{directory, run};

const SETTINGS: &str = "\
services:
  work: {command: [sh, work.sh], on_restart: retry}
governance: {allow: [work]}
";

/// Notes each call under its key, and answers with its input. A call whose host died before it wrote the input is none.
const WORK: &str = "\
input=$(cat)
[ -n \"$input\" ] || exit 1
key=$(printf '%s' \"$input\" | sed 's/.*\"idempotency_key\":\"\\([^\"]*\\)\".*/\\1/')
echo \"$key\" >> ran.txt
printf '%s' \"$input\" | sed 's/.*\"n\":\\([0-9]*\\).*/\\1/'
";

const CHART: &str = "\
statechart:
  id: fan
  version: 1.0.0
  initial: working
  context: {list: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19], got: null}
  states:
    working:
      invoke:
        id: job
        src: work
        each: context.list
        max_concurrent: 2
        input: {n: item}
        onDone: {target: asking, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: failed
    asking:
      invoke: {id: ask, src: human, each: \"['x', 'y']\", input: {question: item}, onDone: done, onError: failed}
    done: {type: final, output: {got: context.got, answers: \"[event.data[0].approved, event.data[1].approved]\"}}
    failed: {type: final, output: {outcome: \"'failed'\", why: event.data}}
";

fn lines(text: &str, kind: &str) -> Vec<serde_json::Value> {
    let all = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    all.filter(|line| line["type"] == kind).collect()
}

#[test]
fn killed_between_items_it_repeats_nothing_that_is_finished() {
    let dir = directory(&[("fan.yaml", CHART), ("work.sh", WORK), (".rawko/config.yaml", SETTINGS)]);
    let mut running = Background::start(dir.path(), &["run", "fan.yaml", "--id", "f"], "job[4]");
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    run(dir.path(), &["resume", "f"], "");
    let history = run(dir.path(), &["history", "f", "--json"], "").stdout;
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&history, "invoked") {
        *started.entry(line["invoke"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(started.len(), 12, "{started:?}");
    assert!(started.values().all(|count| *count == 1), "an item was started twice: {started:?}");
    // At most the two that ran when it was killed were called again, under their keys.
    let ran = std::fs::read_to_string(dir.path().join("ran.txt")).unwrap();
    let keys: std::collections::BTreeSet<&str> = ran.lines().collect();
    assert_eq!(keys.len(), 10, "{ran}");
    assert!(ran.lines().count() <= 12, "{ran}");

    let shown = run(dir.path(), &["show", "f"], "").stdout;
    let items: Vec<&str> = shown
        .lines()
        .skip_while(|line| !line.starts_with("items") && !line.starts_with("requests"))
        .collect();
    expect![[r#"
        requests   ask[0]
                       question: "x"
                     `rawko approve f --ask 'ask[0]'` or `rawko deny f --ask 'ask[0]'`
                   ask[1]
                       question: "y"
                     `rawko approve f --ask 'ask[1]'` or `rawko deny f --ask 'ask[1]'`
        items      ask: 2 items, 2 running
                     running  ask[0]
                     running  ask[1]"#]]
    .assert_eq(&items.join("\n"));
    run(dir.path(), &["approve", "f", "--ask", "ask[1]"], "");
    let ended = run(dir.path(), &["deny", "f", "--ask", "ask[0]", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    expect![[r#"{"got":[10,11,12,13,14,15,16,17,18,19],"answers":[false,true]}"#]]
        .assert_eq(&result["output"].to_string());
    let late = run(dir.path(), &["resume", "f", "--item", "ask[0]"], "");
    assert_eq!((late.code, late.stdout.as_str()), (Some(2), ""), "{}", late.stderr);
    assert!(late.stderr.contains("`f` has ended; `ask[0]` cannot be retried"), "{}", late.stderr);
}

#[test]
fn a_budget_that_cannot_pay_refuses_the_whole_before_the_first_call() {
    let settings = SETTINGS.replace("allow: [work]", "allow: [work], budget: {calls: 9}");
    let dir = directory(&[("fan.yaml", CHART), ("work.sh", WORK), (".rawko/config.yaml", settings.as_str())]);
    let ended = run(dir.path(), &["run", "fan.yaml", "--id", "f", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["output"]["why"]["category"], "limit", "{result}");
    let history = run(dir.path(), &["history", "f", "--json"], "").stdout;
    assert!(lines(&history, "invoked").is_empty(), "{history}");
    assert!(!dir.path().join("ran.txt").exists());
}

#[test]
fn a_send_to_the_whole_reaches_every_running_item() {
    let parent = "\
statechart:
  id: parent
  version: 1.0.0
  initial: working
  states:
    working:
      on:
        ALL: {actions: [{type: send, target: kids, event: GO, data: {n: 1}}]}
        ONE: {actions: [{type: send, target: 'kids[1]', event: GO, data: {n: 2}}]}
      invoke: {id: kids, src: 'statechart:kid', each: '[10, 11, 12]', max_concurrent: 3, input: {n: item}, onDone: done, onError: failed}
    done: {type: final, output: event.data}
    failed: {type: final, output: event.data}
";
    let kid = "\
statechart:
  id: kid
  version: 1.0.0
  initial: waiting
  context: {n: 0}
  states:
    waiting: {on: {GO: done}}
    done: {type: final, output: {sum: context.n + event.data.n}}
";
    let dir = directory(&[("parent.yaml", parent), ("kid.yaml", kid)]);
    run(dir.path(), &["run", "parent.yaml", "--with", "kid.yaml", "--id", "p"], "");
    run(dir.path(), &["send", "p", "ONE"], "");
    let ended = run(dir.path(), &["send", "p", "ALL", "--output-format", "json"], "");
    let shown = run(dir.path(), &["show", "p", "--json"], "");
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let sums: Vec<_> = shown["output"].as_array().unwrap().iter().map(|kid| kid["sum"].clone()).collect();
    assert_eq!(sums, [11, 13, 13], "{shown} {}", ended.stderr);
}

/// An item fails while another runs; it is retried and nothing else is called again.
#[test]
fn one_failed_item_is_retried_and_no_other() {
    let chart = CHART
        .replace("max_concurrent: 2", "max_concurrent: 3\n        join: settled")
        .replace("each: context.list", "each: '[10, 11, 12]'");
    // Item 1 fails until there is a file; item 2 waits until item 1 succeeds.
    let work = format!(
        "{}case \"$input\" in\n*'\"n\":11'*) [ -e fixed ] || {{ echo broken >&2; exit 1; }}; touch go;;\n\
         *'\"n\":12'*) while [ ! -e go ]; do sleep 0.05; done;;\nesac\n{}",
        WORK.split_inclusive('\n').take(3).collect::<String>(),
        WORK.split_inclusive('\n').skip(3).collect::<String>(),
    );
    let dir = directory(&[("fan.yaml", &*chart), ("work.sh", &*work), (".rawko/config.yaml", SETTINGS)]);
    let dir = dir.path();
    let mut running = Background::start(dir, &["run", "fan.yaml", "--id", "f"], "job[1] failed");
    // Item 0 may still run when item 1 has failed.
    until("item 0 is done", || {
        let refused = run(dir, &["resume", "f", "--item", "job[0]"], "");
        refused.stderr.contains("`job[0]` is done; only a failed item can be retried")
    });
    std::fs::write(dir.join("fixed"), "").unwrap();
    let retried = run(dir, &["resume", "f", "--item", "job[1]"], "");
    assert!(!retried.stderr.contains("cannot retry"), "{}", retried.stderr);
    running.child.wait().unwrap();
    let history = run(dir, &["history", "f", "--json"], "").stdout;
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&history, "invoked") {
        *started.entry(line["invoke"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let jobs: Vec<usize> =
        started.iter().filter(|(name, _)| name.starts_with("job")).map(|it| *it.1).collect();
    assert_eq!(jobs, [1, 2, 1], "{started:?}");
    let shown = run(dir, &["show", "f", "--json"], "").stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    expect![[r#"[{"status":"done","data":10},{"status":"done","data":11},{"status":"done","data":12}]"#]]
        .assert_eq(&shown["context"]["got"].to_string());
}

/// Lists and joins, with items below zero that fail; one at a time, so that the order is known.
#[test]
fn the_host_joins_as_the_simulation_does() {
    let chart = |list: &str, join: &str, handler: &str| {
        format!(
            "\
statechart:
  id: joins
  version: 1.0.0
  initial: working
  context: {{list: {list}, done: 0, failed: 0}}
  actions:
    count_done: {{type: assign, context_updates: {{done: context.done + 1}}}}
    count_failed: {{type: assign, context_updates: {{failed: context.failed + 1}}}}
  states:
    working:
      invoke:
        id: job
        src: work
        each: context.list
        max_concurrent: 1
        join: {join}
        input: {{n: item}}
        retry: {{max_attempts: 1}}
        onItemDone: {{actions: [count_done]}}
        {handler}
        onDone: done
        onError: failed
    done: {{type: final, output: {{end: \"'done'\", data: event.data, done: context.done, failed: context.failed}}}}
    failed: {{type: final, output: {{end: \"'failed'\", data: event.data, done: context.done, failed: context.failed}}}}
"
        )
    };
    let stubs = r#"{"work": [{"input": {"n": -1}, "error": {"message": "no", "retryable": false}}, {"input": {"n": -2}, "error": {"message": "no", "retryable": false}}, {"input": {"n": 1}, "done": 1}, {"input": {"n": 2}, "done": 2}]}"#;
    let work = "case $(cat) in *'\"n\":-'*) echo no >&2; exit 1;; *'\"n\":1'*) echo 1;; *) echo 2;; esac\n";
    let dir = directory(&[("work.sh", work), ("stubs.json", stubs), (".rawko/config.yaml", SETTINGS)]);
    let dir = dir.path();
    for (number, (list, join, handler)) in cases().enumerate() {
        std::fs::write(dir.join("joins.yaml"), chart(list, join, handler)).unwrap();
        let simulated =
            run(dir, &["simulate", "joins.yaml", "--services", "stubs.json", "--json"], "").stdout;
        let simulated = simulated.lines().filter_map(|line| serde_json::from_str(line).ok());
        let mut simulated = simulated.map(|line: serde_json::Value| line["output"].clone());
        let simulated = simulated.rfind(|output| !output.is_null());
        let id = format!("i{number}");
        run(dir, &["run", "joins.yaml", "--id", &id], "");
        let shown = run(dir, &["show", &id, "--json"], "").stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let (one, other) = (simulated.map(comparable), Some(comparable(shown["output"].clone())));
        assert_eq!(one, other, "{list} {join} {handler}");
    }
}

fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lists = ["[]", "null", "7", "[1, 2]", "[1, -1, 2]", "[-1, -2]"];
    let joins = ["all", "any", "settled", "{at_least: 2}"];
    let handlers = ["", "onItemError: {actions: [count_failed]}"];
    lists.into_iter().flat_map(move |list| {
        joins.into_iter().flat_map(move |join| handlers.into_iter().map(move |handler| (list, join, handler)))
    })
}

/// Leaves only the code of an error: a stub and a program word it in their own ways.
fn comparable(value: serde_json::Value) -> serde_json::Value {
    use serde_json::{Value, json};
    match value {
        Value::Object(map) if map.contains_key("message") => json!({"error": map.get("code")}),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, comparable(value))).collect(),
        Value::Array(list) => list.into_iter().map(comparable).collect(),
        other => other,
    }
}

/// Two agents race; the one that loses has used more than the winner, and a third one uses the rest.
const RACE: &str = "\
statechart:
  id: race
  version: 1.0.0
  initial: running
  states:
    running:
      initial: racing
      budget: {tokens: 900}
      states:
        racing:
          invoke:
            id: race
            src: {expr: \"'agent:' ~ item\"}
            each: \"['quick', 'slow']\"
            join: any
            input: \"'Run'\"
            onDone: pausing
            onError: lost
        pausing: {after: {1000: paying}}
        paying: {invoke: {id: pay, src: 'agent:costly', input: \"'Run'\", onDone: paid, onError: lost}}
    paid: {type: final, output: {outcome: \"'succeeded'\"}}
    lost: {type: final, output: {category: event.data.category}}
";

const RACERS: &str = "
- {agent: quick, delay_ms: 2000, text: Done., usage: {input_tokens: 100, output_tokens: 0}}
- agent: slow
  steps:
    - {tool_calls: [{name: Read, input: {path: race.yaml}}], usage: {input_tokens: 400, output_tokens: 40}}
    - {delay_ms: 60000, text: Never.}
- agent: costly
  steps:
    - {tool_calls: [{name: Read, input: {path: race.yaml}}], usage: {input_tokens: 500, output_tokens: 0}}
    - {text: Done., usage: {input_tokens: 1, output_tokens: 0}}
";

/// Items that a join does not need are stopped. Their usage was forgotten, so that a budget around them did not hold.
#[test]
fn the_usage_of_stopped_agents_counts_for_the_budget() {
    let settings = "governance: {allow: ['agent:*']}\n\
         providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}\n";
    let agent = |name: &str| format!("---\nname: {name}\nwhenToUse: For races.\n---\nYou run.\n");
    let [quick, slow, costly] = ["quick", "slow", "costly"].map(agent);
    let files = [
        ("race.yaml", RACE),
        (".rawko/config.yaml", settings),
        (".rawko/script.yaml", RACERS),
        (".rawko/agents/quick.md", quick.as_str()),
        (".rawko/agents/slow.md", slow.as_str()),
        (".rawko/agents/costly.md", costly.as_str()),
    ];
    let dir = directory(&files);
    let ended = run(dir.path(), &["run", "race.yaml", "--id", "r", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    // 540 of 900 tokens are used, so 500 are too many.
    expect![[r#"{"category":"limit"}"#]].assert_eq(&result["output"].to_string());
    assert_eq!(result["spent"]["tokens"], 1040, "{result}");

    // A run that is cancelled is over before its agents are.
    std::fs::write(dir.path().join("slow.yaml"), RACE.replace("'quick', ", "")).unwrap();
    let mut running = Background::start(dir.path(), &["run", "slow.yaml", "--id", "s"], "Read race.yaml");
    let spent = || {
        let shown = run(dir.path(), &["show", "s", "--json"], "").stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["spent"]["tokens"].as_u64()
    };
    // The call is printed when it begins; its completion counts with the step after it.
    while spent() < Some(440) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run(dir.path(), &["cancel", "s"], "");
    running.child.wait().unwrap();
    assert!(spent() >= Some(440), "{:?}", spent());
}
