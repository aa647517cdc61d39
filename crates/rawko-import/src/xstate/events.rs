//! Names of events: XState's own have other names here, and a name with spaces or an asterisk inside becomes one without.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::XstateImporter;

/// Names of XState's own events, and ours.
const EVENTS: [(&str, &str); 5] = [
    ("xstate.done.actor.", "done.invoke."),
    ("xstate.error.actor.", "error.invoke."),
    ("xstate.done.state.", "done.state."),
    ("done.state.", "done.state."),
    ("error.platform.", "error.invoke."),
];

/// New names for the tokens of event names that our format does not take. Tokens, so that `name.*` still takes the same.
#[derive(Debug, Default)]
pub(super) struct EventTokens(BTreeMap<String, String>);

impl EventTokens {
    /// Finds the tokens to rename in a whole configuration; no new name equals one that is in use.
    pub(super) fn of(root: &Map<String, Json>) -> Self {
        let mut known = BTreeSet::new();
        for value in root.values() {
            collect(value, &mut known);
        }
        root.get("on").into_iter().for_each(|on| collect_keys(on, &mut known));
        let mut renamed = BTreeMap::new();
        let refused: Vec<_> = known.iter().filter(|token| is_refused(token)).cloned().collect();
        for token in refused {
            let mut name: String =
                token.chars().map(|c| if c.is_whitespace() || c == '*' { '_' } else { c }).collect();
            while known.contains(&name) {
                name.push('_');
            }
            known.insert(name.clone());
            renamed.insert(token, name);
        }
        EventTokens(renamed)
    }

    /// Returns the name of an event, or of a pattern that ends in a wildcard, with renamed tokens.
    pub(super) fn renamed(&self, event: &str) -> String {
        if self.0.is_empty() {
            return event.to_owned();
        }
        let tokens = event.split('.').map(|token| self.0.get(token).map_or(token, String::as_str));
        tokens.collect::<Vec<_>>().join(".")
    }
}

fn is_refused(token: &str) -> bool {
    token != "*" && token.contains(|c: char| c.is_whitespace() || c == '*')
}

/// Adds the tokens of all events that states handle and actions send.
fn collect(json: &Json, known: &mut BTreeSet<String>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| collect(item, known)),
        Json::Object(entries) => {
            for (key, value) in entries {
                match key.as_str() {
                    "on" => collect_keys(value, known),
                    "event" => {
                        let name = value.as_str().or_else(|| value.get("type").and_then(Json::as_str));
                        name.into_iter().for_each(|name| add(name, known));
                    }
                    _ => {}
                }
                collect(value, known);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn collect_keys(on: &Json, known: &mut BTreeSet<String>) {
    on.as_object().into_iter().flatten().for_each(|(event, _)| add(event, known));
}

fn add(event: &str, known: &mut BTreeSet<String>) {
    known.extend(event.split('.').map(str::to_owned));
}

impl XstateImporter {
    /// Returns an event's name here; `None` if it is one of XState's own without a counterpart.
    pub(super) fn event_name(&self, event: &str) -> Option<String> {
        for (theirs, ours) in EVENTS {
            if let Some(id) = event.strip_prefix(theirs) {
                let id = if ours == "done.state." {
                    self.tree
                        .by_id(id)
                        .map_or_else(|| id.to_owned(), |node| self.tree.done_name(node, &self.chart_id))
                } else {
                    id.to_owned()
                };
                return Some(format!("{ours}{id}"));
            }
        }
        (!event.starts_with("xstate.")).then(|| self.event_tokens.renamed(event))
    }

    /// Returns the name of an event that an action sends.
    pub(super) fn sent_name(&self, event: &str) -> String {
        self.event_name(event).unwrap_or_else(|| event.to_owned())
    }
}

/// Our names of events have no spaces, and an asterisk only as a wildcard.
pub(super) fn is_event(name: &str) -> bool {
    let stem = name.strip_suffix(".*").unwrap_or(name);
    name == "*" || (!stem.is_empty() && !stem.contains('*') && !stem.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_is_not_one_in_use() {
        let machine = serde_json::json!({
            "on": {"start it": "a", "start_it": "b", "start it.*": "c", "ok": {"actions": {"event": {"type": "a*b"}}}}
        });
        let Json::Object(machine) = machine else { panic!("an object") };
        let tokens = EventTokens::of(&machine);
        for (theirs, ours) in [
            ("start it", "start_it_"),
            ("start_it", "start_it"),
            ("start it.*", "start_it_.*"),
            ("a*b", "a_b"),
            ("*", "*"),
        ] {
            assert_eq!(tokens.renamed(theirs), ours);
        }
    }
}
