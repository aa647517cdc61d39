//! Reads `http:` of a service.

use std::time::Duration;

use rawko_chart::codes::settings::MISSING_KEY;
use rawko_chart::{Span, SpannedValue};
use reqwest::header::HeaderName;
use reqwest::{Method, Url};

use rawko_settings::quoted;

use super::reader::HostSettingsReader;
use crate::services::http::HttpForm;
use crate::services::template::TextTemplate;

const KEYS: [&str; 4] = ["url", "method", "headers", "timeout"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Headers that the host sets itself.
const OURS: [&str; 5] = ["idempotency-key", "rawko-instance", "rawko-attempt", "content-length", "host"];

/// Reads the request, and a timeout inside `http:` with its position.
pub(super) fn read(
    reader: &mut HostSettingsReader<'_>,
    at: &SpannedValue,
    what: &str,
) -> (Option<HttpForm>, Option<(Duration, Span)>) {
    let (mut url, mut method, mut headers, mut timeout) = (None, Some(Method::POST), Vec::new(), None);
    let before = reader.findings.len();
    for entry in reader.record(at, &format!("`http` of {what}"), &KEYS) {
        let named = format!("`{}` of {what}", entry.key);
        match entry.key.as_str() {
            "url" => url = reader.url(&entry.value, &named),
            "method" => method = reader.method(&entry.value, &named),
            "headers" => headers = reader.headers(&entry.value, &named),
            "timeout" => timeout = reader.duration(&entry.value, &named).map(|it| (it, entry.key_span)),
            _ => {}
        }
    }
    if at.get("url").is_none() && reader.findings.len() == before {
        reader.say(
            &MISSING_KEY,
            at.span,
            format!("`http` of {what} has no `url`"),
            "add `url: \"https://…\"`",
        );
    }
    let form = url.zip(method).map(|(url, method)| HttpForm { url, method, headers });
    (form, timeout)
}

impl HostSettingsReader<'_> {
    fn url(&mut self, at: &SpannedValue, what: &str) -> Option<TextTemplate> {
        let template = self.template(at, what)?;
        // The value of a variable is known only at the call.
        if template.variables().next().is_some() {
            return Some(template);
        }
        let url = Url::parse(template.source()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = url else {
            self.invalid(
                at.span,
                format!("{what} is not an HTTP address"),
                "write for example `https://example.test/charge`",
            );
            return None;
        };
        if !url.username().is_empty() || url.password().is_some() {
            self.invalid(
                at.span,
                format!("{what} has a user or a password in it"),
                "put them into a header: `Authorization: \"Basic ${NAME}\"`",
            );
        }
        Some(template)
    }

    fn method(&mut self, at: &SpannedValue, what: &str) -> Option<Method> {
        let text = self.text(at, what)?.to_ascii_uppercase();
        if !METHODS.contains(&text.as_str()) {
            self.invalid(
                at.span,
                format!("{what} cannot be `{text}`"),
                format!("one of {}", quoted(&METHODS)),
            );
            return None;
        }
        Method::from_bytes(text.as_bytes()).ok()
    }

    fn headers(&mut self, at: &SpannedValue, what: &str) -> Vec<(HeaderName, TextTemplate)> {
        let mut headers = Vec::new();
        for entry in self.entries(at, what) {
            let value = self.template(&entry.value, &format!("`{}` in {what}", entry.key));
            let name = HeaderName::from_bytes(entry.key.as_bytes()).ok();
            match name.filter(|name| !OURS.contains(&name.as_str())) {
                Some(name) => headers.extend(value.map(|value| (name, value))),
                None if OURS.contains(&entry.key.to_ascii_lowercase().as_str()) => {
                    self.invalid(
                        entry.key_span,
                        format!("the header `{}` is set by rawko", entry.key),
                        "remove it",
                    );
                }
                None => self.invalid(
                    entry.key_span,
                    format!("`{}` cannot be the name of a header", entry.key),
                    "letters, digits and `-`",
                ),
            }
        }
        headers
    }
}
