//! The events that a chart takes from outside: what its `events:` block declares, or what its states handle. Apart from
//! steps, because an event is refused before it is one.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::blueprint::Unhandled;
use crate::chart::Chart;
use crate::event::NamedEvent;
use crate::expr::nearest;
use crate::schema::{Schema, Violation};

/// One entry of `events:`.
#[derive(Clone, Debug, PartialEq)]
pub struct EventSpec {
    /// Event name, without wildcards.
    pub name: Arc<str>,
    /// Text for people who send the event.
    pub description: Option<String>,
    /// The schema of its data; anything without one.
    pub data: Option<Schema>,
    /// Raised by the chart itself: not for people and other instances.
    pub internal: bool,
}

/// Why an event does not enter an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventRefusal {
    /// The chart does not declare it, or without declarations no state handles it.
    Unknown {
        /// Rejected event name.
        event: Arc<str>,
        /// True if the chart has an `events:` block.
        declared: bool,
        /// Known name with the smallest edit distance, for a suggestion.
        close: Option<Arc<str>>,
        /// Names that the chart takes from outside.
        known: Vec<Arc<str>>,
    },
    /// Only the chart itself raises it.
    Internal {
        /// Rejected event name.
        event: Arc<str>,
    },
    /// The name of a result, a completed state or a failure, which only rawko reports.
    Reserved {
        /// Rejected event name.
        event: Arc<str>,
    },
    /// Its data does not fit the schema.
    WrongData {
        /// Rejected event name.
        event: Arc<str>,
        /// Differences between the data and the schema.
        violations: Vec<Violation>,
    },
}

impl EventRefusal {
    /// A stable word for tools.
    pub fn code(&self) -> &'static str {
        match self {
            EventRefusal::Unknown { .. } => "unknown_event",
            EventRefusal::Internal { .. } => "internal_event",
            EventRefusal::Reserved { .. } => "reserved_event",
            EventRefusal::WrongData { .. } => "wrong_event_data",
        }
    }
}

impl fmt::Display for EventRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventRefusal::Unknown { event, declared, close, known } => {
                match declared {
                    true => write!(f, "the chart declares no event `{event}`")?,
                    false => write!(f, "no state of the chart handles the event `{event}`")?,
                }
                match close {
                    Some(close) => write!(f, "; did you mean `{close}`?"),
                    None if known.is_empty() => write!(f, "; it accepts no events"),
                    None => {
                        let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                        write!(f, "; its events are {}", names.join(", "))
                    }
                }
            }
            EventRefusal::Internal { event } => {
                write!(f, "the event `{event}` is internal: only the chart itself raises it")
            }
            EventRefusal::Reserved { event } => {
                write!(f, "the event `{event}` is reserved: only rawko reports results and failures")?;
                match event.strip_prefix("done.invoke.") {
                    Some(_) => write!(f, "; answer a pending request with `rawko approve` or `rawko deny`"),
                    None => Ok(()),
                }
            }
            EventRefusal::WrongData { event, violations } => {
                let all: Vec<String> = violations.iter().map(Violation::to_string).collect();
                write!(f, "the data of `{event}` does not match its schema: {}", all.join("; "))
            }
        }
    }
}

/// Names that rawko itself gives to events.
const RESERVED: [&str; 3] = ["done.", "error.", "timeout.invoke."];
/// The names among them that end an invocation or stand for a fact about the instance: no sender may claim one.
const FACTS: [&str; 4] = ["done.invoke.", "done.state.", "error.invoke.", "timeout.invoke."];
const FAILURES: [&str; 3] = ["error.execution", "error.communication", "error.platform"];
/// Names that a refusal lists.
const LISTED_MAX: usize = 20;

impl Chart {
    /// The `events:` of the chart, if it has them.
    pub fn declared_events(&self) -> Option<&[EventSpec]> {
        self.events.as_deref()
    }

    /// Returns the declaration of an event; `None` without one or without an `events:` block.
    pub fn event_spec(&self, name: &str) -> Option<&EventSpec> {
        self.events.iter().flatten().find(|spec| &*spec.name == name)
    }

    /// Returns true if any transition of the chart handles events of this name, wildcards included.
    pub fn handles(&self, name: &str) -> bool {
        !self.tables.events.matching(name).is_empty()
    }

    /// Why an event from outside is refused; `None` if it may enter.
    pub fn refuse_event(&self, event: &NamedEvent) -> Option<EventRefusal> {
        let name = &event.name;
        if is_fact(name) {
            return Some(EventRefusal::Reserved { event: Arc::clone(name) });
        }
        let Some(declared) = &self.events else {
            // With `unhandled: error` the step itself fails, and the record has it.
            let is_refused = !self.handles(name) && self.unhandled != Unhandled::Error;
            return is_refused.then(|| self.unknown_event(name));
        };
        let Some(spec) = declared.iter().find(|spec| spec.name == *name) else {
            return Some(self.unknown_event(name));
        };
        if spec.internal {
            return Some(EventRefusal::Internal { event: Arc::clone(name) });
        }
        self.refuse_data(event)
    }

    /// Why the data of a declared event is refused, wherever the event comes from.
    pub fn refuse_data(&self, event: &NamedEvent) -> Option<EventRefusal> {
        let schema = self.event_spec(&event.name)?.data.as_ref()?;
        let violations = schema.violations(&event.data);
        let event = Arc::clone(&event.name);
        (!violations.is_empty()).then_some(EventRefusal::WrongData { event, violations })
    }

    fn unknown_event(&self, name: &Arc<str>) -> EventRefusal {
        let names: Vec<&str> = match &self.events {
            Some(declared) => declared.iter().filter(|spec| !spec.internal).map(|spec| &*spec.name).collect(),
            None => self.event_names().filter(|name| !is_reserved(name)).collect(),
        };
        let folded = |name: &str| name.to_lowercase().replace(['_', '-', '.'], "");
        let same = names.iter().copied().find(|known| folded(known) == folded(name));
        let close = same.or_else(|| nearest(name, names.iter().copied())).map(Into::into);
        let known = names.into_iter().take(LISTED_MAX).map(Into::into).collect();
        EventRefusal::Unknown { event: Arc::clone(name), declared: self.events.is_some(), close, known }
    }
}

/// Returns true for names that only rawko may report: results, completed states, failures. A simulation takes them from its
/// stimuli.
pub fn is_fact(name: &str) -> bool {
    FACTS.iter().any(|prefix| name.starts_with(prefix)) || FAILURES.contains(&name)
}

fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|prefix| name.starts_with(prefix))
}
