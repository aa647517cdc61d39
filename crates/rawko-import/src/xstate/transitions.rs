//! Transitions by event and by delay.

use serde_json::{Map, Value as Json};

use super::events::is_event;
use super::targets::ResolvedTargets;
use super::tree::{ROOT, XstateKind};
use super::{JsonPath, XstateImporter};
use crate::yaml::Yaml;

impl XstateImporter {
    pub(super) fn on(&mut self, out: &mut Yaml, on: &Json, source: usize, place: &JsonPath) {
        let Json::Object(events) = on else {
            self.lost(place, "`on` that is not an object");
            return;
        };
        let mut entries: Vec<(String, Yaml)> = Vec::new();
        for (event, value) in events {
            let here = place.at(event);
            if event.is_empty() {
                self.changed(&here, "the empty event became `always`");
                self.always(out, value, source, &here);
                continue;
            }
            if event.strip_suffix(".*").is_some_and(|stem| stem.split('.').any(|token| token == "*")) {
                self.changed(&here, format!("`{event}` never matches in XState: left out"));
                continue;
            }
            if self.is_v4 && event.ends_with(".*") {
                self.changed(
                    &here,
                    format!("`{event}` never matches in version 4, which only knows `*`: left out"),
                );
                continue;
            }
            let Some(name) = self.event_name(event).filter(|name| is_event(name)) else {
                self.lost(
                    &here,
                    format!("the event `{event}`: it has no counterpart or is not a valid name"),
                );
                continue;
            };
            if !event.starts_with("xstate.") && self.event_tokens.renamed(event) != *event {
                self.changed(
                    &here,
                    format!("the event `{event}` became `{name}`: names of events have no spaces, and `*` only at the end"),
                );
            }
            if let Some(transitions) = self.transitions(value, source, Some(&name), &here) {
                entries.push((name, transitions));
            }
        }
        if !entries.is_empty() {
            out.push_all("on", entries);
        }
    }

    pub(super) fn done_event(&self, node: usize) -> String {
        format!("done.state.{}", self.tree.done_name(node, &self.chart_id))
    }

    /// Translates eventless transitions. One that stays where it is would repeat in our engine; XState takes it once in a
    /// step.
    pub(super) fn always(&mut self, out: &mut Yaml, json: &Json, source: usize, place: &JsonPath) {
        for transition in super::one_or_many(json) {
            let empty = Map::new();
            let entries = transition.as_object().unwrap_or(&empty);
            let target = transition.as_str().map(|_| transition).or_else(|| entries.get("target"));
            let condition = self.condition(entries, source);
            let waits_for_code = condition.is_some_and(|condition| condition.has_code);
            if !waits_for_code && self.may_repeat(source, target, entries) {
                self.lost(
                    place,
                    "an eventless transition that may stay enabled: XState stops when the states do not change, here it would repeat",
                );
            }
        }
        if let Some(transitions) = self.transitions(json, source, None, place) {
            out.push_or_join("always", transitions);
        }
    }

    /// Notes eventless transitions of several regions: XState takes them in the order in which the states were entered.
    pub(super) fn eventless_regions(&mut self, root: &Map<String, Json>, place: &JsonPath) {
        let empty = Map::new();
        let mut found: Vec<usize> = Vec::new();
        let mut open = vec![(root, place.clone())];
        let mut next = 0;
        while let Some((state, place)) = open.pop() {
            let (node, always) = (next, place.at("always"));
            next += 1;
            if state.contains_key("always") {
                if found.iter().any(|other| self.tree.are_orthogonal(*other, node)) {
                    self.changed(&always, "eventless transitions of several regions: taken in document order, not in the order of entry");
                }
                found.push(node);
            }
            let children: Vec<_> = super::tree::children(state).collect();
            for (key, child) in children.into_iter().rev() {
                open.push((child.as_object().unwrap_or(&empty), place.at("states").at(key)));
            }
        }
    }

    /// Translates one transition or several of the same trigger; `event` is the name of the event in our chart.
    pub(super) fn transitions(
        &mut self,
        json: &Json,
        source: usize,
        event: Option<&str>,
        place: &JsonPath,
    ) -> Option<Yaml> {
        match json {
            Json::Array(items) => {
                let transitions = items
                    .iter()
                    .enumerate()
                    .flat_map(|(index, item)| self.transition(item, source, event, &place.at(index)));
                one_or_list(transitions.collect())
            }
            one => one_or_list(self.transition(one, source, event, place)),
        }
    }

    /// Translates one transition; into two where version 4 stays in a state that ours would enter again.
    fn transition(&mut self, json: &Json, source: usize, event: Option<&str>, place: &JsonPath) -> Vec<Yaml> {
        match json {
            Json::String(_) => {
                let entries = Map::from_iter([("target".to_owned(), json.clone())]);
                let mut all = self.full_transition(&entries, source, event, place);
                // A list of targets would read as alternatives.
                if let Some(Yaml::Map(entries)) = all.last_mut()
                    && matches!(entries.as_slice(), [(key, Yaml::Text(_))] if key == "target")
                {
                    let short = entries.remove(0).1;
                    all.pop();
                    all.push(short);
                }
                all
            }
            Json::Object(entries) => self.full_transition(entries, source, event, place),
            Json::Null => self.full_transition(&Map::new(), source, event, place),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) => {
                self.lost(place, "a transition that is neither a target nor an object");
                vec![Yaml::Map(Vec::new())]
            }
        }
    }

    fn full_transition(
        &mut self,
        entries: &Map<String, Json>,
        source: usize,
        event: Option<&str>,
        place: &JsonPath,
    ) -> Vec<Yaml> {
        let mut out = Yaml::Map(Vec::new());
        self.mixed_versions(entries, place);
        let target = entries.get("target").filter(|target| !target.is_null());
        let targets =
            target.map(|target| self.targets(target, source, &place.at("target"))).unwrap_or_default();
        let reenters = self.reenters(entries, &targets, source, place);
        self.history_inside(&targets, source, &place.at("target"));
        self.regions_of_v4(&targets, source, reenters, &place.at("target"));
        let stays = self.stays_in_v4(&targets, source, reenters, &place.at("target"));
        let (restarts, before, after) = self.restart(&targets, source, reenters, place);
        let reenters = reenters || (restarts && source != ROOT);
        let written = if restarts { self.restarted(place) } else { targets.yaml() };
        out.push_some("target", written);
        let condition = self.condition(entries, source);
        let is_code = condition.as_ref().is_some_and(|condition| condition.has_code);
        if entries.contains_key("cond") {
            self.changed(&place.at("cond"), "`cond` is of XState 4; it became `guard`");
        }
        if entries.contains_key("in") {
            self.changed(&place.at("in"), "`in` is of XState 4; it became a guard with `stateIn`");
        }
        let exits_nothing = self.exits_nothing(source, target, entries);
        let unless = event.and_then(|event| self.taken_inside(source, event, exits_nothing));
        let guard_place = if entries.contains_key("guard") { place.at("guard") } else { place.at("cond") };
        let guard = self.guard(condition, unless, &guard_place);
        out.push_some("guard", guard);
        let mut actions = before;
        if let Some(own) = entries.get("actions") {
            actions.extend(self.action_list(own, &place.at("actions")));
        }
        actions.extend(after);
        if !actions.is_empty() {
            out.push("actions", Yaml::List(actions));
        }
        if reenters {
            out.push("reenter", Yaml::Bool(true));
        }
        for key in entries.keys() {
            let is_known = matches!(
                key.as_str(),
                "target"
                    | "guard"
                    | "cond"
                    | "in"
                    | "actions"
                    | "reenter"
                    | "internal"
                    | "description"
                    | "tags"
                    | "meta"
                    | "source"
                    | "eventType"
                    | "event"
                    | "delay"
            );
            if !is_known {
                self.lost(&place.at(key), format!("`{key}` of a transition"));
            }
        }
        self.docs(&mut out, entries, place);
        let staying = stays.and_then(|node| self.staying(&out, node, is_code, place));
        staying.into_iter().chain([out]).collect()
    }

    /// Returns true if the source is left although the targets are inside it.
    fn reenters(
        &mut self,
        entries: &Map<String, Json>,
        targets: &ResolvedTargets,
        source: usize,
        place: &JsonPath,
    ) -> bool {
        if targets.nodes.is_empty() {
            return false;
        }
        let is = |key: &str, value: bool| entries.get(key) == Some(&Json::Bool(value));
        if is("reenter", true) {
            return true;
        }
        if is("internal", false) {
            self.changed(
                &place.at("internal"),
                "`internal: false` is of XState 4; it became `reenter: true`",
            );
            return true;
        }
        if !self.is_v4 || is("internal", true) {
            return false;
        }
        let texts = entries.get("target").map(super::one_or_many).unwrap_or_default();
        let is_internal = texts.iter().filter_map(|text| text.as_str()).any(|text| text.starts_with('.'));
        let is_inside = |node: &usize| *node == source || self.tree.is_below(*node, source);
        !is_internal && targets.nodes.iter().all(is_inside)
    }

    /// Our root is neither left nor a target: returns whether the chart starts again, and the root's own actions that
    /// XState runs before and after those of the transition.
    fn restart(
        &mut self,
        targets: &ResolvedTargets,
        source: usize,
        reenters: bool,
        place: &JsonPath,
    ) -> (bool, Vec<Yaml>, Vec<Yaml>) {
        let has_root = targets.has_root();
        // The target of version 4 that is the machine leaves it.
        let reenters = reenters || (self.is_v4 && has_root);
        let root_leaves = reenters && (has_root || source == ROOT) && !targets.nodes.is_empty();
        if !has_root && !root_leaves {
            return (false, Vec::new(), Vec::new());
        }
        let exits = if root_leaves { self.root_exit.clone() } else { Vec::new() };
        let enters = source != ROOT || reenters;
        let mut entries = if enters { self.root_entry.clone() } else { Vec::new() };
        if enters && has_root {
            entries.extend(self.root_initial.iter().cloned());
        }
        if enters && self.root_has_work {
            self.lost(place, "a target that starts the chart again: its own `invoke` or `after` would have to start again, too");
        }
        let in_region =
            self.tree.ancestors(source).any(|above| self.tree.nodes[above].kind == XstateKind::Parallel);
        if in_region && !(exits.is_empty() && entries.is_empty()) {
            self.lost(place, "a target that starts the chart again from a region: its own actions would run between those of other regions");
        }
        (has_root, exits, entries)
    }

    fn restarted(&mut self, place: &JsonPath) -> Option<Yaml> {
        let nodes = self.restart_targets(place);
        let mut texts: Vec<_> = nodes.into_iter().map(|node| Yaml::Text(self.absolute(node))).collect();
        match texts.len() {
            0 => None,
            1 => Some(texts.remove(0)),
            _ => Some(Yaml::List(texts)),
        }
    }

    /// Translates milliseconds, or the name of a delay that was code.
    pub(super) fn delay(&mut self, delay: &str, place: &JsonPath) -> String {
        let number = if delay.trim().is_empty() { Some(0.0) } else { delay.trim().parse::<f64>().ok() };
        if let Some(number) = number.filter(|number| number.is_finite()) {
            if number.fract() != 0.0 {
                self.changed(place, format!("the delay `{delay}` was rounded up to whole milliseconds"));
            }
            return format!("{}", number.ceil().clamp(0.0, 9e15) as u64);
        }
        let key: String = delay.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let key = if key.starts_with(|c: char| c.is_ascii_digit()) { format!("_{key}") } else { key };
        self.unwritten(
            place,
            format!("the delay `{delay}` was code; it is now `context.{key}`: give it milliseconds"),
        );
        if !self.delays.contains(&key) {
            self.delays.push(key.clone());
        }
        format!("context.{key}")
    }
}

fn one_or_list(mut transitions: Vec<Yaml>) -> Option<Yaml> {
    match transitions.len() {
        // Without a transition the event is not handled here.
        0 => None,
        1 => Some(transitions.remove(0)),
        _ => Some(Yaml::List(transitions)),
    }
}
