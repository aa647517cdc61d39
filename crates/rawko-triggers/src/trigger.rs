//! `Trigger`: a schedule or a webhook with its rules.

use crate::action::{Command, DecideError, Facts, Rule, decide};
use crate::schedule::{Due, Schedule};
use crate::signature::Signature;
use rawko_core::Value;

/// A trigger of the settings.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// Name in the settings, unique per project.
    pub name: String,
    /// The schedule or webhook.
    pub source: Source,
    /// Rules, in order; the first that holds decides.
    pub rules: Vec<Rule>,
    /// The settings file, as messages name it.
    pub file: String,
}

/// The source of a trigger's runs.
#[derive(Clone, Debug)]
pub enum Source {
    /// Runs at due times.
    Schedule(Schedule),
    /// Runs on requests.
    Webhook(Webhook),
}

/// A webhook and its authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The way in which requests are signed.
    pub signature: Signature,
    /// Name of the environment variable with the secret.
    pub secret: Option<String>,
    /// Header with the id of a delivery, for senders that are neither GitHub nor Slack.
    pub delivery_header: Option<String>,
    /// Accepts the same signed body again under another delivery id.
    pub allows_identical: bool,
}

impl Trigger {
    /// Returns the schedule, if it is one.
    pub fn schedule(&self) -> Option<&Schedule> {
        match &self.source {
            Source::Schedule(schedule) => Some(schedule),
            Source::Webhook(_) => None,
        }
    }

    /// Returns the webhook, if it is one.
    pub fn webhook(&self) -> Option<&Webhook> {
        match &self.source {
            Source::Webhook(webhook) => Some(webhook),
            Source::Schedule(_) => None,
        }
    }

    /// Returns the definition of a schedule, or the kind of signature of a webhook.
    pub fn definition(&self) -> String {
        match &self.source {
            Source::Schedule(schedule) => schedule.definition(),
            Source::Webhook(webhook) => match &webhook.signature {
                Signature::Github => "webhook github".to_owned(),
                Signature::Slack => "webhook slack".to_owned(),
                Signature::Hmac(_) => "webhook hmac".to_owned(),
                Signature::None => "webhook unsigned".to_owned(),
            },
        }
    }

    /// Returns the command for a due time.
    pub fn at(&self, schedule: &Schedule, due: Due, now_ms: i64) -> Result<Option<Command>, DecideError> {
        let facts = Facts {
            trigger: &self.name,
            key: &due.key(),
            kind: "schedule",
            payload: &Value::Null,
            headers: &Value::Null,
            due: Some((schedule.local(due), due.ms())),
            now_ms,
        };
        decide(&self.rules, &facts)
    }

    /// Returns the command for a delivery.
    pub fn on(
        &self,
        delivery: &crate::Delivery,
        headers: &Value,
        now_ms: i64,
    ) -> Result<Option<Command>, DecideError> {
        let facts = Facts {
            trigger: &self.name,
            key: &delivery.key,
            kind: &delivery.kind,
            payload: &delivery.payload,
            headers,
            due: None,
            now_ms,
        };
        decide(&self.rules, &facts)
    }
}
