//! The page in a real browser, on the real binary and a real project. User actions are in `tests/page/*.test.mjs`; this
//! file passes them the binary and reports the result. Separate from the other tests of the binary, because it needs a
//! browser. What differs on Restate is tested there every time; `cargo xtask nightly page` repeats the rest there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod filling;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rawko_testkit::{RestateOptions, RestateServer};

/// One browser at a time: two would only slow each other down.
static BROWSER: Mutex<()> = Mutex::new(());

#[test]
fn what_needs_no_browser() {
    drive("pure", &[]);
}

#[test]
fn a_task_is_started_watched_looked_back_at_and_forked() {
    drive("tasks", &[]);
}

#[test]
fn a_task_is_steered_paused_answered_undone_raised_and_continued() {
    drive("steering", &[]);
}

#[test]
fn completions_usage_audit_and_two_runs_are_looked_at() {
    drive("insight", &[]);
}

#[test]
fn lists_are_searched_sorted_and_acted_on() {
    drive("lists", &[]);
}

#[test]
#[ignore = "nightly"]
fn on_restate_a_task_is_steered_paused_answered_undone_raised_and_continued() {
    drive_on_restate("steering");
}

#[test]
fn an_agents_words_are_read_while_they_come() {
    drive("streaming", &[]);
}

#[test]
fn people_answer_send_retry_and_cancel() {
    drive("approvals", &[]);
}

#[test]
fn one_failed_item_is_opened_and_retried() {
    drive("items", &[]);
}

#[test]
fn people_speak_in_channels() {
    drive("channels", &[]);
}

#[test]
fn instances_are_migrated_after_a_dry_run() {
    drive("migrate", &[]);
}

#[test]
fn charts_are_checked_while_one_types() {
    drive("charts", &[]);
}

#[test]
fn a_chart_is_edited_saved_simulated_and_tested() {
    drive("studio", &[]);
}

#[test]
#[ignore = "nightly"]
fn on_restate_a_chart_is_edited_saved_simulated_and_tested() {
    drive_on_restate("studio");
}

#[test]
fn requests_are_sent_and_answered_by_their_links() {
    drive("notify", &[]);
}

#[test]
fn triggers_are_listed_with_their_deliveries() {
    drive("triggers", &[]);
}

#[test]
fn everything_goes_by_keyboard() {
    drive("keyboard", &[]);
}

#[test]
fn anybody_can_use_it_who_may() {
    drive("access", &[]);
}

#[test]
fn a_restart_is_a_pause() {
    drive("restart", &[]);
}

#[test]
fn ten_thousand_instances_and_a_hundred_thousand_steps_stay_smooth() {
    let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    filling::fill(project.path(), state.path(), 10_000, 100_000);
    let state = state.path().to_str().unwrap();
    drive("large", &[("RAWKO_FILLED", project.path().to_str().unwrap()), ("RAWKO_STATE_DIR", state)]);
}

#[test]
fn on_restate_a_task_is_started_watched_looked_back_at_and_forked() {
    drive_on_restate("tasks");
}

#[test]
fn on_restate_people_answer_send_retry_and_cancel() {
    drive_on_restate("approvals");
}

#[test]
#[ignore = "nightly"]
fn on_restate_lists_are_searched_sorted_and_acted_on() {
    drive_on_restate("lists");
}

#[test]
#[ignore = "nightly"]
fn on_restate_completions_usage_audit_and_two_runs_are_looked_at() {
    drive_on_restate("insight");
}

#[test]
#[ignore = "nightly"]
fn on_restate_requests_are_sent_and_answered_by_their_links() {
    drive_on_restate("notify");
}

#[test]
#[ignore = "nightly"]
fn on_restate_everything_goes_by_keyboard() {
    drive_on_restate("keyboard");
}

#[test]
fn on_restate_a_restart_is_a_pause() {
    drive_on_restate("restart");
}

#[test]
fn on_restate_workers_come_and_go() {
    drive_on_restate("restate");
}

/// Runs a script on a Restate server of its own; the script starts the workers.
fn drive_on_restate(name: &str) {
    let server = RestateServer::start(&RestateOptions::default()).unwrap();
    let (ingress, admin) = (server.ingress(), server.admin());
    drive(name, &[("RAWKO_HOST", "restate"), ("RAWKO_RESTATE", &ingress), ("RAWKO_RESTATE_ADMIN", &admin)]);
}

/// Runs one of the scripts. Its output is shown on failure.
fn drive(name: &str, more: &[(&str, &str)]) {
    let _alone = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let (tools, script) =
        (root().join("target/tools/browser"), root().join(format!("tests/page/{name}.test.mjs")));
    let installed = tools.join("node_modules/playwright-core").is_dir();
    assert!(installed, "playwright-core is not installed: run `cargo xtask tools` (tests/page/package.json)");
    let mut node = Command::new("node");
    // The page's files are modules; in the browser the page declares it, for node it is set here.
    node.args(["--experimental-default-type=module", "--test", "--test-reporter=spec"]).arg(script);
    let state = tempfile::tempdir().unwrap();
    node.env("RAWKO_STATE_DIR", state.path()).env_remove("RAWKO_TOKEN").env_remove("RAWKO_CALL");
    // A release build can be measured with the same scripts.
    let binary = std::env::var("RAWKO_PAGE_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_rawko").to_owned());
    node.env("RAWKO_BIN", binary).env("RAWKO_TOOLS", tools).envs(more.iter().copied());
    let output = node.output().expect("node can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter(|line| line.contains("measured:")).for_each(|line| println!("{line}"));
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
