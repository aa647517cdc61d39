//! `@path/to/file` in a prompt: the file is attached to it. Text is added within a budget, an image is shown. The file is
//! read as the agent's own tool would read it, so nothing is attached that the agent may not read.

use std::path::Path;

use rawko_core::Value;
use rawko_host::ServiceCall;

use super::AgentServices;
use super::bounds::cut;
use rawko_model::MessagePart;
use rawko_tools::{Clearance, Grant, ToolCall, ToolOutcome, image_of_base64};

/// Text of all attached files.
const TEXT_BYTES_MAX: usize = 96 * 1024;
const FILES_MAX: usize = 10;
const DATA_URL: &str = "data:image/";

/// Adds the files that the texts of a prompt mention. One that is refused leaves a note with the reason.
pub(super) async fn attach(
    agent_services: &AgentServices,
    grant: &Grant,
    call: &ServiceCall,
    parts: Vec<MessagePart>,
) -> Vec<MessagePart> {
    let mut paths: Vec<String> = Vec::new();
    for part in &parts {
        let MessagePart::Text { text } = part else { continue };
        for path in mentioned(text).filter(|path| names_file(&agent_services.root, path)) {
            if !paths.iter().any(|known| known == path) && paths.len() < FILES_MAX {
                paths.push(path.to_owned());
            }
        }
    }
    let (mut all, mut left) = (with_images(parts), TEXT_BYTES_MAX);
    for path in paths {
        all.extend(attached(agent_services, grant, call, &path, &mut left).await);
    }
    all
}

/// Takes images out of texts that contain them as `data:` URLs, as messages of channels do.
fn with_images(parts: Vec<MessagePart>) -> Vec<MessagePart> {
    let mut all = Vec::new();
    for part in parts {
        let MessagePart::Text { text } = part else {
            all.push(part);
            continue;
        };
        let (mut rest, mut words, mut images) = (text.as_str(), String::new(), Vec::new());
        while let Some(start) = rest.find(DATA_URL) {
            let end = rest[start..].find(|c: char| !is_of_url(c)).map_or(rest.len(), |length| start + length);
            words.push_str(&rest[..start]);
            match image_of_base64(&rest[start..end]) {
                Ok(image) if images.len() < FILES_MAX => {
                    images.push(image);
                    words.push_str(&format!("[image {}]", images.len()));
                }
                Ok(_) => words.push_str("[an image is left out: there are too many]"),
                Err(why) => words.push_str(&format!("[an image is left out: {why}]")),
            }
            rest = &rest[end..];
        }
        words.push_str(rest);
        all.push(MessagePart::Text { text: words });
        all.extend(images);
    }
    all
}

fn is_of_url(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | ';' | ',' | '+' | '=' | '-')
}

/// Returns the words that begin with `@`, without punctuation after them.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '\'' | '`' | '<'));
    words.filter_map(|word| {
        let path = word.strip_prefix('@')?;
        let end = path.find([')', ']', '"', '\'', '`', '>', ',', ';']).unwrap_or(path.len());
        Some(path[..end].trim_end_matches(['.', ':', '!', '?'])).filter(|path| !path.is_empty())
    })
}

/// Returns true if a word means a file: `@alice` and an address do not.
fn names_file(root: &Path, path: &str) -> bool {
    path.starts_with("~/") || std::fs::metadata(root.join(path)).is_ok_and(|about| about.is_file())
}

async fn attached(
    agent_services: &AgentServices,
    grant: &Grant,
    call: &ServiceCall,
    path: &str,
    left: &mut usize,
) -> Vec<MessagePart> {
    let text = |text: String| MessagePart::Text { text };
    let input = Value::map([("path", Value::str(path))]);
    let read = ToolCall {
        name: "Read",
        input: &input,
        instance: &call.instance,
        idempotency: &call.idempotency,
        plan: &Value::NULL,
        notes: &Value::NULL,
        clearance: Clearance::default(),
    };
    let ToolOutcome { content, is_error, images, .. } = agent_services.toolbox.run(read, grant).await;
    if is_error {
        return vec![text(format!("[@{path} is not attached: {content}]"))];
    }
    if !images.is_empty() {
        return std::iter::once(text(format!("[image {path}]"))).chain(images).collect();
    }
    let whole = agent_services.toolbox.read_text(path, None, None, (grant, Clearance::default())).await;
    let content = cut(whole.content, *left, "attached files are limited; read the rest with Read");
    *left = left.saturating_sub(content.len());
    vec![text(format!("[file {path}]\n{content}\n[end of file]"))]
}

#[cfg(test)]
mod tests {
    use rawko_model::MessagePart;

    use super::{mentioned, with_images};

    #[test]
    fn images_in_texts_are_taken_out() {
        let png = "iVBORw0KGgoAAAAN";
        let text = format!("Look: ![shot](data:image/png;base64,{png}) and data:image/png;base64,AAAA.");
        let parts = with_images(vec![MessagePart::Text { text }]);
        assert_eq!(
            parts,
            [
                MessagePart::Text {
                    text: "Look: ![shot]([image 1]) and [an image is left out: it is not a PNG, JPEG, GIF or WebP image]."
                        .to_owned()
                },
                MessagePart::Image { media_type: "image/png".to_owned(), data: png.to_owned() },
            ]
        );
    }

    #[test]
    fn words_after_an_at_sign_are_mentions() {
        let table = [
            ("fix @src/lib.rs please", "src/lib.rs"),
            ("see @a.txt, @b/c.txt.", "a.txt b/c.txt"),
            ("(@a.png) \"@b.png\" `@c.png`", "a.png b.png c.png"),
            ("mail me@example.com", ""),
            ("@", ""),
            ("@../x @/etc/hosts @~/y", "../x /etc/hosts ~/y"),
        ];
        for (text, expected) in table {
            assert_eq!(mentioned(text).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }
}
