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
}

impl CallWithHooks<'_> {
    /// Runs a call, unless a hook refuses it.
    pub(super) async fn run(&self, running: impl Future<Output = ToolOutcome>) -> ToolOutcome {
        if self.agent_services.hooks.is_empty() {
            return running.await;
        }
        let own = self.agent_services.toolbox.canonical_name(&self.asked.name);
        let own = own.unwrap_or_else(|| self.asked.name.clone());
        let call =
            HookedCall { tool: &own, input: &self.asked.input, instance: self.instance, id: &self.asked.id };
        let scene = HookScene {
            root: &self.agent_services.root,
            environment: &self.agent_services.environment,
            confinement: &self.agent_services.confinement,
            access: self.grant.access(),
        };
        if let HookDecision::Deny { why, file } = self.agent_services.hooks.before(call, scene).await {
            return denied(&why, &file);
        }
        let mut outcome = running.await;
        if outcome.refusal.is_some() {
            return outcome;
        }
        if let Some(words) = self.agent_services.hooks.after(call, &outcome.content, scene).await {
            outcome.content.push_str("\n\n");
            outcome.content.push_str(&words);
        }
        outcome
    }
}

fn denied(why: &str, file: &str) -> ToolOutcome {
    let source = format!("`hooks.PreToolUse` of {file}");
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
