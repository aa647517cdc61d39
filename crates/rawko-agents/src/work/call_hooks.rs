//! The hooks of Claude Code's settings around a tool call of an agent. After rawko's own rules: a hook only narrows.

use rawko_core::Value;
use rawko_model::ToolUse;
use rawko_programs::hooks::{HookDecision, HookScene, HookedCall};
use rawko_tools::{Grant, ToolOutcome, ToolRefusal};

use super::AgentServices;

const RULE: &str = "hook_denied";

/// A call between its hooks.
pub(super) struct CallWithHooks<'c> {
    pub(super) agent_services: &'c AgentServices,
    pub(super) asked: &'c ToolUse,
    pub(super) instance: &'c str,
    pub(super) grant: &'c Grant,
    /// A person has approved exactly this call: that also answers a hook that asks.
    pub(super) is_approved: bool,
}

/// The question of a hook about a call.
#[derive(Clone, Debug)]
pub(super) struct HookQuestion {
    /// The text of the hook.
    pub(super) why: String,
    /// The hook and its file.
    pub(super) rule: String,
}

/// The decision of the hooks before a call.
pub(super) enum CallDecision {
    Pass,
    Ask(HookQuestion),
    /// The outcome of a call that is not made.
    Deny(ToolOutcome),
}

impl CallWithHooks<'_> {
    /// Runs a call, unless a hook refuses it. The error is a question that a person has to answer first.
    pub(super) async fn run(
        &self,
        running: impl Future<Output = ToolOutcome>,
    ) -> Result<ToolOutcome, HookQuestion> {
        if self.agent_services.hooks.is_empty() {
            return Ok(running.await);
        }
        match self.decide().await {
            CallDecision::Pass => {}
            CallDecision::Ask(asks) => return Err(asks),
            CallDecision::Deny(outcome) => return Ok(outcome),
        }
        let mut outcome = running.await;
        if outcome.refusal.is_some() {
            return Ok(outcome);
        }
        let name = self.name();
        let after = self.agent_services.hooks.after(self.call(&name), &outcome.content, self.scene()).await;
        if let Some(words) = after {
            outcome.content.push_str("\n\n");
            outcome.content.push_str(&words);
        }
        Ok(outcome)
    }

    /// Runs the hooks before the call.
    pub(super) async fn decide(&self) -> CallDecision {
        let name = self.name();
        match self.agent_services.hooks.before(self.call(&name), self.scene()).await {
            HookDecision::Pass => CallDecision::Pass,
            HookDecision::Ask { .. } if self.is_approved => CallDecision::Pass,
            HookDecision::Ask { why, file } => CallDecision::Ask(HookQuestion { why, rule: rule(&file) }),
            HookDecision::Deny { why, file } => CallDecision::Deny(denied(&why, rule(&file))),
        }
    }

    fn name(&self) -> String {
        let own = self.agent_services.toolbox.canonical_name(&self.asked.name);
        own.unwrap_or_else(|| self.asked.name.clone())
    }

    fn call<'n>(&'n self, name: &'n str) -> HookedCall<'n> {
        HookedCall { tool: name, input: &self.asked.input, instance: self.instance, id: &self.asked.id }
    }

    fn scene(&self) -> HookScene<'_> {
        scene(self.agent_services, self.grant)
    }
}

impl HookQuestion {
    /// Returns the outcome of a call in a run that waits for no person.
    pub(super) fn refused(self) -> ToolOutcome {
        let why = format!(
            "a hook asks for the approval of a person, and this run does not wait for one: {}",
            self.why
        );
        denied(&why, self.rule)
    }
}

/// Returns where the hooks of an agent run: they may write what it may.
pub(super) fn scene<'s>(agent_services: &'s AgentServices, grant: &Grant) -> HookScene<'s> {
    HookScene {
        root: &agent_services.root,
        environment: &agent_services.environment,
        confinement: &agent_services.confinement,
        access: grant.access(),
    }
}

fn rule(file: &str) -> String {
    format!("`hooks.PreToolUse` of {file}")
}

fn denied(why: &str, source: String) -> ToolOutcome {
    let content =
        format!("refused: {why} (rule {RULE}, from {source}). Do something else, or explain what is needed.");
    ToolOutcome {
        content,
        is_error: true,
        refusal: Some(ToolRefusal { rule: RULE.to_owned(), source }),
        data: Value::Null,
        images: Vec::new(),
    }
}
