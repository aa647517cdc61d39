//! `work:group`: how many of the next tool calls run at the same time. Calls that only read form a group, and so do
//! sub-agents; a call that writes runs alone. A call that a person has to approve, that a rule denies or that loop detection
//! would block after the calls before it ends the group.

use rawko_host::{ServiceCall, ServiceError};

use super::delegate::TASK;
use super::types::{CallGroup, GroupInput, GroupOutput, PendingCall};
use super::{AgentServices, tool};
use rawko_arbiter::loop_control::{LoopVerdict, check_before, expect_repeat};
use rawko_tools::PermissionEffect;

/// Reading calls in a group: their results are one value of the context, which is limited.
const READS_MAX: usize = 16;

/// Adds the kind of group that a call can be part of.
pub(super) fn with_kind(agent_services: &AgentServices, mut call: PendingCall) -> PendingCall {
    call.together = match call.name.as_str() {
        _ if call.rejected.is_some() => None,
        TASK => Some(CallGroup::Agent),
        name if agent_services.toolbox.only_reads(name, &call.input) => Some(CallGroup::Read),
        _ => None,
    };
    call
}

pub(super) fn group(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: &GroupInput,
) -> Result<GroupOutput, ServiceError> {
    let settings = tool::settings(&input.loops, call)?;
    let grant = agent_services.with_approved_hosts(input.grant.clone(), &input.hosts, call);
    let untrusted = input.untrusted.first().map(String::as_str);
    let calls = &input.calls;
    let kind = calls.first().and_then(|first| first.together);
    let is_allowed = |asked: &PendingCall| {
        agent_services.judge(&asked.name, &asked.input, &grant, untrusted).effect == PermissionEffect::Allow
    };
    // A hook may ask about it.
    let is_hooked = |asked: &PendingCall| {
        let own = agent_services.toolbox.canonical_name(&asked.name);
        agent_services.hooks.looks_at(own.as_deref().unwrap_or(&asked.name))
    };
    let fits =
        |call: &PendingCall| kind.is_some() && call.together == kind && !is_hooked(call) && is_allowed(call);
    let parallel = input.parallel.unwrap_or(1);
    let most = if kind == Some(CallGroup::Read) { parallel.min(READS_MAX) } else { parallel };
    let (mut count, mut memory) = (0, input.memory.clone());
    for asked in calls.iter().take(most).take_while(|call| fits(call)) {
        if is_blocking(&check_before(&memory, &asked.name, &asked.input, &settings)) {
            break;
        }
        count += 1;
        if !asked.is_agent() {
            let verdict;
            (memory, verdict) = expect_repeat(memory, &asked.name, &asked.input, &settings);
            if is_blocking(&verdict) {
                break;
            }
        }
    }
    Ok(GroupOutput { count })
}

fn is_blocking(verdict: &LoopVerdict) -> bool {
    match verdict {
        LoopVerdict::Fine | LoopVerdict::Notice { .. } => false,
        LoopVerdict::Block { .. } | LoopVerdict::Doom { .. } => true,
    }
}
