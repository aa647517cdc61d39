//! HybridAgent at work: a text model without vision, and a vision model that analyses images for it.

use serde_json::{Value as Json, json};

use crate::yard::{Yard, yard};

const SEER: &str = "---\nname: worker\nwhenToUse: For work.\nvisionModel: demo/eye\n---\nYou work.\n";

fn image(content: &str) -> Json {
    json!({"type": "image", "media_type": "image/png", "data": content})
}

fn words(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn seeing(script: &Json) -> Yard {
    yard(&script.to_string()).file(".rawko/agents/worker.md", SEER)
}

/// The vision model is called under its own occasion.
fn eye(steps: &Json) -> Json {
    json!({"agent": "worker", "when": "/look", "steps": steps})
}

/// Returns the text model's last input, and the number of calls of the vision model.
async fn saw(yard: &Yard, prompt: Json) -> (String, usize) {
    let output = yard.run("one", json!({"prompt": prompt, "phase": null})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    let asked = yard.asked();
    let looks = asked.iter().filter(|request| request.occasion.ends_with("/look")).count();
    let last = asked.iter().rfind(|request| !request.occasion.ends_with("/look")).unwrap();
    let text = serde_json::to_string(&last.messages).unwrap();
    assert!(!text.contains("\"type\":\"image\""), "the text model cannot see: {text}");
    (text, looks)
}

#[tokio::test]
async fn without_an_image_nobody_looks() {
    let yard = seeing(&json!([{"steps": [{"text": "Done."}]}]));
    assert_eq!(saw(&yard, json!("Just text.")).await.1, 0);
}

#[tokio::test]
async fn one_image_is_put_into_words() {
    let yard = seeing(
        &json!([eye(&json!([{"text": "A red button."}])), {"agent": "worker", "steps": [{"expect": "A red button.", "text": "Done."}]}]),
    );
    let (text, looks) = saw(&yard, json!([words("What is this?"), image("AAAA")])).await;
    assert_eq!(looks, 1);
    assert!(text.contains("A red button."), "{text}");
}

#[tokio::test]
async fn several_images_go_three_at_a_time() {
    let yard = seeing(
        &json!([eye(&json!([{"text": "Some screens."}])), {"agent": "worker", "steps": [{"text": "Done."}]}]),
    );
    let prompt = json!([words("Describe them."), image("AAAA"), image("BBBB"), image("CCCC"), image("DDDD")]);
    assert_eq!(saw(&yard, prompt).await.1, 2);
}

#[tokio::test]
async fn images_that_are_compared_go_together() {
    let yard = seeing(
        &json!([eye(&json!([{"text": "The second is larger."}])), {"agent": "worker", "steps": [{"text": "Done."}]}]),
    );
    let prompt = json!([
        words("Compare these: what is the difference?"),
        image("AAAA"),
        image("BBBB"),
        image("CCCC"),
        image("DDDD")
    ]);
    let (text, looks) = saw(&yard, prompt).await;
    assert_eq!(looks, 1);
    assert!(text.contains("The second is larger."), "{text}");
}

/// A tool returns an image in the middle of the work.
#[tokio::test]
async fn an_image_in_a_later_message_is_not_missed() {
    // The smallest PNG header.
    let png = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13];
    let yard = seeing(&json!([
        eye(&json!([{"text": "An error message in a window."}])),
        {"agent": "worker", "steps": [
            {"tool_calls": [{"name": "Read", "input": {"path": "shot.png"}}]},
            {"expect": "An error message in a window.", "text": "I see."},
        ]},
    ]));
    std::fs::write(yard.root().join("shot.png"), png).unwrap();
    assert_eq!(saw(&yard, json!("Look at shot.png.")).await.1, 1);
}

#[tokio::test]
async fn a_vision_model_that_fails_is_told_and_the_work_goes_on() {
    let yard = seeing(&json!([
        eye(&json!([{"error": {"code": "model_unavailable"}}, {"text": "never"}])),
        {"agent": "worker", "steps": [{"expect": "failed", "text": "I go on without."}]},
    ]));
    let (text, looks) = saw(&yard, json!([words("What is this?"), image("AAAA")])).await;
    assert_eq!(looks, 1);
    assert!(text.contains("You cannot see image 1"), "{text}");
}
