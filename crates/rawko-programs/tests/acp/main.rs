//! Coding agents over the Agent Client Protocol: a scripted one for every course of a turn, and a real one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod host;
mod real;

use std::time::Duration;

use expect_test::{Expect, expect};
use host::Host;
use rawko_host::Environment;
use rawko_model::StopReason;
use rawko_programs::program::{
    OperationVerdict, ProgramAgent, TurnError, TurnRequest, TurnResult, WireFormat,
};

fn agent(arguments: &[&str]) -> ProgramAgent {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/agent.py");
    let mut agent = ProgramAgent::new(
        WireFormat::acp(),
        "python3",
        env!("CARGO_TARGET_TMPDIR"),
        Environment::of_process(),
    );
    agent.args = [script].iter().chain(arguments).map(|&word| word.to_owned()).collect();
    agent
}

async fn turn(agent: &ProgramAgent, prompt: &str, host: &Host) -> Result<TurnResult, TurnError> {
    turn_of(
        agent,
        TurnRequest { agent: "coder".into(), prompt: prompt.into(), ..TurnRequest::default() },
        host,
    )
    .await
}

async fn turn_of(agent: &ProgramAgent, request: TurnRequest, host: &Host) -> Result<TurnResult, TurnError> {
    tokio::time::timeout(Duration::from_secs(60), agent.turn(request, host)).await.expect("an end in time")
}

/// Checks the events the host saw and the result.
async fn check(prompt: &str, host: Host, expected: Expect) {
    let result = turn(&agent(&[]), prompt, &host).await.unwrap();
    expected.assert_eq(&format!("{}{}\n", host.seen(), serde_json::to_string(&result).unwrap()));
}

#[tokio::test]
async fn a_turn_with_a_tool_that_is_allowed() {
    check("hello run noise", Host { verdict: OperationVerdict::Allow, ..Host::default() }, expect![[r#"
        heard {"type":"text_delta","text":"hello "}
        heard {"type":"tool_use_start","id":"t1","name":"shell"}
        heard {"type":"tool_use_input","id":"t1","json":"{\"command\":\"make\"}"}
        asked Execute Some("shell") run `make` {"command":"make"}
        heard {"type":"text_delta","text":"permission: yes. "}
        heard {"type":"tool_use_end","id":"t1","name":"shell"}
        heard {"type":"message_done","usage":{"input_tokens":3,"output_tokens":5,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"stop_reason":"stop"}
        {"text":"hello permission: yes. ","data":null,"stop_reason":"stop","usage":{"input_tokens":3,"output_tokens":5,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"session":"new-session"}
    "#]]).await;
}

#[tokio::test]
async fn a_tool_that_is_denied() {
    check("run", Host { verdict: OperationVerdict::Deny, ..Host::default() }, expect![[r#"
        heard {"type":"tool_use_start","id":"t1","name":"shell"}
        heard {"type":"tool_use_input","id":"t1","json":"{\"command\":\"make\"}"}
        asked Execute Some("shell") run `make` {"command":"make"}
        heard {"type":"text_delta","text":"permission: no. "}
        heard {"type":"tool_use_end","id":"t1","name":"shell"}
        heard {"type":"message_done","usage":{"input_tokens":0,"output_tokens":4,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"stop_reason":"stop"}
        {"text":"permission: no. ","data":null,"stop_reason":"stop","usage":{"input_tokens":0,"output_tokens":4,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"session":"new-session"}
    "#]]).await;
}

#[tokio::test]
async fn files_go_through_the_host_which_may_refuse() {
    check(
        "read write",
        Host { writes: Err("outside of the project".into()), ..Host::default() },
        expect![[r#"
            read old.txt from Some(2), Some(1) lines
            heard {"type":"text_delta","text":"read: the second line. "}
            write new.txt: hello
            heard {"type":"text_delta","text":"write: outside of the project. "}
            heard {"type":"message_done","usage":{"input_tokens":2,"output_tokens":13,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"stop_reason":"stop"}
            {"text":"read: the second line. write: outside of the project. ","data":null,"stop_reason":"stop","usage":{"input_tokens":2,"output_tokens":13,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"session":"new-session"}
        "#]],
    )
    .await;
    check("write terminal", Host::default(), expect![[r#"
        write new.txt: hello
        heard {"type":"text_delta","text":"write: done. "}
        heard {"type":"text_delta","text":"terminal: -32601. "}
        heard {"type":"message_done","usage":{"input_tokens":3,"output_tokens":7,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"stop_reason":"stop"}
        {"text":"write: done. terminal: -32601. ","data":null,"stop_reason":"stop","usage":{"input_tokens":3,"output_tokens":7,"cached_tokens":0,"is_estimate":true,"cost_usd":0.25},"session":"new-session"}
    "#]]).await;
}

#[tokio::test]
async fn an_agent_that_wants_to_be_signed_in_first() {
    let host = Host::default();
    let mut agent = agent(&["--sign-in"]);
    assert_eq!(turn(&agent, "hello", &host).await.unwrap().text, "hello ", "the first way it offers");
    agent.wire = WireFormat::Acp { auth_method: Some("key".into()) };
    assert_eq!(turn(&agent, "hello", &host).await.unwrap().text, "hello ");
    let cases = [
        ("browser", "the agent requires authentication: there is no browser here"),
        ("retina", "the agent requires authentication: it has no method `retina`; its methods: key, browser"),
    ];
    for (method, expected) in cases {
        agent.wire = WireFormat::Acp { auth_method: Some(method.into()) };
        assert_eq!(turn(&agent, "hello", &host).await.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn a_session_is_loaded_when_the_agent_can() {
    let cases = [("it can", vec!["--load"], "old-session"), ("it cannot", vec![], "new-session")];
    for (case, arguments, expected) in cases {
        let request = TurnRequest {
            prompt: "again".into(),
            session: Some("old-session".into()),
            ..TurnRequest::default()
        };
        let result = turn_of(&agent(&arguments), request, &Host::default()).await.unwrap();
        assert_eq!(result.session.as_deref(), Some(expected), "{case}");
        assert_eq!(result.text, "again ", "{case}: what was said before is not of this turn");
    }
}

#[tokio::test]
async fn a_crash_in_the_middle() {
    let error = turn(&agent(&[]), "hello crash", &Host::default()).await.unwrap_err();
    let shown = error.to_string();
    assert!(matches!(error, TurnError::Ended(_)), "{shown}");
    assert!(shown.contains("exit code 11") && shown.contains("panic: index out of range"), "{shown}");
}

#[tokio::test]
async fn cancelling() {
    for (case, prompt) in [("it stops when it is told", "wait"), ("it is ended when it does not", "hang")] {
        let mut agent = agent(&[]);
        agent.cancel_grace = Duration::from_secs(1);
        let host = Host { cancels_at_text: true, ..Host::default() };
        assert_eq!(turn(&agent, prompt, &host).await, Err(TurnError::Cancelled), "{case}");
    }
}

#[tokio::test]
async fn silence() {
    let mut agent = agent(&[]);
    agent.timeout = Duration::from_secs(2);
    let error = turn(&agent, "hang", &Host::default()).await.unwrap_err();
    assert!(matches!(error, TurnError::Silent { .. }), "{error}");
}

#[tokio::test]
async fn stop_reasons() {
    let cases = [
        ("fine", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("refusal", StopReason::ContentFilter),
        ("max_turn_requests", StopReason::Other),
    ];
    for (prompt, expected) in cases {
        assert_eq!(
            turn(&agent(&[]), prompt, &Host::default()).await.unwrap().stop_reason,
            expected,
            "{prompt}"
        );
    }
}

#[tokio::test]
async fn programs_that_are_no_agents() {
    let plain = |command: &str| {
        ProgramAgent::new(WireFormat::acp(), command, env!("CARGO_TARGET_TMPDIR"), Environment::of_process())
    };
    let cases = [
        ("not there", plain("no-such-agent"), "the agent did not start: program `no-such-agent` not found"),
        ("another version", agent(&["--other-version"]), "the agent broke the protocol"),
        ("it just ends", plain("true"), "the agent exited before it finished: `true` ended with exit code 0"),
    ];
    for (case, agent, expected) in cases {
        let error = turn(&agent, "hello", &Host::default()).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{case}: {error}");
    }
}
