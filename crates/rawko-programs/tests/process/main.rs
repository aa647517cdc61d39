//! Process agents as real processes: correct, incorrect and missing protocol messages.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod host;

use std::time::Duration;

use expect_test::{Expect, expect};
use host::{Host, Runs};
use rawko_core::Value;
use rawko_host::Environment;
use rawko_model::provider::ErrorCode;
use rawko_model::{Message, Role, StopReason, ToolSpec};
use rawko_programs::program::{ProgramAgent, TurnError, TurnRequest, TurnResult, WireFormat};
use serde_json::json;

/// An agent in shell; the script runs after the turn was read into `$turn`.
fn shell(script: &str) -> ProgramAgent {
    let mut agent =
        ProgramAgent::new(WireFormat::lines(), "sh", env!("CARGO_TARGET_TMPDIR"), Environment::of_process());
    agent.args = vec!["-c".into(), format!("read -r turn\n{script}")];
    agent
}

fn request() -> TurnRequest {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "reads".into(),
        input_schema: Value::from_json(json!({"type": "object"})),
    };
    TurnRequest {
        agent: "developer".into(),
        messages: vec![Message::text(Role::User, "earlier")],
        prompt: "mend it".into(),
        tools: vec![tool],
        session: Some("s-1".into()),
        ..TurnRequest::default()
    }
}

async fn turn(agent: &ProgramAgent, host: &Host) -> Result<TurnResult, TurnError> {
    tokio::time::timeout(Duration::from_secs(60), agent.turn(request(), host)).await.expect("an end in time")
}

/// Checks the events the host saw and the result or error.
async fn check(script: &str, expected: Expect) {
    let host = Host::default();
    let result = turn(&shell(script), &host).await;
    let ended = match result {
        Ok(result) => serde_json::to_string(&result).unwrap(),
        Err(error) => format!("{error}"),
    };
    expected.assert_eq(&format!("{}{ended}\n", host.seen()));
}

#[tokio::test]
async fn a_turn_with_text_tools_and_usage() {
    check(
        r#"
echo '{"type":"text_delta","text":"let me "}'
echo '{"type":"text_delta","text":"look"}'
echo '{"type":"usage","input_tokens":10,"output_tokens":2,"cost_usd":0.5}'
echo '{"type":"tool_call","id":"c1","name":"Read","input":{"path":"a"}}'
echo '{"type":"tool_call","id":"c2","name":"Refused","input":{}}'
read -r one; read -r two
echo '{"type":"usage","input_tokens":5,"cached_tokens":1,"cost_usd":0.25,"something_new":1}'
echo
echo '{"type":"done","data":'"[$one,$two]"',"stop_reason":"stop","session":"s-2"}'"#,
        expect![[r#"
            heard {"type":"text_delta","text":"let me "}
            heard {"type":"text_delta","text":"look"}
            heard {"type":"tool_use_start","id":"c1","name":"Read"}
            heard {"type":"tool_use_input","id":"c1","json":"{\"path\":\"a\"}"}
            heard {"type":"tool_use_end","id":"c1","name":"Read"}
            tool Read {"path":"a"}
            heard {"type":"tool_use_start","id":"c2","name":"Refused"}
            heard {"type":"tool_use_input","id":"c2","json":"{}"}
            heard {"type":"tool_use_end","id":"c2","name":"Refused"}
            tool Refused {}
            heard {"type":"message_done","usage":{"input_tokens":15,"output_tokens":2,"cached_tokens":1,"is_estimate":false,"cost_usd":0.75},"stop_reason":"stop"}
            {"text":"let me look","data":[{"type":"tool_result","id":"c1","content":"text of the file","is_error":false,"data":null},{"type":"tool_result","id":"c2","content":"not in this phase","is_error":true,"data":null}],"stop_reason":"stop","usage":{"input_tokens":15,"output_tokens":2,"cached_tokens":1,"is_estimate":false,"cost_usd":0.75},"session":"s-2"}
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_an_agent_is_told() {
    check(r#"printf '{"type":"done","text":"","data":%s}\n' "$turn""#, expect![[r#"
        heard {"type":"message_done","usage":{"input_tokens":58,"output_tokens":0,"cached_tokens":0,"is_estimate":true,"cost_usd":null},"stop_reason":"stop"}
        {"text":"","data":{"type":"turn","version":1,"agent":"developer","messages":[{"role":"user","parts":[{"type":"text","text":"earlier"}]}],"prompt":"mend it","tools":[{"name":"Read","description":"reads","input_schema":{"type":"object"}}],"session":"s-1"},"stop_reason":"stop","usage":{"input_tokens":58,"output_tokens":0,"cached_tokens":0,"is_estimate":true,"cost_usd":null},"session":null}
    "#]]).await;
}

#[tokio::test]
async fn a_last_line_need_not_be_ended_and_unknown_words_have_a_meaning() {
    check(r#"printf '{"type":"done","text":"ok","stop_reason":"because"}'"#, expect![[r#"
        heard {"type":"message_done","usage":{"input_tokens":58,"output_tokens":0,"cached_tokens":0,"is_estimate":true,"cost_usd":null},"stop_reason":"other"}
        {"text":"ok","data":null,"stop_reason":"other","usage":{"input_tokens":58,"output_tokens":0,"cached_tokens":0,"is_estimate":true,"cost_usd":null},"session":null}
    "#]]).await;
}

#[tokio::test]
async fn what_the_agent_itself_reports() {
    let host = Host::default();
    let cases = [
        ("rate_limited", ErrorCode::RateLimited, true),
        ("invalid_request", ErrorCode::InvalidRequest, false),
        ("no_such_word", ErrorCode::Unknown, false),
    ];
    for (word, code, is_transient) in cases {
        let script = format!(r#"echo '{{"type":"error","code":"{word}","message":"no luck"}}'"#);
        let error = turn(&shell(&script), &host).await.unwrap_err();
        assert_eq!(error, TurnError::Reported { code, message: "no luck".into() }, "{word}");
        assert_eq!(error.is_transient(), is_transient, "{word}");
    }
}

#[tokio::test]
async fn lines_that_are_no_messages_end_the_turn() {
    check(
        "echo 'Welcome to my agent!'",
        expect![[r#"
        the agent broke the protocol: expected value at line 1 column 1 in `Welcome to my agent!`
    "#]],
    )
    .await;
    check(r#"echo '{"type":"song","text":"la"}'"#, expect![[r#"
        the agent broke the protocol: unknown variant `song`, expected one of `text_delta`, `tool_call`, `usage`, `done`, `error` at line 1 column 14 in `{"type":"song","text":"la"}`
    "#]]).await;
    check(
        r#"echo '{"type":"tool_call","id":"c1"}'"#,
        expect![[r#"
        the agent broke the protocol: missing field `name` in `{"type":"tool_call","id":"c1"}`
    "#]],
    )
    .await;
    check(
        r"printf '\377\n'",
        expect![[r#"
        the agent broke the protocol: a line is not UTF-8 text
    "#]],
    )
    .await;
}

#[tokio::test]
async fn too_much_in_a_line_or_in_a_turn() {
    let cases = [
        ("a line", "head -c 5000 /dev/zero | tr '\\0' x", "in one line"),
        (
            "a turn",
            r#"while :; do echo '{"type":"text_delta","text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'; done"#,
            "of text in one turn",
        ),
    ];
    for (case, script, what) in cases {
        let mut agent = shell(script);
        agent.wire = WireFormat::Lines { line_bytes_max: 4096 };
        let error = turn(&agent, &Host::default()).await.unwrap_err();
        assert_eq!(error, TurnError::TooLong { bytes_max: 4096, what }, "{case}");
    }
}

#[tokio::test]
async fn silence() {
    let mut agent = shell("echo 'waiting for the model' >&2; sleep 1000");
    agent.timeout = Duration::from_secs(1);
    let error = turn(&agent, &Host::default()).await.unwrap_err();
    let shown = error.to_string();
    assert!(matches!(error, TurnError::Silent { .. }), "{shown}");
    assert!(shown.contains("no output for 1s") && shown.contains("waiting for the model"), "{shown}");
}

#[tokio::test]
async fn a_tool_may_take_longer_than_the_agent_may_be_silent() {
    let script = r#"echo '{"type":"tool_call","id":"c1","name":"Slow","input":{}}'; read -r one; echo '{"type":"done","text":"ok"}'"#;
    let mut agent = shell(script);
    agent.timeout = Duration::from_secs(2);
    let host = Host { slow: Duration::from_secs(3), ..Host::default() };
    assert_eq!(turn(&agent, &host).await.unwrap().text, "ok");
}

#[tokio::test]
async fn an_end_before_it_is_done() {
    check(
        "echo 'out of memory' >&2; exit 9",
        expect![[r#"
        the agent exited before it finished: `sh` ended with exit code 9; the end of its stderr:
        out of memory
    "#]],
    )
    .await;
    check(
        "kill -9 $$",
        expect![[r#"
        the agent exited before it finished: `sh` was ended by signal 9
    "#]],
    )
    .await;
    check(
        "true",
        expect![[r#"
        the agent exited before it finished: `sh` ended with exit code 0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn noise_on_stderr_is_no_matter() {
    let script = r#"head -c 3000000 /dev/zero | tr '\0' n >&2; echo '{"type":"done","text":"quiet"}'"#;
    assert_eq!(turn(&shell(script), &Host::default()).await.unwrap().text, "quiet");
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    let agent = ProgramAgent::new(
        WireFormat::lines(),
        "no-such-agent",
        env!("CARGO_TARGET_TMPDIR"),
        Environment::of_process(),
    );
    let error = turn(&agent, &Host::default()).await.unwrap_err();
    assert!(
        error.to_string().starts_with("the agent did not start: program `no-such-agent` not found"),
        "{error}"
    );
}

#[tokio::test]
async fn cancelling() {
    let cases = [
        (
            "it stops when it is told",
            r#"echo '{"type":"text_delta","text":"go"}'; read -r word; echo "$word" >&2; echo '{"type":"done"}'"#,
        ),
        (
            "it is ended when it does not",
            r#"trap '' TERM; echo '{"type":"text_delta","text":"go"}'; while :; do sleep 1000; done"#,
        ),
        ("it dies of it", r#"echo '{"type":"text_delta","text":"go"}'; read -r word; exit 1"#),
    ];
    for (case, script) in cases {
        let mut agent = shell(script);
        agent.cancel_grace = Duration::from_secs(1);
        let host = Host { cancels_at_text: true, ..Host::default() };
        assert_eq!(turn(&agent, &host).await, Err(TurnError::Cancelled), "{case}");
    }
}

#[tokio::test]
async fn the_process_ends_with_everything_it_started() {
    let script = r#"sleep 1000.375 & echo '{"type":"text_delta","text":"begun"}'; END"#;
    let cases = [
        ("done", Runs::ToItsEnd, r#"echo '{"type":"done"}'; sleep 1000.375"#),
        ("dropped", Runs::UntilItSpeaks, "sleep 1000.375"),
    ];
    for (case, runs, end) in cases {
        let agent = shell(&script.replace("END", end));
        let host = Host::default();
        match runs {
            Runs::ToItsEnd => drop(turn(&agent, &host).await.unwrap()),
            Runs::UntilItSpeaks => tokio::select! {
                _ = turn(&agent, &host) => panic!("it never ends"),
                () = host.text_came() => {}
            },
        }
        assert_eq!(host.text(), "begun");
        host::until_dead(case, "1000.375");
    }
}

#[tokio::test]
async fn stop_reasons() {
    let cases = [
        ("stop", StopReason::Stop),
        ("length", StopReason::Length),
        ("content_filter", StopReason::ContentFilter),
    ];
    for (word, expected) in cases {
        let script = format!(r#"echo '{{"type":"done","stop_reason":"{word}"}}'"#);
        assert_eq!(turn(&shell(&script), &Host::default()).await.unwrap().stop_reason, expected, "{word}");
    }
}
