//! The body of a message: Slack-compatible JSON, or the request as plain JSON.

use rawko_chart::printable;
use rawko_view::standing::PendingAsk;
use serde_json::{Value, json};

/// Characters of a description; the whole is behind the link.
const TEXT_MAX: usize = 500;

/// The shape of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageFormat {
    /// `{"text": …}` with Slack's markup; Mattermost, Rocket.Chat and others read it, too.
    #[default]
    Slack,
    /// All parts of the request as keys.
    Json,
}

/// A pending request, as it is sent.
pub(super) struct NoticeMessage<'a> {
    pub(super) key: &'a str,
    pub(super) chart: &'a str,
    pub(super) ask: &'a PendingAsk,
    pub(super) link: Option<String>,
}

impl NoticeMessage<'_> {
    pub(super) fn body(&self, format: MessageFormat) -> Value {
        match format {
            MessageFormat::Slack => json!({"text": self.slack()}),
            MessageFormat::Json => json!({
                "type": "request",
                "id": self.key,
                "instance": &*self.ask.instance,
                "chart": self.chart,
                "invoke": self.ask.invoke,
                "title": self.title(),
                "text": self.text(),
                "since_ms": self.ask.since_ms,
                "expires_ms": self.ask.expires_ms,
                "link": self.link,
            }),
        }
    }

    fn title(&self) -> String {
        let input = &self.ask.input;
        let found = ["title", "prompt", "message"].iter().find_map(|key| input.get(key).as_str());
        found.map_or_else(|| format!("{} requires an answer", self.ask.invoke), short)
    }

    /// The description, if it is not the title.
    fn text(&self) -> String {
        let input = &self.ask.input;
        let title = self.title();
        let keys = ["prompt", "message", "runs", "command"];
        let found = keys.iter().filter_map(|key| input.get(key).as_str()).map(short);
        found.filter(|text| *text != title).collect::<Vec<_>>().join("\n")
    }

    fn slack(&self) -> String {
        let mut text = format!("*{}*\n", escaped(&self.title()));
        if !self.text().is_empty() {
            text.push_str(&format!("{}\n", escaped(&self.text())));
        }
        text.push_str(&format!("{} · {}", escaped(&self.ask.instance), escaped(self.chart)));
        if let Some(link) = &self.link {
            text.push_str(&format!(" · <{link}|Answer>"));
        }
        text
    }
}

fn short(text: &str) -> String {
    let text = &*printable(text);
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Slack's markup has three characters; mentions and links of the request stay text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use rawko_core::Value as Data;

    use super::*;

    #[test]
    fn a_request_in_both_shapes() {
        let input: Data = json!({"title": "Pay <250> & go?", "message": "for Ada"}).into();
        let ask = PendingAsk {
            instance: "order-1".into(),
            invoke: "approval".into(),
            input,
            since_ms: 5,
            expires_ms: None,
        };
        let message =
            NoticeMessage { key: "k", chart: "order", ask: &ask, link: Some("https://x/#/answer/c".into()) };
        assert_eq!(
            message.body(MessageFormat::Slack),
            json!({"text": "*Pay &lt;250&gt; &amp; go?*\nfor Ada\norder-1 · order · <https://x/#/answer/c|Answer>"})
        );
        let body = message.body(MessageFormat::Json);
        assert_eq!(
            (&body["title"], &body["link"]),
            (&json!("Pay <250> & go?"), &json!("https://x/#/answer/c"))
        );
        let hidden: Data = json!({"title": "Run `touch a\u{202e}txt`"}).into();
        let hidden = NoticeMessage { ask: &PendingAsk { input: hidden, ..ask.clone() }, ..message };
        assert_eq!(hidden.body(MessageFormat::Json)["title"], json!("Run `touch a\\u202etxt`"));
        let bare = PendingAsk { input: Data::Null, ..ask };
        let message = NoticeMessage { key: "k", chart: "order", ask: &bare, link: None };
        assert_eq!(
            message.body(MessageFormat::Slack),
            json!({"text": "*approval requires an answer*\norder-1 · order"})
        );
    }
}
