//! The exact prompts of each phase.

use std::fmt::Write;

use expect_test::expect_file;
use rawko_model::MessagePart;
use rawko_model::provider::CompletionRequest;
use serde_json::json;

use crate::yard::yard;

/// Formats a request for reading: numbered, tools by name.
fn shown(request: &CompletionRequest) -> String {
    let mut text = format!(
        "agent {} on {}\n\n0 system\n{}\n",
        request.agent,
        request.occasion,
        indented(&request.system)
    );
    for (number, message) in request.messages.iter().enumerate() {
        writeln!(text, "\n{} {}", number + 1, format!("{:?}", message.role).to_lowercase()).unwrap();
        for part in &message.parts {
            let part = match part {
                MessagePart::Text { text } => indented(text),
                MessagePart::Image { media_type, .. } | MessagePart::ImageRef { media_type, .. } => {
                    format!("    [{media_type}]")
                }
                MessagePart::Reasoning(reasoning) => format!("    thinks {}", reasoning.text),
                MessagePart::ToolUse(call) => format!("    calls {} {}", call.name, call.input),
                MessagePart::ToolResult(result) => {
                    format!(
                        "    result{}\n{}",
                        if result.is_error { " (error)" } else { "" },
                        indented(&result.content)
                    )
                }
            };
            writeln!(text, "{part}").unwrap();
        }
    }
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    writeln!(text, "\ntools: {}", tools.join(", ")).unwrap();
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// All of plan_build, with a model that responds minimally; a golden for each phase's first and last prompt.
#[tokio::test]
async fn what_each_phase_sees() {
    let plan = json!({"goal": "Tests pass.", "steps": [{"id": "mend", "title": "Mend it", "acceptance": ["tests pass"]}]});
    let write =
        |content: &str| json!([{"name": "Write", "input": {"path": "state.txt", "content": content}}]);
    let script = json!([
        {"agent": "planner", "when": "plan.analyze_code", "steps": [
            {"tool_calls": [{"name": "Task", "input": {"agent": "explorer", "prompt": "Where is it?"}}]},
            {"text": "It is in state.txt."},
        ]},
        {"agent": "explorer", "steps": [{"text": "state.txt"}]},
        {"agent": "planner", "when": "plan.research", "steps": [
            {"tool_calls": write("x")},
            {"text": "Nothing is open."},
        ]},
        {"agent": "planner", "when": "plan.design", "steps": [
            {"text": "Clear."},
            {"tool_calls": [{"name": "PlanWrite", "input": plan}]},
            {"text": "Write `good` into state.txt."},
        ]},
        {"agent": "builder", "when": "build.implement#1", "steps": [{"tool_calls": write("bad\n")}, {"text": "Written."}]},
        {"agent": "planner", "when": "build.validate#1", "steps": [{"text": "It says bad."}]},
        {"agent": "builder", "when": "build.implement#2", "steps": [{"tool_calls": write("good\n")}, {"text": "Mended."}]},
    ]);
    let yard = yard(&script.to_string()).file("state.txt", "worse\n").settings(
        "phases: {validate: {checks: [{name: state, command: [sh, -c, 'grep -q good *.txt'], format: exit}]}}\n",
    );
    let output = yard.run("plan_build", json!({"goal": "Make it good."})).await;
    assert_eq!(output.get("outcome").as_str(), Some("done"), "{output}");
    let asked = yard.asked();
    let occasions = [
        "plan.analyze_code",
        "plan.analyze_code/explorer",
        "plan.research",
        "plan.design",
        "build.implement#1",
        "build.validate#1",
        "build.implement#2",
    ];
    for occasion in occasions {
        let last = asked.iter().rfind(|request| request.occasion == occasion).unwrap();
        let name = occasion.replace(['.', '/', '#'], "-");
        expect_file![format!("prompts/{name}.txt")].assert_eq(&shown(last));
    }
}
