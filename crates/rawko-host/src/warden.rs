//! `Warden`: the gate for what a call does while it runs. A program that is an agent asks for tools within its one call to
//! the host; each of them passes the project's rules and is in the audit before it is run, as every other call is.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use rawko_store::{AuditLine, Commit, InstanceKey};
use tokio::sync::oneshot;

use crate::host::Inner;

/// Whom a running call asks before it does something. Cheap to clone.
#[derive(Clone)]
pub struct Warden(Option<Arc<Watch>>);

/// What a warden needs of its host.
pub trait Watchtower: Send + Sync {
    /// What settings say about a name, for an agent or nobody in particular.
    fn rule(&self, name: &str, agent: Option<&str>) -> Result<String, String>;

    fn now_ms(&self) -> i64;

    /// Keeps a line of the audit; done when it is kept.
    fn note(&self, line: AuditLine) -> Noting;
}

/// A line of the audit on its way to where it is kept.
pub type Noting = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

struct Watch {
    tower: Box<dyn Watchtower>,
    instance: Arc<str>,
    agent: Option<Arc<str>>,
}

/// A host on this machine.
struct Here {
    host: Weak<Inner>,
    key: InstanceKey,
}

impl Warden {
    /// For a call of an instance; `agent` when it is one that is called.
    pub fn new(tower: Box<dyn Watchtower>, instance: &Arc<str>, agent: Option<&str>) -> Self {
        let instance = Arc::clone(instance);
        Self(Some(Arc::new(Watch { tower, instance, agent: agent.map(Into::into) })))
    }

    pub(crate) fn of(host: &Arc<Inner>, key: InstanceKey, instance: &Arc<str>, agent: Option<&str>) -> Self {
        Self::new(Box::new(Here { host: Arc::downgrade(host), key }), instance, agent)
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
        let decided = self.tower.rule(name, self.agent.as_deref());
        let (word, rule) = match &decided {
            // Not `allowed`: that is what an instance's own calls are counted by.
            Ok(rule) => ("admitted", rule),
            Err(rule) => ("refused", rule),
        };
        let line = AuditLine {
            at_ms: self.tower.now_ms(),
            instance: Arc::clone(&self.instance),
            effect: key.into(),
            service: name.into(),
            decision: word.into(),
            reason: rule.clone(),
            provenance: String::new(),
        };
        self.tower.note(line).await?;
        decided.map(drop)
    }
}

impl Watchtower for Here {
    fn rule(&self, name: &str, agent: Option<&str>) -> Result<String, String> {
        let host = self.host.upgrade().ok_or_else(closing)?;
        host.project.gate.by_settings(name, agent)
    }

    fn now_ms(&self) -> i64 {
        self.host.upgrade().map_or(0, |host| host.clock.now_ms())
    }

    fn note(&self, line: AuditLine) -> Noting {
        let Some(host) = self.host.upgrade() else { return Box::pin(async { Err(closing()) }) };
        let commit = Commit { instance: self.key, audit: vec![line], ..Commit::default() };
        let (written, answer) = oneshot::channel();
        // Nobody may be waiting any more: then the call has been stopped.
        host.writer.submit(vec![commit], move |result| drop(written.send(result)));
        Box::pin(async move {
            match answer.await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(format!("the audit cannot be written: {error}")),
                Err(_) => Err(closing()),
            }
        })
    }
}

fn closing() -> String {
    "the host is closing".to_owned()
}

impl fmt::Debug for Warden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Warden")
    }
}
