//! Events on their way to the instance that its snapshot does not hold: stored by a pause, or sent by other instances.
//! Like delayed and deferred ones, each has a place in the new chart, or the mapping drops it.

use std::sync::Arc;

use rawko_core::{Chart, Migration};

use crate::records::{EffectKind, OpenEffect};

/// What becomes of an event on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It arrives under this name.
    As(Arc<str>),
    Dropped,
    /// The new chart does not handle it.
    Refused(String),
}

impl Arrival {
    /// Returns the fate of an event by its name.
    pub(crate) fn of(name: &Arc<str>, new: &Chart, migration: &Migration) -> Arrival {
        let mapped = migration.events.iter().find(|(old, _)| old == name);
        let name = match mapped {
            Some((_, None)) => return Arrival::Dropped,
            Some((_, Some(new))) => new,
            None => name,
        };
        match new.handles(name) || new.event_spec(name).is_some() {
            true => Arrival::As(Arc::clone(name)),
            false => Arrival::Refused(format!(
                "a waiting event `{name}` is not handled by the new chart; map it under `events`, to `null` to drop it"
            )),
        }
    }
}

/// The name of a stored message, which is not an event of a person.
const MESSAGE: &str = "message";

/// Returns the events that a paused instance holds, by name.
pub(crate) fn held_events(open: &[OpenEffect]) -> impl Iterator<Item = &OpenEffect> {
    open.iter().filter(|effect| effect.kind == EffectKind::Held && &*effect.name != MESSAGE)
}

/// Returns the reasons why events that a paused instance holds cannot reach the new chart.
pub fn refused_events(open: &[OpenEffect], new: &Chart, migration: &Migration) -> Vec<String> {
    let mut reasons = Vec::new();
    for effect in held_events(open) {
        if let Arrival::Refused(reason) = Arrival::of(&effect.name, new, migration)
            && !reasons.contains(&reason)
        {
            reasons.push(reason);
        }
    }
    reasons
}
