//! Hooks at the beginning and the end of an agent's turn. A refused prompt does not reach the model; an agent whose end a
//! hook objects to continues with its reason. Separate from the hooks of tool calls, which have matchers.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::reply::HookResponse;
use super::{CommandHooks, HookMoment, HookScene};

/// The turn of an agent.
#[derive(Clone, Copy, Debug)]
pub struct HookedTurn<'t> {
    /// The instance of the agent, as the id of the session.
    pub instance: &'t str,
    /// True for an agent that another agent called.
    pub is_sub_agent: bool,
}

/// The decision of the hooks on a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnDecision {
    /// No hook objects. The text is for the model, and may be empty.
    Pass(String),
    /// A hook objects: the reason, and its file.
    Block {
        /// The reason.
        why: String,
        /// The settings file of the hook.
        file: String,
    },
}

impl CommandHooks {
    /// Returns true if a hook decides on the end of a turn.
    pub fn decides_on_stop(&self, is_sub_agent: bool) -> bool {
        self.at(stop(is_sub_agent)).next().is_some()
    }

    /// Runs the hooks on a person's prompt before the agent reads it. The prompts of agents to their sub-agents pass.
    pub async fn prompted(&self, turn: HookedTurn<'_>, prompt: &str, scene: HookScene<'_>) -> TurnDecision {
        match turn.is_sub_agent {
            true => TurnDecision::Pass(String::new()),
            false => self.decide(HookMoment::UserPromptSubmit, turn, json!({"prompt": prompt}), scene).await,
        }
    }

    /// Runs the hooks when an agent ends its turn. `is_active`: it continues already because a hook objected.
    pub async fn stopped(
        &self,
        turn: HookedTurn<'_>,
        text: &str,
        is_active: bool,
        scene: HookScene<'_>,
    ) -> TurnDecision {
        let data = json!({"stop_hook_active": is_active, "last_assistant_message": text});
        self.decide(stop(turn.is_sub_agent), turn, data, scene).await
    }

    /// Runs the hooks in order; the first objection counts.
    async fn decide(
        &self,
        moment: HookMoment,
        turn: HookedTurn<'_>,
        data: Json,
        scene: HookScene<'_>,
    ) -> TurnDecision {
        let mut texts = Vec::new();
        for hook in self.at(moment) {
            match hook.run(&message(moment, turn, &data, scene.root), scene).await {
                // There is no call that a person could approve.
                HookResponse::Block(why) | HookResponse::Ask(why) => {
                    return TurnDecision::Block { why, file: hook.file.clone() };
                }
                HookResponse::Context(text) => texts.push(format!("[{}] {text}", hook.file)),
                HookResponse::Pass | HookResponse::Changed(_) => {}
            }
        }
        TurnDecision::Pass(texts.join("\n"))
    }

    fn at(&self, moment: HookMoment) -> impl Iterator<Item = &super::CommandHook> {
        self.hooks.iter().filter(move |hook| hook.moment == moment)
    }
}

fn stop(is_sub_agent: bool) -> HookMoment {
    if is_sub_agent { HookMoment::SubagentStop } else { HookMoment::Stop }
}

/// Returns the input of a hook, in Claude Code's format.
fn message(moment: HookMoment, turn: HookedTurn<'_>, data: &Json, root: &Path) -> Json {
    let mut all = json!({
        "session_id": turn.instance,
        "transcript_path": "",
        "cwd": std::path::absolute(root).unwrap_or_else(|_| root.to_owned()),
        "permission_mode": "default",
        "hook_event_name": moment.name(),
    });
    if let (Some(all), Some(data)) = (all.as_object_mut(), data.as_object()) {
        all.extend(data.clone());
    }
    all
}
