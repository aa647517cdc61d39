//! What a chart does with its data, found without running it: which context keys influence its behaviour, which
//! constants unknown data is compared with, and where representative values are not enough.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rawko_chart::{Atom, Property, PropertyExpr, PropertyKind};
use rawko_core::expr::{ClaimSubject, DataUse, DataUseKind, Expr, SubjectRoot};
use rawko_core::{Blueprint, Schema, Slot, TransitionTrigger, Value};

use crate::classes::Classes;
use crate::enumerated::EnumeratedFields;
use crate::fallible::FallibleExpressions;
use crate::items::ItemBound;
use crate::parts::{self, ChartPart, ChartRole, PartKind};
use crate::progress::ProgressBounds;
use crate::settling::settling;
use crate::shape::{ReadShape, slot_shapes};

/// The result of the analysis.
#[derive(Debug, Default)]
pub(crate) struct DataAnalysis {
    /// Context keys that influence control flow or a property. The others are not part of a state's identity.
    pub(crate) relevant: BTreeSet<Slot>,
    /// Context keys that a guard or a property reads itself.
    pub(crate) guarding: BTreeSet<Slot>,
    /// Counters that only grow and are only compared with constants: values above the bound are equivalent.
    pub(crate) saturated: BTreeMap<Slot, i64>,
    /// Fields of data by event name or pattern; `*` has the fields read where any event may be bound.
    pub(crate) shapes: BTreeMap<Arc<str>, ReadShape>,
    pub(crate) classes: Classes,
    /// Names of events that are computed.
    pub(crate) computed_names: Vec<String>,
    /// Context keys whose values are computed from unknown data.
    pub(crate) inexact: BTreeSet<Slot>,
    /// Guards whose outcome representative values do not cover: both are explored.
    pub(crate) undecided: BTreeSet<String>,
    /// Other expressions that they do not cover.
    pub(crate) gaps: Vec<String>,
    /// Expressions that fail with data that representative values leave out.
    pub(crate) fallible: FallibleExpressions,
    /// A transition takes `error.execution`, so that data of a wrong type makes a difference.
    pub(crate) sees_faults: bool,
    /// Fields of events of which every value is tried.
    pub(crate) enumerated: EnumeratedFields,
    /// Events of any name may arrive and be handled.
    are_names_open: bool,
    /// Counters that grow and lists that get shorter, as far as guards test them.
    pub(crate) progress: ProgressBounds,
    /// The guard of an eventless transition that ends by itself.
    pub(crate) settling: Option<String>,
    /// Items of lists of unknown length.
    pub(crate) items: ItemBound,
    /// Names that the type of an event is compared with.
    pub(crate) event_types: Vec<Arc<str>>,
}

impl DataAnalysis {
    pub(crate) fn of(blueprint: &Blueprint, properties: &[Property], role: ChartRole) -> Self {
        let parts = parts::of(blueprint, role);
        let transitions = || blueprint.nodes.iter().flat_map(|node| &node.transitions);
        let sees_fault = |trigger: &TransitionTrigger| match trigger {
            TransitionTrigger::Event(pattern) => crate::data::matches(pattern, "error.execution"),
            TransitionTrigger::Always | TransitionTrigger::After(_) | TransitionTrigger::Item { .. } => false,
        };
        let types = parts.iter().flat_map(|part| part.expr.event_types());
        let mut analysis = DataAnalysis {
            computed_names: parts::computed_names(blueprint),
            progress: ProgressBounds::of(blueprint),
            settling: settling(blueprint),
            enumerated: EnumeratedFields::of(blueprint, &parts),
            sees_faults: transitions().any(|transition| sees_fault(&transition.trigger))
                || properties.iter().flat_map(expressions).any(names_fault),
            event_types: types.filter_map(|name| name.as_str().map(Arc::from)).collect(),
            ..DataAnalysis::default()
        };
        analysis.classes(blueprint, &parts, properties);
        let (slots, are_all_copies) = slot_shapes(&parts);
        if !are_all_copies {
            analysis.gaps.push("context".to_owned());
        }
        analysis.are_names_open = blueprint.events.is_none() && parts::has_pattern(blueprint);
        let names = parts.iter().filter(|part| analysis.are_names_open && part.expr.keeps_event_type());
        analysis.computed_names.extend(names.map(|part| part.expr.text().to_owned()));
        analysis.shapes(&parts, &slots);
        analysis.relevant(&parts, properties);
        analysis.items = ItemBound::of(blueprint, (&parts, &analysis.relevant), properties);
        analysis.gaps((&parts, role), properties, &slots);
        analysis.fallible = FallibleExpressions::of(&analysis, &parts, blueprint);
        analysis.refused(blueprint, &parts);
        analysis.saturated(&parts, properties, blueprint);
        analysis
    }

    /// Collects the constants that each field is compared with. Fields that data flows between share their constants.
    fn classes(&mut self, blueprint: &Blueprint, parts: &[ChartPart<'_>], properties: &[Property]) {
        let name = |subject: &ClaimSubject| field_name(subject, blueprint);
        for part in parts {
            for usage in part.expr.data_uses(part.is_condition()) {
                let is_list = matches!(part.kind, PartKind::List) && usage.kind == DataUseKind::Flow;
                let kind = if is_list { DataUseKind::Length(1) } else { usage.kind };
                self.classes.add(&name(&usage.subject), &kind);
            }
            let to: Option<Arc<str>> = match &part.kind {
                PartKind::Assign(slot) => Some(Arc::clone(&blueprint.context[slot.index()].name)),
                PartKind::Data(Some(key)) => Some(Arc::clone(key)),
                _ => None,
            };
            if let Some(to) = to {
                for usage in flows(part.expr) {
                    self.classes.join(&name(&usage.subject), &to);
                }
            }
        }
        for expr in properties.iter().flat_map(expressions) {
            for usage in expr.expr.data_uses(true) {
                self.classes.add(&name(&usage.subject), &usage.kind);
            }
        }
        // A context key that allows few values has no others.
        let schema = blueprint.context_schema.as_ref().map(|schema| schema.source());
        for key in &blueprint.context {
            let Some(schema) = schema.map(|schema| schema.get("properties").get(&key.name)) else { continue };
            let mut allowed = crate::data::finite(schema);
            if !self.classes.is_distinguished(&key.name) {
                // One value that the schema accepts, and one that it may refuse.
                allowed = vec![crate::data::sample(schema), Value::Null];
                allowed.retain(|_| !schema.is_null());
            }
            for value in allowed {
                self.classes.add(&key.name, &DataUseKind::Equal(value));
            }
        }
    }

    fn shapes(&mut self, parts: &[ChartPart<'_>], slots: &BTreeMap<Slot, ReadShape>) {
        for part in parts {
            let event = match part.trigger {
                Some(TransitionTrigger::Event(name)) => Arc::clone(name),
                Some(
                    TransitionTrigger::Always | TransitionTrigger::After(_) | TransitionTrigger::Item { .. },
                )
                | None => "*".into(),
            };
            let uses: Vec<DataUse> = part.expr.data_uses(part.is_condition());
            for usage in uses.iter().filter(|usage| usage.subject.root == SubjectRoot::EventData) {
                let shape = self.shapes.entry(Arc::clone(&event)).or_default();
                shape.insert(&usage.subject.path, &usage.kind);
                if let (PartKind::Assign(slot), DataUseKind::Flow) = (&part.kind, &usage.kind)
                    && part.expr.subject().is_some()
                    && let Some(below) = slots.get(slot)
                {
                    shape.graft(&usage.subject.path, below);
                }
            }
        }
    }

    fn relevant(&mut self, parts: &[ChartPart<'_>], properties: &[Property]) {
        let all = |parts: &[ChartPart<'_>]| -> BTreeSet<Slot> {
            parts
                .iter()
                .filter_map(|part| if let PartKind::Assign(slot) = part.kind { Some(slot) } else { None })
                .collect()
        };
        let add = |expr: &Expr, relevant: &mut BTreeSet<Slot>| {
            relevant.extend(expr.reads());
            if expr.reads_whole_context() {
                relevant.extend(all(parts));
            }
        };
        for part in parts.iter().filter(|part| part.is_condition()) {
            add(part.expr, &mut self.guarding);
        }
        for expr in properties.iter().flat_map(expressions) {
            add(&expr.expr, &mut self.guarding);
        }
        let mut relevant = BTreeSet::new();
        for part in parts.iter().filter(|part| part.steers()) {
            add(part.expr, &mut relevant);
        }
        for expr in properties.iter().flat_map(expressions) {
            add(&expr.expr, &mut relevant);
        }
        loop {
            let before = relevant.len();
            for part in parts {
                if let PartKind::Assign(slot) = part.kind
                    && relevant.contains(&slot)
                {
                    add(part.expr, &mut relevant);
                }
            }
            if relevant.len() == before {
                break;
            }
        }
        self.relevant = relevant;
    }

    /// Finds what representative values do not decide: guards, whose outcomes can be explored both, and the rest.
    fn gaps(
        &mut self,
        (parts, role): (&[ChartPart<'_>], ChartRole),
        properties: &[Property],
        slots: &BTreeMap<Slot, ReadShape>,
    ) {
        let tainted = tainted(parts, &self.enumerated);
        let enumerated = &self.enumerated;
        let is_outside = |part: &ChartPart<'_>, usage: &DataUse| match usage.subject.root {
            SubjectRoot::EventData => !enumerated.covers(part, usage),
            SubjectRoot::Context(slot) => tainted.contains(&slot),
            SubjectRoot::Input | SubjectRoot::EventType => false,
        };
        let receives = |part: &ChartPart<'_>| flows(part.expr).any(|usage| is_outside(part, &usage));
        // Representative values have no fields below the place where a structure is built.
        let is_rebuilt = |part: &ChartPart<'_>, slot: &Slot| {
            let is_read_inside = slots.get(slot).is_some_and(|shape| !shape.fields.is_empty());
            is_read_inside && part.expr.subject().is_none() && receives(part)
        };
        // Any key may be read, also one with data from outside; and any name of an event may be kept.
        let are_names_open = self.are_names_open;
        let reads_any = |expr: &Expr| {
            (expr.reads_whole_context() && !tainted.is_empty()) || (are_names_open && expr.keeps_event_type())
        };
        let inner = inner_fields(parts);
        let computes = |part: &ChartPart<'_>, is_condition: bool| {
            let is_computed = |kind: &DataUseKind| {
                matches!(kind, DataUseKind::Number | DataUseKind::Text | DataUseKind::Opaque)
            };
            let mut uses = part.expr.data_uses(is_condition).into_iter();
            part.expr.reads_world()
                || reads_any(part.expr)
                || uses.any(|usage| is_computed(&usage.kind) && is_outside(part, &usage))
        };
        loop {
            let before = self.inexact.len();
            for part in parts {
                let PartKind::Assign(slot) = part.kind else { continue };
                let is_any = part.expr.reads_whole_context() && !self.inexact.is_empty();
                let is_copied = is_any || part.expr.reads().iter().any(|from| self.inexact.contains(from));
                if is_copied || computes(part, false) || is_rebuilt(part, &slot) {
                    self.inexact.insert(slot);
                }
            }
            if self.inexact.len() == before {
                break;
            }
        }
        for part in parts.iter().filter(|part| part.steers()) {
            let is_any = part.expr.reads_whole_context() && !self.inexact.is_empty();
            let is_inexact = is_any || part.expr.reads().iter().any(|slot| self.inexact.contains(slot));
            let is_unknown = match &part.kind {
                PartKind::List | PartKind::Control => receives(part),
                // What the parent of a chart reads of its output is not known here.
                PartKind::Data(key) => {
                    let is_inner = key.as_ref().is_none_or(|key| inner.contains(key));
                    (is_inner || role == ChartRole::Child) && receives(part)
                }
                PartKind::Guard | PartKind::Assign(_) | PartKind::Passed => false,
            };
            let is_open = is_inexact || is_unknown || computes(part, part.is_condition());
            let text = part.expr.text().to_owned();
            match part.kind {
                _ if !is_open => {}
                PartKind::Guard => {
                    self.undecided.insert(text);
                }
                _ if self.gaps.contains(&text) => {}
                _ => self.gaps.push(text),
            }
        }
        for expr in properties.iter().flat_map(expressions) {
            let is_inexact = expr.expr.reads().iter().any(|slot| self.inexact.contains(slot));
            if is_inexact || expr.expr.reads_world() || reads_any(&expr.expr) {
                self.gaps.push(expr.text.clone());
            }
        }
    }

    /// Finds values from outside that the schema of the context may refuse or not, and of which none is known that it
    /// accepts.
    fn refused(&mut self, blueprint: &Blueprint, parts: &[ChartPart<'_>]) {
        let Some(schema) = blueprint.context_schema.as_ref() else { return };
        let tainted = tainted(parts, &self.enumerated);
        for part in parts {
            let PartKind::Assign(slot) = part.kind else { continue };
            let name = &blueprint.context[slot.index()].name;
            let of_key = schema.source().get("properties").get(name);
            let sample = crate::data::sample(of_key);
            let is_accepted = of_key.is_null() || Schema::compile(of_key).0.violations(&sample).is_empty();
            if tainted.contains(&slot) && !is_accepted {
                self.gaps.push(part.expr.text().to_owned());
            }
        }
    }
}

fn names_fault(expr: &PropertyExpr) -> bool {
    expr.atoms.iter().any(|atom| matches!(atom, Atom::Event(name) if **name == *"error.execution"))
}

/// Context keys whose value depends on data from outside.
pub(crate) fn tainted(parts: &[ChartPart<'_>], enumerated: &EnumeratedFields) -> BTreeSet<Slot> {
    let mut tainted = BTreeSet::new();
    loop {
        let before = tainted.len();
        for part in parts {
            let PartKind::Assign(slot) = part.kind else { continue };
            let is_outside = part.expr.data_uses(false).iter().any(|usage| match usage.subject.root {
                SubjectRoot::EventData => !enumerated.covers(part, usage),
                SubjectRoot::Context(from) => tainted.contains(&from),
                SubjectRoot::Input | SubjectRoot::EventType => false,
            });
            let is_any = part.expr.reads_whole_context() && !tainted.is_empty();
            if is_outside || is_any {
                tainted.insert(slot);
            }
        }
        if tainted.len() == before {
            return tainted;
        }
    }
}

/// The fields of event data that have fields of their own.
fn inner_fields(parts: &[ChartPart<'_>]) -> BTreeSet<Arc<str>> {
    let uses = parts.iter().flat_map(|part| part.expr.data_uses(part.is_condition()));
    let paths = uses.filter(|usage| usage.subject.root == SubjectRoot::EventData).map(|it| it.subject.path);
    paths
        .flat_map(|mut path| {
            path.pop();
            path
        })
        .collect()
}

fn flows(expr: &Expr) -> impl Iterator<Item = DataUse> {
    expr.data_uses(false).into_iter().filter(|usage| usage.kind == DataUseKind::Flow)
}

/// The name that constants are collected under: the last field, or the context key.
pub(crate) fn field_name(subject: &ClaimSubject, blueprint: &Blueprint) -> Arc<str> {
    match (subject.path.last(), subject.root) {
        (Some(field), _) => Arc::clone(field),
        (None, SubjectRoot::Context(slot)) => {
            blueprint.context.get(slot.index()).map_or_else(|| "".into(), |key| Arc::clone(&key.name))
        }
        (None, _) => DATA.into(),
    }
}

/// The name of `event.data` itself.
pub(crate) const DATA: &str = "event.data";

pub(crate) fn expressions(property: &Property) -> Vec<&PropertyExpr> {
    match &property.kind {
        PropertyKind::Never(one) | PropertyKind::Always(one) => vec![one],
        PropertyKind::Before { first, then } => vec![first, then],
        PropertyKind::Within { from, to, .. } | PropertyKind::LeadsTo { from, to } => vec![from, to],
    }
}
