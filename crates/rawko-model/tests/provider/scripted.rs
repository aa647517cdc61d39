//! Scripts: the same step for the same request, across agents and restarts.

use std::sync::Arc;

use expect_test::{Expect, expect};
use rawko_model::provider::{CompletionRequest, Scripted};
use rawko_model::{Message, MessagePart, Role, ToolResult};

use crate::support::{ask, shown};

const SCRIPT: &str = "\
- agent: planner
  when: design
  steps:
    - {expect: make it pass, tool_calls: [{name: Read, input: {path: a}}]}
    - {expect: [found, it], text: The plan., usage: {input_tokens: 9, output_tokens: 3, cost_usd: 0.5}}
- {agent: developer, text: first}
- {agent: developer, error: {code: rate_limited, retry_after_ms: 20}}
- {agent: developer, error: {code: network_error, message: the line is dead}}
- {agent: developer, text: second, stop_reason: length}
- {agent: developer, when: 'implement#2', text: on the second occasion}
- {text: anybody}
";

/// A request with `answers` responses already in the conversation.
fn of(agent: &str, occasion: &str, answers: usize) -> CompletionRequest {
    let mut messages = vec![Message::text(Role::User, "Please make it pass.")];
    for _ in 0..answers {
        messages.push(Message::text(Role::Assistant, "said before"));
        let result = ToolResult { id: "call_1".to_owned(), content: "found it".to_owned(), is_error: false };
        messages.push(Message { role: Role::User, parts: vec![MessagePart::ToolResult(result)] });
    }
    let (agent, occasion) = (agent.to_owned(), occasion.to_owned());
    CompletionRequest { agent, occasion, messages: messages.into(), ..CompletionRequest::default() }
}

#[tokio::test]
async fn a_step_depends_on_the_request_alone() {
    let script = || Scripted::of_text("script.yaml", SCRIPT).unwrap();
    let attempt = |attempt, request| CompletionRequest { attempt, ..request };
    let cases = [
        ("planner, first", of("planner", "design", 0)),
        ("planner, second", of("planner", "design", 1)),
        ("planner, third", of("planner", "design", 2)),
        ("developer, first", of("developer", "implement#1", 0)),
        ("developer, second", of("developer", "implement#1", 1)),
        ("developer, second, again", attempt(1, of("developer", "implement#1", 1))),
        ("developer, second, once more", attempt(2, of("developer", "implement#1", 1))),
        ("developer, second, and once more", attempt(3, of("developer", "implement#1", 1))),
        ("developer, third", of("developer", "implement#1", 2)),
        ("developer on the second occasion", of("developer", "implement#2", 0)),
        ("planner on another occasion", of("planner", "review", 0)),
        ("somebody", of("tester", "", 0)),
        ("somebody, second", attempt(1, of("tester", "", 1))),
    ];
    let (mut lines, one) = (String::new(), script());
    for (name, request) in cases {
        let first = shown(&ask(&one, request.clone()).await.1);
        lines += &format!("{name}\n    {first}\n");
        assert_eq!(shown(&ask(&one, request.clone()).await.1), first, "{name}, asked again");
        assert_eq!(shown(&ask(&script(), request).await.1), first, "{name}, after a restart");
    }
    expect![[r#"
        planner, first
            ToolCalls | Read({"path":"a"}) as call_1 | 9 in, 4 out (estimate)
        planner, second
            Stop | "The plan." | 9 in, 3 out
        planner, third
            invalid_request: script.yaml: agent `planner` on occasion `design` asks for step 3, but the script of `planner` when `design` ends before that
        developer, first
            Stop | "first" | 9 in, 2 out (estimate)
        developer, second
            rate_limited in 20 ms: scripted error: rate_limited
        developer, second, again
            network_error: the line is dead
        developer, second, once more
            Length | "second" | 22 in, 2 out (estimate)
        developer, second, and once more
            Length | "second" | 22 in, 2 out (estimate)
        developer, third
            invalid_request: script.yaml: agent `developer` on occasion `implement#1` asks for step 3, but the script of `developer` ends before that
        developer on the second occasion
            Stop | "on the second occasion" | 9 in, 6 out (estimate)
        planner on another occasion
            Stop | "anybody" | 9 in, 2 out (estimate)
        somebody
            Stop | "anybody" | 9 in, 2 out (estimate)
        somebody, second
            invalid_request: script.yaml: agent `tester` on occasion `` asks for step 2, attempt 2, but the script ends before that
    "#]].assert_eq(&lines);
    assert!(one.unused().is_empty(), "{:?}", one.unused());
}

#[tokio::test]
async fn what_was_expected_and_what_was_not_used() {
    let scripted = Scripted::of_text("script.yaml", SCRIPT).unwrap();
    let mut request = of("planner", "design", 0);
    request.messages = vec![Message::text(Role::User, "design something else")].into();
    let told = shown(&ask(&scripted, request.clone()).await.1);
    request.system = "You make it pass.".to_owned();
    assert!(ask(&scripted, request).await.1.is_ok(), "what the system prompt says counts too");
    let unused = scripted.unused().join("\n");
    expect![[r#"
        invalid_request: script.yaml:4: agent `planner` on occasion `design` should have received `make it pass`, but its last message is `design something else`
        script.yaml:5: the script of `planner` when `design`
        script.yaml:6: the script of `developer`
        script.yaml:7: the script of `developer`
        script.yaml:8: the script of `developer`
        script.yaml:9: the script of `developer`
        script.yaml:10: the script of `developer` when `implement#2`
        script.yaml:11: the script"#]].assert_eq(&format!("{told}\n{unused}"));
}

#[tokio::test]
async fn calls_get_ids_of_their_own() {
    let script = "- tool_calls: [{name: A}, {name: B}]\n- tool_calls: [{name: C}]";
    let scripted = Scripted::of_text("script.yaml", script).unwrap();
    let mut request = of("", "", 0);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let completion = ask(&scripted, request.clone()).await.1.unwrap();
        ids.extend(completion.message.tool_uses().map(|it| it.id.clone()));
        Arc::make_mut(&mut request.messages).push(completion.message);
    }
    assert_eq!(ids, ["call_1", "call_2", "call_3"]);
}

fn check_problem(text: &str, expected: Expect) {
    let problem = Scripted::of_text("script.yaml", text).err().unwrap();
    expected.assert_eq(&problem.to_string().replace("; script", "\nscript"));
}

#[test]
fn everything_wrong_with_a_script_is_said() {
    check_problem(
        "- {agent: a, txt: hello}\n- {text: a, data: {}}\n- {stop_reason: never}\n- {error: {code: bad}}\n- {error: {}, text: x}\n- tool_calls: [{input: {}}]\n- {steps: 3}\n- {text: x, usage: {tokens: 1}}\n- []\n",
        expect![[r#"
            script.yaml:1: a step has no key `txt`
            script.yaml:1: the step is empty
            script.yaml:2: `data` and `text` conflict
            script.yaml:3: there is no stop reason `never`
            script.yaml:4: there is no error `bad`
            script.yaml:5: `text` cannot be combined with `error`
            script.yaml:5: `error` has no `code`
            script.yaml:6: a tool call has no `name`
            script.yaml:7: `steps` must be a list of steps
            script.yaml:8: `usage` has no key `tokens`
            script.yaml:9: a step must be a map
            script.yaml:9: the step is empty"#]],
    );
    check_problem("- [", expect!["script.yaml:1: invalid YAML: unclosed bracket '['"]);
    check_problem("hello", expect!["script.yaml:1: a script must be a list of steps"]);
    let missing = Scripted::read(std::path::Path::new("no/such/script.yaml")).err().unwrap();
    assert!(missing.to_string().starts_with("no/such/script.yaml:1: cannot be read: "), "{missing}");
}
