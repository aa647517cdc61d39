//! The address of Restate, given in every way that the guide names: by flags, and by the settings. The other tests use
//! variables.

use std::fs;

use rawko_testkit::{Guarded, RestateOptions, RestateServer};

use crate::support::{PATIENCE, Place, directory, free_address, worker_with};

const LIGHT: &str = "
statechart: {id: light, version: 1.0.0, initial: on, states: {on: {on: {PRESSED: off}}, off: {type: final}}}
";

/// Runs every command with these additional arguments.
fn walk(place: &Place, id: &str, more: &[&str], worker: &Guarded) {
    let said = |command: &str, code: i32| {
        let words: Vec<&str> = command.split(' ').chain(more.iter().copied()).collect();
        let ran = place.run_words(&words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}\n{}", worker.said());
        ran.stdout
    };
    said(&format!("run light --id {id}"), 55);
    assert!(said("ps", 0).contains(id));
    assert!(said(&format!("show {id}"), 0).contains("[on]"));
    said(&format!("send {id} PRESSED"), 0);
    assert!(said(&format!("history {id}"), 0).contains("PRESSED"));
    assert!(said("doctor", 0).contains("Restate at http://127.0.0.1:"));
}

#[test]
fn flags_and_settings_say_where_restate_is() {
    let project = directory(&[(".rawko/charts/light.yaml", LIGHT)]);
    let server = RestateServer::start(&RestateOptions::default()).unwrap();
    let (ingress, admin) = (server.ingress(), server.admin());
    // The environment does not contain the address.
    let place = Place::embedded(project.path());

    let address = ["--restate", &ingress, "--admin", &admin];
    let worker = worker_with(&place, &free_address(), "flags", &address);
    worker.says("registered", 0, PATIENCE).unwrap();
    walk(&place, "implied", &address, &worker);
    walk(&place, "said", &[&["--host", "restate"][..], &address].concat(), &worker);
    assert_eq!(worker.terminate().unwrap(), Some(143));

    let settings = format!("restate: {{ingress: \"{ingress}\", admin: \"{admin}\"}}\n");
    fs::write(project.path().join(".rawko/config.yaml"), settings).unwrap();
    let worker = worker_with(&place, &free_address(), "settings", &[]);
    worker.says("registered", 0, PATIENCE).unwrap();
    walk(&place, "settled", &["--host", "restate"], &worker);
    // The settings give the address, but do not select the host.
    let ran = place.run("show settled");
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
