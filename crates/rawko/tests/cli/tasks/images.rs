//! Images at the command line and over HTTP: `--image`, `@file`, and attachments of a request.

use std::fs;

use serde_json::Value as Json;

use super::project::{ONE, SETTINGS, project, worker};
use crate::queue::until;
use crate::serving::{ask, serve};
use crate::support::run;

const PNG: [u8; 12] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13];

/// Returns the first message of the worker.
fn first_message(dir: &std::path::Path) -> Json {
    let list: Json = serde_json::from_str(&run(dir, &["ps", "--all", "--json"], "").stdout).unwrap();
    let rows = list["instances"].as_array().unwrap().clone();
    let id =
        rows.iter().filter_map(|row| row["id"].as_str()).find(|id| id.contains("worker")).unwrap().to_owned();
    let shown: Json = serde_json::from_str(&run(dir, &["show", &id, "--json"], "").stdout).unwrap();
    shown["context"]["messages"][0].clone()
}

#[test]
fn an_image_reaches_the_agent() {
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), ONE);
    fs::write(dir.path().join("a.png"), PNG).unwrap();
    fs::write(dir.path().join("b.png"), PNG).unwrap();
    let ran = run(
        dir.path(),
        &["task", "Look at @b.png", "--image", "a.png", "--agent", "worker", "--id", "t"],
        "",
    );
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    let parts = first_message(dir.path())["parts"].clone();
    let kinds: Vec<&str> =
        parts.as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "text", "image"], "{parts}");
    let title: Json = serde_json::from_str(&run(dir.path(), &["show", "t", "--json"], "").stdout).unwrap();
    assert_eq!(title["context"]["task"], "Look at @b.png", "the task is what was written");
}

#[test]
fn what_is_no_image_is_refused_before_anything_starts() {
    let dir = project(SETTINGS, &worker(""), ONE);
    fs::write(dir.path().join("a.txt"), "text").unwrap();
    let chart = "statechart: {id: mine, initial: a, context: {task: ''}, states: {a: {type: final}}}\n";
    fs::write(dir.path().join("mine.yaml"), chart).unwrap();
    fs::write(dir.path().join("a.png"), PNG).unwrap();
    for (args, expected) in [
        (&["--image", "a.txt"][..], "cannot attach `a.txt`: it is not a PNG, JPEG, GIF or WebP image"),
        (&["--image", "missing.png"][..], "cannot attach `missing.png`: No such file"),
        (&["--image", "."][..], "cannot attach `.`: it is not a regular file"),
        (&["--image", "a.png", "--chart", "mine.yaml"][..], "chart `mine` does not support `--image`"),
    ] {
        let ran = run(dir.path(), &[&["task", "Look"], args].concat(), "");
        assert_eq!(ran.code, Some(2), "{args:?}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}

/// The same over HTTP. A large image is more than other requests may have.
#[test]
fn a_request_brings_images_along() {
    let dir = project(SETTINGS, &worker("transitions: {onSuccess: complete}\n"), ONE);
    let serving = serve(dir.path());
    let large = format!("iVBORw0KGgoAAAAN{}", "AAAA".repeat(500_000));
    for (data, expected) in [
        ("aGVsbG8=", "an attachment cannot be used: it is not a PNG, JPEG, GIF or WebP image"),
        ("*", "an attachment cannot be used: it is not Base64"),
    ] {
        let body = format!(r#"{{"task": "Look", "attachments": [{{"data": "{data}"}}]}}"#);
        let (status, answer) = ask(dir.path(), &serving, "POST", "/v1/tasks", &body);
        assert!(status == 400 || status == 422, "{status} {answer}");
        assert!(answer.contains(expected), "{answer}");
    }
    let body = format!(
        r#"{{"task": "Look", "agent": "worker", "id": "t", "attachments": [{{"data": "iVBORw0KGgoAAAAN"}}, {{"data": "data:image/png;base64,{large}"}}]}}"#
    );
    let (status, answer) = ask(dir.path(), &serving, "POST", "/v1/tasks", &body);
    assert!(status < 300, "{status} {answer}");
    let shown =
        || -> Json { serde_json::from_str(&run(dir.path(), &["show", "t", "--json"], "").stdout).unwrap() };
    until("the task is complete", || shown()["configuration"] == serde_json::json!(["complete"]));
    let parts = first_message(dir.path())["parts"].clone();
    let kinds: Vec<&str> =
        parts.as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "image_ref"], "a large image is kept by its hash: {parts}");
    serving.signal("-INT");
    serving.end();
}
