//! Response bodies: read up to a limit and converted to readable text.

use base64::Engine;
use reqwest::{Response, Url};

use super::html;
use crate::files::{IMAGE_BYTES_MAX, image_type};
use crate::outcome::ToolOutcome;
use rawko_model::MessagePart;

const BYTES_MAX: usize = IMAGE_BYTES_MAX as usize;
const TEXT_CHARS_MAX: usize = 60_000;

pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// True if the body was truncated.
    pub(super) is_cut: bool,
}

pub(super) async fn read(mut response: Response) -> reqwest::Result<Body> {
    let mut body = Body { bytes: Vec::new(), is_cut: false };
    while let Some(chunk) = response.chunk().await? {
        let room = BYTES_MAX - body.bytes.len();
        body.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            body.is_cut = true;
            break;
        }
    }
    Ok(body)
}

impl Body {
    pub(super) fn outcome(&self, url: &Url, content_type: &str) -> ToolOutcome {
        if let Some(media_type) = image_type(&self.bytes).filter(|_| !self.is_cut) {
            let data = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
            return ToolOutcome {
                images: vec![MessagePart::Image { media_type: media_type.to_owned(), data }],
                ..ToolOutcome::ok(format!("`{url}` is an image ({media_type}), shown with this result."))
            };
        }
        if self.bytes.iter().take(8192).any(|byte| *byte == 0) {
            return ToolOutcome::failed(format!(
                "`{url}` is not text but {} bytes of `{content_type}`",
                self.bytes.len()
            ));
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let start = text.trim_start().get(..15).unwrap_or_default().to_ascii_lowercase();
        let is_html = content_type.contains("html")
            || (content_type.is_empty()
                && (start.starts_with("<!doctype html") || start.starts_with("<html")));
        let text = if is_html { html::text(&text) } else { text.into_owned() };
        ToolOutcome::ok(self.cut(&text))
    }

    fn cut(&self, text: &str) -> String {
        let at = text.char_indices().nth(TEXT_CHARS_MAX).map(|(at, _)| at);
        match at {
            Some(at) => format!("{}\n[… cut after {TEXT_CHARS_MAX} characters]", &text[..at]),
            None if self.is_cut => format!("{text}\n[… cut after {BYTES_MAX} bytes]"),
            None if text.trim().is_empty() => "[empty]".to_owned(),
            None => text.to_owned(),
        }
    }
}
