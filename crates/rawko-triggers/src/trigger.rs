//! `Trigger`: a schedule or a webhook with its rules.

use crate::action::{Command, DecideError, Facts, Rule, decide};
use crate::schedule::{Due, Schedule};
use crate::signature::Signature;
use rawko_core::Value;

/// A trigger of the settings.
#[derive(Clone, Debug)]
pub struct Trigger {
    pub name: String,
    pub source: Source,
    pub rules: Vec<Rule>,
    /// The settings file, as messages name it.
    pub file: String,
}

#[derive(Clone, Debug)]
pub enum Source {
    Schedule(Schedule),
    Webhook(Webhook),
}

/// A webhook: who may call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub signature: Signature,
    /// Name of the environment variable with the secret.
    pub secret: Option<String>,
    /// Header with the id of a delivery, for senders that are neither GitHub nor Slack.
    pub delivery_header: Option<String>,
    /// Accepts the same signed body again under another delivery id.
    pub allows_identical: bool,
}

impl Trigger {
    pub fn schedule(&self) -> Option<&Schedule> {
        match &self.source {
            Source::Schedule(schedule) => Some(schedule),
            Source::Webhook(_) => None,
        }
    }

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
