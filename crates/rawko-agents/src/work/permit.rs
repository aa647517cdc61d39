//! `work:permit`: decides on one tool call by the rules `allow`, `ask` and `deny`, before it is made. The chart waits for
//! a person where the decision is to ask; the tool itself decides once more when it runs.

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError, Settings, SettingsReader};

use super::{Workshop, part, value};
use rawko_model::ToolUse;
use rawko_tools::{
    ASK_USER, AskMode, Clearance, Effect, Grant, Judgement, Party, Permissions, network_rule, read_section,
    shown,
};

/// The key of the settings section.
pub(super) const SECTION: &str = "permissions";
/// Longer questions are cut.
const QUESTION_CHARS_MAX: usize = 2_000;
/// An unanswered request for a host counts as denied after this time.
const EXPIRES_MS: u64 = 12 * 60 * 60 * 1000;

impl Workshop {
    /// Returns a grant with the rules of the user and the project, which are not part of a session: a rule that was
    /// added or removed since also applies to running sessions.
    pub(super) fn within(&self, grant: &Grant) -> Grant {
        let mut grant = grant.clone();
        grant.add_permissions(self.permissions.iter().cloned());
        grant
    }

    /// Adds the hosts that the person approved earlier in this run. Only rawko's own chart is known to pass on answers of
    /// people and nothing else.
    pub(super) fn with_approved_hosts(&self, mut grant: Grant, call: &Call) -> Grant {
        let hosts = call.input.get("hosts").as_list().unwrap_or_default();
        if !hosts.is_empty() && self.is_own_chart(&call.policy) {
            let hosts = hosts.iter().filter_map(Value::as_str);
            grant.add_permissions([Permissions::answered_hosts(hosts)]);
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
        if judgement.effect != Effect::Ask || judgement.always.is_empty() {
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
        if judgement.effect == Effect::Ask { self.fresh(&grant) } else { self.within(&grant) }
    }

    /// Returns true if a call comes from rawko's own chart `agent`, the only one that is known to pass on approvals of
    /// people and nothing else.
    pub(super) fn is_own_chart(&self, policy: &Value) -> bool {
        let own = self.own_chart.get_or_init(|| {
            let editions = super::editions().unwrap_or_default();
            editions.iter().find(|edition| edition.chart.id() == "agent").map(|edition| edition.chart.hash())
        });
        let hex = |hash: &[u8; 16]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        own.as_ref().is_some_and(|own| policy.get("chart").as_str() == Some(hex(own).as_str()))
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

pub(super) fn permit(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let input = &call.input;
    let asked: ToolUse = part(input, "call")?;
    let grant = workshop.with_approved_hosts(part(input, "grant")?, call);
    let untrusted = untrusted(input);
    let judgement = workshop.judge(&asked.name, &asked.input, &grant, untrusted.as_deref());
    if asked.name == ASK_USER && judgement.effect != Effect::Deny {
        let grant = workshop.within(&grant);
        let is_refused = grant.permissions.iter().any(|set| set.mode == Some(AskMode::Deny));
        return question(input.get("agent"), &asked, is_refused, judgement.expires_ms);
    }
    let Judgement { effect, rule, mode, .. } = &judgement;
    let decision = match (effect, mode) {
        (Effect::Allow, _) => return Ok(decided("allow", rule)),
        (Effect::Deny, _) => format!("this call is denied by {rule} (rule permission_denied)"),
        (Effect::Ask, AskMode::Deny) => format!(
            "this call needs the approval of a person by {rule}, and this run does not wait for one (rule approval_required)"
        ),
        (Effect::Ask, AskMode::Wait) => {
            let request = request(workshop, input.get("agent"), &asked, &judgement);
            return Ok(Value::map([
                ("decision", Value::str("ask")),
                ("rule", Value::str(rule)),
                ("host", judgement.host.as_deref().map_or(Value::Null, Value::str)),
                ("request", request),
            ]));
        }
    };
    let content = format!("refused: {decision}. Do something else, or explain what is needed.");
    let details = [("content", Value::from(content)), ("rule", Value::str(rule))];
    let message = format!("{}: {decision}", asked.name);
    Err(ServiceError::new(Category::Refused, message).with_details(Value::map(details)))
}

/// Asks the person a question of an agent, or refuses it if this run does not wait for a person.
fn question(
    agent: &Value,
    asked: &ToolUse,
    is_refused: bool,
    expires_ms: u64,
) -> Result<Value, ServiceError> {
    let agent = agent.as_str().unwrap_or("an agent");
    if is_refused {
        let content = "refused: this run does not wait for a person (rule approval_required). Decide yourself and \
                       state the assumption.";
        let details = [("content", Value::str(content)), ("rule", Value::str("approval_required"))];
        let message = "AskUser: this run does not wait for a person";
        return Err(ServiceError::new(Category::Refused, message).with_details(Value::map(details)));
    }
    let text = asked.input.get("question").as_str().unwrap_or_default();
    let title: String = text.chars().take(QUESTION_CHARS_MAX).collect();
    let options = asked.input.get("options").clone();
    let answer = Value::map([("type", Value::str("string")), ("title", Value::str("Answer"))]);
    let form = Value::map([
        ("type", Value::str("object")),
        ("required", Value::list(vec![Value::str("answer")])),
        ("properties", Value::map([("answer", answer)])),
    ]);
    let request = Value::map([
        ("title", Value::from(title)),
        ("prompt", Value::from(format!("The agent {agent} asks a question."))),
        ("kind", Value::str("question")),
        ("by", Value::str(agent)),
        ("options", options),
        ("form", form),
        ("expires", Value::Int(i64::try_from(expires_ms).unwrap_or(i64::MAX))),
    ]);
    let rule = "a question of the agent";
    let parts = [("decision", Value::str("ask")), ("rule", Value::str(rule)), ("request", request)];
    Ok(Value::map(parts))
}

/// Builds the request for hosts that a program could not reach. `None` if this run does not wait for a person.
pub(super) fn host_request(
    workshop: &Workshop,
    call: &Call,
    asked: &ToolUse,
    grant: &Grant,
    wanted: &Value,
) -> Option<Value> {
    let wanted = wanted.as_list().filter(|wanted| !wanted.is_empty())?;
    let is_refused = grant.permissions.iter().any(|set| set.mode == Some(AskMode::Deny));
    if is_refused || !workshop.is_own_chart(&call.policy) {
        return None;
    }
    let of = |key: &'static str| wanted.iter().filter_map(move |one| one.get(key).as_str());
    let (hosts, mut rules): (Vec<&str>, Vec<&str>) = (of("host").collect(), of("rule").collect());
    rules.dedup();
    let agent = call.input.get("agent").as_str().unwrap_or("an agent");
    let always: Vec<String> = hosts.iter().map(|host| network_rule(host)).collect();
    let prompt = format!(
        "A command of the agent {agent} was refused a connection ({}). If you approve, commands of this agent may \
         connect for the rest of this run.",
        rules.join("; ")
    );
    let expires_ms = grant.permissions.iter().filter_map(|set| set.expires_ms).min().unwrap_or(EXPIRES_MS);
    let (_, details) = shown(&asked.name, &asked.input, &workshop.root);
    let parts = [
        ("title", Value::from(format!("Connect to {}", hosts.join(", ")))),
        ("prompt", Value::from(prompt)),
        ("tool", Value::str("Network")),
        ("by", Value::str(agent)),
        ("hosts", value(&hosts)),
        ("rule", Value::from(rules.join("; "))),
        ("always", value(&always)),
        ("expires", Value::Int(i64::try_from(expires_ms).unwrap_or(i64::MAX))),
    ];
    let request = Value::map(parts.into_iter().chain(details));
    Some(Value::map([
        ("request", request),
        ("hosts", value(&hosts)),
        ("rule", Value::from(rules.join("; "))),
    ]))
}

fn decided(decision: &str, rule: &str) -> Value {
    Value::map([("decision", Value::str(decision)), ("rule", Value::str(rule))])
}

/// Builds the request to a person: what would be done, by which agent, and which rule asks.
fn request(workshop: &Workshop, agent: &Value, asked: &ToolUse, judgement: &Judgement) -> Value {
    let (title, details) = shown(&asked.name, &asked.input, &workshop.root);
    let agent_name = agent.as_str().unwrap_or("an agent");
    let prompt = format!("The agent {agent_name} asks for permission, by {}.", judgement.rule);
    let parts = [
        ("title", Value::from(title)),
        ("prompt", Value::from(prompt)),
        ("tool", Value::str(&asked.name)),
        ("by", agent.clone()),
        ("rule", Value::str(&judgement.rule)),
        ("always", value(&judgement.always)),
        ("expires", Value::Int(i64::try_from(judgement.expires_ms).unwrap_or(i64::MAX))),
    ];
    // The person sees the line that runs, not only the one that the model wrote.
    let runs =
        workshop.toolbox.printed_line(&asked.name, &asked.input).map(|line| ("runs", Value::from(line)));
    Value::map(parts.into_iter().chain(details).chain(runs))
}

/// Returns the first source of untrusted text in the conversation.
pub(super) fn untrusted(input: &Value) -> Option<String> {
    let sources = input.get("untrusted").as_list().unwrap_or_default();
    sources.iter().find_map(Value::as_str).map(str::to_owned)
}

/// Returns the state of a call for the toolbox. An approval counts only if it comes from rawko's own chart.
pub(super) fn clearance<'c>(
    workshop: &Workshop,
    call: &'c Call,
    untrusted: Option<&'c str>,
) -> Clearance<'c> {
    let approval = call.input.get("approval");
    let is_approved = approval.get("approved").as_bool() == Some(true);
    let approved = is_approved && workshop.is_own_chart(&call.policy);
    Clearance { approved, untrusted, answer: approval.get("answer").as_str() }
}

/// Returns the permission that a call rests on, for the audit.
pub(super) fn basis(workshop: &Workshop, name: &str, input: &Value) -> Option<String> {
    let basis = basis_of_call(workshop, name, input);
    let hosts = input.get("hosts").as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    let hosts: Vec<&str> = hosts.collect();
    match hosts.as_slice() {
        [] => basis,
        hosts => {
            let approved = format!("hosts approved in this run: {}", hosts.join(", "));
            Some(basis.map_or_else(|| approved.clone(), |basis| format!("{basis}; {approved}")))
        }
    }
}

fn basis_of_call(workshop: &Workshop, name: &str, input: &Value) -> Option<String> {
    let approval = input.get("approval");
    if approval.get("approved").as_bool() == Some(true) {
        let by = approval.get("by").as_str().unwrap_or("a person");
        let request = approval.get("request").as_str().unwrap_or_default();
        let rule = approval.get("rule").as_str().unwrap_or_default();
        return Some(format!("approved by {by} (request {request}), asked by {rule}"));
    }
    let grant = input.get("grant");
    if grant.is_null() || (workshop.permissions.is_empty() && grant.get("permissions").is_null()) {
        return None;
    }
    let grant: Grant = part(input, "grant").ok()?;
    let judgement = match name.strip_prefix("agent:") {
        Some(agent) => {
            let task = Value::map([("agent", Value::str(agent))]);
            workshop.judge("Task", &task, &grant, None)
        }
        None => {
            let asked: ToolUse = part(input, "call").ok()?;
            workshop.judge(&asked.name, &asked.input, &grant, untrusted(input).as_deref())
        }
    };
    match (judgement.effect, judgement.rule.is_empty()) {
        (Effect::Allow, true) => Some("no permission rule applies".to_owned()),
        (Effect::Allow, false) => Some(format!("permitted by {}", judgement.rule)),
        (Effect::Ask, _) => Some(format!("not approved, asked by {}", judgement.rule)),
        (Effect::Deny, _) => Some(format!("denied by {}", judgement.rule)),
    }
}
