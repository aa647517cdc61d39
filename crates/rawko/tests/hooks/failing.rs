//! Everything that keeps rawko from deciding refuses the call: Claude Code takes any other exit code than 2, and a hook
//! without a decision, as no objection.

use std::fs;

use serde_json::json;

use crate::session::{RUN, Session};
use crate::support::{run, store_of};

#[test]
fn input_that_is_not_a_hook_blocks() {
    let session = Session::new();
    for input in ["", "nonsense", "[]", "{}", r#"{"session_id": "x"}"#] {
        let answer = session.raw("PreToolUse", input);
        assert_eq!(answer.code, Some(2), "{input}: {answer:?}");
        assert!(answer.stderr.contains("hook"), "{answer:?}");
    }
}

#[test]
fn a_binary_that_is_missing_blocks() {
    let session = Session::new();
    let input = session.common("PreToolUse").to_string();
    let answer = session.in_shell(&session.hook_command("PreToolUse"), &input, "/nowhere");
    assert_eq!(answer.code, Some(2), "{answer:?}");
}

#[test]
fn what_cannot_be_read_or_is_not_trusted_refuses_the_call() {
    let refused = |session: &Session, expected: &str| {
        let read = session.before("Read", &json!({"file_path": session.root().join("sums.py")}));
        assert_eq!(read.decision(), Some("deny"), "{expected}: {read:?}");
        assert!(read.reason().contains("cannot decide"), "{read:?}");
        assert!(read.reason().contains(expected), "{expected}: {read:?}");
    };
    let session = Session::new();
    session.send("SessionStart", &json!({"source": "startup"}));
    fs::write(session.path().join(".rawko/config.yaml"), "governance: [").unwrap();
    refused(&session, "invalid settings in `.rawko/config.yaml`");

    let session = Session::new();
    session.send("SessionStart", &json!({"source": "startup"}));
    let store = store_of(&session.root());
    fs::write(&store, "not a database".repeat(1000)).unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", store.display()));
    }
    refused(&session, "");
    let stop = session.send("Stop", &json!({"stop_hook_active": false}));
    assert_eq!(stop.json["decision"], "block", "{stop:?}");
    let second = session.send("Stop", &json!({"stop_hook_active": true}));
    assert!(second.json["decision"].is_null() && second.json["systemMessage"].is_string(), "{second:?}");

    let session = Session::new();
    fs::write(session.path().join(".rawko/charts/plan_first.yaml"), "statechart: {id: plan_first}").unwrap();
    refused(&session, "plan_first");
    let told = session.send("SessionStart", &json!({"source": "startup"}));
    assert!(told.context().contains("tool calls are refused"), "{told:?}");

    let session = Session::new();
    fs::write(session.path().join(".rawko/agents.md"), "new").unwrap();
    refused(&session, "not trusted");
}

#[test]
fn a_run_that_is_over_allows_only_reading() {
    let session = Session::approved();
    let cancelled = run(session.path(), &["cancel", RUN], "");
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.stderr);
    assert_eq!(session.before("Edit", &session.edit()).decision(), Some("deny"));
    let read = session.before("Read", &json!({"file_path": session.root().join("sums.py")}));
    assert_eq!(read.decision(), None);
}

#[test]
fn within_a_call_of_rawko_its_own_gate_decides() {
    let session = Session::new();
    let input = session.common("PreToolUse");
    let mut input = input.as_object().unwrap().clone();
    input.insert("tool_name".to_owned(), json!("Edit"));
    let path = std::env::var("PATH").unwrap();
    let line = format!("RAWKO_CALL=x {} hook", crate::support::RAWKO);
    let answer = session.in_shell(&line, &serde_json::to_string(&input).unwrap(), &path);
    assert_eq!(answer.decision(), None, "{answer:?}");
}
