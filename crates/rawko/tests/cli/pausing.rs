//! A run that was killed, paused, drained or interrupted is moved by nothing but its own `resume`, and by `serve` unless
//! it is paused: no other command changes its journal or repeats its model request.

use std::path::Path;
use std::time::{Duration, Instant};

use rawko_store::{Filter, SqliteOptions, SqliteStore, Store};
use rawko_testkit::{ModelAnswer, ModelReply, ProviderServer, ReceivedRequest, ReplyEnding, openai};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::parking::{Background, WAITER};
use crate::support::{directory, run, store_of};

const ASKER: &str = "\
statechart:
  id: asker
  initial: asking
  states:
    asking: {invoke: {id: ask, src: human, onDone: done, onError: done}}
    done: {type: final}
";

const TASK: [&str; 6] = ["task", "The first one.", "--id", "first", "--agent", "worker"];

/// A model that never answers the first task, unless it may, and answers every other one.
struct Model {
    server: ProviderServer,
    answers: std::sync::Arc<std::sync::atomic::AtomicBool>,
    _runtime: tokio::runtime::Runtime,
}

impl Model {
    fn new() -> Model {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let answers = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let may = std::sync::Arc::clone(&answers);
        let reply = move |asked: &ReceivedRequest| {
            let done = openai::reply(&ModelAnswer::text(&["It is done."]));
            match is_first(asked) && !may.load(std::sync::atomic::Ordering::SeqCst) {
                true => ModelReply::events([openai::delta(json!({"content": "Let me "}))])
                    .ending(ReplyEnding::Silent),
                false => done,
            }
        };
        let server = runtime.block_on(ProviderServer::new(reply)).unwrap();
        Model { server, answers, _runtime: runtime }
    }

    fn may_answer(&self) {
        self.answers.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    /// Returns the number of requests for the first task.
    fn asked(&self) -> usize {
        self.server.asked().iter().filter(|asked| is_first(asked)).count()
    }

    fn until_asked(&self, times: usize) {
        let from = Instant::now();
        while self.asked() < times {
            assert!(from.elapsed() < Duration::from_secs(60), "the model was asked {} times", self.asked());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn is_first(asked: &ReceivedRequest) -> bool {
    asked.body.to_string().contains("The first one.")
}

fn project(model: &Model) -> TempDir {
    let settings = format!(
        "governance: {{allow: ['agent:*']}}\nproviders: {{default: web/x, web: {{kind: openai, base_url: \"{}\"}}}}\n\
         memories: {{remember: false}}\nphases: {{validate: {{checks: []}}}}\nshutdown: {{grace: 1s}}\n",
        model.server.url()
    );
    let worker =
        "---\nname: worker\nwhenToUse: For work.\ntransitions: {onSuccess: complete}\n---\nYou work.\n";
    directory(&[
        (".rawko/config.yaml", &settings),
        (".rawko/agents/worker.md", worker),
        ("waiter.yaml", WAITER),
        ("asker.yaml", ASKER),
    ])
}

/// How the first task was left.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    Killed,
    Paused,
    Drained,
    Interrupted,
}

/// Starts the first task, waits until its model is asked, and leaves it.
fn leave(left: Left, dir: &Path, model: &Model) {
    let mut task = Background::start(dir, &TASK, "");
    model.until_asked(1);
    match left {
        Left::Killed => {
            task.child.kill().unwrap();
            task.child.wait().unwrap();
            return;
        }
        Left::Paused => {
            let paused = run(dir, &["pause", "first"], "");
            assert_eq!(
                (paused.code, &*paused.stdout),
                (Some(0), "first  paused; continue with `rawko resume first`\n")
            );
        }
        Left::Drained => task.signal("-TERM"),
        Left::Interrupted => task.signal("-INT"),
    }
    let code = match left {
        Left::Killed | Left::Paused => 55,
        Left::Drained => 143,
        Left::Interrupted => 130,
    };
    let told = task.end();
    assert!(told.ends_with(&format!("--- Some({code})\n")), "{left:?}: {told}");
    assert!(told.contains("`rawko resume first`"), "{left:?}: {told}");
}

/// Returns the records, open effects and heads of the first task and all that belongs to it.
fn state(dir: &Path) -> String {
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(&store_of(dir), options).unwrap();
    let rows = store.list(&Filter::default()).unwrap().rows;
    let own = rows.iter().filter(|row| row.new.id.starts_with("first"));
    own.map(|row| {
        let (records, open) = (store.records(row.key, 0, usize::MAX), store.open_effects(Some(row.key)));
        format!("{:?}\n{records:?}\n{open:?}\n", row.head)
    })
    .collect()
}

fn row(dir: &Path, id: &str) -> Json {
    let listed = run(dir, &["ps", "--json"], "");
    let listed: Json = serde_json::from_str(&listed.stdout).unwrap();
    listed["instances"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

/// Commands about other instances, and those that only look.
const OTHERS: [&[&str]; 34] = [
    &["run", "waiter.yaml", "--id", "w-2"],
    &["task", "Another one.", "--id", "t-2", "--agent", "worker"],
    &["send", "w-1", "TOLD", "--data", "what=news"],
    &["ps", "--all"],
    &["show", "first"],
    &["history", "first"],
    &["logs"],
    &["doctor"],
    &["approve", "a-1"],
    &["cancel", "a-2"],
    &["resume", "w-2", "--patience", "0s"],
    &["pause", "w-2"],
    &["fork", "w-2", "--id", "w-3"],
    &["prune", "--older-than", "1d"],
    &["resume", "w-2", "--patience", "0s"],
    &["diff", "first"],
    &["replay", "first", "--decisions"],
    &["undo", "t-2"],
    &["queue"],
    &["worktrees"],
    &["agents", "list"],
    &["charts"],
    &["channels"],
    &["triggers"],
    &["audit", "verify"],
    &["backup", "copy.db"],
    &["instance", "export", "w-2", "w-2.rawko"],
    &["check", "asker.yaml"],
    &["verify", "asker.yaml"],
    &["simulate", "asker.yaml"],
    &["graph", "asker.yaml"],
    &["trust", "--yes"],
    &["schema"],
    &["completions", "bash"],
];

#[test]
fn no_other_command_moves_a_run_that_was_left() {
    for left in [Left::Killed, Left::Paused, Left::Drained, Left::Interrupted] {
        let model = Model::new();
        let dir = project(&model);
        for (chart, id) in [("waiter.yaml", "w-1"), ("asker.yaml", "a-1"), ("asker.yaml", "a-2")] {
            run(dir.path(), &["run", chart, "--id", id], "");
        }
        leave(left, dir.path(), &model);
        let before = state(dir.path());
        assert!(
            before.contains("pause_requested") == matches!(left, Left::Paused | Left::Interrupted),
            "{left:?}"
        );
        for other in OTHERS {
            let ran = run(dir.path(), other, "");
            assert!(matches!(ran.code, Some(0 | 55)), "{left:?}: {other:?}: {ran:?}");
            assert_eq!(state(dir.path()), before, "{left:?}: {other:?} moved it");
            assert_eq!(model.asked(), 1, "{left:?}: {other:?} repeated its request");
        }
        let shown = row(dir.path(), "first");
        let (status, waiting_for) = match left {
            Left::Paused | Left::Interrupted => ("paused", Json::Null),
            Left::Killed | Left::Drained => ("waiting", json!("host")),
        };
        assert_eq!(
            (&shown["status"], &shown["waiting_for"]),
            (&json!(status), &waiting_for),
            "{left:?}: {shown}"
        );
        assert_eq!(shown["hint"], "rawko resume first");
        // Its own command moves it.
        model.may_answer();
        let resumed = run(dir.path(), &["resume", "first"], "");
        assert_eq!(resumed.code, Some(0), "{left:?}: {resumed:?}");
        assert_eq!(model.asked(), 2, "{left:?}");
        let shown = row(dir.path(), "first");
        assert_eq!((&shown["status"], &shown["outcome"]), (&json!("ended"), &json!("succeeded")), "{left:?}");
    }
}

#[test]
fn a_server_moves_what_was_left_unless_it_is_paused() {
    for left in [Left::Killed, Left::Paused, Left::Drained, Left::Interrupted] {
        let model = Model::new();
        let dir = project(&model);
        leave(left, dir.path(), &model);
        let before = state(dir.path());
        model.may_answer();
        let serving = Background::start(dir.path(), &["serve", "--listen", "127.0.0.1:0"], "http://");
        let is_paused = matches!(left, Left::Paused | Left::Interrupted);
        if is_paused {
            let sent = run(dir.path(), &["run", "waiter.yaml", "--id", "w-1"], "");
            assert_eq!(sent.code, Some(55), "{sent:?}");
            assert_eq!((state(dir.path()), model.asked()), (before, 1), "{left:?}: the server moved it");
            assert_eq!(run(dir.path(), &["resume", "first"], "").code, Some(0), "{left:?}");
        }
        model.until_asked(2);
        let from = Instant::now();
        while row(dir.path(), "first")["status"] != "ended" {
            assert!(from.elapsed() < Duration::from_secs(60), "{left:?}: it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        serving.signal("-TERM");
        serving.end();
    }
}

#[test]
fn events_wait_for_the_resume_and_answers_are_refused() {
    let dir = directory(&[("waiter.yaml", WAITER), ("asker.yaml", ASKER)]);
    let told = crate::support::played(
        dir.path(),
        &[
            "run waiter.yaml --id w-1",
            "run asker.yaml --id a-1",
            "pause w-1 a-1",
            "pause w-1",
            "send w-1 TOLD --data what=hello",
            "approve a-1",
            "ps",
            "resume w-1",
            "resume a-1",
            "pause w-1",
        ],
    );
    expect_test::expect![[r#"
        $ rawko run waiter.yaml --id w-1
        w-1  waiter 0.0.0
        start                        [waiting]
            context  told: null
            timer    after 1h in waiting (in 1h)
        --- stderr
        waiting: w-1 is parked; continue with `rawko resume w-1`
          accepts TOLD
            rawko send w-1 TOLD
          timer: after 1h in waiting (in 1h)
        --- exit code 55
        $ rawko run asker.yaml --id a-1
        a-1  asker 0.0.0
        start                        [asking]
            invoked  ask human
        --- stderr
        waiting: a-1 is parked; continue with `rawko resume a-1`
          pending request: ask
            rawko approve a-1, or rawko deny a-1
        --- exit code 55
        $ rawko pause w-1 a-1
        w-1  paused; continue with `rawko resume w-1`
        a-1  paused; continue with `rawko resume a-1`
        $ rawko pause w-1
        w-1  already paused; continue with `rawko resume w-1`
        $ rawko send w-1 TOLD --data what=hello
        --- stderr
        queued: w-1 is paused; the event is stored and applied on `rawko resume w-1`
        paused: w-1; continue with `rawko resume w-1`
        $ rawko approve a-1
        --- stderr
        error: instance `a-1` is paused; resume it first: `rawko resume a-1`
        --- exit code 1
        $ rawko ps
        ID   CHART         STATUS  WAITS FOR  STEP  UPDATED   STATES
        a-1  asker 0.0.0   paused  resume     1     just now  [asking]
        w-1  waiter 0.0.0  paused  resume     1     just now  [waiting]
        $ rawko resume w-1
        w-1                          [waiting]
        > resume by ada              [waiting]
        > TOLD {"what":"hello"}      [done]
            context  told: null → "hello"
            status   done
            output   {"told":"hello"}
        $ rawko resume a-1
        a-1                          [asking]
        > resume by ada              [asking]
        --- stderr
        waiting: a-1 is parked; continue with `rawko resume a-1`
          pending request: ask
            rawko approve a-1, or rawko deny a-1
        --- exit code 55
        $ rawko pause w-1
        --- stderr
        error: instance `w-1` is done and accepts no more input
        --- exit code 1
    "#]]
    .assert_eq(&told);
}
