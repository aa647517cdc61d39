//! `Warden`: the gate for what a call does while it runs. A program that is an agent asks for tools within its one call to
//! the host; each of them passes the project's rules and is in the audit before it is run, as every other call is.

use std::fmt;
use std::sync::{Arc, Weak};

use rawko_store::{AuditLine, Commit, InstanceKey};
use tokio::sync::oneshot;

use crate::host::Inner;

/// Whom a running call asks before it does something. Cheap to clone.
#[derive(Clone)]
pub struct Warden(Option<Arc<Watch>>);

struct Watch {
    host: Weak<Inner>,
    key: InstanceKey,
    instance: Arc<str>,
    agent: Option<Arc<str>>,
}

impl Warden {
    pub(crate) fn new(host: &Arc<Inner>, key: InstanceKey, instance: &Arc<str>, agent: Option<&str>) -> Self {
        let (host, instance) = (Arc::downgrade(host), Arc::clone(instance));
        Self(Some(Arc::new(Watch { host, key, instance, agent: agent.map(Into::into) })))
    }

    /// Admits everything and writes nothing: for calls outside a host.
    pub fn absent() -> Self {
        Self(None)
    }

    /// Whether something may be done, by the project's rules. Returns once the audit has the line; `key` is its effect.
    pub async fn admit(&self, name: &str, key: &str) -> Result<(), String> {
        match &self.0 {
            Some(watch) => watch.admit(name, key).await,
            None => Ok(()),
        }
    }
}

impl Watch {
    async fn admit(&self, name: &str, key: &str) -> Result<(), String> {
        let closing = || "the host is closing".to_owned();
        let host = self.host.upgrade().ok_or_else(closing)?;
        let decided = host.gate.by_settings(name, self.agent.as_deref());
        let (word, rule) = match &decided {
            // Not `allowed`: that is what an instance's own calls are counted by.
            Ok(rule) => ("admitted", rule),
            Err(rule) => ("refused", rule),
        };
        let line = AuditLine {
            at_ms: host.clock.now_ms(),
            instance: Arc::clone(&self.instance),
            effect: key.into(),
            service: name.into(),
            decision: word.into(),
            reason: rule.clone(),
            provenance: String::new(),
        };
        let commit = Commit { instance: self.key, audit: vec![line], ..Commit::default() };
        let (written, answer) = oneshot::channel();
        // Nobody may be waiting any more: then the call has been stopped.
        host.writer.submit(vec![commit], move |result| drop(written.send(result)));
        drop(host);
        match answer.await {
            Ok(Ok(_)) => decided.map(drop),
            Ok(Err(error)) => Err(format!("the audit cannot be written: {error}")),
            Err(_) => Err(closing()),
        }
    }
}

impl fmt::Debug for Warden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Warden")
    }
}
