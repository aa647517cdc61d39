//! Delayed transitions. Ours are timers that only their own state sees; in XState a timer is an event like others, which
//! a catch-all may take. Where one could, the timer becomes a delayed event.

use serde_json::{Map, Value as Json};

use super::precedence::Handlers;
use super::{JsonPath, XstateImporter};
use crate::yaml::Yaml;

/// The delayed transitions of a state: as timers, or as delayed events with what starts and cancels them.
#[derive(Default)]
pub(super) struct DelayedTransitions {
    pub(super) after: Vec<(String, Yaml)>,
    pub(super) on: Vec<(String, Yaml)>,
    pub(super) started: Vec<Yaml>,
    pub(super) cancelled: Vec<Yaml>,
}

impl XstateImporter {
    pub(super) fn after(
        &mut self,
        state: &Map<String, Json>,
        node: usize,
        place: &JsonPath,
    ) -> DelayedTransitions {
        let mut timers = DelayedTransitions::default();
        let place = place.at("after");
        let delays = match state.get("after") {
            None => return timers,
            Some(Json::Object(delays)) => delays,
            Some(Json::Array(_)) => return self.after_list(state, node, &place),
            Some(_) => {
                self.lost(&place, "`after` that is not an object");
                return timers;
            }
        };
        let is_event = self.is_seen_by_catch_alls(node, delays, &self.precedence);
        if self.is_v4 && self.precedence.catch_alls().any(|other| other == node) {
            self.lost(
                &place,
                "delays of a state with `*` in version 4, where `*` takes the event of the timer",
            );
        }
        for (delay, value) in delays {
            let here = place.at(delay);
            if value.as_array().is_some_and(|items| items.iter().any(Json::is_string)) {
                self.lost(
                    &here,
                    "a target alone in a list of delayed transitions: XState ignores it; write `{target: …}`",
                );
            }
            let written = self.delay(delay, &here);
            let event = is_event.then(|| self.timer_event(delay, node));
            self.timer(&mut timers, written, value, node, event, &here);
        }
        timers
    }

    /// The event of a timer, named as in XState.
    pub(super) fn timer_event(&self, delay: &str, node: usize) -> String {
        let event = format!("xstate.after.{delay}.{}", self.tree.full_id(node));
        event.replace(|c: char| c.is_whitespace() || c == '*', "_")
    }

    fn timer(
        &mut self,
        timers: &mut DelayedTransitions,
        delay: String,
        value: &Json,
        node: usize,
        event: Option<String>,
        place: &JsonPath,
    ) {
        let name = event.as_deref();
        let Some(transitions) = self.transitions(value, node, name, place) else { return };
        let Some(event) = event else {
            // The same delay may be written in two ways, such as `1000` and `1e3`.
            match timers.after.iter_mut().find(|(known, _)| *known == delay) {
                Some((_, known)) => known.join(transitions),
                None => timers.after.push((delay, transitions)),
            }
            return;
        };
        timers.started.push(Yaml::map([
            ("type", Yaml::text("send")),
            ("target", Yaml::text("self")),
            ("event", Yaml::text(&event)),
            ("delay", Yaml::text(delay)),
            ("id", Yaml::text(&event)),
        ]));
        timers.cancelled.push(Yaml::map([("type", Yaml::text("cancel")), ("id", Yaml::text(&event))]));
        timers.on.push((event, transitions));
    }

    /// Version 4 also took a list of `{delay, …}`.
    fn after_list(&mut self, state: &Map<String, Json>, node: usize, place: &JsonPath) -> DelayedTransitions {
        let mut timers = DelayedTransitions::default();
        for (index, item) in
            state.get("after").map(super::one_or_many).unwrap_or_default().into_iter().enumerate()
        {
            let here = place.at(index);
            let delay = match item.get("delay") {
                Some(Json::Number(number)) => number.to_string(),
                Some(Json::String(name)) => name.clone(),
                _ => {
                    self.unwritten(&here, "a delay that was code");
                    continue;
                }
            };
            let delay = self.delay(&delay, &here);
            self.timer(&mut timers, delay, item, node, None, &here);
        }
        timers
    }

    /// Returns true if a catch-all may take the event of a timer: in a state inside or in another region before the
    /// timer's own transition, in the state itself or around it after a guard fails.
    pub(super) fn is_seen_by_catch_alls(
        &self,
        node: usize,
        delays: &Map<String, Json>,
        known: &Handlers,
    ) -> bool {
        let mut items = delays.values().flat_map(super::one_or_many);
        let may_fail = items.any(|item| {
            item.get("guard").is_some() || item.get("cond").is_some() || item.get("in").is_some()
        });
        known.catch_alls().any(|other| {
            let is_outside = other == node || self.tree.is_below(node, other);
            (is_outside && may_fail)
                || self.tree.is_below(other, node)
                || self.tree.are_orthogonal(other, node)
        })
    }
}
