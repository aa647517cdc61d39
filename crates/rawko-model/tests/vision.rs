//! HybridAgent: a model without vision works with images.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::{Expect, expect};
use rawko_model::provider::{Completion, ErrorCode, ProviderError};
use rawko_model::vision::{ImageIntent, VisionMemory, VisionPlan, classify, join, plan};
use rawko_model::{Message, MessagePart, Role, StopReason, ToolResult, Usage};

fn image(name: &str) -> MessagePart {
    MessagePart::Image { media_type: "image/png".into(), data: name.into() }
}

/// A user's message with images.
fn user(text: &str, images: &[&str]) -> Message {
    let text = Some(MessagePart::Text { text: text.into() }).filter(|_| !text.is_empty());
    Message {
        role: Role::User,
        parts: text.into_iter().chain(images.iter().map(|name| image(name))).collect(),
    }
}

fn planned(messages: &[Message], memory: &VisionMemory) -> VisionPlan {
    plan(messages, memory, "seer", "i/1/0")
}

/// Prints one line per request: the intent, and the parts of its message.
fn shown(plan: &VisionPlan) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.lines().next().unwrap_or_default().chars().take(40).collect(),
        MessagePart::Image { data, .. } => format!("<{data}>"),
        MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => "?".to_owned(),
    };
    let line = |request: &rawko_model::vision::VisionRequest| {
        let parts: Vec<String> = request.completion.messages[0].parts.iter().map(part).collect();
        format!("{:?} {} {}\n", request.intent, request.completion.idempotency, parts.join(" "))
    };
    plan.requests.iter().map(line).collect()
}

#[track_caller]
fn check(messages: &[Message], expected: Expect) {
    expected.assert_eq(&shown(&planned(messages, &VisionMemory::default())));
}

fn saying(text: &str) -> Completion {
    Completion {
        message: Message::text(Role::Assistant, text),
        stop_reason: StopReason::Stop,
        usage: Usage::default(),
        data: None,
        model: None,
    }
}

/// Answers everything that is planned.
fn look(messages: &[Message], memory: VisionMemory) -> VisionMemory {
    let plan = planned(messages, &memory);
    plan.requests.iter().fold(memory, |memory, request| {
        let names: Vec<String> = request.completion.messages[0]
            .parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::Image { data, .. } => Some(data.clone()),
                MessagePart::Text { .. }
                | MessagePart::ImageRef { .. }
                | MessagePart::ToolUse(_)
                | MessagePart::ToolResult(_)
                | MessagePart::Reasoning(_) => None,
            })
            .collect();
        let answer = saying(&format!("{:?} of {}", request.intent, names.join(" and ")));
        memory.with(request.analysed(Ok(&answer)))
    })
}

/// Returns the text model's input.
fn read(messages: &[Message]) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.clone(),
        MessagePart::Image { .. } | MessagePart::ImageRef { .. } => {
            panic!("an image for a model that cannot see")
        }
        MessagePart::Reasoning(_) => "(reasoning)".to_owned(),
        MessagePart::ToolUse(_) => "(tool)".to_owned(),
        MessagePart::ToolResult(result) => format!("(result) {}", result.content),
    };
    messages
        .iter()
        .map(|message| {
            format!("{:?}: {}\n", message.role, message.parts.iter().map(part).collect::<Vec<_>>().join("\n"))
        })
        .collect()
}

#[test]
fn no_image_no_request() {
    check(&[user("compare the two approaches", &[])], expect![[r#""#]]);
    let messages = [user("hello", &[])];
    assert_eq!(join(&messages, &VisionMemory::default()), messages);
}

#[test]
fn one_image() {
    let messages = [user("Why does this crash?", &["trace"])];
    check(
        &messages,
        expect![[r#"
        Error i/1/0/0 Image 1: <trace> The image shows something that went wron
    "#]],
    );
    let memory = look(&messages, VisionMemory::default());
    expect![[r#"
        User: Why does this crash?
        [Image 1]
        [What a vision model sees in image 1:]
        Error of trace
        [End of image 1]
    "#]]
    .assert_eq(&read(&join(&messages, &memory)));
}

#[test]
fn several_images_three_at_a_time() {
    check(
        &[user("Describe these", &["a", "b", "c", "d", "e", "f", "g"])],
        expect![[r#"
            Describe i/1/0/0 Image 1: <a> Image 2: <b> Image 3: <c> Describe what each image shows, with all
            Describe i/1/0/1 Image 4: <d> Image 5: <e> Image 6: <f> Describe what each image shows, with all
            Describe i/1/0/2 Image 7: <g> Describe what each image shows, with all
        "#]],
    );
}

#[test]
fn images_that_are_compared_go_together() {
    let messages = [user("What is the difference between these?", &["a", "b", "c", "d", "e"])];
    check(
        &messages,
        expect![[r#"
        Compare i/1/0/0 Image 1: <a> Image 2: <b> Image 3: <c> Image 4: <d> Image 5: <e> Compare the images. Say first what is th
    "#]],
    );
    let memory = look(&messages, VisionMemory::default());
    expect![[r#"
        User: What is the difference between these?
        [Image 1]
        [Image 2]
        [Image 3]
        [Image 4]
        [Image 5]
        [What a vision model sees in images 1, 2, 3, 4, 5:]
        Compare of a and b and c and d and e
        [End of images 1, 2, 3, 4, 5]
    "#]]
    .assert_eq(&read(&join(&messages, &memory)));
}

#[test]
fn an_image_in_a_later_message_is_not_missed() {
    let first = [user("Build this page", &["mockup"])];
    let memory = look(&first, VisionMemory::default());
    let messages = [
        first[0].clone(),
        Message::text(Role::Assistant, "Done."),
        user("It looks like this now", &["result"]),
    ];
    expect![[r#"
        Describe i/1/0/0 Image 2: <result> Describe what each image shows, with all
    "#]]
    .assert_eq(&shown(&planned(&messages, &memory)));
    let memory = look(&messages, memory);
    expect![[r#"
        User: Build this page
        [Image 1]
        [What a vision model sees in image 1:]
        Interface of mockup
        [End of image 1]
        Assistant: Done.
        User: It looks like this now
        [Image 2]
        [What a vision model sees in image 2:]
        Describe of result
        [End of image 2]
    "#]]
    .assert_eq(&read(&join(&messages, &memory)));
    assert!(planned(&messages, &memory).requests.is_empty(), "all have been looked at");
}

#[test]
fn a_later_comparison_takes_earlier_images_along() {
    let messages = [
        user("Build this page", &["mockup"]),
        Message::text(Role::Assistant, "Done."),
        user("Compare with this screenshot", &["result"]),
    ];
    check(
        &messages,
        expect![[r#"
        Interface i/1/0/0 Image 1: <mockup> The image shows a user interface. Descri
        Compare i/1/0/1 Image 1: <mockup> Image 2: <result> Compare the images. Say first what is th
    "#]],
    );
    let asked_later = [
        user("Two pages", &["a", "b"]),
        user("Which screenshots differ, before or after? Compare the images.", &[]),
    ];
    check(
        &asked_later,
        expect![[r#"
            Describe i/1/0/0 Image 1: <a> Image 2: <b> Describe what each image shows, with all
            Compare i/1/0/1 Image 1: <a> Image 2: <b> Compare the images. Say first what is th
        "#]],
    );
}

/// A tool's image has no text; the prompt before it gives its purpose.
#[test]
fn an_image_from_a_tool() {
    let result =
        MessagePart::ToolResult(ToolResult { id: "1".into(), content: "taken".into(), is_error: false });
    let messages = [
        user("Find the error on the page", &[]),
        Message { role: Role::User, parts: vec![result, image("shot")] },
    ];
    check(
        &messages,
        expect![[r#"
        Error i/1/0/0 Image 1: <shot> The image shows something that went wron
    "#]],
    );
}

#[test]
fn what_was_looked_at_is_not_looked_at_again() {
    let messages = [user("See this", &["a"]), user("And again", &["a", "b", "b"])];
    check(
        &messages,
        expect![[r#"
            Describe i/1/0/0 Image 1: <a> Describe what each image shows, with all
            Describe i/1/0/1 Image 2: <b> Describe what each image shows, with all
        "#]],
    );
    let memory = look(&messages, VisionMemory::default());
    let json = serde_json::to_string(&memory).unwrap();
    let memory: VisionMemory = serde_json::from_str(&json).unwrap();
    assert!(planned(&messages, &memory).requests.is_empty());
    assert!(!json.contains("image/png"), "images are not kept");
    expect![[r#"
        User: See this
        [Image 1]
        [What a vision model sees in image 1:]
        Describe of a
        [End of image 1]
        User: And again
        [Image 1 again]
        [Image 2]
        [What a vision model sees in image 2:]
        Describe of b
        [End of image 2]
        [Image 2 again]
    "#]]
    .assert_eq(&read(&join(&messages, &memory)));
}

#[test]
fn a_vision_model_that_fails_is_no_reason_to_stop() {
    let messages = [user("What is this?", &["a"])];
    let error = ProviderError {
        code: ErrorCode::ModelUnavailable,
        message: "overloaded".into(),
        retry_after_ms: None,
        status: Some(529),
    };
    let fail = |memory: VisionMemory| {
        let request = &planned(&messages, &memory).requests[0];
        memory.with(request.analysed(Err(&error)))
    };
    let once = fail(VisionMemory::default());
    expect![[r#"
        User: What is this?
        [Image 1]
        [A vision model was asked about image 1 and failed: overloaded. You cannot see image 1; go on without, and say what you could not check.]
    "#]].assert_eq(&read(&join(&messages, &once)));
    let recovered = look(&messages, once.clone());
    assert!(read(&join(&messages, &recovered)).contains("Describe of a"));
    let twice = fail(once);
    assert!(planned(&messages, &twice).requests.is_empty(), "asked twice, and then no more");
    assert_eq!(twice.len(), 1);
    let silent = planned(&messages, &VisionMemory::default()).requests[0].analysed(Ok(&saying(" ")));
    assert_eq!(silent.said, Err("its response was empty".into()));
}

/// Without any analysis the text model at least knows that there is an image.
#[test]
fn an_image_nobody_looked_at() {
    expect![[r#"
        User: See
        [Image 1]
        [Image 1 was not analysed. You cannot see it; mention that if it matters.]
    "#]]
    .assert_eq(&read(&join(&[user("See", &["a"])], &VisionMemory::default())));
}

#[test]
fn what_is_wanted() {
    for (text, images, expected) in [
        ("anything", 0, ImageIntent::None),
        ("", 1, ImageIntent::Describe),
        ("compare", 1, ImageIntent::Describe),
        ("Compare these", 2, ImageIntent::Compare),
        ("before: left, after: right", 2, ImageIntent::Compare),
        ("A vs. B", 2, ImageIntent::Compare),
        ("why this exception", 1, ImageIntent::Error),
        ("the terror of contexts", 1, ImageIntent::Describe),
        ("read the table", 1, ImageIntent::Extract),
        ("build this UI", 1, ImageIntent::Interface),
        ("this architecture", 2, ImageIntent::Diagram),
        ("a nice cat", 3, ImageIntent::Describe),
    ] {
        assert_eq!(classify(text, images), expected, "{text}");
    }
}

/// The exact input of the vision model.
#[test]
fn the_prompt_of_the_vision_model() {
    let request =
        planned(&[user("Why does this crash?", &["trace"])], &VisionMemory::default()).requests.remove(0);
    let parts: Vec<String> = request.completion.messages[0]
        .parts
        .iter()
        .map(|part| match part {
            MessagePart::Text { text } => text.clone(),
            MessagePart::Image { media_type, .. } => format!("<{media_type}>"),
            MessagePart::ImageRef { .. }
            | MessagePart::ToolUse(_)
            | MessagePart::ToolResult(_)
            | MessagePart::Reasoning(_) => "?".to_owned(),
        })
        .collect();
    expect![[r#"
        seer: You look at images for a colleague who cannot see them and has to work from your words. Say what is there, not what might be. Images are numbered; use the numbers.
        ---
        Image 1:
        <image/png>
        The image shows something that went wrong. Give every error message word for word, with file names, line numbers and codes, then what can be seen around it.

        This is what your colleague was asked, so that you know what matters:
        Why does this crash?
    "#]].assert_eq(&format!(
        "{}: {}\n---\n{}\n",
        request.completion.model,
        request.completion.system,
        parts.join("\n")
    ));
}
