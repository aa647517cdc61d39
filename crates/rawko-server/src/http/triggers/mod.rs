//! Triggers of the settings: the list, the addresses of webhooks, and the clock of schedules. `rawko-triggers`
//! decides which runs are due and which deliveries are genuine; this module acts on them and records them.

mod listing;
mod perform;
mod runner;
mod webhook;

use std::collections::BTreeMap;

use rawko_host::Environment;
use rawko_triggers::{SignatureSecret, Trigger};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
pub use runner::TriggerRunner;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(listing::list)).routes(routes!(webhook::deliver))
}

/// The triggers that a server drives, with their secrets.
#[derive(Default)]
pub struct ServedTriggers {
    all: Vec<Trigger>,
    secrets: BTreeMap<String, SignatureSecret>,
    /// One delivery of a trigger at a time, so that a repetition sees the record of the first.
    turns: BTreeMap<String, tokio::sync::Mutex<()>>,
}

impl ServedTriggers {
    /// Reads the secrets from the environment. A missing one is an error, because without it nothing could be verified.
    pub fn new(all: Vec<Trigger>, environment: &Environment) -> Result<ServedTriggers, String> {
        let mut secrets = BTreeMap::new();
        for trigger in &all {
            let Some(variable) = trigger.webhook().and_then(|webhook| webhook.secret.as_deref()) else {
                continue;
            };
            let text = environment.get(variable).filter(|text| !text.is_empty()).ok_or_else(|| {
                let name = &trigger.name;
                format!("cannot verify webhook `{name}`: environment variable {variable} is not set")
            })?;
            secrets.insert(trigger.name.clone(), SignatureSecret::new(text));
        }
        let turns = all.iter().map(|trigger| (trigger.name.clone(), tokio::sync::Mutex::default())).collect();
        Ok(ServedTriggers { all, secrets, turns })
    }

    /// Returns true if the settings define no trigger.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the first webhook that accepts requests without a signature.
    pub fn unsigned(&self) -> Option<&str> {
        let is_unsigned =
            |trigger: &&Trigger| trigger.webhook().is_some_and(|webhook| !webhook.signature.is_signed());
        self.all.iter().find(is_unsigned).map(|trigger| trigger.name.as_str())
    }

    fn find(&self, name: &str) -> Option<&Trigger> {
        self.all.iter().find(|trigger| trigger.name == name)
    }
}
