//! The examples: an agent writes, and a typed service of the script publishes. And what the client does besides.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::{Language, Process, SERVICE_TOKEN, Served, TOKEN, finish, repository};

pub(crate) const SETTINGS: &str = "\
governance: {allow: [\"agent:*\", publish]}
providers: {default: demo/scripted, demo: {kind: scripted, file: .rawko/script.yaml}}
server: {tokens: [{name: publisher, role: service, env: SERVICE_TOKEN}]}
services:
  publish:
    remote: {wait: 1m}
    input: {type: object, properties: {text: {type: string}}, required: [text]}
    output: {type: object, properties: {url: {type: string}}, required: [url]}
";
const ARTICLE: &str = include_str!("../embed/project/.rawko/charts/article.yaml");
const WRITER: &str = include_str!("../embed/project/.rawko/agents/writer.md");
/// A chart with a question to a person and an event.
const ORDER: &str = "\
statechart:
  id: order
  version: 1.0.0
  initial: open
  context: {note: ''}
  states:
    open: {on: {PAY: asking}}
    asking:
      invoke: {id: ok, src: human, input: {title: \"'Ship it?'\"}, onDone: {target: shipped, actions: [{type: assign, context_updates: {note: event.data.comment}}]}, onError: kept}
    shipped: {type: final, output: {note: context.note}}
    kept: {type: final}
";

pub(crate) fn project(config: &str) -> Served {
    Served::new(&[
        (".rawko/config.yaml", config),
        (".rawko/charts/article.yaml", ARTICLE),
        (".rawko/charts/order.yaml", ORDER),
        (".rawko/agents/writer.md", WRITER),
        (".rawko/script.yaml", "- {agent: writer, text: hello}\n"),
    ])
}

fn example(language: Language) -> PathBuf {
    repository().join(match language {
        Language::Python => "sdks/python/examples/article.py",
        Language::Node => "sdks/typescript/examples/article.mjs",
    })
}

#[test]
fn a_script_of_under_thirty_lines_runs_an_agent_with_a_typed_service() {
    for language in [Language::Python, Language::Node] {
        let script = example(language);
        assert!(fs::read_to_string(&script).unwrap().lines().count() < 30, "{script:?}");
        let served = project(SETTINGS);
        let checked = finish(&mut served.rawko(&["check", "."]));
        assert!(checked.trim_end().ends_with("no problems found"), "{checked}");
        let server = served.serve();
        assert_eq!(finish(&mut served.script(language, &script, TOKEN)), "https://example.test/hello\n");
        drop(server);
    }
}

#[test]
fn a_client_streams_sends_approves_attaches_and_reports_errors() {
    for language in [Language::Python, Language::Node] {
        let served = project(SETTINGS);
        let server = served.serve();
        let said = finish(&mut served.script(language, &language.of_tests("client"), TOKEN));
        let expected = "\
hello
steps true
exists rawko::api::exists 409
handled true again true
pending Ship it?
result {\"note\":\"go\"}
attached succeeded
refused rawko::api::no_chart
cancelled RunFailed
";
        assert_eq!(said.replace(": ", ":"), expected.replace(": ", ":"));
        drop(server);
    }
}

/// Progress reaches only who listens while it happens, so the answers take a moment.
#[test]
fn a_task_streams_its_text_and_is_continued_with_a_message() {
    const SCRIPT: &str = "\
- agent: writer
  steps: [{text: A greeting., delay_ms: 2500}, {text: Hi., delay_ms: 2500}]
- agent: arbiter
  steps:
    - data: {type: COMPLETE, reason: it is written, summary: it is written}
    - data: {type: COMPLETE, reason: it is shorter, summary: it is shorter}
";
    for language in [Language::Python, Language::Node] {
        let served = project(SETTINGS);
        fs::write(served.folder.path().join(".rawko/script.yaml"), SCRIPT).unwrap();
        let _server = served.serve();
        let printed = finish(&mut served.script(language, &language.of_tests("task"), TOKEN));
        let expected = "\
streamed A greeting.
task succeeded
streamed Hi.
continued succeeded
";
        assert_eq!(printed, expected);
    }
}

/// `check` knows the types of a service by the settings; the program must have the same.
#[test]
fn a_program_is_refused_for_its_role_its_names_and_its_schemas() {
    for language in [Language::Python, Language::Node] {
        let script = example(language);
        let served = project(SETTINGS);
        let _server = served.serve();
        let fails = |served: &Served, token: &str| {
            let output = served.script(language, &script, token).output().unwrap();
            assert!(!output.status.success());
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        // The token of services cannot start runs.
        let said = fails(&served, SERVICE_TOKEN);
        assert!(said.contains("rawko::api::forbidden"), "{said}");
        let said = fails(&served, "a-token-that-is-unknown");
        assert!(said.contains("rawko::api::unauthorized"), "{said}");
        let refused = served.script(language, &language.of_tests("refused"), SERVICE_TOKEN).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stdout).into_owned();
        assert_eq!(
            said,
            "schema_mismatch\nunknown_service\n",
            "{}",
            String::from_utf8_lossy(&refused.stderr)
        );
    }
}

#[test]
fn a_call_is_cancelled_and_its_failures_keep_or_drop_the_key() {
    const CONFIG: &str = "\
governance: {allow: [slow, flaky]}
server: {tokens: [{name: bank, role: service, env: SERVICE_TOKEN}]}
services: {slow: {remote: {}}, flaky: {remote: {}}}
";
    const SLOW: &str = "\
statechart:
  id: slow
  version: 1.0.0
  initial: working
  states:
    working: {invoke: {id: work, src: slow, onDone: done, onError: failed}, on: {STOP: stopped}}
    done: {type: final}
    failed: {type: final, tags: [failed]}
    stopped: {type: final, output: \"'stopped'\"}
";
    const FLAKY: &str = "\
statechart:
  id: flaky
  version: 1.0.0
  initial: working
  context: {keys: []}
  states:
    working:
      invoke: {id: work, src: flaky, retry: {max_attempts: 4, initial_delay: 10ms}, onDone: {target: done, actions: [{type: assign, context_updates: {keys: event.data}}]}, onError: failed}
    done: {type: final, output: context.keys}
    failed: {type: final, tags: [failed]}
";
    for language in [Language::Python, Language::Node] {
        let served = Served::new(&[
            (".rawko/config.yaml", CONFIG),
            (".rawko/charts/slow.yaml", SLOW),
            (".rawko/charts/flaky.yaml", FLAKY),
        ]);
        let _server = served.serve();
        let mut flaky = served.script(language, &language.of_tests("flaky"), SERVICE_TOKEN);
        let _flaky = Process::start(&mut flaky);
        let said = finish(&mut served.script(language, &language.of_tests("calls"), TOKEN));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["stopped"], "stopped");
        assert_eq!(said["progress"], json!({"part": 1}));
        assert_eq!(said["programs"], json!({"flaky": ["flaky"], "slow": ["flaky"]}));
        // Reported as definite: the next attempt is a new request. Raised: unknown, so the same key.
        let keys: Vec<&str> =
            said["keys"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
        assert_eq!(keys.len(), 3, "{keys:?}");
        assert!(keys[0] != keys[1] && keys[1] == keys[2], "{keys:?}");
        // The service saw that the first call was cancelled.
        let seen = fs::read_to_string(served.folder.path().join("cancelled")).unwrap();
        assert_eq!(seen, "cancelled");
    }
}

const ANSWERS: &str = "\
governance: {allow: [answer]}
server: {tokens: [{name: bank, role: service, env: SERVICE_TOKEN}]}
services: {answer: {remote: {}}}
";

const ANSWER: &str = "\
statechart:
  id: answer
  version: 1.0.0
  initial: working
  context: {kind: ''}
  states:
    working: {invoke: {id: work, src: answer, input: {kind: context.kind}, onDone: done, onError: refused}}
    done: {type: final, output: length(event.data)}
    refused: {type: final, output: '[event.data.category, event.data.message]'}
";

/// Runs the chart `answer` of a served project to its end, and returns its output.
fn answered(served: &Served, kind: &str) -> serde_json::Value {
    let input = json!({"kind": kind}).to_string();
    let said = finish(&mut served.rawko(&["run", "answer", "--input", &input, "--output-format", "json"]));
    serde_json::from_str::<serde_json::Value>(&said).unwrap()["output"].clone()
}

/// An answer that never arrives leaves its call waiting, and is sent again after each reconnect.
#[test]
fn an_answer_that_cannot_be_sent_is_the_failure_of_its_call() {
    let project = || Served::new(&[(".rawko/config.yaml", ANSWERS), (".rawko/charts/answer.yaml", ANSWER)]);
    for language in [Language::Python, Language::Node] {
        let served = project();
        let _server = served.serve();
        let _program =
            Process::start(&mut served.script(language, &language.of_tests("answers"), SERVICE_TOKEN));
        for kind in ["half", "large", "details"] {
            let output = answered(&served, kind);
            assert_eq!(output[0], "invalid_answer", "{kind}: {output}");
            assert!(output[1].as_str().unwrap().contains("is not JSON, or is too large"), "{kind}: {output}");
        }
        assert_eq!(answered(&served, "fine"), 1_000_000);
    }
    // Another library: the server finds the call.
    let served = project();
    let _server = served.serve();
    let language = Language::Python;
    let _program =
        Process::start(&mut served.script(language, &language.of_tests("unreadable"), SERVICE_TOKEN));
    for kind in ["half", "large"] {
        let output = answered(&served, kind);
        assert_eq!(output[0], "invalid_answer", "{kind}: {output}");
        assert!(output[1].as_str().unwrap().contains("cannot be read"), "{kind}: {output}");
    }
}
