//! Inner before outer, also across regions. In XState a state takes an event only if no state inside it does; in our
//! engine, as in SCXML, a transition that leaves nothing fires beside those of outer states that another region found.
//! Where both could fire, the outer transition is given a guard that excludes it.

use serde_json::{Map, Value as Json};

use super::tree::XstateKind;
use super::{XstateImporter, one_or_many};
use crate::ecmascript::text_literal;

/// A transition by event, as far as others depend on it.
#[derive(Clone, Debug)]
struct EventPrecedence {
    node: usize,
    /// The event as our chart names it.
    event: String,
    exits_nothing: bool,
    targets: Vec<usize>,
    /// `None` if it always holds; code is taken for false.
    guard: Option<String>,
}

/// All transitions by event.
#[derive(Debug, Default)]
pub(super) struct Handlers(Vec<EventPrecedence>);

impl Handlers {
    /// Returns the states with a transition for every event.
    pub(super) fn catch_alls(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().filter(|handler| handler.event == "*").map(|handler| handler.node)
    }
}

impl XstateImporter {
    /// Lists the transitions of all states; state numbers follow the order of the document.
    pub(super) fn handlers(&self, root: &Map<String, Json>) -> Handlers {
        let mut found = Vec::new();
        self.collect_handlers(root, &mut 0, &mut found);
        let mut handlers = Handlers(found);
        let mut timers = Vec::new();
        self.collect_timers(root, &handlers, &mut 0, &mut timers);
        handlers.0.extend(timers);
        handlers
    }

    /// Adds the timers that become events.
    fn collect_timers(
        &self,
        state: &Map<String, Json>,
        known: &Handlers,
        next: &mut usize,
        found: &mut Vec<EventPrecedence>,
    ) {
        let node = *next;
        *next += 1;
        if let Some(Json::Object(delays)) = state.get("after")
            && self.is_seen_by_catch_alls(node, delays, known)
        {
            for (delay, transitions) in delays {
                self.add_handlers(node, &self.timer_event(delay, node), transitions, found);
            }
        }
        for (_, child) in super::tree::children(state) {
            let empty = Map::new();
            self.collect_timers(child.as_object().unwrap_or(&empty), known, next, found);
        }
    }

    fn collect_handlers(
        &self,
        state: &Map<String, Json>,
        next: &mut usize,
        found: &mut Vec<EventPrecedence>,
    ) {
        let node = *next;
        *next += 1;
        if let Some(Json::Object(on)) = state.get("on") {
            for (event, transitions) in on.iter().filter(|(event, _)| !event.is_empty()) {
                self.add_handlers(
                    node,
                    &self.event_name(event).unwrap_or_else(|| event.clone()),
                    transitions,
                    found,
                );
            }
        }
        if let Some(done) = state.get("onDone") {
            self.add_handlers(node, &self.done_event(node), done, found);
        }
        for (index, invoke) in
            state.get("invoke").map(one_or_many).unwrap_or_default().into_iter().enumerate()
        {
            let id = self.invoke_id(invoke, node, index);
            for (key, prefix) in [("onDone", "done.invoke"), ("onError", "error.invoke")] {
                if let Some(transitions) = invoke.get(key) {
                    self.add_handlers(node, &format!("{prefix}.{id}"), transitions, found);
                }
            }
        }
        for (_, child) in super::tree::children(state) {
            let empty = Map::new();
            self.collect_handlers(child.as_object().unwrap_or(&empty), next, found);
        }
    }

    fn add_handlers(&self, node: usize, event: &str, transitions: &Json, found: &mut Vec<EventPrecedence>) {
        for transition in one_or_many(transitions) {
            let empty = Map::new();
            let entries = transition.as_object().unwrap_or(&empty);
            let target = transition.as_str().map(|_| transition).or_else(|| entries.get("target"));
            found.push(EventPrecedence {
                node,
                event: event.to_owned(),
                exits_nothing: self.exits_nothing(node, target, entries),
                targets: self.target_nodes(node, target),
                guard: self.condition(entries, node).map(|condition| condition.text),
            });
        }
    }

    /// Returns true if a transition leaves no state: it has no target, or an atomic source that is its own target.
    pub(super) fn exits_nothing(
        &self,
        source: usize,
        target: Option<&Json>,
        entries: &Map<String, Json>,
    ) -> bool {
        let targets: Vec<_> = target.filter(|target| !target.is_null()).map(one_or_many).unwrap_or_default();
        let reenters = entries.get("reenter") == Some(&Json::Bool(true))
            || entries.get("internal") == Some(&Json::Bool(false))
            || (self.is_v4 && entries.get("internal") != Some(&Json::Bool(true)));
        let is_itself = |target: &&Json| {
            let node = target.as_str().and_then(|text| self.tree.target(source, text, self.is_v4));
            node == Some(source)
        };
        let is_atomic = self.tree.nodes[source].children.is_empty();
        targets.is_empty() || (!reenters && is_atomic && targets.iter().all(is_itself))
    }

    fn target_nodes(&self, source: usize, target: Option<&Json>) -> Vec<usize> {
        let texts = target.filter(|target| !target.is_null()).map(one_or_many).unwrap_or_default();
        texts.iter().filter_map(|text| self.tree.target(source, text.as_str()?, self.is_v4)).collect()
    }

    /// Returns true if an eventless transition may be enabled again right after it was taken: neither its source nor a
    /// state that its guard requires is surely left.
    pub(super) fn may_repeat(
        &self,
        source: usize,
        target: Option<&Json>,
        entries: &Map<String, Json>,
    ) -> bool {
        let targets = self.target_nodes(source, target);
        let is_left =
            |node: usize| !targets.is_empty() && targets.iter().all(|target| self.is_left_for(node, *target));
        let guard = entries.get("guard").or_else(|| entries.get("cond"));
        let mut required = guard.map(|guard| self.required_states(guard)).unwrap_or_default();
        required.push(source);
        !required.into_iter().any(is_left)
    }

    /// Returns true if a transition to `target` surely leaves `node`: they are alternatives.
    fn is_left_for(&self, node: usize, target: usize) -> bool {
        if node == target || self.tree.is_below(node, target) || self.tree.is_below(target, node) {
            return false;
        }
        let shared = self.tree.ancestors(node).find(|above| self.tree.is_below(target, *above));
        let is_history = self.tree.nodes[target].kind == XstateKind::History;
        !is_history && shared.is_some_and(|shared| self.tree.nodes[shared].kind == XstateKind::Compound)
    }

    /// Returns the condition under which a state inside `source` takes the event first, where the engine would let both
    /// fire.
    pub(super) fn taken_inside(&self, source: usize, event: &str, exits_nothing: bool) -> Option<String> {
        let mut conditions: Vec<String> = Vec::new();
        for handler in &self.precedence.0 {
            // One that leaves the source may lose against another region, which must not bring the outer one back.
            let leaves = handler.targets.iter().any(|target| !self.tree.is_below(*target, source));
            let beside = handler.exits_nothing || exits_nothing || leaves;
            if !beside
                || handler.guard.as_deref() == Some("false")
                || !self.in_a_region_of(handler.node, source)
            {
                continue;
            }
            let Some(same_event) = overlap(event, &handler.event) else { continue };
            let mut parts = vec![format!("stateIn({})", text_literal(&self.tree.path(handler.node)))];
            if !same_event.is_empty() {
                parts.insert(0, same_event);
            }
            parts.extend(handler.guard.as_ref().map(|guard| format!("({guard})")));
            let condition = parts.join(" and ");
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        (!conditions.is_empty()).then(|| conditions.join(" or "))
    }

    /// Returns true if `node` is in one of several regions below `source`, so that another region may look further out.
    fn in_a_region_of(&self, node: usize, source: usize) -> bool {
        let is_parallel = |above: &usize| self.tree.nodes[*above].kind == XstateKind::Parallel;
        self.tree.is_below(node, source)
            && self
                .tree
                .ancestors(node)
                .filter(|above| *above == source || self.tree.is_below(*above, source))
                .any(|above| is_parallel(&above))
    }
}

/// Returns the condition under which an event that `outer` takes is also taken by `inner`; empty if always, `None` if
/// never.
fn overlap(outer: &str, inner: &str) -> Option<String> {
    if inner == "*" || takes(inner, outer) {
        return Some(String::new());
    }
    let (outer_stem, inner_stem) = (stem(outer), stem(inner));
    match (outer_stem, inner_stem) {
        // Both wildcards: the inner one is the narrower, or they are disjoint.
        (Some(wide), Some(narrow)) => within(narrow, wide).then(|| {
            let start = text_literal(&format!("{narrow}."));
            format!("(event.type == {} or starts_with(event.type, {start}))", text_literal(narrow))
        }),
        (Some(_), None) => takes(outer, inner).then(|| format!("event.type == {}", text_literal(inner))),
        (None, _) => None,
    }
}

/// The part of a wildcard before `.*`; empty for `*`.
fn stem(event: &str) -> Option<&str> {
    if event == "*" { Some("") } else { event.strip_suffix(".*") }
}

fn within(name: &str, stem: &str) -> bool {
    stem.is_empty() || name == stem || name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns true if a descriptor takes every event of another one.
fn takes(descriptor: &str, event: &str) -> bool {
    let name = stem(event).unwrap_or(event);
    match stem(descriptor) {
        Some(wide) => within(name, wide) && !(event == "*" && descriptor != "*"),
        None => descriptor == event,
    }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn events_in_common() {
        for (outer, inner, expected) in [
            ("GO", "GO", Some("")),
            ("GO", "*", Some("")),
            ("GO", "STOP", None),
            ("a.b", "a.*", Some("")),
            ("a", "a.*", Some("")),
            ("ab", "a.*", None),
            ("*", "GO", Some("event.type == 'GO'")),
            ("*", "*", Some("")),
            ("a.*", "a.b", Some("event.type == 'a.b'")),
            ("a.*", "c", None),
            ("a.b.*", "a.*", Some("")),
            ("a.*", "a.b.*", Some("(event.type == 'a.b' or starts_with(event.type, 'a.b.'))")),
            ("*", "a.*", Some("(event.type == 'a' or starts_with(event.type, 'a.'))")),
        ] {
            assert_eq!(overlap(outer, inner).as_deref(), expected, "{outer} {inner}");
        }
    }
}
