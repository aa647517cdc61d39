//! Rules about hosts, for everything that connects: programs behind the proxy, WebFetch, WebSearch, MCP servers over HTTP.
//! `Network(domain:…)` concerns all of them; a denial of `WebFetch(domain:…)` holds for programs, too.

use rawko_process::{HostList, HostRule, HostRules};

use super::rule::{NETWORK, PermissionRule, RuleTarget, covers};
use super::{AskMode, Judgement, Party, PermissionEffect, Permissions};
use crate::grant::Grant;

/// The name of the set that holds a person's answers of this run.
const ANSWERED: &str = "an answer of the person in this run";

impl Permissions {
    /// The hosts that a person approved for the rest of a run.
    pub fn answered_hosts<'h>(hosts: impl IntoIterator<Item = &'h str>) -> Self {
        let rules = hosts.into_iter().map(network_rule).filter(|rule| PermissionRule::parse(rule).is_ok());
        Self { party: Party::User, file: ANSWERED.to_owned(), allow: rules.collect(), ..Self::default() }
    }
}

/// The rule that allows one host to everything that connects.
pub fn network_rule(host: &str) -> String {
    format!("{NETWORK}(domain:{host})")
}

impl Grant {
    /// Returns the decisions on hosts of all rules and agents.
    pub fn host_rules(&self) -> HostRules {
        let mut rules = HostRules::default();
        for set in &self.permissions {
            let all = |texts: &[String], key: &str, of: fn(&RuleTarget) -> Vec<String>| -> Vec<HostRule> {
                let parsed = super::judge::rules(texts);
                let found = parsed.iter().flat_map(|rule| {
                    let source = format!("`{}` in {}", rule.text, set.list(key));
                    of(&rule.target)
                        .into_iter()
                        .map(move |pattern| HostRule { pattern, source: source.clone() })
                });
                found.collect()
            };
            rules.denied.extend(all(&set.deny, "deny", denied));
            rules.asked.extend(all(&set.ask, "ask", asked));
            // Neither a project nor an agent answers for the person.
            if set.party == Party::User {
                rules.approved.extend(all(&set.allow, "allow", approved));
            }
            if set.is_broken {
                let source = format!("{} is invalid, so every host needs an approval", set.list("*"));
                rules.asked.push(HostRule { pattern: "*".to_owned(), source });
            }
        }
        let modes = || self.permissions.iter().filter_map(|set| set.mode);
        rules.asks_unlisted =
            modes().any(|mode| mode == AskMode::Wait) && !modes().any(|mode| mode == AskMode::Deny);
        let lists = self.layers.iter().filter_map(|layer| {
            let hosts = layer.network.clone()?;
            Some(HostList { hosts, source: layer.source.clone() })
        });
        rules.within = lists.collect();
        rules
    }
}

/// Denials are read broadly: a domain stands for everything below it.
fn denied(target: &RuleTarget) -> Vec<String> {
    match target {
        RuleTarget::Domain(host) => with_subdomains(host),
        target => asked(target),
    }
}

fn asked(target: &RuleTarget) -> Vec<String> {
    match target {
        RuleTarget::Host(host) => with_subdomains(host),
        RuleTarget::Tool(name) if covers(name, NETWORK) => vec!["*".to_owned()],
        RuleTarget::Tool(_)
        | RuleTarget::Domain(_)
        | RuleTarget::Command(_)
        | RuleTarget::Path(..)
        | RuleTarget::Server(_)
        | RuleTarget::Agent(_) => Vec::new(),
    }
}

/// An approval covers what it names. `*` alone is about tools and not about hosts.
fn approved(target: &RuleTarget) -> Vec<String> {
    match target {
        RuleTarget::Host(host) => vec![host.clone()],
        RuleTarget::Tool(name) if name == NETWORK => vec!["*".to_owned()],
        RuleTarget::Tool(_)
        | RuleTarget::Domain(_)
        | RuleTarget::Command(_)
        | RuleTarget::Path(..)
        | RuleTarget::Server(_)
        | RuleTarget::Agent(_) => Vec::new(),
    }
}

fn with_subdomains(host: &str) -> Vec<String> {
    let host = host.trim_start_matches("*.");
    vec![host.to_owned(), format!("*.{host}")]
}

impl Judgement {
    /// Makes a call that is allowed otherwise wait for the approval of a host.
    pub(crate) fn asking_host(self, host: &str, rule: String) -> Self {
        if self.effect != PermissionEffect::Allow {
            return self;
        }
        let always = vec![network_rule(host)];
        Self { effect: PermissionEffect::Ask, rule, always, host: Some(host.to_owned()), ..self }
    }

    /// Denies a call because of its host.
    pub(crate) fn denied_host(self, rule: String) -> Self {
        if self.effect == PermissionEffect::Deny {
            self
        } else {
            Self { effect: PermissionEffect::Deny, rule, ..self }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::GrantLayer;

    fn set(party: Party, allow: &[&str], ask: &[&str], deny: &[&str]) -> Permissions {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Permissions { party, allow: own(allow), ask: own(ask), deny: own(deny), ..Permissions::default() }
    }

    fn patterns(list: &[HostRule]) -> Vec<&str> {
        list.iter().map(|rule| rule.pattern.as_str()).collect()
    }

    #[test]
    fn only_the_person_approves_hosts() {
        let own = ["Network(domain:a.com)", "WebFetch(domain:b.com)", "*"];
        for (party, expected) in
            [(Party::User, vec!["a.com"]), (Party::Project, Vec::new()), (Party::Agent, Vec::new())]
        {
            let grant = Grant { permissions: vec![set(party, &own, &[], &[])], ..Grant::default() };
            assert_eq!(patterns(&grant.host_rules().approved), expected, "{party:?}");
        }
    }

    #[test]
    fn a_set_that_passed_through_a_chart_is_not_the_persons() {
        let grant = Grant { permissions: vec![set(Party::User, &["Network"], &[], &[])], ..Grant::default() };
        assert_eq!(patterns(&grant.host_rules().approved), ["*"]);
        let text = serde_json::to_string(&grant).unwrap();
        let read: Grant = serde_json::from_str(&text).unwrap();
        assert_eq!(patterns(&read.host_rules().approved), Vec::<&str>::new());
    }

    #[test]
    fn denials_and_questions_concern_every_door() {
        let project =
            set(Party::Project, &[], &["Network"], &["WebFetch(domain:evil.com)", "Network(domain:*.b.c)"]);
        let layer = GrantLayer { network: Some(vec!["docs.rs".to_owned()]), ..GrantLayer::default() };
        let grant = Grant { permissions: vec![project], layers: vec![layer] };
        let rules = grant.host_rules();
        assert_eq!(patterns(&rules.denied), ["evil.com", "*.evil.com", "b.c", "*.b.c"]);
        assert_eq!(patterns(&rules.asked), ["*"]);
        assert_eq!(rules.within[0].hosts, ["docs.rs"]);
        assert!(!rules.asks_unlisted);
        let waiting = Permissions { mode: Some(AskMode::Wait), ..Permissions::default() };
        let denying = Permissions { mode: Some(AskMode::Deny), ..Permissions::default() };
        let asks = |permissions| Grant { permissions, ..Grant::default() }.host_rules().asks_unlisted;
        assert!(asks(vec![waiting.clone()]) && !asks(vec![waiting, denying]));
    }
}
