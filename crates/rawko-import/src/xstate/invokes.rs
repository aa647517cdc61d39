//! Invokes: their ids, sources and results.

use serde_json::{Map, Value as Json};

use super::{JsonPath, XstateImporter, one_or_many};
use crate::yaml::Yaml;

const DONE: &str = "xstate.done.actor.";
const FAILED: &str = "xstate.error.actor.";

/// Returns the ids in the names of the completion events that transitions wait for.
pub(super) fn referenced_ids(root: &Map<String, Json>) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(state) = open.pop() {
        let events = state.get("on").and_then(Json::as_object).into_iter().flatten().map(|(event, _)| event);
        found.extend(events.filter_map(|event| {
            event.strip_prefix(DONE).or_else(|| event.strip_prefix(FAILED)).map(str::to_owned)
        }));
        open.extend(super::tree::children(state).filter_map(|(_, child)| child.as_object()));
    }
    found
}

impl XstateImporter {
    /// Returns the id of an invoke: its own, or the one XState generates.
    pub(super) fn invoke_id(&self, invoke: &Json, node: usize, index: usize) -> String {
        match invoke.get("id").and_then(Json::as_str) {
            Some(id) => id.to_owned(),
            None => {
                let generated = self.generated_id(node, index);
                if self.invoke_ids.contains(&generated) { generated } else { self.default_id(node, index) }
            }
        }
    }

    /// The id that XState generates: the index and the id of the state.
    fn generated_id(&self, node: usize, index: usize) -> String {
        match &self.tree.nodes[node].id {
            Some(id) => format!("{index}.{id}"),
            None => format!("{index}.{}", self.tree.full_id(node)),
        }
    }

    /// The id that our reader generates.
    fn default_id(&self, node: usize, index: usize) -> String {
        let path = self.tree.path(node);
        let path = if path.is_empty() { self.chart_id.clone() } else { path };
        if index == 0 { path } else { format!("{path}.{index}") }
    }

    pub(super) fn invokes(&mut self, out: &mut Yaml, json: &Json, source: usize, place: &JsonPath) {
        let many = matches!(json, Json::Array(_));
        let invokes = one_or_many(json).into_iter().enumerate().filter_map(|(index, invoke)| {
            let place = if many { place.at(index) } else { place.clone() };
            self.invoke(invoke, source, index, &place)
        });
        let mut invokes: Vec<_> = invokes.collect();
        match invokes.len() {
            0 => {}
            1 => out.push("invoke", invokes.remove(0)),
            _ => out.push("invoke", Yaml::List(invokes)),
        }
    }

    fn invoke(&mut self, json: &Json, source: usize, index: usize, place: &JsonPath) -> Option<Yaml> {
        // Version 4 took the name of a service alone.
        let named = json.as_str().map(|name| Map::from_iter([("src".to_owned(), Json::from(name))]));
        let Some(entries) = named.as_ref().or_else(|| json.as_object()) else {
            self.unwritten(place, "an invoke that was code");
            return None;
        };
        let mut out = Yaml::Map(Vec::new());
        let id = self.invoke_id(json, source, index);
        if entries.get("id").is_some_and(Json::is_string) || self.invoke_ids.contains(&id) {
            out.push("id", Yaml::text(&id));
        }
        let src = self.invoke_source(entries, place);
        out.push("src", crate::name_or_literal(&src));
        for (key, value) in entries {
            let here = place.at(key);
            match key.as_str() {
                "input" | "data" => {
                    let input = self.literal_value(value, &here);
                    out.push("input", input);
                }
                "onDone" | "onError" => {
                    let prefix = if key == "onDone" { "done.invoke" } else { "error.invoke" };
                    let event = format!("{prefix}.{id}");
                    if let Some(transitions) = self.transitions(value, source, Some(&event), &here) {
                        out.push(key, transitions);
                    }
                }
                "id" | "src" | "type" | "meta" | "description" => {}
                "systemId" => self.changed(&here, "`systemId` of an invoke: it is reached by its id"),
                "autoForward" if *value == Json::Bool(false) => {}
                other => self.lost(&here, format!("`{other}` of an invoke")),
            }
        }
        Some(out)
    }

    fn invoke_source(&mut self, entries: &Map<String, Json>, place: &JsonPath) -> String {
        let src = entries.get("src");
        if src.is_some_and(|src| src.get("states").is_some()) {
            self.lost(
                &place.at("src"),
                "a machine as the source of an invoke: import it on its own and invoke `statechart:<id>`",
            );
            return "not_carried_over".to_owned();
        }
        let name =
            src.and_then(Json::as_str).or_else(|| src.and_then(|src| src.get("type")).and_then(Json::as_str));
        match name {
            Some(name) => {
                self.changed(
                    place,
                    format!("`{name}` must be a service of the project, `statechart:<id>` or `agent:<id>`"),
                );
                name.to_owned()
            }
            None => {
                self.unwritten(place, "the source of an invoke: it was code");
                "not_carried_over".to_owned()
            }
        }
    }
}
