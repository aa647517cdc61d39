//! The context of the image: expressions over `old`, keys of the same name, declared values; then the new schema.

use std::sync::Arc;

use rawko_core::{Migration, NamedEvent, Value};

use super::MigrationJob;

impl MigrationJob<'_> {
    /// Returns the new context. Reasons are added for expressions that fail and values that the schema refuses.
    pub(super) fn context(&mut self) -> Vec<Value> {
        let names = self.new.context_names();
        let old = self.states.context.clone();
        let is_known = |name: &str| old.as_map().is_some_and(|map| map.contains_key(name));
        let mut context = Vec::with_capacity(names.len());
        for (slot, name) in names.iter().enumerate() {
            let mapped = self.migration.context.iter().find(|(key, _)| key == name);
            let value = match mapped {
                Some((_, expr)) => match Migration::evaluate(expr, &old, self.old, self.snapshot, self.now) {
                    Ok(value) => value,
                    Err(error) => {
                        self.refuse(format!("`context.{name}` cannot be computed: {}", error.message));
                        Value::Null
                    }
                },
                None if is_known(name) => old.get(name).clone(),
                None => self.new.initial_value(slot),
            };
            context.push(value);
        }
        if self.reasons.is_empty()
            && let Some(why) = self.new.refuse_context(&context)
        {
            self.refuse(why);
        }
        for (name, value) in old.as_map().into_iter().flatten() {
            if !names.contains(name) && !value.is_null() {
                self.notes.push(format!("drops `context.{name}`"));
            }
        }
        context
    }

    /// Maps the events that wait for a state that handles them.
    pub(super) fn deferred(&mut self, events: &mut Vec<NamedEvent>) {
        let waiting = std::mem::take(events);
        events.extend(waiting.into_iter().filter_map(|event| self.event(event, "a deferred event")));
    }

    /// Maps an event on its way to this instance; `None` if it ends or is refused.
    pub(super) fn event(&mut self, mut event: NamedEvent, what: &str) -> Option<NamedEvent> {
        match self.migration.events.iter().find(|(name, _)| *name == event.name) {
            Some((_, None)) => {
                self.notes.push(format!("drops {what} `{}`", event.name));
                return None;
            }
            Some((_, Some(name))) => event.name = Arc::clone(name),
            None => {}
        }
        let name = &event.name;
        if !self.new.handles(name) && self.new.event_spec(name).is_none() {
            self.refuse(format!(
                "{what} `{name}` is not handled by the new chart; map it under `events`, to `null` to drop it"
            ));
            return None;
        }
        if let Some(refusal) = self.new.refuse_data(&event) {
            self.refuse(format!("{what} does not fit the new chart: {refusal}"));
        }
        Some(event)
    }
}
