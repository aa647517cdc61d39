//! The version that a configuration was written for. Version 4 leaves a source by default where version 5 stays in it,
//! so a document with keys that only version 4 has is read as such.

use serde_json::{Map, Value as Json};

use super::one_or_many;
use super::tree::children;

/// Signs of the two versions.
struct Signs {
    four: bool,
    five: bool,
}

/// Returns true if the document has keys of version 4 and none of version 5.
pub(super) fn is_v4(root: &Map<String, Json>) -> bool {
    let options = ["predictableActionArguments", "preserveActionOrder", "strict", "delimiter"];
    let mut signs = Signs { four: options.iter().any(|key| root.contains_key(*key)), five: false };
    signs.state(root);
    signs.four && !signs.five
}

impl Signs {
    fn state(&mut self, state: &Map<String, Json>) {
        let is_final = state.get("type").and_then(Json::as_str) == Some("final");
        self.four |=
            ["activities", "onEntry", "onExit", "parallel"].iter().any(|key| state.contains_key(*key));
        self.four |= is_final && state.contains_key("data");
        self.five |= state.contains_key("output");
        if let Some(Json::Object(on)) = state.get("on") {
            self.four |= on.contains_key("");
            on.values().for_each(|transitions| self.transitions(transitions));
        }
        if let Some(Json::Object(after)) = state.get("after") {
            after.values().for_each(|transitions| self.transitions(transitions));
        }
        for key in ["always", "onDone"] {
            state.get(key).into_iter().for_each(|transitions| self.transitions(transitions));
        }
        for invoke in state.get("invoke").map(one_or_many).unwrap_or_default() {
            self.four |= invoke.get("data").is_some() || invoke.get("autoForward").is_some();
            self.five |= invoke.get("input").is_some() || invoke.get("systemId").is_some();
            for key in ["onDone", "onError"] {
                invoke.get(key).into_iter().for_each(|transitions| self.transitions(transitions));
            }
        }
        for (_, child) in children(state) {
            child.as_object().into_iter().for_each(|child| self.state(child));
        }
    }

    fn transitions(&mut self, json: &Json) {
        for transition in one_or_many(json).into_iter().filter_map(Json::as_object) {
            self.four |= ["cond", "in", "internal"].iter().any(|key| transition.contains_key(*key));
            self.five |= ["guard", "reenter"].iter().any(|key| transition.contains_key(*key));
        }
    }
}
