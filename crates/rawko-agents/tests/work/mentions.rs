//! `@path` in a prompt: files and images are attached as far as the agent may read them.

use rawko_model::MessagePart;
use serde_json::json;

use crate::yard::{Yard, yard};

/// The smallest PNG header.
const PNG: [u8; 12] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13];

fn project() -> Yard {
    let yard =
        yard("- text: Done.\n").file("src/lib.rs", "fn main() {}\n").file("secret.txt", "hidden words\n");
    std::fs::write(yard.root().join("shot.png"), PNG).unwrap();
    std::fs::write(yard.root().join("data.bin"), [0, 1, 2]).unwrap();
    yard
}

/// Returns the texts and the images of the first prompt.
async fn prompt(yard: &Yard, text: &str) -> (Vec<String>, usize) {
    yard.run("one", json!({"prompt": text})).await;
    let parts = yard.asked().remove(0).messages[0].parts.clone();
    let images = parts.iter().filter(|part| matches!(part, MessagePart::Image { .. })).count();
    let texts = parts
        .iter()
        .filter_map(|part| if let MessagePart::Text { text } = part { Some(text.clone()) } else { None });
    (texts.skip(1).collect(), images)
}

#[tokio::test]
async fn files_and_images_are_attached() {
    let (texts, images) =
        prompt(&project(), "Compare @src/lib.rs, @shot.png and @src/lib.rs with @alice@example.com.").await;
    assert_eq!(texts, ["[file src/lib.rs]\nfn main() {}\n\n[end of file]", "[image shot.png]"]);
    assert_eq!(images, 1);
}

#[tokio::test]
async fn nothing_is_attached_that_the_agent_may_not_read() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "hidden words").unwrap();
    let absolute = outside.path().display().to_string();
    let link = |yard: &Yard| {
        std::os::unix::fs::symlink(outside.path(), yard.root().join("link.txt")).unwrap();
    };
    let denied = "permissions: {deny: ['Read(secret.txt)']}\n";
    let writer = "---\nname: worker\nwhenToUse: For work.\ntools: {allowed: [Write]}\n---\nYou work.\n";
    let own = "---\nname: worker\nwhenToUse: For work.\n---\nYou work.\n";
    for (name, mention, settings, agent) in [
        ("outside, absolute", absolute.as_str(), "", own),
        ("outside, by a link", "link.txt", "", own),
        ("the home directory", "~/.ssh/id_rsa", "", own),
        ("a rule of the settings", "secret.txt", denied, own),
        ("an agent without Read", "secret.txt", "", writer),
        ("not text", "data.bin", "", own),
    ] {
        let yard = project().settings(settings).file(".rawko/agents/worker.md", agent);
        link(&yard);
        let (texts, images) = prompt(&yard, &format!("Look at @{mention}")).await;
        assert_eq!(images, 0, "{name}");
        assert_eq!(texts.len(), 1, "{name}: {texts:?}");
        assert!(texts[0].starts_with(&format!("[@{mention} is not attached: ")), "{name}: {texts:?}");
        assert!(!texts[0].contains("hidden words"), "{name}: {texts:?}");
    }
}

#[tokio::test]
async fn text_has_a_budget() {
    let yard = project().file("big.txt", &"x".repeat(300_000)).file("more.txt", "more\n");
    let (texts, _) = prompt(&yard, "Read @big.txt and @more.txt").await;
    let bytes: usize = texts.iter().map(String::len).sum();
    assert!(bytes < 100_000 && texts[0].contains("attached files are limited"), "{bytes}");
}

/// The words of one model to another attach nothing.
#[tokio::test]
async fn a_sub_agent_gets_the_words_only() {
    let yard = yard(
        "
- {agent: worker, tool_calls: [{name: Task, input: {agent: helper, prompt: 'Read @src/lib.rs'}}]}
- {agent: worker, text: Done.}
- {agent: helper, text: I see.}
",
    )
    .file(".rawko/agents/helper.md", "---\nname: helper\nwhenToUse: To help.\n---\nYou help.\n")
    .file("src/lib.rs", "fn main() {}\n");
    yard.run("one", json!({"prompt": "Do it."})).await;
    let helper = yard.asked().into_iter().find(|request| request.agent == "helper").unwrap();
    assert!(!serde_json::to_string(&helper.messages).unwrap().contains("fn main"));
}
