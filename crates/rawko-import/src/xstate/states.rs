//! State nodes of a configuration.

use serde_json::{Map, Value as Json};

use super::{Importer, Place, one_or_many};
use crate::yaml::Yaml;

/// Keys without meaning in our format: types, tool versions, redundant parts of a definition.
const IGNORED: [&str; 18] = [
    "id",
    "version",
    "context",
    "key",
    "order",
    "types",
    "tsTypes",
    "schema",
    "schemas",
    "$schema",
    "delimiter",
    "predictableActionArguments",
    "preserveActionOrder",
    "strict",
    "transitions",
    "initial",
    "type",
    "history",
];

impl Importer {
    /// Translates the entries of a state; of the chart itself if `is_root`.
    pub(super) fn state_entries(
        &mut self,
        state: &Map<String, Json>,
        place: &Place,
        is_root: bool,
    ) -> Vec<(String, Yaml)> {
        let mut out = Yaml::Map(Vec::new());
        let kind = state.get("type").and_then(Json::as_str);
        if let Some(kind) = kind.filter(|kind| matches!(*kind, "parallel" | "final" | "history")) {
            out.push("type", Yaml::text(kind));
        }
        if let Some(id) = state.get("id").and_then(Json::as_str).filter(|_| !is_root) {
            out.push("id", Yaml::text(id));
        }
        self.docs(&mut out, state, place);
        if kind == Some("history") {
            self.history(&mut out, state, place);
        }
        if kind != Some("parallel") {
            self.initial(&mut out, state, place);
        }
        for (key, value) in state {
            self.entry(&mut out, key, value, place, is_root);
        }
        // States last: the state's own entries should not follow all its descendants.
        if let Some(Json::Object(children)) =
            state.get("states").filter(|states| states.as_object().is_some_and(|s| !s.is_empty()))
        {
            let states = self.states(children, &place.at("states"));
            out.push("states", states);
        }
        if let Yaml::Map(entries) = out { entries } else { Vec::new() }
    }

    fn entry(&mut self, out: &mut Yaml, key: &str, value: &Json, place: &Place, is_root: bool) {
        let place = place.at(key);
        match key {
            "on" => self.on(out, value, &place),
            "always" => {
                let transitions = self.transitions(value, &place);
                out.push("always", transitions);
            }
            "after" => self.after(out, value, &place),
            "invoke" => self.invokes(out, value, &place),
            "entry" | "exit" => {
                let actions = self.action_list(value, &place);
                if !actions.is_empty() {
                    out.push(key, Yaml::List(actions));
                }
            }
            "onDone" => {
                let transitions = self.transitions(value, &place);
                out.push("onDone", transitions);
            }
            "output" | "data" if !is_root => {
                let output = self.literal_value(value, &place);
                out.push("output", output);
            }
            "states" | "description" | "tags" | "meta" | "target" => {}
            ignored if IGNORED.contains(&ignored) => {}
            other => self.lost(&place, format!("`{other}`")),
        }
    }

    pub(super) fn states(&mut self, children: &Map<String, Json>, place: &Place) -> Yaml {
        let states = children.iter().map(|(key, child)| {
            let place = place.at(key);
            if key.contains('.') {
                self.lost(&place, format!("the key `{key}`: a dot separates keys; rename it"));
            }
            let empty = Map::new();
            let entries = self.state_entries(child.as_object().unwrap_or(&empty), &place, false);
            (key.clone(), Yaml::Map(entries))
        });
        Yaml::Map(states.collect())
    }

    fn history(&mut self, out: &mut Yaml, state: &Map<String, Json>, place: &Place) {
        if state.get("history").and_then(Json::as_str) == Some("deep") {
            out.push("variant", Yaml::text("deep"));
        }
        if let Some(target) = state.get("target").filter(|target| !target.is_null()) {
            let targets = self.targets(target, &place.at("target"));
            out.push("target", targets);
        }
    }

    /// A state with child states needs an initial one.
    fn initial(&mut self, out: &mut Yaml, state: &Map<String, Json>, place: &Place) {
        let Some(children) =
            state.get("states").and_then(Json::as_object).filter(|children| !children.is_empty())
        else {
            return;
        };
        let is_history = |child: &Json| child.get("type").and_then(Json::as_str) == Some("history");
        match state.get("initial") {
            Some(Json::String(key)) => out.push("initial", Yaml::text(key)),
            Some(Json::Object(initial)) => {
                let here = place.at("initial");
                let target = self.targets(initial.get("target").unwrap_or(&Json::Null), &here);
                let actions = initial
                    .get("actions")
                    .map(|actions| self.action_list(actions, &here))
                    .unwrap_or_default();
                let initial = if actions.is_empty() {
                    target
                } else {
                    Yaml::map([("target", target), ("actions", Yaml::List(actions))])
                };
                out.push("initial", initial);
            }
            _ => {
                if let Some((first, _)) = children.iter().find(|(_, child)| !is_history(child)) {
                    self.changed(place, format!("no initial state: it starts in the first, `{first}`"));
                    out.push("initial", Yaml::text(first));
                }
            }
        }
    }

    pub(super) fn docs(&mut self, out: &mut Yaml, json: &Map<String, Json>, place: &Place) {
        if let Some(description) = json.get("description").and_then(Json::as_str) {
            out.push("description", Yaml::text(description));
        }
        if let Some(tags) = json.get("tags").filter(|tags| !tags.is_null()) {
            let tags: Vec<_> =
                one_or_many(tags).into_iter().filter_map(Json::as_str).map(Yaml::text).collect();
            if !tags.is_empty() {
                out.push("tags", Yaml::List(tags));
            }
        }
        match json.get("meta") {
            Some(meta @ Json::Object(entries)) if !entries.is_empty() => {
                out.push("meta", Yaml::from_json(meta))
            }
            Some(Json::Object(_) | Json::Null) | None => {}
            Some(_) => self.lost(&place.at("meta"), "`meta` that is not an object"),
        }
    }
}
