//! Reasoning at work: the setting, and thoughts on their way through the conversation.

use rawko_model::Part;
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
        let of = |part: &Part| if let Part::Reasoning(it) = part { Some(it.text.clone()) } else { None };
        parts.filter_map(of).collect()
    };
    assert_eq!(thoughts(&yard.asked()[1].messages), ["I should look first."], "sent with the tool's result");
    let all: Vec<rawko_model::Message> = serde_json::from_value(output.get("messages").to_json()).unwrap();
    assert_eq!(thoughts(&all), ["I should look first.", "Nothing there."]);
}
