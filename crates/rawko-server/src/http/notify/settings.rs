//! `server.notify` and `server.public_url`. Only the person's own settings may have them: a message with a link lets its
//! receiver answer for the person.

use std::time::Duration;

use rawko_chart::SpannedValue;
use rawko_host::{Environment, SettingsReader};
use reqwest::Url;

use super::message::MessageFormat;

/// A webhook that receives messages about requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Name of the receiver, for messages about failures.
    pub name: String,
    /// Format of the request body.
    pub format: MessageFormat,
    /// Lifetime of links to answer; `None`: messages have no link.
    pub links_for: Option<Duration>,
    address: Address,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    Url(String),
    /// Addresses of webhooks are often secret.
    Variable(String),
}

impl Receiver {
    /// Returns the address. The error does not contain it.
    pub(super) fn address(&self, environment: &Environment) -> Result<Url, String> {
        let name = &self.name;
        let text = match &self.address {
            Address::Url(url) => url.clone(),
            Address::Variable(variable) => environment.get(variable).map(str::to_owned).ok_or_else(|| {
                format!("cannot notify `{name}`: environment variable {variable} is not set")
            })?,
        };
        web(&text).ok_or_else(|| format!("cannot notify `{name}`: its address is not an http or https URL"))
    }
}

fn web(text: &str) -> Option<Url> {
    Url::parse(text.trim()).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host())
}

const OWN_SETTINGS: &str = "move it to your own settings (~/.config/rawko/config.yaml)";

/// Reads `public_url`: scheme and host, without a path. Links to answer begin with it, so a project that chose it would get
/// the codes of the person's links.
pub(crate) fn public_url_of(
    reader: &mut SettingsReader<'_>,
    at: &SpannedValue,
    is_of_project: bool,
) -> Option<String> {
    if is_of_project {
        reader.invalid(at.span, "a project cannot choose where links to answer lead", OWN_SETTINGS);
        return None;
    }
    let text = reader.text(at, "`public_url` of `server`")?;
    let found =
        web(text).filter(|url| url.path() == "/" && url.query().is_none() && url.fragment().is_none());
    if found.is_none() {
        let help = "write scheme and host, for example `https://rawko.example`";
        reader.invalid(at.span, format!("invalid address `{text}`"), help);
    }
    found.map(|url| url.as_str().trim_end_matches('/').to_owned())
}

/// Reads `notify`: a list of receivers.
pub(crate) fn receivers_of(
    reader: &mut SettingsReader<'_>,
    at: &SpannedValue,
    is_of_project: bool,
) -> Vec<Receiver> {
    if is_of_project {
        reader.invalid(at.span, "a project cannot choose who is notified", OWN_SETTINGS);
        return Vec::new();
    }
    let Some(items) = at.items() else {
        reader.wrong_type(at, "`notify` of `server`", "a list");
        return Vec::new();
    };
    let mut all: Vec<Receiver> = Vec::new();
    for item in items {
        let Some(receiver) = receiver_of(reader, item) else { continue };
        if all.iter().any(|known| known.name == receiver.name) {
            let message = format!("duplicate receiver `{}`", receiver.name);
            reader.invalid(item.span, message, "use a different name for each");
        } else {
            all.push(receiver);
        }
    }
    all
}

fn receiver_of(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Option<Receiver> {
    let (mut name, mut address, mut format, mut links_for) = (None, None, MessageFormat::default(), None);
    let before = reader.findings.len();
    for entry in reader.record(at, "a receiver", &["name", "url", "env", "format", "links_for"]) {
        let what = format!("`{}` of a receiver", entry.key);
        match entry.key.as_str() {
            "links_for" => links_for = reader.duration(&entry.value, &what),
            key => {
                let Some(text) = reader.text(&entry.value, &what) else { continue };
                let span = entry.value.span;
                match (key, text) {
                    ("name", text) if rawko_turns::is_name(text) => name = Some(text.to_owned()),
                    ("name", text) => {
                        reader.invalid(
                            span,
                            format!("invalid name `{text}`"),
                            "use letters, digits, `-` and `_`",
                        );
                    }
                    ("url", text) if web(text).is_some() => address = Some(Address::Url(text.to_owned())),
                    ("url", _) => reader.invalid(span, "invalid address", "write an http or https URL"),
                    ("env", text) => address = Some(Address::Variable(text.to_owned())),
                    (_, "slack") => format = MessageFormat::Slack,
                    (_, "json") => format = MessageFormat::Json,
                    (_, other) => {
                        reader.invalid(span, format!("unknown format `{other}`"), "use `slack` or `json`");
                    }
                }
            }
        }
    }
    let receiver = name.zip(address).map(|(name, address)| Receiver { name, format, links_for, address });
    if receiver.is_none() && reader.findings.len() == before {
        let help = "write `{name: team, env: SLACK_WEBHOOK, links_for: 24h}`";
        reader.invalid(at.span, "a receiver requires `name`, and `url` or `env`", help);
    }
    receiver
}
