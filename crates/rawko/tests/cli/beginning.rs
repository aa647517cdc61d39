//! The first five minutes: commands before anything is set up, typing mistakes, and what `doctor` asks.

use std::fs;
use std::path::Path;

use rawko_testkit::{ModelAnswer, ModelReply, ProviderServer, openai};
use serde_json::{Value as Json, json};

use crate::support::{directory, run, state_of, store_of};

#[test]
fn a_task_without_set_up_names_init_and_looking_creates_no_store() {
    let dir = directory(&[]);
    let task = run(dir.path(), &["task", "Do it"], "");
    assert_eq!(task.code, Some(52));
    assert!(task.stderr.contains("not set up for agents; run `rawko init`"), "{}", task.stderr);
    for looking in [
        &["ps"][..],
        &["ps", "--json"],
        &["history", "x"],
        &["logs"],
        &["show", "x"],
        &["doctor"],
        &["agents"],
    ] {
        run(dir.path(), looking, "");
        assert!(!store_of(dir.path()).exists(), "{looking:?} created a store");
        assert!(!state_of(dir.path()).exists(), "{looking:?} created the state directory");
    }
}

#[test]
fn a_duration_without_a_unit_is_refused() {
    let dir = directory(&[]);
    for args in [
        &["task", "x", "--timeout", "5"][..],
        &["task", "x", "--patience", "5"],
        &["run", "x.yaml", "--patience", "1.5"],
        &["resume", "x", "--timeout", "5"],
        &["resume", "x", "--patience", "5"],
        &["prune", "--older-than", "30"],
        &["chat", "x", "--patience", "5"],
    ] {
        let ran = run(dir.path(), args, "");
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("has no unit; write `"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn help_of_a_command_is_that_of_its_option() {
    let dir = directory(&[]);
    for command in ["task", "pause", "ps", "serve"] {
        let (help, option) =
            (run(dir.path(), &["help", command], ""), run(dir.path(), &[command, "--help"], ""));
        assert_eq!((help.code, &help.stdout), (Some(0), &option.stdout), "{command}");
    }
    let all = run(dir.path(), &["help"], "");
    assert!(all.stdout.contains("Get started:\n"), "{}", all.stdout);
}

fn settings(url: &str, more: &str) -> String {
    format!(
        "governance: {{allow: ['agent:*']}}\nproviders: {{default: web/x, {more}web: {{kind: openai, base_url: \"{url}\"}}}}\n"
    )
}

const WORKER: &str = "---\nname: worker\nwhenToUse: For work.\n---\nYou work.\n";

#[test]
fn a_budget_needs_the_price_of_every_model() {
    let free = "prices: {web/x: {input: 0, output: 0}}, ";
    for (more, is_refused) in [("", true), (free, false)] {
        let text = settings("http://127.0.0.1:9", more);
        let dir = directory(&[(".rawko/config.yaml", &text), (".rawko/agents/worker.md", WORKER)]);
        let ran = run(dir.path(), &["task", "x", "--max-budget-usd", "1", "--agent", "missing"], "");
        assert_eq!(ran.stderr.contains("the price of `web/x` is unknown"), is_refused, "{}", ran.stderr);
        assert_eq!(ran.code, Some(2));
        assert!(!store_of(dir.path()).exists(), "nothing was started");
    }
}

fn checks(dir: &Path, args: &[&str]) -> Vec<(String, String)> {
    let ran = run(dir, args, "");
    let document: Json = serde_json::from_str(&ran.stdout).unwrap();
    let text = |it: &Json, key: &str| it[key].as_str().unwrap().to_owned();
    let all = document["checks"].as_array().unwrap().iter();
    all.map(|it| (format!("{} {}", text(it, "state"), text(it, "about")), text(it, "text"))).collect()
}

#[test]
fn doctor_asks_models_and_judges_charts_as_check_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answering =
        runtime.block_on(ProviderServer::new(|_| openai::reply(&ModelAnswer::text(&["OK"])))).unwrap();
    let refusing = |_: &rawko_testkit::ReceivedRequest| {
        ModelReply::json(401, &json!({"error": {"message": "wrong key"}}))
    };
    let refusing = runtime.block_on(ProviderServer::new(refusing)).unwrap();
    let broken = "statechart: {id: b, initial: nowhere, states: {a: {type: final}}}\n";
    for (server, state) in [(&answering, "ok model"), (&refusing, "problem model")] {
        let dir = directory(&[
            (".rawko/config.yaml", &settings(&server.url(), "")),
            (".rawko/agents/worker.md", WORKER),
            (".rawko/charts/broken.yaml", broken),
        ]);
        let told = checks(dir.path(), &["doctor", "--json"]);
        let found: Vec<_> = told.iter().filter(|(what, _)| what.ends_with(" model")).collect();
        assert!(found.len() == 1 && found[0].0 == state && found[0].1.contains("web/x"), "{found:?}");
        let charts: Vec<_> = told.iter().filter(|(what, _)| what.ends_with(" chart")).collect();
        assert!(charts.len() == 1 && charts[0].0 == "problem chart", "{charts:?}");
        assert_eq!(server.asked().len(), 1);
        checks(dir.path(), &["doctor", "--json", "--offline"]);
        assert_eq!(server.asked().len(), 1, "--offline sends no request");
        fs::remove_file(dir.path().join(".rawko/charts/broken.yaml")).unwrap();
    }
}
