//! Guards. A named one was code: it is declared as `false`, so that it blocks until its author has written it. The
//! combinators and `stateIn` are data and are translated exactly.

use serde_json::{Map, Value as Json};

use super::tree::{ROOT, XstateKind};
use super::{JsonPath, XstateImporter};
use crate::ecmascript::text_literal;
use crate::yaml::Yaml;

/// A guard as an expression.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) text: String,
    /// A name for it, made of the names of its parts.
    name: String,
    /// Parts of it were code and are `false`.
    pub(super) has_code: bool,
    has_params: bool,
}

impl Condition {
    fn plain(text: String, name: &str) -> Self {
        Condition { text, name: name.to_owned(), has_code: false, has_params: false }
    }

    fn code(name: &str, has_params: bool) -> Self {
        Condition { text: "false".to_owned(), name: name.to_owned(), has_code: true, has_params }
    }

    fn join(parts: Vec<Condition>, word: &str, empty: &str) -> Self {
        let mut parts = parts;
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let texts: Vec<_> = parts.iter().map(|part| operand(&part.text)).collect();
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        Condition {
            text: if texts.is_empty() { empty.to_owned() } else { texts.join(&format!(" {word} ")) },
            name: names.join(&format!("_{word}_")),
            has_code: parts.iter().any(|part| part.has_code),
            has_params: parts.iter().any(|part| part.has_params),
        }
    }
}

impl XstateImporter {
    /// Translates the guard of a transition: `guard`, `cond` and `in`.
    pub(super) fn condition(&self, transition: &Map<String, Json>, source: usize) -> Option<Condition> {
        let guard =
            transition.get("guard").or_else(|| transition.get("cond")).filter(|guard| !guard.is_null());
        let mut parts: Vec<_> = guard.map(|guard| self.guard_condition(guard)).into_iter().collect();
        if let Some(state) = transition.get("in").filter(|state| !state.is_null()) {
            parts.push(self.in_state_of_v4(state, source));
        }
        (!parts.is_empty()).then(|| Condition::join(parts, "and", "true"))
    }

    /// Writes a guard, together with the condition under which no inner state takes the event first.
    pub(super) fn guard(
        &mut self,
        condition: Option<Condition>,
        unless: Option<String>,
        place: &JsonPath,
    ) -> Option<Yaml> {
        let Some(condition) = condition else {
            return unless.map(|unless| Yaml::Text(format!("not ({unless})")));
        };
        if !condition.has_code {
            let text = match unless {
                Some(unless) => format!("{} and not ({unless})", operand(&condition.text)),
                None => condition.text,
            };
            return Some(if text == "false" { Yaml::Bool(false) } else { Yaml::Text(text) });
        }
        let name = if condition.name.is_empty() { "unnamed".to_owned() } else { condition.name };
        if condition.has_params {
            self.unwritten(place, format!("the parameters of the guard `{name}`"));
        }
        if let Some(unless) = unless {
            self.unwritten(
                place,
                format!(
                    "the guard `{name}` must also hold `not ({unless})`: an inner state takes the event first"
                ),
            );
        }
        if !self.guards.iter().any(|(known, _)| *known == name) {
            self.unwritten(
                place,
                format!(
                    "the guard `{name}` was code: it is `{}` until its expression is written under `guards`",
                    condition.text
                ),
            );
            let value =
                if condition.text == "false" { Yaml::Bool(false) } else { Yaml::Text(condition.text) };
            self.guards.push((name.clone(), value));
        }
        Some(Yaml::Text(name))
    }

    fn guard_condition(&self, json: &Json) -> Condition {
        if let Some(name) = json.as_str() {
            return Condition::code(name, false);
        }
        let has_params = json.get("params").is_some_and(|params| !params.is_null());
        let parts = || -> Vec<Condition> {
            let parts = json
                .get("guards")
                .or_else(|| json.get("children"))
                .or_else(|| json.pointer("/params/guards"));
            let parts = parts.and_then(Json::as_array).into_iter().flatten();
            parts.map(|part| self.guard_condition(part)).collect()
        };
        match json.get("type").and_then(Json::as_str) {
            None => Condition::code("unnamed", false),
            Some("xstate.stateIn" | "stateIn") => self.state_in(json),
            Some("and" | "xstate.and") => Condition::join(parts(), "and", "true"),
            Some("or" | "xstate.or") => Condition::join(parts(), "or", "false"),
            Some("not" | "xstate.not") => {
                let part = Condition::join(parts(), "and", "true");
                Condition {
                    text: format!("not {}", operand(&part.text)),
                    name: format!("not_{}", part.name),
                    ..part
                }
            }
            Some(name) => Condition::code(name, has_params),
        }
    }

    /// Returns states that are active whenever a guard holds.
    pub(super) fn required_states(&self, json: &Json) -> Vec<usize> {
        match json.get("type").and_then(Json::as_str) {
            Some("and" | "xstate.and") => {
                let parts = json.get("guards").and_then(Json::as_array).into_iter().flatten();
                parts.flat_map(|part| self.required_states(part)).collect()
            }
            Some("xstate.stateIn" | "stateIn") => {
                let mut value = json.get("stateValue").unwrap_or(&Json::Null);
                let mut node = ROOT;
                while let Some((key, below)) = value.as_object().and_then(|entries| entries.iter().next()) {
                    let Some(child) = self.tree.child(node, key) else { return Vec::new() };
                    (node, value) = (child, below);
                }
                let leaf = value.as_str().and_then(|text| match text.starts_with('#') {
                    true => self.tree.by_reference(text),
                    false => self.value_leaf(node, text),
                });
                leaf.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn state_in(&self, json: &Json) -> Condition {
        let params = json.get("params").unwrap_or(json);
        let state = ["stateValue", "state", "value"].iter().find_map(|key| params.get(*key));
        match state {
            Some(Json::String(text)) if text.starts_with('#') => self.in_node(self.tree.by_reference(text)),
            Some(state) => self.in_value(state, ROOT),
            None => Condition::code("stateIn", false),
        }
    }

    /// The `in` of version 4 starts at the parent of the source's parent.
    fn in_state_of_v4(&self, state: &Json, source: usize) -> Condition {
        if let Some(text) = state.as_str().filter(|text| text.starts_with('#')) {
            return self.in_node(self.tree.by_reference(text));
        }
        let start = self.tree.ancestors(source).nth(1).unwrap_or(ROOT);
        self.in_value(state, start)
    }

    /// A state value: a path, or an object with a value for each region.
    fn in_value(&self, value: &Json, start: usize) -> Condition {
        match value {
            Json::String(path) => self.in_node(self.value_leaf(start, path)),
            Json::Object(entries) => {
                let parts = entries.iter().map(|(key, below)| match self.tree.child(start, key) {
                    Some(child) if below.as_object().is_some_and(Map::is_empty) => self.in_node(Some(child)),
                    Some(child) => self.in_value(below, child),
                    None => self.in_node(None),
                });
                Condition::join(parts.collect(), "and", "true")
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => self.in_node(None),
        }
    }

    /// The last part of a state value is a path; a key with a dot matches as a whole if its state is atomic.
    fn value_leaf(&self, start: usize, path: &str) -> Option<usize> {
        let whole = self.tree.child(start, path);
        let in_parallel = self.tree.nodes[start].kind == XstateKind::Parallel;
        let is_usable = |node: &usize| {
            !path.contains('.') || (!in_parallel && self.tree.nodes[*node].children.is_empty())
        };
        whole.filter(is_usable).or_else(|| self.tree.below(start, path))
    }

    /// A state that does not exist is never active.
    fn in_node(&self, node: Option<usize>) -> Condition {
        match node {
            Some(ROOT) => Condition::plain("true".to_owned(), "in_chart"),
            Some(node) => {
                let path = self.tree.path(node);
                let name = format!("in_{}", path.replace('.', "_"));
                Condition::plain(format!("stateIn({})", text_literal(&path)), &name)
            }
            None => Condition::plain("false".to_owned(), "in_no_state"),
        }
    }
}

/// Puts parentheses around everything but a single word or call.
fn operand(text: &str) -> String {
    let is_call = text.starts_with("stateIn(") && text.find(')') == Some(text.len() - 1);
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_call || is_word { text.to_owned() } else { format!("({text})") }
}
