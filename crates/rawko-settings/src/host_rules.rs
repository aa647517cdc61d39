//! Rules about hosts in `permissions`, for programs that are started without an agent. Rules on tool calls are read where
//! tools are; here only what concerns every connection: `Network`, and denials of `WebFetch(domain:…)`.

use rawko_chart::SpannedValue;
use rawko_process::{HostRule, HostRules};

const NETWORK: &str = "Network";

/// Returns the rules of sections `permissions`: each with its file, and true for the person's own. A program cannot wait,
/// so a rule that asks denies.
pub fn program_host_rules<'d>(
    sections: impl IntoIterator<Item = (&'d SpannedValue, &'d str, bool)>,
) -> HostRules {
    let mut rules = HostRules::default();
    for (document, file, is_own) in sections {
        let add = |into: &mut Vec<HostRule>, key: &str, of: fn(&str) -> Vec<String>| {
            let list = document.get(key);
            // A single text is reported as a mistake elsewhere; it holds here.
            let texts: Vec<&str> = match list.and_then(SpannedValue::items) {
                Some(items) => items.iter().filter_map(SpannedValue::text).collect(),
                None => list.and_then(SpannedValue::text).into_iter().collect(),
            };
            into.extend(texts.into_iter().flat_map(|text| {
                let source = format!("`{}` in `permissions.{key}` of {file}", text.trim());
                of(text.trim()).into_iter().map(move |pattern| HostRule { pattern, source: source.clone() })
            }));
        };
        add(&mut rules.denied, "deny", denied);
        add(&mut rules.asked, "ask", asked);
        if is_own {
            add(&mut rules.approved, "allow", approved);
        }
    }
    rules.for_program()
}

/// Denials are read broadly: a domain stands for everything below it.
fn denied(rule: &str) -> Vec<String> {
    match parts(rule) {
        (name, Some(host)) if name.eq_ignore_ascii_case("WebFetch") && host != "*" => with_subdomains(&host),
        _ => asked(rule),
    }
}

fn asked(rule: &str) -> Vec<String> {
    match parts(rule) {
        (name, None) if is_network(name) => vec!["*".to_owned()],
        (NETWORK, Some(host)) if host == "*" => vec![host],
        (NETWORK, Some(host)) => with_subdomains(&host),
        _ => Vec::new(),
    }
}

/// An approval covers what it names. `*` alone is about tools and not about hosts.
fn approved(rule: &str) -> Vec<String> {
    match parts(rule) {
        (NETWORK, None) => vec!["*".to_owned()],
        (NETWORK, Some(host)) => vec![host],
        _ => Vec::new(),
    }
}

/// Returns the name, and the host between the parentheses; `None` stands for every call.
fn parts(rule: &str) -> (&str, Option<String>) {
    let Some((name, rest)) = rule.split_once('(') else { return (rule, None) };
    let inside = rest.strip_suffix(')').unwrap_or(rest).trim();
    match inside {
        "*" | "**" | ":*" => (name.trim(), None),
        inside => {
            let host = inside.strip_prefix("domain:").unwrap_or(inside).trim();
            (name.trim(), Some(host.trim_end_matches('.').to_ascii_lowercase()))
        }
    }
}

/// Matches the name of a rule, in which `*` stands for any text.
fn is_network(name: &str) -> bool {
    let (name, network) = (name.to_ascii_lowercase(), NETWORK.to_ascii_lowercase());
    let mut rest = network.as_str();
    let parts: Vec<&str> = name.split('*').collect();
    let Some((first, others)) = parts.split_first() else { return false };
    let Some((last, middle)) = others.split_last() else { return name == network };
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn with_subdomains(host: &str) -> Vec<String> {
    let host = host.trim_start_matches("*.");
    vec![host.to_owned(), format!("*.{host}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &[HostRule]) -> Vec<&str> {
        list.iter().map(|rule| rule.pattern.as_str()).collect()
    }

    #[test]
    fn rules_about_hosts_hold_for_programs() {
        let read = |yaml: &str| SpannedValue::read(yaml).unwrap();
        let project = read(
            "{deny: ['WebFetch(domain:evil.com)', 'Network(domain:*.b.c)', Bash], ask: [Network], allow: [Network]}",
        );
        let own = read(
            "{deny: ['N*'], ask: ['Network(domain:a.b.)', 'Netz*'], allow: ['Network(domain:docs.rs)', '*']}",
        );
        let rules = program_host_rules([(&project, "config.yaml", false), (&own, "own.yaml", true)]);
        assert_eq!(patterns(&rules.denied), ["evil.com", "*.evil.com", "b.c", "*.b.c", "*"]);
        assert_eq!(patterns(&rules.asked), ["*", "a.b", "*.a.b"]);
        assert_eq!(patterns(&rules.approved), ["docs.rs"]);
        assert!(rules.cannot_ask && !rules.asks_unlisted);
        assert_eq!(rules.asked[0].source, "`Network` in `permissions.ask` of config.yaml");
        for (rule, every) in
            [("*", true), ("Net*rk", true), ("*work", true), ("Web*", false), ("network", true)]
        {
            assert_eq!(is_network(rule), every, "{rule}");
        }
    }
}
