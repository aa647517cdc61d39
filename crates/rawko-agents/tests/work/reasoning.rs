//! Reasoning at work: the setting, and thoughts on their way through the conversation.

use rawko_model::MessagePart;
use rawko_testkit::{ModelAnswer, ModelReply, ProviderServer, WireProtocol, anthropic};
use serde_json::json;

use crate::yard::yard;

#[tokio::test]
async fn the_phase_before_the_agent_before_the_settings() {
    let agent = |key: &str| format!("---\nname: worker\nwhenToUse: For work.\n{key}---\nYou work.\n");
    let provider = "providers: {default: demo/scripted}";
    let with_default = "providers: {default: demo/scripted, reasoning: low}";
    let phase = "phases: {explore: {reasoning: 3000}}\n";
    for (file, settings, phases, phase, expected) in [
        ("", provider, "", None, json!(null)),
        ("", with_default, "", None, json!("low")),
        ("reasoning: high\n", with_default, "", None, json!("high")),
        ("effort: max\n", with_default, "", None, json!("high")),
        ("reasoning: 5000\n", provider, "", None, json!(5000)),
        ("reasoning: high\n", with_default, phase, Some("explore"), json!(3000)),
        ("reasoning: high\n", with_default, phase, Some("research"), json!("high")),
    ] {
        let yard = yard("- {text: Done.}")
            .file(".rawko/agents/worker.md", &agent(file))
            .replace_settings(provider, settings)
            .settings(phases);
        yard.run("one", json!({"prompt": "Do it.", "phase": phase})).await;
        let asked = yard.asked().remove(0).reasoning;
        assert_eq!(serde_json::to_value(asked).unwrap(), expected, "{file} {settings} {phase:?}");
    }
}

#[tokio::test]
async fn thoughts_stay_in_the_conversation_and_out_of_the_answer() {
    let yard = yard(
        "
- reasoning: I should look first.
  tool_calls: [{name: Glob, input: {pattern: '*'}}]
- reasoning: Nothing there.
  text: Done.
  usage: {input_tokens: 10, output_tokens: 20, reasoning_tokens: 15, cached_tokens: 4}
",
    );
    let output = yard.run("one", json!({"prompt": "Do it."})).await;
    assert_eq!(output.get("text").as_str(), Some("Done."));
    let thoughts = |messages: &[rawko_model::Message]| -> Vec<String> {
        let parts = messages.iter().flat_map(|message| &message.parts);
        let of = |part: &MessagePart| {
            if let MessagePart::Reasoning(it) = part { Some(it.text.clone()) } else { None }
        };
        parts.filter_map(of).collect()
    };
    assert_eq!(thoughts(&yard.asked()[1].messages), ["I should look first."], "sent with the tool's result");
    let all: Vec<rawko_model::Message> = serde_json::from_value(output.get("messages").to_json()).unwrap();
    assert_eq!(thoughts(&all), ["I should look first.", "Nothing there."]);
}

/// A signature passes through the chart and its journal without change, and the next request marks the same prefix.
#[tokio::test]
async fn a_signature_comes_back_through_the_journal() {
    let thinking = |text: &str, signature: &str| {
        [
            anthropic::block_start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            anthropic::block_delta(0, json!({"type": "thinking_delta", "thinking": text})),
            anthropic::block_delta(0, json!({"type": "signature_delta", "signature": signature})),
            anthropic::block_stop(0),
        ]
        .concat()
    };
    let signature = "EqQBCgIYAhIM+/=é".repeat(400);
    let call = json!({"type": "tool_use", "id": "c1", "name": "Glob", "input": {"pattern": "*"}});
    let first = ModelReply::events([
        anthropic::start(3),
        thinking("I should look.", &signature),
        anthropic::block_start(1, call),
        anthropic::block_stop(1),
        anthropic::end("tool_use", 4),
        anthropic::stop(),
    ]);
    let second = WireProtocol::Anthropic.reply(&ModelAnswer::text(&["Done."]));
    let server = ProviderServer::replying([first, second]).await.unwrap();
    let with = format!(
        "providers: {{default: claude/claude-sonnet-4-5, reasoning: low, claude: {{kind: anthropic, base_url: '{}'}}}}",
        server.url()
    );
    let yard = yard("- text: never").replace_settings("providers: {default: demo/scripted}", &with);
    let output = yard.run("one", json!({"prompt": "Do it."})).await;
    assert_eq!(output.get("text").as_str(), Some("Done."));
    let asked = server.asked();
    assert_eq!(asked[1].body["thinking"], json!({"type": "enabled", "budget_tokens": 1024}));
    let sent = &asked[1].body["messages"][1]["content"][0];
    assert_eq!(*sent, json!({"type": "thinking", "thinking": "I should look.", "signature": signature}));
    let marks = |body: &serde_json::Value| body.to_string().matches("cache_control").count();
    assert!(marks(&asked[0].body) == 3 && marks(&asked[1].body) == 4);
    assert_eq!(asked[0].body["system"], asked[1].body["system"]);
    assert_eq!(asked[0].body["tools"], asked[1].body["tools"]);
    assert_eq!(
        asked[0].body["messages"][0], asked[1].body["messages"][0],
        "the prefix is the same to the last byte"
    );
}
