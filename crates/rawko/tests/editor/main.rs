//! `rawko acp` with the official client library: a whole task, permissions, a kill in the middle, cancelling, and loading
//! a session afterwards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod support;

use std::fs;

use serde_json::{Value as Json, json};

use client::{Editor, Step, TASK};
use support::run;

fn of_kind<'s>(step: &'s Step, kind: &str) -> Vec<&'s Json> {
    step.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

fn text(step: &Step, kind: &str) -> String {
    of_kind(step, kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
}

fn stop_reason(step: &Step) -> &str {
    step.response["stopReason"].as_str().unwrap_or_else(|| panic!("{:?}", step.error))
}

/// Enough answers for every request of the demo.
fn allowing() -> Json {
    json!(["allow", "allow", "allow", "allow", "allow", "allow"])
}

#[test]
fn a_task_runs_in_an_editor_with_permissions_diffs_and_a_plan() {
    let editor = Editor::new();
    let steps = editor.play(&json!([{"new": true}, {"prompt": TASK, "answers": allowing()}]));
    let [_, done] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(stop_reason(done), "end_turn");

    let asked = done.permissions.first().unwrap();
    assert_eq!(asked["toolCall"]["kind"], "edit", "{asked:#}");
    let diff =
        asked["toolCall"]["content"].as_array().unwrap().iter().find(|it| it["type"] == "diff").unwrap();
    assert!(diff["path"].as_str().unwrap().ends_with("slugs.py"), "{diff:#}");
    let kinds: Vec<&str> =
        asked["options"].as_array().unwrap().iter().map(|option| option["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"], "{asked:#}");
    // The client knows the call that the request is about.
    let calls: Vec<&Json> = of_kind(done, "tool_call").iter().map(|call| &call["toolCallId"]).collect();
    assert!(calls.contains(&&asked["toolCall"]["toolCallId"]), "{asked:#}");

    let mut open: Vec<&Json> = calls.clone();
    for update in of_kind(done, "tool_call_update") {
        assert!(["completed", "failed"].contains(&update["status"].as_str().unwrap()), "{update:#}");
        open.retain(|id| **id != update["toolCallId"]);
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
    let plan = of_kind(done, "plan");
    let first: Vec<&str> = plan[0]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["status"].as_str().unwrap())
        .collect();
    assert_eq!(first[0], "pending");
    let last = plan.last().unwrap()["entries"].as_array().unwrap();
    assert!(last.iter().all(|entry| entry["status"] == "completed"), "{last:#?}");
    let said = text(done, "agent_message_chunk");
    assert!(said.contains("**complete**") && said.contains("**developer**"), "{said}");
    let sentences =
        ["Letters and digits stay, everything between them becomes one hyphen.", "I have not run them."];
    for sentence in sentences {
        assert_eq!(said.matches(sentence).count(), 1, "streamed text is whole and not repeated: {said}");
    }
    assert!(
        !said.contains("\"verdict\"") && said.contains("1 of 4 tests fails"),
        "data is sent in words: {said}"
    );
    assert!(fs::read_to_string(editor.path().join("slugs.py")).unwrap().contains("while free in taken"));
}

#[test]
fn a_session_is_loaded_after_a_kill_at_a_permission_request_and_goes_on() {
    let editor = Editor::new();
    let steps = editor.play(&json!([{"new": true}, {"prompt": TASK, "killAt": "permission"}]));
    let id = steps[0].session.clone();
    let before = fs::read_to_string(editor.path().join("slugs.py")).unwrap();

    let again = json!([{"load": id}, {"prompt": "continue", "answers": allowing()}]);
    let steps = editor.play(&again);
    let [loaded, done] = steps.as_slice() else { panic!("{steps:?}") };
    assert!(loaded.error.is_null(), "{loaded:?}");
    assert_eq!(text(loaded, "user_message_chunk"), TASK);
    assert!(!of_kind(loaded, "tool_call").is_empty(), "{loaded:?}");
    assert!(
        before.contains("def slug") && !before.contains("while free in taken"),
        "nothing ran without permission"
    );
    assert_eq!(stop_reason(done), "end_turn");
    assert!(!done.permissions.is_empty(), "the request is asked again");
    assert!(fs::read_to_string(editor.path().join("slugs.py")).unwrap().contains("while free in taken"));

    // A finished session is followed up by another task with what its agents know.
    let after = editor.play(&json!([{"load": id}]));
    assert!(text(&after[0], "agent_message_chunk").contains("Letters and digits stay"), "{after:?}");
}

#[test]
fn cancelling_pauses_the_task_and_the_next_prompt_continues_it() {
    let editor = Editor::new();
    let steps = editor.play(&json!([
        {"new": true},
        {"prompt": TASK, "cancelAt": "permission"},
        {"prompt": "continue", "answers": allowing()},
    ]));
    let [_, cancelled, done] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(stop_reason(cancelled), "cancelled");
    assert_eq!(stop_reason(done), "end_turn");
    let audit = run(&editor.path(), &["history", done.session.as_deref().unwrap()], "").stdout;
    assert!(audit.contains("paused") && audit.contains("resumed"), "{audit}");
}

/// The client closes the dialog, or has none: the turn ends, and the request is still open.
#[test]
fn a_request_that_is_not_answered_ends_the_turn_and_is_asked_again() {
    let editor = Editor::new();
    let steps = editor.play(&json!([
        {"new": true},
        {"prompt": TASK, "answers": ["dismiss"]},
        {"prompt": "continue", "answers": ["fail"]},
        {"prompt": "continue", "answers": allowing()},
    ]));
    let [_, dismissed, failed, done] = steps.as_slice() else { panic!("{steps:?}") };
    for step in [dismissed, failed] {
        assert_eq!(stop_reason(step), "cancelled");
        let said = text(step, "agent_message_chunk");
        assert!(said.contains("is not answered") && said.contains("rawko approve"), "{said}");
        assert_eq!(step.permissions.len(), 1, "{step:?}");
    }
    assert_eq!(stop_reason(done), "end_turn");
    assert!(fs::read_to_string(editor.path().join("slugs.py")).unwrap().contains("while free in taken"));
}

#[test]
fn a_denied_call_does_not_run_and_the_agent_is_told() {
    let editor = Editor::new();
    let steps = editor.play(&json!([{"new": true}, {"prompt": TASK}]));
    let [_, done] = steps.as_slice() else { panic!("{steps:?}") };
    assert!(!fs::read_to_string(editor.path().join("slugs.py")).unwrap().contains("while free in taken"));
    let failed = of_kind(done, "tool_call_update").into_iter().filter(|update| update["status"] == "failed");
    assert!(failed.count() > 0, "{done:?}");
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let editor = Editor::new();
    let steps = editor.play(&json!([{"load": "acp-000000000000"}]));
    assert!(steps[0].error["message"].as_str().unwrap().contains("no session"), "{steps:?}");
    fs::write(editor.path().join(".rawko/agents/new.md"), "---\nname: new\n---\nDo it.\n").unwrap();
    let steps = editor.play(&json!([{"new": true}]));
    assert!(steps[0].error["message"].as_str().unwrap().contains("rawko trust"), "{steps:?}");
}
