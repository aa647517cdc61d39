//! Fields of events whose schema lists every value: each of them is tried, so that results computed with them are known.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_core::expr::{DataUse, SubjectRoot};
use rawko_core::{Blueprint, TransitionTrigger, Value};

use crate::data::{at, finite, is_required};
use crate::model::may_be_chart;
use crate::parts::{self, ChartPart};

/// The fields, by the name of the event.
#[derive(Debug, Default)]
pub(crate) struct EnumeratedFields {
    fields: BTreeSet<(Arc<str>, Vec<Arc<str>>)>,
}

impl EnumeratedFields {
    pub(crate) fn of(blueprint: &Blueprint, parts: &[ChartPart<'_>]) -> Self {
        let mut found = Self::default();
        // Events of a child are not held against the schema here, and those with computed data neither.
        let has_children = blueprint.nodes.iter().flat_map(|node| &node.invokes).any(may_be_chart);
        let Some(computed) = parts::computed_events(blueprint).filter(|_| !has_children) else {
            return found;
        };
        for part in parts.iter().filter(|part| part.matters()) {
            let Some(TransitionTrigger::Event(name)) = part.trigger else { continue };
            let declared = blueprint.events.iter().flatten().find(|event| event.name == *name);
            let Some(schema) = declared.and_then(|event| event.data.as_ref()) else { continue };
            for usage in part.expr.data_uses(part.is_condition()) {
                let path = usage.subject.path;
                if usage.subject.root == SubjectRoot::EventData
                    && !computed.contains(name)
                    && is_required(schema.source(), &path)
                    && !finite(at(schema.source(), &path)).is_empty()
                {
                    found.fields.insert((Arc::clone(name), path));
                }
            }
        }
        found
    }

    /// Returns true if every value of the field that a part reads is tried.
    pub(crate) fn covers(&self, part: &ChartPart<'_>, usage: &DataUse) -> bool {
        match part.trigger {
            Some(TransitionTrigger::Event(name)) => {
                self.fields.contains(&(Arc::clone(name), usage.subject.path.clone()))
            }
            _ => false,
        }
    }

    /// Returns the values of a field, if all of them are tried.
    pub(crate) fn values(&self, event: &str, path: &[Arc<str>], schema: &Value) -> Option<Vec<Value>> {
        let is_listed = self.fields.iter().any(|(name, field)| **name == *event && field == path);
        is_listed.then(|| finite(at(schema, path)))
    }
}
