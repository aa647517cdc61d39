//! `work:permit`: decides on one tool call by the rules `allow`, `ask` and `deny`, before it is made. The chart waits for
//! a person where the decision is to ask; the tool itself decides once more when it runs.

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::{Category, ServiceCall, ServiceError, Settings, SettingsReader};

use super::AgentServices;
use super::delegate::TASK;
use super::hook_questions::hooked_task;
use super::own_charts::is_own_program_chart;
use super::person_request::PersonRequest;
use super::types::{
    AskedCall, AuditedInput, CallFailure, HostRequest, PermitDecision, PermitInput, PermitOutput,
    QuestionRequest, ToolInput, value,
};
use rawko_model::ToolUse;
use rawko_tools::{
    ASK_USER, AskMode, Clearance, Grant, Judgement, Party, PermissionEffect, Permissions, ToolQuestion,
    UserQuestion, WantedHost, network_rule, read_section, shown,
};
use serde_json::json;

/// The key of the settings section.
pub(super) const SECTION: &str = "permissions";
/// Longer questions are cut.
const QUESTION_CHARS_MAX: usize = 2_000;
/// An unanswered request for a host counts as denied after this time.
const EXPIRES_MS: u64 = 12 * 60 * 60 * 1000;

impl AgentServices {
    /// Returns a grant with the rules of the user and the project, which are not part of a session: a rule that was
    /// added or removed since also applies to running sessions.
    pub(super) fn within(&self, grant: &Grant) -> Grant {
        let mut grant = grant.clone();
        grant.add_permissions(self.permissions.iter().cloned());
        grant
    }

    /// Adds the hosts that the person approved earlier in this run. Only rawko's own charts are known to pass on answers of
    /// people and nothing else.
    pub(super) fn with_approved_hosts(
        &self,
        mut grant: Grant,
        hosts: &[String],
        call: &ServiceCall,
    ) -> Grant {
        if !hosts.is_empty() && (self.is_own_chart(call) || is_own_program_chart(&call.policy)) {
            grant.add_permissions([Permissions::answered_hosts(hosts.iter().map(String::as_str))]);
        }
        grant
    }

    /// Decides on a call. If it would ask, the settings are read again: a person may just have answered "always".
    pub(super) fn judge(
        &self,
        name: &str,
        input: &Value,
        grant: &Grant,
        untrusted: Option<&str>,
    ) -> Judgement {
        let judgement = self.toolbox.judge(name, input, &self.within(grant), untrusted);
        if judgement.effect != PermissionEffect::Ask || judgement.always.is_empty() {
            return judgement;
        }
        let fresh = self.fresh(grant);
        self.toolbox.judge(name, input, &fresh, untrusted)
    }

    /// Returns the grant with the rules of the settings as they are now.
    pub(super) fn fresh(&self, grant: &Grant) -> Grant {
        let (settings, _) = Settings::read_in(&self.root, &self.environment);
        let mut grant = self.within(grant);
        let (sets, _) = permissions(&settings);
        grant.add_permissions(sets.into_iter().filter(|set| set.party == Party::User));
        grant
    }

    /// Returns the grant for running a call, with the current settings if it would ask otherwise.
    pub(super) fn fresh_if_asking(&self, asked: &ToolUse, grant: Grant) -> Grant {
        let judgement = self.toolbox.judge(&asked.name, &asked.input, &self.within(&grant), None);
        if judgement.effect == PermissionEffect::Ask { self.fresh(&grant) } else { self.within(&grant) }
    }
}

/// Findings by the file that they are about.
type FileFindings = Vec<(std::sync::Arc<str>, Vec<rawko_chart::Finding>)>;

/// Reads the rules of all settings files, with their problems by file.
pub fn permissions(settings: &Settings) -> (Vec<Permissions>, FileFindings) {
    let user = settings.user_file().map(|(_, shown)| shown);
    let (mut sets, mut problems) = (Vec::new(), Vec::new());
    for section in settings.sections(SECTION) {
        let party = if Some(&section.file) == user.as_ref() { Party::User } else { Party::Project };
        let mut reader = SettingsReader::new(settings.environment());
        sets.push(read_section(&mut reader, &section.document, party, &section.file));
        if !reader.findings.is_empty() {
            problems.push((section.file.clone(), reader.findings));
        }
    }
    (sets, problems)
}

pub(super) async fn permit(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: PermitInput,
) -> Result<PermitOutput, ServiceError> {
    let asked = input.call.tool_use();
    let agent = input.agent.as_deref();
    let grant = agent_services.with_approved_hosts(input.grant.clone(), &input.hosts, call);
    let untrusted = input.untrusted.first().map(String::as_str);
    let judgement = agent_services.judge(&asked.name, &asked.input, &grant, untrusted);
    let may_ask = asked.name == ASK_USER || judgement.effect == PermissionEffect::Ask;
    if may_ask
        && judgement.effect != PermissionEffect::Deny
        && agent_services.toolbox.wrong_input(&asked.name, &asked.input).is_some()
    {
        // The tool refuses the call and names the problem. An answer of the person would be lost.
        let (decision, rule) = (PermitDecision::Allow, "no question: the input is wrong".to_owned());
        return Ok(PermitOutput { decision, rule, host: None, request: Value::Null });
    }
    if asked.name == ASK_USER && judgement.effect != PermissionEffect::Deny {
        let grant = agent_services.within(&grant);
        return question(agent, &asked, is_unattended(&grant), judgement.expires_ms);
    }
    // No tool runs a sub-agent: the hooks of other calls run with them.
    let is_hooked = asked.name == TASK && agent_services.hooks.looks_at(TASK);
    if is_hooked && judgement.effect != PermissionEffect::Deny {
        let asking = hooked_task(agent_services, call, &asked, &agent_services.within(&grant), agent).await?;
        // One question is enough, if a rule asks, too.
        if let Some(asking) = asking.filter(|_| judgement.effect == PermissionEffect::Allow) {
            return Ok(asking);
        }
    }
    let Judgement { effect, rule, mode, .. } = &judgement;
    let decision = match (effect, mode) {
        (PermissionEffect::Allow, _) => {
            let (decision, rule) = (PermitDecision::Allow, rule.clone());
            return Ok(PermitOutput { decision, rule, host: None, request: Value::Null });
        }
        (PermissionEffect::Deny, _) => format!("this call is denied by {rule} (rule permission_denied)"),
        (PermissionEffect::Ask, AskMode::Deny) => format!(
            "this call needs the approval of a person by {rule}, and this run does not wait for one (rule approval_required)"
        ),
        (PermissionEffect::Ask, AskMode::Wait) => {
            let request = value(&request(agent_services, agent, &asked, &judgement));
            let (decision, rule, host) = (PermitDecision::Ask, rule.clone(), judgement.host.clone());
            return Ok(PermitOutput { decision, rule, host, request });
        }
    };
    let content = format!("refused: {decision}. Do something else, or explain what is needed.");
    Err(refused(format!("{}: {decision}", asked.name), content, rule))
}

pub(super) fn refused(message: impl Into<String>, content: String, rule: &str) -> ServiceError {
    let details = CallFailure { content, rule: rule.to_owned(), ..CallFailure::default() };
    ServiceError::new(Category::Refused, message).with_details(value(&details))
}

/// Asks the person a question of an agent, or refuses it if this run does not wait for a person.
fn question(
    agent: Option<&str>,
    asked: &ToolUse,
    is_refused: bool,
    expires_ms: u64,
) -> Result<PermitOutput, ServiceError> {
    let agent = agent.unwrap_or("an agent");
    if is_refused {
        let content = "refused: this run does not wait for a person (rule approval_required). Decide yourself and \
                       state the assumption.";
        let message = "AskUser: this run does not wait for a person";
        return Err(refused(message, content.to_owned(), "approval_required"));
    }
    let question: UserQuestion = asked.input.read().unwrap_or_default();
    let text = question.question.as_str().unwrap_or_default();
    let form = json!({
        "type": "object",
        "required": ["answer"],
        "properties": {"answer": {"type": "string", "title": "Answer"}},
    });
    let title = text.chars().take(QUESTION_CHARS_MAX).collect();
    let request = PersonRequest {
        kind: Some("question"),
        by: Some(agent.to_owned()),
        options: Some(question.options),
        form: Value::from_json(form),
        ..PersonRequest::new(title, format!("The agent {agent} asks a question."), expires_ms)
    };
    let rule = "a question of the agent".to_owned();
    Ok(PermitOutput { decision: PermitDecision::Ask, rule, host: None, request: value(&request) })
}

/// Builds the request for hosts that a program could not reach. `None` if this run does not wait for a person.
pub(super) fn host_request(
    agent_services: &AgentServices,
    call: &ServiceCall,
    asked: &ToolUse,
    grant: &Grant,
    agent: Option<&str>,
    wanted: &[WantedHost],
) -> Option<HostRequest> {
    if wanted.is_empty() {
        return None;
    }
    if is_unattended(grant) || !(agent_services.is_own_chart(call) || is_own_program_chart(&call.policy)) {
        return None;
    }
    let hosts: Vec<String> = wanted.iter().map(|one| one.host.clone()).collect();
    let mut rules: Vec<&str> = wanted.iter().map(|one| one.rule.as_str()).collect();
    rules.dedup();
    let agent = agent.unwrap_or("an agent");
    let always: Vec<String> = hosts.iter().map(|host| network_rule(host)).collect();
    let prompt = format!(
        "A command of the agent {agent} was refused a connection ({}). If you approve, commands of this agent may \
         connect for the rest of this run.",
        rules.join("; ")
    );
    let expires_ms = expiry(grant);
    let (_, details) = shown(&asked.name, &asked.input, &agent_services.root);
    let rule = rules.join("; ");
    let request = PersonRequest {
        tool: Some("Network".to_owned()),
        by: Some(agent.to_owned()),
        hosts: hosts.clone(),
        rule: Some(rule.clone()),
        always: Some(always),
        details: Value::map(details),
        ..PersonRequest::new(format!("Connect to {}", hosts.join(", ")), prompt, expires_ms)
    };
    Some(HostRequest { request: value(&request), hosts, rule })
}

/// Builds the request for one call.
fn request(
    agent_services: &AgentServices,
    agent: Option<&str>,
    asked: &ToolUse,
    judgement: &Judgement,
) -> PersonRequest {
    let (title, details) = shown(&asked.name, &asked.input, &agent_services.root);
    let agent_name = agent.unwrap_or("an agent");
    let prompt = format!("The agent {agent_name} asks for permission, by {}.", judgement.rule);
    PersonRequest {
        tool: Some(asked.name.clone()),
        by: agent.map(str::to_owned),
        rule: Some(judgement.rule.clone()),
        always: Some(judgement.always.clone()),
        details: Value::map(details),
        // The person sees the line that runs, not only the one that the model wrote.
        runs: agent_services.toolbox.printed_line(&asked.name, &asked.input),
        ..PersonRequest::new(title, prompt, judgement.expires_ms)
    }
}

/// Returns true if the run does not wait for a person.
pub(super) fn is_unattended(grant: &Grant) -> bool {
    grant.permissions.iter().any(|set| set.mode == Some(AskMode::Deny))
}

/// Returns the time after which a request counts as denied.
pub(super) fn expiry(grant: &Grant) -> u64 {
    grant.permissions.iter().filter_map(|set| set.expires_ms).min().unwrap_or(EXPIRES_MS)
}

/// Builds the request for a call of a program, which is made in its next turn if a person approves it.
pub(super) fn asked_call(
    agent_services: &AgentServices,
    agent: &str,
    asked: &ToolUse,
    judgement: &Judgement,
) -> AskedCall {
    let request = value(&request(agent_services, Some(agent), asked, judgement));
    let (tool, input, rule) = (asked.name.clone(), asked.input.clone(), judgement.rule.clone());
    AskedCall { tool, input, rule, request, hosts: Vec::new() }
}

/// Returns the state of a call for the toolbox. An approval counts only if it comes from rawko's own chart.
pub(super) fn clearance<'c>(
    agent_services: &AgentServices,
    call: &ServiceCall,
    grant: &Grant,
    input: &'c ToolInput,
) -> Clearance<'c> {
    let approval = input.approval.as_ref();
    let is_own = agent_services.is_own_chart(call);
    let is_refused = is_unattended(grant);
    Clearance {
        approved: is_own && approval.is_some_and(|approval| approval.approved),
        untrusted: input.untrusted.first().map(String::as_str),
        answer: approval.and_then(|approval| approval.answer.as_deref()),
        reply: approval.map(|approval| &approval.reply).filter(|reply| is_own && !reply.is_null()),
        // Calls that run at the same time have no state in which one of them could wait.
        can_ask: is_own && !input.together && !is_refused,
    }
}

/// Builds the request to a person for a question of a tool, which waits for the answer. It is a form like those of charts:
/// the kind `question` has one field for its answer.
pub(super) fn tool_question(agent: Option<&str>, grant: &Grant, question: &ToolQuestion) -> QuestionRequest {
    let server = question.by.as_deref().unwrap_or("a tool");
    let agent = agent.unwrap_or("an agent");
    // The text is the server's: a person must not take it for a request of rawko.
    let words: String = question.message.chars().take(QUESTION_CHARS_MAX).collect();
    let title = format!("{server} asks: {words}");
    let visit = question.url.as_ref().map(|url| format!(" Visit {url}, then approve.")).unwrap_or_default();
    let prompt = format!("The MCP server {server}, called by the agent {agent}, asks a question.{visit}");
    let expires_ms = expiry(grant);
    let request = PersonRequest {
        by: Some(server.to_owned()),
        form: question.form.clone(),
        ..PersonRequest::new(title, prompt, expires_ms)
    };
    let rule = format!("a question of the MCP server {server}");
    QuestionRequest { request: value(&request), rule, question: true }
}

/// Returns the permission that a call rests on, for the audit.
pub(super) fn basis(agent_services: &AgentServices, name: &str, input: &Value) -> Option<String> {
    let input: AuditedInput = input.read().unwrap_or_default();
    let basis = basis_of_call(agent_services, name, &input);
    match input.hosts.unwrap_or_default().as_slice() {
        [] => basis,
        hosts => {
            let approved = format!("hosts approved in this run: {}", hosts.join(", "));
            Some(basis.map_or_else(|| approved.clone(), |basis| format!("{basis}; {approved}")))
        }
    }
}

fn basis_of_call(agent_services: &AgentServices, name: &str, input: &AuditedInput) -> Option<String> {
    if let Some(approval) = input.approval.as_ref().filter(|approval| approval.approved) {
        let by = approval.by.as_deref().unwrap_or("a person");
        let request = approval.request.as_deref().unwrap_or_default();
        let rule = approval.rule.as_deref().unwrap_or_default();
        return Some(format!("approved by {by} (request {request}), asked by {rule}"));
    }
    let grant = input.grant.as_ref()?;
    if agent_services.permissions.is_empty() && grant.permissions.is_empty() {
        return None;
    }
    let judgement = match ServiceName::member_of(name, ServiceClass::Agent) {
        Some(agent) => {
            let task = Value::map([("agent", Value::str(agent))]);
            agent_services.judge(TASK, &task, grant, None)
        }
        None => {
            let asked = input.call.as_ref()?;
            let untrusted = input.untrusted.as_ref().and_then(|sources| sources.first());
            agent_services.judge(&asked.name, &asked.input, grant, untrusted.map(String::as_str))
        }
    };
    match (judgement.effect, judgement.rule.is_empty()) {
        (PermissionEffect::Allow, true) => Some("no permission rule applies".to_owned()),
        (PermissionEffect::Allow, false) => Some(format!("permitted by {}", judgement.rule)),
        (PermissionEffect::Ask, _) => Some(format!("not approved, asked by {}", judgement.rule)),
        (PermissionEffect::Deny, _) => Some(format!("denied by {}", judgement.rule)),
    }
}
