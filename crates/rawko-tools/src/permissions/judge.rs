//! The decision on one call: each set of rules decides by itself, and the most restrictive decision counts.

use std::path::Path;

use rawko_core::Value;

use super::exact::exact_rule;
use super::paths::{PathSubject, Roots};
use super::rule::{PermissionRule, RuleTarget, covers, is_of_server};
use super::subject::{RuleSubject, SubjectKind};
use super::{AskMode, Party, PermissionEffect, Permissions};
use crate::builtin::Builtin;

/// Unanswered requests count as denied after this time. Below the time limit of an agent, so that the model can react.
const EXPIRES_MS: u64 = 12 * 60 * 60 * 1000;
/// Tools that only read the project or the agent's own plan. An allow list that does not name them leaves them allowed.
const READING: [&str; 9] =
    ["Read", "Glob", "Grep", "PlanRead", "PlanWrite", "PlanUpdate", "Think", "Skill", "AskUser"];

/// The decision on a call and the rule that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The decision.
    pub effect: PermissionEffect,
    /// The deciding rule, for the audit and the model.
    pub rule: String,
    /// The file of the rule.
    pub source: String,
    /// The rules that would allow this call for good; empty if there are none.
    pub always: Vec<String>,
    /// Time until a request to a person expires.
    pub expires_ms: u64,
    /// What to do if the decision is to ask.
    pub mode: AskMode,
    /// The host that the request is about; the answer counts for the rest of the run.
    pub host: Option<String>,
}

/// The decision of one set.
struct Opinion {
    effect: PermissionEffect,
    rule: String,
    /// True if a rule of the user's own file asks, which only that file can change.
    is_final: bool,
}

pub(crate) fn judge(
    all: &[Permissions],
    tool: &str,
    input: &Value,
    roots: &Roots,
    untrusted: Option<&str>,
) -> Judgement {
    if all.iter().all(Permissions::is_empty) {
        let (rule, source) = (String::new(), String::new());
        return Judgement {
            effect: PermissionEffect::Allow,
            rule,
            source,
            always: Vec::new(),
            expires_ms: EXPIRES_MS,
            mode: AskMode::Wait,
            host: None,
        };
    }
    let subject = RuleSubject::new(tool, input, roots.clone());
    let mut opinions: Vec<(&Permissions, Opinion)> =
        all.iter().filter(|set| !set.is_empty()).map(|set| (set, set.opinion(&subject))).collect();
    let answers: Vec<PermissionRule> = all
        .iter()
        .filter(|set| set.party == Party::User)
        .flat_map(|set| rules(&set.allow))
        .filter(PermissionRule::is_exact)
        .collect();
    if let Some(rule) = allowed_by(&answers, &subject) {
        for (_, opinion) in
            opinions.iter_mut().filter(|(_, it)| it.effect == PermissionEffect::Ask && !it.is_final)
        {
            *opinion = Opinion {
                effect: PermissionEffect::Allow,
                rule: format!("{rule} of your settings"),
                is_final: false,
            };
        }
    }
    if let Some(source) = untrusted {
        for (set, opinion) in opinions.iter_mut().filter(|(_, it)| it.effect == PermissionEffect::Allow) {
            if let Some(rule) = set.asks_after_untrusted(&subject) {
                let list = set.list("ask_after_untrusted");
                let rule =
                    format!("`{rule}` in {list}: the conversation contains untrusted text from {source}");
                *opinion = Opinion { effect: PermissionEffect::Ask, rule, is_final: true };
            }
        }
    }
    let expires_ms = all.iter().filter_map(|set| set.expires_ms).min().unwrap_or(EXPIRES_MS);
    let mode =
        if all.iter().any(|set| set.mode == Some(AskMode::Deny)) { AskMode::Deny } else { AskMode::Wait };
    let worst = opinions.iter().map(|(_, opinion)| opinion.effect).max().unwrap_or(PermissionEffect::Allow);
    let deciding: Vec<_> = opinions.iter().filter(|(_, opinion)| opinion.effect == worst).collect();
    let is_final = deciding.iter().any(|(_, opinion)| opinion.is_final);
    let named = deciding.iter().filter(|(_, opinion)| !opinion.rule.is_empty());
    let rule = named.clone().map(|(_, opinion)| opinion.rule.as_str()).collect::<Vec<_>>().join("; ");
    let source = named.map(|(set, _)| set.file.clone()).next().unwrap_or_default();
    let always =
        if worst == PermissionEffect::Ask && !is_final { always(&subject, &opinions) } else { Vec::new() };
    Judgement { effect: worst, rule, source, always, expires_ms, mode, host: None }
}

/// Returns true if rules deny a file, or ask about it, so that a search over a directory must not print it.
pub(crate) fn hides(all: &[Permissions], roots: &Roots) -> impl Fn(&Path) -> bool + Send + Sync + 'static {
    let lists = all.iter().flat_map(|set| rules(&set.deny).into_iter().chain(rules(&set.ask)));
    let patterns: Vec<_> = lists
        .filter_map(|rule| match rule.target {
            RuleTarget::Path(Builtin::Read, pattern) => Some(pattern),
            _ => None,
        })
        .collect();
    let roots = roots.clone();
    move |path| patterns.iter().any(|pattern| pattern.matches(path, &roots))
}

pub(super) fn rules(texts: &[String]) -> Vec<PermissionRule> {
    texts.iter().filter_map(|text| PermissionRule::parse(text).ok()).collect()
}

impl Permissions {
    fn opinion(&self, subject: &RuleSubject) -> Opinion {
        let decided = |effect, rule: &PermissionRule, key: &str| {
            let is_final = self.party == Party::User && effect == PermissionEffect::Ask;
            Opinion { effect, rule: format!("`{}` in {}", rule.text, self.list(key)), is_final }
        };
        let (deny, ask, allow) = (rules(&self.deny), rules(&self.ask), rules(&self.allow));
        if let Some(rule) = deny.iter().find(|rule| catches(rule, subject)) {
            return decided(PermissionEffect::Deny, rule, "deny");
        }
        if let Some(opinion) = self.uncertain(&deny, subject, PermissionEffect::Deny) {
            return opinion;
        }
        if let Some(rule) = ask.iter().find(|rule| catches(rule, subject)) {
            return decided(PermissionEffect::Ask, rule, "ask");
        }
        if let Some(opinion) = self.uncertain(&ask, subject, PermissionEffect::Ask) {
            return opinion;
        }
        if self.is_broken {
            let rule = format!("{} is invalid, so every call needs an approval", self.list("*"));
            return Opinion { effect: PermissionEffect::Ask, rule, is_final: true };
        }
        if let Some(rule) = allowed_by(&allow, subject) {
            return Opinion {
                effect: PermissionEffect::Allow,
                rule: format!("{rule} of {}", self.file),
                is_final: false,
            };
        }
        let (effect, rule) = self.otherwise(&allow, subject);
        Opinion { effect, rule, is_final: false }
    }

    /// Decides on a call that no rule matches.
    fn otherwise(&self, allow: &[PermissionRule], subject: &RuleSubject) -> (PermissionEffect, String) {
        if let Some(effect) = self.default {
            return (effect, format!("no rule matches, and {} applies", self.list("default")));
        }
        // What `--always` writes into the user's file is an answer, not a list of everything that is allowed.
        let mut listed = allow.iter().filter(|rule| self.party != Party::User || !rule.is_exact()).peekable();
        let is_list = listed.peek().is_some();
        let is_named = listed.any(|rule| rule.concerns(&subject.tool));
        if !is_list || (READING.contains(&subject.tool.as_str()) && !is_named) {
            return (PermissionEffect::Allow, String::new());
        }
        (PermissionEffect::Ask, format!("no rule in {} matches", self.list("allow")))
    }

    /// Rules about commands apply to what a line runs. Where that is unknown, the strictest of them applies.
    fn uncertain(
        &self,
        rules: &[PermissionRule],
        subject: &RuleSubject,
        effect: PermissionEffect,
    ) -> Option<Opinion> {
        let SubjectKind::Command(line) = &subject.about else { return None };
        let rule = rules.iter().find(|rule| matches!(rule.target, RuleTarget::Command(_)))?;
        let why = line.unchecked()?;
        let key = if effect == PermissionEffect::Deny { "deny" } else { "ask" };
        let rule = format!("`{}` in {} cannot be checked: {why}", rule.text, self.list(key));
        Some(Opinion { effect, rule, is_final: self.party == Party::User })
    }

    fn asks_after_untrusted(&self, subject: &RuleSubject) -> Option<String> {
        if let SubjectKind::Command(line) = &subject.about
            && line.is_read_only
        {
            return None;
        }
        rules(&self.ask_after_untrusted).into_iter().find(|rule| catches(rule, subject)).map(|rule| rule.text)
    }
}

/// Returns true if a rule that denies or asks concerns a call, read broadly.
fn catches(rule: &PermissionRule, subject: &RuleSubject) -> bool {
    let roots = &subject.roots;
    match (&rule.target, &subject.about) {
        (RuleTarget::Tool(name), SubjectKind::Command(line)) => {
            covers(name, &subject.tool) || (covers(name, "Write") && !line.writes.is_empty())
        }
        (RuleTarget::Tool(name), _) => covers(name, &subject.tool),
        (RuleTarget::Server(server), _) => is_of_server(server, &subject.tool),
        (RuleTarget::Command(pattern), SubjectKind::Command(line)) => {
            line.all().any(|simple| pattern.catches(simple)) || line.is_in_code(pattern)
        }
        (RuleTarget::Command(_), SubjectKind::Unreadable) => true,
        (RuleTarget::Path(Builtin::Read, pattern), SubjectKind::File(file)) => {
            READING.contains(&subject.tool.as_str()) && file.any(pattern, roots)
        }
        (RuleTarget::Path(_, pattern), SubjectKind::File(file)) => {
            ["Write", "Edit"].contains(&subject.tool.as_str()) && file.any(pattern, roots)
        }
        (RuleTarget::Path(Builtin::Read, pattern), SubjectKind::Command(line)) => {
            line.named.iter().any(|file| file.any(pattern, roots)) || line.shows_committed(pattern, roots)
        }
        (RuleTarget::Path(_, pattern), SubjectKind::Command(line)) => {
            let is_written = |files: &[PathSubject]| files.iter().any(|file| file.any(pattern, roots));
            is_written(&line.writes) || (!line.is_read_only && is_written(&line.named))
        }
        (RuleTarget::Domain(domain), SubjectKind::Host(Some(host))) => {
            let domain = domain.trim_start_matches("*.");
            host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
        }
        (RuleTarget::Domain(_), SubjectKind::Host(None)) => true,
        (RuleTarget::Agent(pattern), SubjectKind::Agent(agent)) => crate::pattern::wildcard(pattern, agent),
        _ => false,
    }
}

/// Returns the rules that together allow a call, for the audit; `None` if a part of it is not covered.
fn allowed_by(rules: &[PermissionRule], subject: &RuleSubject) -> Option<String> {
    let shown = |rules: Vec<&PermissionRule>| {
        let mut texts: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.text)).collect();
        texts.dedup();
        Some(format!("{} in `permissions.allow`", texts.join(", ")))
    };
    let whole = rules.iter().find(|rule| match &rule.target {
        RuleTarget::Tool(name) => covers(name, &subject.tool),
        RuleTarget::Server(server) => is_of_server(server, &subject.tool),
        _ => false,
    });
    if let SubjectKind::Command(line) = &subject.about {
        let mut used: Vec<&PermissionRule> = Vec::new();
        if let Some(whole) = whole {
            used.push(whole);
        } else {
            if line.uncertain().is_some() {
                return None;
            }
            for simple in line.to_allow() {
                let covering = |rule: &&PermissionRule| match &rule.target {
                    RuleTarget::Command(pattern) => pattern.allows(simple),
                    _ => false,
                };
                used.push(rules.iter().find(covering)?);
            }
        }
        if whole.is_none() && (!line.writes.is_empty() || line.writes_somewhere_unknown()) {
            used.push(covering_writes(rules, line, &subject.roots)?);
        }
        return if used.is_empty() { None } else { shown(used) };
    }
    if let Some(whole) = whole {
        return shown(vec![whole]);
    }
    let is_covered = |rule: &&PermissionRule| match (&rule.target, &subject.about) {
        (RuleTarget::Path(Builtin::Read, pattern), SubjectKind::File(file)) => {
            READING.contains(&subject.tool.as_str()) && file.all(pattern, &subject.roots)
        }
        (RuleTarget::Path(Builtin::Edit, pattern), SubjectKind::File(file)) => {
            ["Edit", "Write"].contains(&subject.tool.as_str()) && file.all(pattern, &subject.roots)
        }
        (RuleTarget::Path(_, pattern), SubjectKind::File(file)) => {
            subject.tool == "Write" && file.all(pattern, &subject.roots)
        }
        (RuleTarget::Domain(domain), SubjectKind::Host(Some(host))) => crate::pattern::wildcard(domain, host),
        (RuleTarget::Agent(pattern), SubjectKind::Agent(agent)) => crate::pattern::wildcard(pattern, agent),
        _ => false,
    };
    shown(vec![rules.iter().find(is_covered)?])
}

/// Returns a rule under which a line may write all the files that it redirects to.
fn covering_writes<'r>(
    rules: &'r [PermissionRule],
    line: &super::line::CommandLine,
    roots: &Roots,
) -> Option<&'r PermissionRule> {
    let is_covering = |rule: &&PermissionRule| match &rule.target {
        RuleTarget::Tool(name) => covers(name, "Write"),
        RuleTarget::Path(Builtin::Edit | Builtin::Write, pattern) => {
            !line.writes_somewhere_unknown() && line.writes.iter().all(|file| file.all(pattern, roots))
        }
        _ => false,
    };
    rules.iter().find(is_covering)
}

/// Returns the exact rules that allow a call for good, for the user's settings.
fn always(subject: &RuleSubject, opinions: &[(&Permissions, Opinion)]) -> Vec<String> {
    let rule = match &subject.about {
        SubjectKind::File(file) if !file.is_one_file() => None,
        SubjectKind::File(file) => {
            let tool = if subject.tool == "Write" { "Edit" } else { subject.tool.as_str() };
            let tool = if ["Glob", "Grep"].contains(&tool) { "Read" } else { tool };
            Some(format!("{tool}(/{})", file.real.display()))
        }
        SubjectKind::Command(line) => {
            if line.uncertain().is_some() || !line.writes.is_empty() || line.writes_somewhere_unknown() {
                return Vec::new();
            }
            // One rule per command that no other rule allows.
            let granted: Vec<PermissionRule> =
                opinions.iter().flat_map(|(set, _)| rules(&set.allow)).collect();
            let is_open = |simple: &&crate::shell::Simple| {
                !granted
                    .iter()
                    .any(|rule| matches!(&rule.target, RuleTarget::Command(pattern) if pattern.is_exact() && pattern.allows(simple)))
            };
            let found: Option<Vec<String>> = line.to_allow().filter(is_open).map(exact_rule).collect();
            return found.unwrap_or_default();
        }
        SubjectKind::Host(Some(host)) => Some(format!("WebFetch(domain:{host})")),
        SubjectKind::Agent(agent) => Some(format!("Task({agent})")),
        SubjectKind::Nothing => Some(subject.tool.clone()),
        SubjectKind::Unreadable | SubjectKind::Host(None) => None,
    };
    let is_this = |text: &String| {
        PermissionRule::parse(text).is_ok_and(|rule| rule.is_exact() && names_only(&rule, subject))
    };
    rule.filter(is_this).into_iter().collect()
}

/// Returns true if a rule names the subject and nothing else. A model chooses the words of a call, and a rule is read
/// without the spaces around its words, so that one call could become a rule about another.
fn names_only(rule: &PermissionRule, subject: &RuleSubject) -> bool {
    match (&rule.target, &subject.about) {
        (RuleTarget::Path(_, pattern), SubjectKind::File(file)) => {
            pattern.is_path_of(&file.real, &subject.roots)
        }
        (RuleTarget::Domain(domain), SubjectKind::Host(Some(host))) => domain == host,
        (RuleTarget::Agent(name), SubjectKind::Agent(agent)) => name == agent,
        (RuleTarget::Tool(name), SubjectKind::Nothing) => *name == subject.tool,
        _ => false,
    }
}
