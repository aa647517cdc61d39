//! Guards. A named one was code: it is declared as `false`, so that it blocks until its author has written it.

use serde_json::Value as Json;

use super::{Importer, Place};
use crate::ecmascript::text_literal;
use crate::yaml::Yaml;

impl Importer {
    pub(super) fn guard(&mut self, json: &Json, place: &Place) -> Option<Yaml> {
        if let Some(state) = state_in(json) {
            return Some(Yaml::Text(format!("stateIn({})", text_literal(&self.state_path(&state)))));
        }
        let Some(name) = guard_name(json) else {
            self.lost(place, "a guard that was code: it became `false`");
            return Some(Yaml::Bool(false));
        };
        if json.get("params").is_some_and(|params| !params.is_null()) {
            self.lost(place, format!("the parameters of the guard `{name}`"));
        }
        if !self.guards.iter().any(|(known, _)| *known == name) {
            self.lost(place, format!("the guard `{name}` was code: it is `false` until its expression is written under `guards`"));
            self.guards.push((name.clone(), Yaml::Bool(false)));
        }
        Some(Yaml::Text(name))
    }

    /// Converts `#machine.a.b`, `#a` or `a.b` to the form of `stateIn`.
    fn state_path(&self, state: &str) -> String {
        let state = state.strip_prefix('#').unwrap_or(state);
        let inside = state.strip_prefix(self.original_id.as_str()).and_then(|rest| rest.strip_prefix('.'));
        inside.unwrap_or(state).to_owned()
    }
}

fn state_in(json: &Json) -> Option<String> {
    let kind = json.get("type").and_then(Json::as_str)?;
    if kind != "xstate.stateIn" && kind != "stateIn" {
        return None;
    }
    let params = json.get("params").unwrap_or(json);
    let state = ["stateValue", "state", "value"].iter().find_map(|key| params.get(*key))?;
    dotted(state)
}

/// `{a: {b: 'c'}}` and `'a.b.c'` name the same state; a value with several regions has no single name.
fn dotted(value: &Json) -> Option<String> {
    match value {
        Json::String(path) => Some(path.clone()),
        Json::Object(entries) => match entries.iter().next() {
            Some((key, below)) if entries.len() == 1 => Some(format!("{key}.{}", dotted(below)?)),
            _ => None,
        },
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => None,
    }
}

/// Returns the name to declare a guard under; combined guards are named by their parts.
fn guard_name(json: &Json) -> Option<String> {
    if let Some(name) = json.as_str() {
        return Some(name.to_owned());
    }
    let kind = json.get("type").and_then(Json::as_str)?;
    let parts = || -> Option<Vec<String>> {
        let parts =
            json.get("guards").or_else(|| json.get("children")).or_else(|| json.pointer("/params/guards"))?;
        parts.as_array()?.iter().map(guard_name).collect()
    };
    match kind {
        "and" | "xstate.and" => parts().map(|parts| parts.join("_and_")),
        "or" | "xstate.or" => parts().map(|parts| parts.join("_or_")),
        "not" | "xstate.not" => parts().map(|parts| format!("not_{}", parts.join("_"))),
        name => Some(name.to_owned()),
    }
}
