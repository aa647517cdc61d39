//! Calls of a program that rules ask about. The program cannot wait for a person within its turn: the call is refused, the
//! chart `program_agent` asks when the turn ends, and the next turn brings the answer.

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_model::ToolUse;
use rawko_tools::{AskMode, Grant, PermissionEffect, ToolOutcome, WantedHost};

use super::attendant::Attendant;
use super::request;
use crate::work::call_hooks::HookQuestion;
use crate::work::hook_questions::hooked_call;
use crate::work::own_charts::is_own_program_chart;
use crate::work::permit::{asked_call, host_request, is_unattended};
use crate::work::types::{ApprovedCall, AskedCall};

/// The name of connections in rules and requests.
const NETWORK: &str = "Network";

impl Attendant<'_> {
    /// Decides on a call by the rules that ask. Without a person's approval it is refused, and the person is asked when the
    /// turn of the program ends; the error is the text that the program reads.
    pub(super) fn clear(&self, name: &str, input: &Value) -> Result<Option<ApprovedCall>, String> {
        let own = self.agent_services.toolbox.canonical_name(name).unwrap_or_else(|| name.to_owned());
        let untrusted = self.state().untrusted.first().cloned();
        let judgement = self.agent_services.judge(&own, input, &self.grant, untrusted.as_deref());
        let can_wait = judgement.mode == AskMode::Wait && is_own_program_chart(&self.call.policy);
        if judgement.effect != PermissionEffect::Ask || !can_wait {
            // Other refusals are the toolbox's.
            return Ok(None);
        }
        if let Some(approval) = self.take_approval(&own, input) {
            return Ok(Some(approval));
        }
        let asked = ToolUse { id: String::new(), name: own, input: input.clone() };
        let agent = ServiceName::of(&self.call.name).member;
        let request = || asked_call(self.agent_services, agent, &asked, &judgement);
        Err(self.park(&asked, &judgement.rule, request))
    }

    /// Takes a person's approval of this call.
    fn take_approval(&self, own: &str, input: &Value) -> Option<ApprovedCall> {
        let mut state = self.state();
        let is_this = |it: &ApprovedCall| it.tool == own && it.input == *input;
        let at = state.approvals.iter().position(is_this)?;
        Some(state.approvals.remove(at))
    }

    /// Leaves a call to a person when the turn ends; returns the text that the program reads.
    fn park(&self, asked: &ToolUse, rule: &str, request: impl FnOnce() -> AskedCall) -> String {
        if request::is_denied(self.call, &asked.name, &asked.input) {
            return "refused: a person has denied this call in this run (rule approval_required). Do not repeat it; \
                    continue without it."
                .to_owned();
        }
        self.state().question.get_or_insert_with(request);
        format!(
            "refused: this call needs the approval of a person by {rule} (rule approval_required). The person is asked when \
             your turn ends: end it now. You then continue with the answer."
        )
    }

    /// Takes a person's approval of a call that only a hook asks about.
    pub(super) fn approved_for_hooks(&self, name: &str, input: &Value) -> Option<ApprovedCall> {
        let own = self.agent_services.toolbox.canonical_name(name).unwrap_or_else(|| name.to_owned());
        let is_hooked = self.agent_services.hooks.looks_at(&own);
        is_hooked.then(|| self.take_approval(&own, input)).flatten()
    }

    /// Returns the outcome of a call that a hook asks about.
    pub(super) fn hooked(&self, asked: &ToolUse, asks: HookQuestion) -> ToolOutcome {
        if is_unattended(&self.grant) || !is_own_program_chart(&self.call.policy) {
            return asks.refused();
        }
        let own = self.agent_services.toolbox.canonical_name(&asked.name);
        let name = own.unwrap_or_else(|| asked.name.clone());
        let asked = ToolUse { id: String::new(), name, input: asked.input.clone() };
        let agent = ServiceName::of(&self.call.name).member;
        let request = || hooked_call(self.agent_services, agent, &self.grant, &asked, &asks);
        ToolOutcome::failed(self.park(&asked, &asks.rule, request))
    }

    /// Returns what a person decides on before the next turn: a call, or the hosts that the program was refused.
    pub(super) fn question(&self) -> Option<AskedCall> {
        let call = self.state().question.clone();
        call.or_else(|| self.question_of_hosts())
    }

    /// Returns the request for hosts. A program that is refused one may also fail.
    pub(super) fn question_of_hosts(&self) -> Option<AskedCall> {
        let wanted = self.state().wanted.clone();
        let agent = ServiceName::of(&self.call.name).member;
        let asked = ToolUse { id: String::new(), name: NETWORK.to_owned(), input: Value::Null };
        let asked = host_request(self.agent_services, self.call, &asked, &self.grant, Some(agent), &wanted)?;
        let (request, rule, hosts) = (asked.request, asked.rule, asked.hosts);
        Some(AskedCall { tool: NETWORK.to_owned(), input: Value::Null, rule, request, hosts })
    }

    /// Receives the hosts that the program was refused.
    pub(super) fn refused_hosts(&self, hosts: Vec<(String, String)>) {
        let denied = request::denied_hosts(self.call);
        let open = hosts.into_iter().filter(|(host, _)| !denied.contains(host));
        self.state().wanted.extend(open.map(|(host, rule)| WantedHost { host, rule }));
    }

    /// Returns the rules for a call, with the settings as they are now if it would ask: a person may have answered "always".
    pub(super) fn grant_of(&self, name: &str, input: &Value) -> Grant {
        let asked = ToolUse { id: String::new(), name: name.to_owned(), input: input.clone() };
        self.agent_services.fresh_if_asking(&asked, self.grant.clone())
    }

    /// Checks governance for a call, and writes the audit entry with the approval that it rests on.
    pub(super) async fn admit_cleared(
        &self,
        tool: &str,
        key: &str,
        approval: Option<&ApprovedCall>,
    ) -> Result<(), ToolOutcome> {
        let Some(approval) = approval else { return self.admit(tool, key).await };
        let name = ServiceClass::Tool.named(&approval.tool);
        self.admit_judged(vec![name], key, &Ok(approval.basis())).await
    }
}
