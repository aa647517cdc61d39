//! An invocation that Restate paused while its worker was running, as after a network outage between them: it resumes
//! without a restart of any worker.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rawko_testkit::RestateOptions;
use serde_json::Value as Json;

use crate::rollout::{begin, end, release, wait_for_file, work};
use crate::support::{PATIENCE, Site, free_address, wait_for};

fn curl(words: &[&str]) -> String {
    let output = Command::new("curl").arg("-s").args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn slow_a_paused_call_goes_on_by_itself() {
    let project = release("one", "1.0.0", "ended");
    let site = Site::new(project.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    begin(&site.place, "busy", "3600000");
    work(&site.place, "busy");
    wait_for_file(&project.path().join("begun-busy"));

    let admin = site.server.admin();
    let query =
        r#"{"query": "select id, status from sys_invocation where target_service_name = 'RawkoWork'"}"#;
    let calls = || -> Json {
        let json = "application/json";
        let headers = ["-H", &format!("accept: {json}"), "-H", &format!("content-type: {json}")];
        let text = curl(&[&headers[..], &["-d", query, &format!("{admin}/query")]].concat());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    };
    let id = calls()["rows"][0]["id"].as_str().unwrap().to_owned();
    curl(&["-X", "PATCH", &format!("{admin}/invocations/{id}/pause")]);
    // It is paused when its result arrives, if the server has processed the request before.
    std::thread::sleep(Duration::from_secs(2));
    fs::write(project.path().join("release-busy"), "").unwrap();
    wait_for("the call is paused", || calls()["rows"][0]["status"] == "paused");

    assert_eq!(end(&site.place, "busy"), r#""1.0.0" "ended" "one""#);
    worker.says("resumed: 1 invocation", 0, PATIENCE).unwrap();
    assert_eq!(fs::read_to_string(project.path().join("begun-busy")).unwrap(), "one\n", "it was called once");
}
