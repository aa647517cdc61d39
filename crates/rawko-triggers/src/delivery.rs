//! `WebhookDelivery`: one genuine request of a webhook, and the keys by which its repetition is known.

use rawko_core::Value;

use crate::signature::Signature;
use crate::trigger::Webhook;

/// Characters of a delivery id that may be part of an instance id.
const KEY_CHARS_MAX: usize = 80;

/// One request of a webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookDelivery {
    /// The id that the sender gave it, or one computed from its content.
    pub key: String,
    /// A second key if the id is not signed: the same signed content under another id is a replay.
    pub content_key: Option<String>,
    /// The kind of event, as the sender names it: `pull_request`, `app_mention`, `/deploy`.
    pub kind: String,
    /// Body of the request.
    pub payload: Value,
}

impl WebhookDelivery {
    /// Reads id and kind from the headers and the payload of a request.
    pub fn new<'h>(
        webhook: &Webhook,
        header: &dyn Fn(&str) -> Option<&'h str>,
        body: &[u8],
        payload: Value,
        now_ms: i64,
    ) -> WebhookDelivery {
        let digest = blake3::hash(body).to_hex().to_string();
        let text = |at: &Value| at.as_str().map(str::to_owned);
        let event = payload.get("event");
        let (id, kind) = match &webhook.signature {
            Signature::Github => (header("x-github-delivery").map(str::to_owned), header("x-github-event")),
            Signature::Slack => {
                let id = text(payload.get("event_id")).or_else(|| text(payload.get("trigger_id")));
                let kinds = [event.get("type"), payload.get("command"), payload.get("type")];
                (id, kinds.into_iter().find_map(Value::as_str))
            }
            Signature::Hmac(_) | Signature::None => {
                let id = webhook.delivery_header.as_deref().and_then(header).map(str::to_owned);
                (id, payload.get("type").as_str())
            }
        };
        // Without a signed time, only the content distinguishes a replay from a new request.
        let is_by_content = webhook.signature.is_signed() && !webhook.signature.signs_time();
        let content_key = (is_by_content && !webhook.allows_identical).then(|| format!("content {digest}"));
        // The same body with another signed time is another request.
        let time = webhook.signature.time_header().and_then(header);
        let otherwise = || match webhook.signature.is_signed() && !webhook.allows_identical {
            true => time.map_or_else(|| digest[..32].to_owned(), |time| fitting(&format!("{time}-{digest}"))),
            false => format!("{now_ms}-{}", &digest[..16]),
        };
        let key = id.filter(|id| !id.is_empty()).map_or_else(otherwise, |id| fitting(&id));
        WebhookDelivery {
            key,
            content_key,
            kind: kind.unwrap_or_default().chars().take(100).collect(),
            payload,
        }
    }

    /// Returns the challenge that Slack sends when an address is set up.
    pub fn challenge(&self, webhook: &Webhook) -> Option<&str> {
        let is_one = webhook.signature == Signature::Slack && self.kind == "url_verification";
        self.payload.get("challenge").as_str().filter(|_| is_one)
    }
}

/// Returns an id that can be part of an instance id, the same for the same text.
fn fitting(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match id.len() <= KEY_CHARS_MAX && id.chars().all(fits) {
        true => id.to_owned(),
        false => blake3::hash(id.as_bytes()).to_hex()[..32].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_body_with_a_newer_signed_time_is_a_new_request() {
        let stamped = |time: &'static str| {
            let options = crate::signature::HmacOptions {
                header: "x-signature".to_owned(),
                prefix: String::new(),
                encoding: crate::signature::Encoding::Hex,
                timestamp: Some("x-time".to_owned()),
                tolerance_ms: 300_000,
            };
            delivery(Signature::Hmac(options), &[("x-time", time)], r#"{"ping": 1}"#)
        };
        let (first, again, newer) = (stamped("1700"), stamped("1700"), stamped("1760"));
        assert_eq!(first.key, again.key, "a replay");
        assert_ne!(first.key, newer.key, "a genuine request");
        assert!(newer.key.starts_with("1760-") && newer.content_key.is_none(), "{}", newer.key);
        let slack = |time| delivery(Signature::Slack, &[("x-slack-request-timestamp", time)], "{}").key;
        assert!(slack("1700") == slack("1700") && slack("1700") != slack("1760"));
    }

    fn delivery(
        signature: Signature,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> WebhookDelivery {
        let webhook = Webhook {
            signature,
            secret: None,
            delivery_header: Some("x-id".to_owned()),
            allows_identical: false,
        };
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let payload = crate::read_payload("application/json", body.as_bytes()).unwrap();
        WebhookDelivery::new(&webhook, &header, body.as_bytes(), payload, 7)
    }

    #[test]
    fn ids_of_senders() {
        let headers = [("x-github-delivery", "72d3162e-cc78"), ("x-github-event", "push")];
        let one = delivery(Signature::Github, &headers, r#"{"after": "a"}"#);
        assert_eq!((one.key.as_str(), one.kind.as_str()), ("72d3162e-cc78", "push"));
        let replayed = [("x-github-delivery", "other"), ("x-github-event", "push")];
        let again = delivery(Signature::Github, &replayed, r#"{"after": "a"}"#);
        assert!(again.content_key.is_some() && again.content_key == one.content_key, "GitHub signs no id");
        let slack =
            delivery(Signature::Slack, &[], r#"{"event_id": "Ev08", "event": {"type": "app_mention"}}"#);
        assert_eq!(
            (slack.key.as_str(), slack.kind.as_str(), slack.content_key),
            ("Ev08", "app_mention", None)
        );
        let odd = delivery(Signature::None, &[("x-id", "a/b\nc")], "{}");
        assert!(odd.key.len() == 32 && odd.key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", odd.key);
        assert!(delivery(Signature::None, &[], "{}").key.starts_with("7-"), "unsigned requests may be equal");
    }
}
