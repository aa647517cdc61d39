//! Transitions by event, delay and invoke.

use serde_json::{Map, Value as Json};

use super::{Importer, Place, one_or_many};
use crate::yaml::Yaml;

impl Importer {
    pub(super) fn on(&mut self, out: &mut Yaml, on: &Json, place: &Place) {
        let Json::Object(events) = on else {
            self.lost(place, "`on` that is not an object");
            return;
        };
        let mut entries = Vec::new();
        for (event, value) in events {
            let here = place.at(event);
            if event.is_empty() {
                self.changed(&here, "the empty event became `always`");
                let transitions = self.transitions(value, &here);
                out.push("always", transitions);
            } else if let Some(event) = self.event(event, &here) {
                entries.push((event, self.transitions(value, &here)));
            }
        }
        if !entries.is_empty() {
            out.push("on", Yaml::Map(entries));
        }
    }

    /// XState's own events have other names here.
    fn event(&mut self, event: &str, place: &Place) -> Option<String> {
        for (theirs, ours) in [
            ("xstate.done.actor.", "done.invoke."),
            ("xstate.error.actor.", "error.invoke."),
            ("xstate.done.state.", "done.state."),
            ("error.platform.", "error.invoke."),
        ] {
            if let Some(id) = event.strip_prefix(theirs) {
                let id = if ours == "done.state." { self.done_name(id) } else { id.to_owned() };
                return Some(format!("{ours}{id}"));
            }
        }
        if event.starts_with("xstate.") {
            self.lost(place, format!("the event `{event}`"));
            return None;
        }
        Some(event.to_owned())
    }

    /// XState names a state by its path from the chart's id; ours by its key, if it is unique.
    fn done_name(&self, id: &str) -> String {
        let inside = id.strip_prefix(self.original_id.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let Some(path) = inside else { return id.to_owned() };
        let key = path.rsplit('.').next().unwrap_or(path);
        let unique = self.keys.iter().filter(|known| *known == key).count() == 1 && key != self.chart_id;
        if unique { key.to_owned() } else { path.to_owned() }
    }

    /// Translates one transition or several of the same trigger.
    pub(super) fn transitions(&mut self, json: &Json, place: &Place) -> Yaml {
        match json {
            Json::Array(items) => {
                let transitions =
                    items.iter().enumerate().map(|(index, item)| self.transition(item, &place.at(index)));
                let mut transitions: Vec<_> = transitions.collect();
                if transitions.len() == 1 { transitions.remove(0) } else { Yaml::List(transitions) }
            }
            one => self.transition(one, place),
        }
    }

    fn transition(&mut self, json: &Json, place: &Place) -> Yaml {
        match json {
            Json::String(target) => Yaml::Text(self.target(target, place)),
            Json::Object(entries) => self.full_transition(entries, place),
            Json::Null => Yaml::Map(Vec::new()),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) => {
                self.lost(place, "a transition that is neither a target nor an object");
                Yaml::Map(Vec::new())
            }
        }
    }

    fn full_transition(&mut self, entries: &Map<String, Json>, place: &Place) -> Yaml {
        let mut out = Yaml::Map(Vec::new());
        for (key, value) in entries {
            let here = place.at(key);
            match key.as_str() {
                "target" if !value.is_null() => {
                    let targets = self.targets(value, &here);
                    out.push("target", targets);
                }
                "guard" | "cond" => {
                    if key == "cond" {
                        self.changed(&here, "`cond` is of XState 4; it became `guard`");
                    }
                    if let Some(guard) = self.guard(value, &here) {
                        out.push("guard", guard);
                    }
                }
                "actions" => {
                    let actions = self.action_list(value, &here);
                    if !actions.is_empty() {
                        out.push("actions", Yaml::List(actions));
                    }
                }
                "reenter" if *value == Json::Bool(true) => out.push("reenter", Yaml::Bool(true)),
                "internal" if *value == Json::Bool(false) => {
                    self.changed(&here, "`internal: false` is of XState 4; it became `reenter: true`");
                    out.push("reenter", Yaml::Bool(true));
                }
                "target" | "reenter" | "internal" | "description" | "tags" | "meta" | "source"
                | "eventType" | "event" => {}
                other => self.lost(&here, format!("`{other}` of a transition")),
            }
        }
        self.docs(&mut out, entries, place);
        out
    }

    pub(super) fn targets(&mut self, json: &Json, place: &Place) -> Yaml {
        let mut targets = Vec::new();
        for target in one_or_many(json) {
            match target.as_str() {
                Some(target) => targets.push(Yaml::Text(self.target(target, place))),
                None => self.lost(place, "a target that is not a string"),
            }
        }
        if targets.len() == 1 { targets.remove(0) } else { Yaml::List(targets) }
    }

    /// `#machine.state` starts with the chart's id, which may have been generated.
    fn target(&mut self, target: &str, place: &Place) -> String {
        let Some(path) = target.strip_prefix('#') else { return target.to_owned() };
        if path == self.original_id {
            self.lost(place, "the chart itself as a target: name the state to start again in");
        }
        match path.strip_prefix(self.original_id.as_str()).and_then(|rest| rest.strip_prefix('.')) {
            Some(rest) => format!("#{}.{rest}", self.chart_id),
            None => target.to_owned(),
        }
    }

    pub(super) fn after(&mut self, out: &mut Yaml, after: &Json, place: &Place) {
        let Json::Object(delays) = after else {
            self.lost(place, "`after` that is not an object");
            return;
        };
        let mut entries = Vec::new();
        for (delay, value) in delays {
            let here = place.at(delay);
            let transitions = self.transitions(value, &here);
            entries.push((self.delay(delay, &here), transitions));
        }
        out.push("after", Yaml::Map(entries));
    }

    /// Translates milliseconds, or the name of a delay that was code.
    pub(super) fn delay(&mut self, delay: &str, place: &Place) -> String {
        if !delay.is_empty() && delay.bytes().all(|byte| byte.is_ascii_digit()) {
            return delay.to_owned();
        }
        let key: String = delay.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.changed(
            place,
            format!("the delay `{delay}` was code; it is now `context.{key}`: give it milliseconds"),
        );
        if !self.delays.contains(&key) {
            self.delays.push(key.clone());
        }
        format!("context.{key}")
    }

    pub(super) fn invokes(&mut self, out: &mut Yaml, json: &Json, place: &Place) {
        let many = matches!(json, Json::Array(_));
        let invokes = one_or_many(json).into_iter().enumerate().filter_map(|(index, invoke)| {
            let place = if many { place.at(index) } else { place.clone() };
            self.invoke(invoke, &place)
        });
        let mut invokes: Vec<_> = invokes.collect();
        match invokes.len() {
            0 => {}
            1 => out.push("invoke", invokes.remove(0)),
            _ => out.push("invoke", Yaml::List(invokes)),
        }
    }

    fn invoke(&mut self, json: &Json, place: &Place) -> Option<Yaml> {
        let Json::Object(entries) = json else {
            self.lost(place, "an invoke that is not an object");
            return None;
        };
        let mut out = Yaml::Map(Vec::new());
        if let Some(id) = entries.get("id").and_then(Json::as_str) {
            out.push("id", Yaml::text(id));
        }
        let src = self.invoke_source(entries, place);
        out.push("src", Yaml::Text(src));
        for (key, value) in entries {
            let here = place.at(key);
            match key.as_str() {
                "input" => {
                    let input = self.literal_value(value, &here);
                    out.push("input", input);
                }
                "onDone" | "onError" => {
                    let transitions = self.transitions(value, &here);
                    out.push(key, transitions);
                }
                "id" | "src" | "type" => {}
                other => self.lost(&here, format!("`{other}` of an invoke")),
            }
        }
        Some(out)
    }

    fn invoke_source(&mut self, entries: &Map<String, Json>, place: &Place) -> String {
        let src = entries.get("src");
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
                self.lost(place, "the source of an invoke: it was code");
                "not_carried_over".to_owned()
            }
        }
    }
}
