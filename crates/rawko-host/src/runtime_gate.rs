//! `RuntimeGate`: the gate for actions within a running call. An agent that is a program requests tools during its one call
//! to the host; each request is checked against the project's rules and recorded in the audit before it runs, like any
//! other call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use rawko_core::{NamedEvent, ServiceClass, Value};
use rawko_instance::Input;
use rawko_store::{AuditLine, Commit, InstanceKey};
use tokio::sync::oneshot;

use crate::driver::slot::MailboxDelivery;
use crate::host::HostInner;

/// Checks the actions of a running call. Cheap to clone.
#[derive(Clone)]
pub struct RuntimeGate(Option<Arc<GateWatch>>);

/// The operations that a runtime_gate needs from its host.
pub trait AuditHost: Send + Sync {
    /// Returns the rule of the settings for a name, optionally for one agent.
    fn rule(&self, name: &str, agent: Option<&str>) -> Result<String, String>;

    /// Returns the time in milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Returns the approval that governance requires of a name.
    fn approved(&self, _name: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Records an audit line; resolves once it is durable.
    fn note(&self, line: AuditLine) -> AuditFuture;

    /// Delivers an event of the running call to its instance. The same key again changes nothing. A host without it loses
    /// the event, which is only a report.
    fn report(&self, _event: NamedEvent, _key: &str) {}
}

/// An audit line in flight to its store.
pub type AuditFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

struct GateWatch {
    tower: Box<dyn AuditHost>,
    instance: Arc<str>,
    agent: Option<Arc<str>>,
}

/// The host on this machine.
struct LocalAuditHost {
    host: Weak<HostInner>,
    key: InstanceKey,
}

impl RuntimeGate {
    /// Creates the gate for a call of an instance; `agent` is set if an agent is called.
    pub fn new(tower: Box<dyn AuditHost>, instance: &Arc<str>, agent: Option<&str>) -> Self {
        let instance = Arc::clone(instance);
        Self(Some(Arc::new(GateWatch { tower, instance, agent: agent.map(Into::into) })))
    }

    pub(crate) fn of(
        host: &Arc<HostInner>,
        key: InstanceKey,
        instance: &Arc<str>,
        agent: Option<&str>,
    ) -> Self {
        Self::new(Box::new(LocalAuditHost { host: Arc::downgrade(host), key }), instance, agent)
    }

    /// Creates a gate that admits everything and records nothing, for calls outside a host.
    pub fn absent() -> Self {
        Self(None)
    }

    /// Checks an action against the project's rules. Returns once the audit has the line; `key` is its effect.
    pub async fn admit(&self, name: &str, key: &str) -> Result<(), String> {
        match &self.0 {
            Some(watch) => watch.admit(name, key).await,
            None => Ok(()),
        }
    }

    /// Checks an action that other layers have judged: one audit line has the verdict of each. Fails if the project's rules
    /// refuse it; a refusal of the others is for the caller to act on.
    pub async fn admit_judged(
        &self,
        names: &[String],
        key: &str,
        others: &Result<String, String>,
    ) -> Result<(), String> {
        match &self.0 {
            Some(watch) => watch.admit_judged(names, key, others).await,
            None => Ok(()),
        }
    }
}

impl RuntimeGate {
    /// Reports to the instance of the call while the call runs. `key` identifies the report. Its sender is the agent, and
    /// not a person.
    pub fn report(&self, event: NamedEvent, key: &str) {
        if let Some(watch) = &self.0 {
            let agent = watch.agent.as_deref().map(|agent| Value::from(ServiceClass::Agent.named(agent)));
            let origin = agent.unwrap_or(event.origin);
            watch.tower.report(NamedEvent { origin, ..event }, key);
        }
    }
}

impl GateWatch {
    async fn admit(&self, name: &str, key: &str) -> Result<(), String> {
        let decided = self.rule(name);
        let (Ok(rule) | Err(rule)) = &decided;
        self.note(name, key, decided.is_ok(), rule).await?;
        decided.map(drop)
    }

    async fn admit_judged(
        &self,
        names: &[String],
        key: &str,
        others: &Result<String, String>,
    ) -> Result<(), String> {
        let rules: Vec<_> = names.iter().map(|name| (name, self.rule(name))).collect();
        let mut words: Vec<String> = rules
            .iter()
            .map(|(name, decided)| match decided {
                Ok(rule) => format!("governance allows `{name}`: {rule}"),
                Err(why) => format!("governance refuses `{name}`: {why}"),
            })
            .collect();
        let (Ok(other) | Err(other)) = others;
        words.push(other.clone());
        let refusal = rules.iter().find_map(|(_, decided)| decided.as_ref().err());
        let is_admitted = refusal.is_none() && others.is_ok();
        let name = names.first().cloned().unwrap_or_else(|| ServiceClass::Tool.named("other"));
        self.note(&name, key, is_admitted, &words.join("; ")).await?;
        match refusal {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }

    fn rule(&self, name: &str) -> Result<String, String> {
        let rule = self.tower.rule(name, self.agent.as_deref())?;
        Ok(match self.tower.approved(name)? {
            Some(approval) => format!("{rule}; {approval}"),
            None => rule,
        })
    }

    /// Writes the audit line of a decision.
    async fn note(&self, name: &str, key: &str, is_admitted: bool, rule: &str) -> Result<(), String> {
        // Not `allowed`: lines with that word are counted as the instance's own calls.
        let word = if is_admitted { "admitted" } else { "refused" };
        let line = AuditLine {
            at_ms: self.tower.now_ms(),
            instance: Arc::clone(&self.instance),
            effect: key.into(),
            service: name.into(),
            decision: word.into(),
            reason: rule.to_owned(),
            provenance: String::new(),
        };
        self.tower.note(line).await
    }
}

impl AuditHost for LocalAuditHost {
    fn rule(&self, name: &str, agent: Option<&str>) -> Result<String, String> {
        let host = self.host.upgrade().ok_or_else(closing)?;
        host.project.gate.by_settings(name, agent)
    }

    fn now_ms(&self) -> i64 {
        self.host.upgrade().map_or(0, |host| host.clock.now_ms())
    }

    fn approved(&self, name: &str) -> Result<Option<String>, String> {
        let host = self.host.upgrade().ok_or_else(closing)?;
        host.project.gate.approved(name, host.clock.now_ms())
    }

    fn note(&self, line: AuditLine) -> AuditFuture {
        let Some(host) = self.host.upgrade() else { return Box::pin(async { Err(closing()) }) };
        let commit = Commit { instance: self.key, audit: vec![line], ..Commit::default() };
        let (written, answer) = oneshot::channel();
        // The receiver is gone if the call was stopped.
        host.writer.submit(vec![commit], move |result| drop(written.send(result)));
        Box::pin(async move {
            match answer.await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(format!("cannot write the audit log: {error}")),
                Err(_) => Err(closing()),
            }
        })
    }

    fn report(&self, event: NamedEvent, key: &str) {
        let Some(host) = self.host.upgrade() else { return };
        let input = Input::Event { event, key: Some(key.into()) };
        // The instance may have ended meanwhile.
        let _ = host.post(self.key, MailboxDelivery::unawaited(input));
    }
}

fn closing() -> String {
    "the host is shutting down".to_owned()
}

impl fmt::Debug for RuntimeGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RuntimeGate")
    }
}
