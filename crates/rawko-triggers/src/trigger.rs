//! `Trigger`: a schedule or a webhook with its rules.

use crate::action::{DecideError, DeliveryFacts, TriggerCommand, TriggerRule, decide};
use crate::schedule::{DueTime, Schedule};
use crate::signature::Signature;
use rawko_core::Value;

/// A trigger of the settings.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// Name in the settings, unique per project.
    pub name: String,
    /// The schedule or webhook.
    pub source: TriggerSource,
    /// Rules, in order; the first that holds decides.
    pub rules: Vec<TriggerRule>,
    /// The settings file, as messages name it.
    pub file: String,
}

/// The source of a trigger's runs.
#[derive(Clone, Debug)]
pub enum TriggerSource {
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
            TriggerSource::Schedule(schedule) => Some(schedule),
            TriggerSource::Webhook(_) => None,
        }
    }

    /// Returns the webhook, if it is one.
    pub fn webhook(&self) -> Option<&Webhook> {
        match &self.source {
            TriggerSource::Webhook(webhook) => Some(webhook),
            TriggerSource::Schedule(_) => None,
        }
    }

    /// Returns the definition of a schedule, or the kind of signature of a webhook.
    pub fn definition(&self) -> String {
        match &self.source {
            TriggerSource::Schedule(schedule) => schedule.definition(),
            TriggerSource::Webhook(webhook) => match &webhook.signature {
                Signature::Github => "webhook github".to_owned(),
                Signature::Slack => "webhook slack".to_owned(),
                Signature::Hmac(_) => "webhook hmac".to_owned(),
                Signature::None => "webhook unsigned".to_owned(),
            },
        }
    }

    /// Returns the command for a due time.
    pub fn at(
        &self,
        schedule: &Schedule,
        due: DueTime,
        now_ms: i64,
    ) -> Result<Option<TriggerCommand>, DecideError> {
        let facts = DeliveryFacts {
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
        delivery: &crate::WebhookDelivery,
        headers: &Value,
        now_ms: i64,
    ) -> Result<Option<TriggerCommand>, DecideError> {
        let facts = DeliveryFacts {
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
