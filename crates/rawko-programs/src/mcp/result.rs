//! Converts the result of an MCP server for the model: text, separate images, structured data, all within limits.

use rawko_core::Value;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::settings::McpSettings;
use rawko_model::MessagePart;
use rawko_tools::ToolOutcome;

/// Converts the result of a call to an outcome.
pub(super) fn outcome(result: CallToolResult, settings: &McpSettings) -> ToolOutcome {
    let mut gathered =
        GatheredContent { image_bytes_left: settings.image_bytes_max, ..GatheredContent::default() };
    for block in result.content {
        gathered.take(block);
    }
    let data = gathered.structured(result.structured_content, settings.output_bytes_max);
    let mut content = gathered.text;
    if content.is_empty() && !data.is_null() {
        content = data.to_string();
    }
    ToolOutcome {
        content: cut(content, settings.output_bytes_max),
        is_error: result.is_error.unwrap_or(false),
        refusal: None,
        data,
        images: gathered.images,
    }
}

/// Returns true if a text is the result of a call; converts it.
pub(crate) fn is_result(text: &[u8]) -> bool {
    let settings = McpSettings::new("/", rawko_settings::Environment::none().clone());
    serde_json::from_slice(text).is_ok_and(|result| !outcome(result, &settings).content.is_empty())
}

#[derive(Default)]
struct GatheredContent {
    text: String,
    images: Vec<MessagePart>,
    image_bytes_left: usize,
}

impl GatheredContent {
    fn take(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.line(&text.text),
            ContentBlock::Image(image) => self.image(image.mime_type, image.data),
            ContentBlock::Audio(audio) => {
                self.line(&format!("[audio of type {}, which is not shown]", audio.mime_type));
            }
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                self.line(&format!("[resource `{}`: {}]", link.name, link.uri))
            }
            // The protocol grows; unknown content is reported, not dropped.
            _ => self.line("[content of a kind that is not known here]"),
        }
    }

    /// Data that is too large is omitted: it would be stored forever with the call.
    fn structured(&mut self, content: Option<serde_json::Value>, bytes_max: usize) -> Value {
        let content = content.unwrap_or_default();
        if content.to_string().len() > bytes_max {
            self.line("[structured content, which is too large to be kept]");
            return Value::Null;
        }
        Value::from_json(content)
    }

    fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.line(&format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents { mime_type: Some(kind), blob, .. }
                if kind.starts_with("image/") =>
            {
                self.image(kind, blob);
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_else(|| "unknown".to_owned());
                let bytes = blob.len() / 4 * 3;
                self.line(&format!(
                    "[resource {uri} of type {kind}, about {bytes} bytes, which are not shown]"
                ));
            }
            _ => self.line("[a resource of a kind that is not known here]"),
        }
    }

    fn image(&mut self, media_type: String, data: String) {
        match self.image_bytes_left.checked_sub(data.len()) {
            Some(left) => {
                self.image_bytes_left = left;
                self.line(&format!("[image {} of type {media_type}]", self.images.len() + 1));
                self.images.push(MessagePart::Image { media_type, data });
            }
            None => self.line(&format!("[image of type {media_type}, which is too large to be shown]")),
        }
    }

    fn line(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// Truncates the text to a limit, with a note.
fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let missing = text.len() - text.floor_char_boundary(bytes_max);
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push_str(&format!("\n[{missing} more bytes were cut]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn results_become_outcomes() {
        let cases = [
            ("text", json!({"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]})),
            ("an error", json!({"content": [{"type": "text", "text": "no such file"}], "isError": true})),
            ("structured only", json!({"content": [], "structuredContent": {"sum": 3}})),
            (
                "structured and text",
                json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}}),
            ),
            ("an image", json!({"content": [{"type": "image", "mimeType": "image/png", "data": "iVBO"}]})),
            (
                "too many images",
                json!({"content": [
                    {"type": "image", "mimeType": "image/png", "data": "iVBO"},
                    {"type": "image", "mimeType": "image/png", "data": "iVBORw0K"}
                ]}),
            ),
            ("audio", json!({"content": [{"type": "audio", "mimeType": "audio/wav", "data": "UklG"}]})),
            (
                "resources",
                json!({"content": [
                    {"type": "resource", "resource": {"uri": "file:///a", "text": "A"}},
                    {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
                    {"type": "resource_link", "uri": "file:///c", "name": "c"}
                ]}),
            ),
            ("too much text", json!({"content": [{"type": "text", "text": "ä".repeat(30)}]})),
            ("nothing", json!({"content": []})),
        ];
        let settings = McpSettings {
            output_bytes_max: 41,
            image_bytes_max: 8,
            ..McpSettings::new(".", rawko_settings::Environment::default())
        };
        let shown: String = cases
            .map(|(case, result)| {
                // Limits on text only matter in cases with too much of it.
                let settings = if case.starts_with("too much text") {
                    settings.clone()
                } else {
                    McpSettings { output_bytes_max: 4096, ..settings.clone() }
                };
                let outcome = outcome(serde_json::from_value(result).unwrap(), &settings);
                format!("{case}: {}\n", serde_json::to_string(&outcome).unwrap())
            })
            .concat();
        expect![[r#"
            text: {"content":"one\ntwo","is_error":false,"data":null}
            an error: {"content":"no such file","is_error":true,"data":null}
            structured only: {"content":"{\"sum\":3}","is_error":false,"data":{"sum":3}}
            structured and text: {"content":"3","is_error":false,"data":{"sum":3}}
            an image: {"content":"[image 1 of type image/png]","is_error":false,"data":null,"images":[{"type":"image","media_type":"image/png","data":"iVBO"}]}
            too many images: {"content":"[image 1 of type image/png]\n[image of type image/png, which is too large to be shown]","is_error":false,"data":null,"images":[{"type":"image","media_type":"image/png","data":"iVBO"}]}
            audio: {"content":"[audio of type audio/wav, which is not shown]","is_error":false,"data":null}
            resources: {"content":"[resource file:///a]\nA\n[resource file:///b of type unknown, about 3 bytes, which are not shown]\n[resource `c`: file:///c]","is_error":false,"data":null}
            too much text: {"content":"ääääääääääääääääääää\n[20 more bytes were cut]","is_error":false,"data":null}
            nothing: {"content":"","is_error":false,"data":null}
        "#]].assert_eq(&shown);
    }
}
