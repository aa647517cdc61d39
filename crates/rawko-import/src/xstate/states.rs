//! State nodes of a configuration.

use serde_json::{Map, Value as Json};

use super::tree::{ROOT, XstateKind};
use super::{JsonPath, XstateImporter, one_or_many};
use crate::yaml::Yaml;

/// Keys without meaning in our format: types, tool versions, redundant parts of a definition.
const IGNORED: [&str; 23] = [
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
    "parallel",
    "actions",
    "guards",
    "delays",
    "options",
];

/// Keys that take effect only while a state waits.
const WAITING: [&str; 5] = ["on", "always", "after", "invoke", "onDone"];

impl XstateImporter {
    /// Translates the entries of a state, or of the chart itself.
    pub(super) fn state_entries(
        &mut self,
        state: &Map<String, Json>,
        node: usize,
        place: &JsonPath,
    ) -> Vec<(String, Yaml)> {
        let mut out = Yaml::Map(Vec::new());
        let kind = self.tree.nodes[node].kind;
        self.kind(&mut out, state, node, place);
        if let Some(id) = self.tree.nodes[node].id.clone() {
            out.push("id", Yaml::text(id));
        }
        self.docs(&mut out, state, place);
        if kind == XstateKind::History {
            self.history(&mut out, state, node, place);
            return out.into_entries();
        }
        if node == ROOT {
            self.root_actions(state, place);
        }
        if kind == XstateKind::Compound {
            self.initial(&mut out, state, node, place);
        }
        let timers = self.after(state, node, place);
        self.actions_of(&mut out, state, &timers.started, "entry", place);
        self.actions_of(&mut out, state, &timers.cancelled, "exit", place);
        for (key, value) in state {
            self.entry(&mut out, key, value, node, place);
        }
        if !timers.on.is_empty() {
            out.push_all("on", timers.on);
        }
        if !timers.after.is_empty() {
            out.push("after", Yaml::Map(timers.after));
        }
        // States last: the state's own entries should not follow all its descendants.
        if !self.tree.nodes[node].children.is_empty() {
            let states = self.states(state, node, &place.at("states"));
            out.push("states", states);
        }
        out.into_entries()
    }

    fn kind(&mut self, out: &mut Yaml, state: &Map<String, Json>, node: usize, place: &JsonPath) {
        let kind = self.tree.nodes[node].kind;
        let written = match kind {
            XstateKind::Parallel => Some("parallel"),
            XstateKind::Final if node != ROOT => Some("final"),
            XstateKind::History => Some("history"),
            XstateKind::Atomic | XstateKind::Compound | XstateKind::Final => None,
        };
        out.push_some("type", written.map(Yaml::text));
        self.final_of_v4(node, place);
        let has_children = !self.tree.nodes[node].children.is_empty();
        let real = self.regions(node).len();
        match kind {
            XstateKind::Atomic | XstateKind::Final | XstateKind::History if has_children => {
                self.lost(place, "a state with child states whose type does not allow them");
            }
            XstateKind::Compound | XstateKind::Parallel if real == 0 => {
                self.lost(place, "a state whose only child states are history states");
            }
            XstateKind::Final if node != ROOT && self.tree.nodes[node].parent != Some(ROOT) => {
                let waits = |value: &Json| match value {
                    Json::Object(map) => !map.is_empty(),
                    Json::Array(list) => !list.is_empty(),
                    other => !other.is_null(),
                };
                let waiting = WAITING.iter().find(|key| state.get(**key).is_some_and(waits));
                if let Some(key) = waiting {
                    self.lost(
                        &place.at(key),
                        format!("`{key}` of a final state: here a final state only ends"),
                    );
                }
            }
            _ => {}
        }
        if state.get("type").and_then(Json::as_str) == Some("compound") && !has_children && node != ROOT {
            self.lost(place, "a compound state without child states");
        }
    }

    fn entry(&mut self, out: &mut Yaml, key: &str, value: &Json, node: usize, place: &JsonPath) {
        let here = place.at(key);
        let kind = self.tree.nodes[node].kind;
        match key {
            "on" | "always" | "invoke" | "onDone" if kind == XstateKind::Final => {
                if node == ROOT || self.tree.nodes[node].parent == Some(ROOT) {
                    self.changed(
                        &here,
                        format!("`{key}` of a top-level final state has no effect: left out"),
                    );
                }
            }
            "on" => self.on(out, value, node, &here),
            "always" => self.always(out, value, node, &here),
            "invoke" => self.invokes(out, value, node, &here),
            "onDone" if node == ROOT || self.tree.nodes[node].children.is_empty() => {
                self.changed(
                    &here,
                    "`onDone` of a state that does not complete while the machine runs: left out",
                );
            }
            "onDone" => {
                let event = self.done_event(node);
                let transitions = self.transitions(value, node, Some(&event), &here);
                out.push_some("onDone", transitions);
            }
            "output" | "data" => self.output(out, key, value, node, place),
            "activities" => self.lost(&here, "`activities`: use `invoke`"),
            "route" => self.lost(&here, "`route`: write a transition for the event `xstate.route`"),
            "states" | "description" | "tags" | "meta" | "target" | "after" => {}
            "entry" | "exit" | "onEntry" | "onExit" => {}
            ignored if IGNORED.contains(&ignored) => {}
            other => self.lost(&here, format!("`{other}`")),
        }
    }

    /// The result of a final state. In version 5 the result of the machine is its own `output`.
    fn output(&mut self, out: &mut Yaml, key: &str, value: &Json, node: usize, place: &JsonPath) {
        if self.tree.nodes[node].kind != XstateKind::Final || node == ROOT {
            return;
        }
        let is_top = self.tree.nodes[node].parent == Some(ROOT);
        if is_top && !self.is_v4 {
            match self.root_output.clone() {
                Some(result) => {
                    let result = self.literal_value(&result, &JsonPath::root().at("output"));
                    out.push("output", result);
                    return;
                }
                None => self.changed(
                    &place.at(key),
                    "the output of a top-level final state: XState reports it only through the machine's `output`, here it is the result",
                ),
            }
        }
        let output = self.literal_value(value, &place.at(key));
        out.push("output", output);
    }

    /// Entry or exit actions with those of emulated timers behind them.
    fn actions_of(
        &mut self,
        out: &mut Yaml,
        state: &Map<String, Json>,
        timers: &[Yaml],
        key: &str,
        place: &JsonPath,
    ) {
        let old = if key == "entry" { "onEntry" } else { "onExit" };
        let mut actions = Vec::new();
        for key in [key, old] {
            if let Some(json) = state.get(key) {
                actions.extend(self.action_list(json, &place.at(key)));
            }
        }
        actions.extend_from_slice(timers);
        if !actions.is_empty() {
            out.push(key, Yaml::List(actions));
        }
    }

    /// Remembers what XState repeats when the chart itself is a target.
    fn root_actions(&mut self, root: &Map<String, Json>, place: &JsonPath) {
        let entry = root.get("entry").map(|json| self.action_list(json, &place.at("entry")));
        let exit = root.get("exit").map(|json| self.action_list(json, &place.at("exit")));
        self.root_entry = entry.unwrap_or_default();
        if let Some(Json::Object(initial)) = root.get("initial")
            && let Some(actions) = initial.get("actions")
        {
            self.root_initial = self.action_list(actions, &place.at("initial"));
        }
        self.root_exit = exit.unwrap_or_default();
        self.root_has_work = root.contains_key("invoke") || root.contains_key("after");
        self.root_output = root.get("output").cloned();
    }

    fn states(&mut self, state: &Map<String, Json>, node: usize, place: &JsonPath) -> Yaml {
        let empty = Map::new();
        let numbers = self.tree.nodes[node].children.clone();
        let mut states = Vec::new();
        for ((key, child), number) in super::tree::children(state).zip(numbers) {
            let place = place.at(key);
            let written = self.tree.nodes[number].key.clone();
            if written != *key {
                self.changed(
                    &place,
                    format!("the key `{key}` became `{written}`: `.` and `#` have a meaning in targets"),
                );
            }
            let mut entries = self.state_entries(child.as_object().unwrap_or(&empty), number, &place);
            // The machine's own `output` is the result of each top-level final state.
            let is_end = node == ROOT && self.tree.nodes[number].kind == XstateKind::Final;
            if is_end
                && !entries.iter().any(|(key, _)| key == "output")
                && let Some(result) = self.root_output.clone()
            {
                let result = self.literal_value(&result, &JsonPath::root().at("output"));
                entries.push(("output".to_owned(), result));
            }
            states.push((written, Yaml::Map(entries)));
        }
        Yaml::Map(states)
    }

    fn history(&mut self, out: &mut Yaml, state: &Map<String, Json>, node: usize, place: &JsonPath) {
        if state.get("history").and_then(Json::as_str) == Some("deep") {
            out.push("variant", Yaml::text("deep"));
        }
        if let Some(target) = state.get("target").filter(|target| !target.is_null()) {
            let here = place.at("target");
            let targets = self.history_targets(target, node, &here);
            let parent = self.tree.nodes[node].parent.unwrap_or(ROOT);
            self.history_of_v4(&targets.nodes, parent, &here);
            if targets.nodes.iter().any(|target| !self.tree.is_below(*target, parent)) {
                self.lost(&here, "the default of a history state that is not inside its parent");
                return;
            }
            out.push_some("target", targets.yaml());
        }
    }

    /// A state with child states needs an initial one.
    fn initial(&mut self, out: &mut Yaml, state: &Map<String, Json>, node: usize, place: &JsonPath) {
        let here = place.at("initial");
        let given = state.get("initial").filter(|initial| !initial.is_null());
        let child = self.tree.initial(node);
        let Some(key) = child.map(|child| self.tree.nodes[child].key.clone()) else {
            let text = given
                .and_then(|given| given.as_str().or_else(|| given.get("target")?.as_str()))
                .unwrap_or("?");
            self.lost(
                &here,
                format!("the initial state `{text}`: there is no such child state, and XState rejects it"),
            );
            return;
        };
        let actions = given.and_then(|given| given.get("actions"));
        let actions = actions.map(|actions| self.action_list(actions, &here)).unwrap_or_default();
        if !actions.is_empty() && self.is_entered_aside(node) {
            self.lost(&here, "actions of an initial state: XState leaves them out where a history state or another region is the target");
        }
        let is_named =
            given.is_some_and(|given| given.is_string() || given.get("target").is_some_and(Json::is_string));
        if !is_named {
            self.changed(place, format!("no initial state: it starts in the first, `{key}`"));
        }
        out.push(
            "initial",
            if actions.is_empty() {
                Yaml::text(key)
            } else {
                Yaml::map([("target", Yaml::text(key)), ("actions", Yaml::List(actions))])
            },
        );
    }

    /// Returns true if a state may be entered without being the target or an initial state: as the default of a history
    /// state beside or inside it, or as a region.
    fn is_entered_aside(&self, node: usize) -> bool {
        let Some(parent) = self.tree.nodes[node].parent else { return false };
        let mut near = self.tree.nodes[parent].children.iter().chain(&self.tree.nodes[node].children);
        let has_history = near.any(|other| self.tree.nodes[*other].kind == XstateKind::History);
        has_history || self.tree.nodes[parent].kind == XstateKind::Parallel
    }

    pub(super) fn docs(&mut self, out: &mut Yaml, json: &Map<String, Json>, place: &JsonPath) {
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
            Some(_) => self.changed(&place.at("meta"), "`meta` that is not an object: left out"),
        }
    }
}
