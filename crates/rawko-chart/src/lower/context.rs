//! The context's slots: declared keys first, then those that are only mentioned. With their known types.

use std::cell::RefCell;
use std::sync::Arc;

use rawko_core::expr::Type;
use rawko_core::{ContextKey, FieldLookup, Schema, Slot, Value};
use rustc_hash::FxHashMap;

use crate::def::ChartDef;
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::{NodeView, to_value};

pub(crate) const UNDECLARED: &str = crate::codes::UNDECLARED_CONTEXT_KEY.name;
pub(crate) const UNKNOWN: &str = crate::codes::UNKNOWN_CONTEXT_KEY.name;
pub(crate) const TYPE_MISMATCH: &str = crate::codes::CONTEXT_TYPE_MISMATCH.name;

/// Slots are assigned while expressions are resolved, behind a shared reference: hence the cell.
#[derive(Default)]
pub(crate) struct ContextSlots {
    table: RefCell<SlotTable>,
    /// True if the author declared any key: only then is an undeclared one an error.
    pub(crate) declares: bool,
}

#[derive(Default)]
struct SlotTable {
    slots: FxHashMap<Arc<str>, Slot>,
    keys: Vec<ContextKey>,
    facts: Vec<SlotFacts>,
}

struct SlotFacts {
    place: Span,
    kind: Type,
    /// The part of `context_schema` about it.
    schema: Option<Schema>,
    assigned: bool,
    /// Location of the first read, if it is not declared.
    read: Option<Span>,
}

impl ContextSlots {
    pub(crate) fn new(chart: &ChartDef<'_>, findings: &mut Vec<Finding>) -> Self {
        let mut context = ContextSlots::default();
        for pair in chart.context.and_then(NodeView::pairs).into_iter().flatten() {
            let initial = to_value(pair.value);
            let kind = value_type(&initial);
            context.declare(pair.key, initial, kind, pair.key_span);
        }
        let properties = chart.context_schema.and_then(|schema| schema.get("properties"));
        for pair in properties.and_then(NodeView::pairs).into_iter().flatten() {
            context.apply_schema(pair.key, pair.key_span, pair.value, findings);
        }
        context.declares = !context.table.borrow().keys.is_empty();
        context
    }

    fn declare(&mut self, name: &str, initial: Value, kind: Type, place: Span) -> Slot {
        let slot = self.add(name, initial, true, place);
        self.table.borrow_mut().facts[slot.index()].kind = kind;
        slot
    }

    /// Applies a property of the schema: declares the key if `context` does not, and sets its type.
    fn apply_schema(&mut self, name: &str, place: Span, schema: NodeView<'_>, findings: &mut Vec<Finding>) {
        let kind = schema.get("type").map_or(Type::Any, schema_type);
        let known = self.slot(name);
        let slot = known.unwrap_or_else(|| {
            let initial = schema.get("default").map_or(Value::Null, to_value);
            self.declare(name, initial, kind, place)
        });
        let table = &mut *self.table.borrow_mut();
        let (key, facts) = (&table.keys[slot.index()], &mut table.facts[slot.index()]);
        let initial = value_type(&key.initial);
        if !compatible(kind, initial) {
            let message = format!(
                "`{name}` starts as {} but its schema requires {}",
                type_words(initial),
                type_words(kind)
            );
            findings.push(
                Finding::new(TYPE_MISMATCH, Severity::Error, facts.place, message)
                    .related(schema.span(), "the schema's type")
                    .help("change the initial value or the schema"),
            );
        }
        facts.kind = kind;
    }

    fn add(&self, name: &str, initial: Value, declared: bool, place: Span) -> Slot {
        let table = &mut *self.table.borrow_mut();
        let name: Arc<str> = name.into();
        let slot = Slot(table.keys.len() as u32);
        table.slots.insert(name.clone(), slot);
        table.keys.push(ContextKey { name, initial, declared });
        table.facts.push(SlotFacts { place, kind: Type::Any, schema: None, assigned: false, read: None });
        slot
    }

    /// Returns the number of slots so far.
    pub(crate) fn len(&self) -> usize {
        self.table.borrow().keys.len()
    }

    /// Removes the slots from this number on.
    pub(crate) fn forget_from(&self, len: usize) {
        let table = &mut *self.table.borrow_mut();
        for key in table.keys.drain(len..) {
            table.slots.remove(&key.name);
        }
        table.facts.truncate(len);
    }

    pub(crate) fn slot(&self, name: &str) -> Option<Slot> {
        self.table.borrow().slots.get(name).copied()
    }

    pub(crate) fn declared_slot(&self, name: &str) -> Option<Slot> {
        self.slot(name).filter(|slot| self.table.borrow().keys[slot.index()].declared)
    }

    /// Returns the slot that an expression reads. An undeclared key gets one too: it may be assigned further down.
    pub(crate) fn read(&self, name: &str, place: Span) -> Slot {
        let slot = self.slot(name).unwrap_or_else(|| self.add(name, Value::Null, false, place));
        self.table.borrow_mut().facts[slot.index()].read.get_or_insert(place);
        slot
    }

    /// Returns the slot that an assign writes.
    pub(crate) fn assign(&self, name: &str, place: Span, findings: &mut Vec<Finding>) -> Slot {
        let slot = self.slot(name).unwrap_or_else(|| self.add(name, Value::Null, false, place));
        let table = &mut *self.table.borrow_mut();
        let facts = &mut table.facts[slot.index()];
        facts.assigned = true;
        if self.declares && !table.keys[slot.index()].declared {
            let message = format!("`{name}` is assigned, but the context does not declare it");
            let declared = table.keys.iter().filter(|key| key.declared).map(|key| &*key.name);
            let help = match nearest(name, declared) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("add `{name}: null` to `context`"),
            };
            findings.push(Finding::new(UNDECLARED, Severity::Error, place, message).help(help));
        }
        slot
    }

    /// Reports an assigned value whose type does not match the key.
    pub(crate) fn check_type(&self, slot: Slot, found: Type, place: Span, findings: &mut Vec<Finding>) {
        let table = self.table.borrow();
        let (key, facts) = (&table.keys[slot.index()], &table.facts[slot.index()]);
        if compatible(facts.kind, found) {
            return;
        }
        let message = format!(
            "`{}` is {}, but {} is assigned to it",
            key.name,
            type_words(facts.kind),
            type_words(found)
        );
        findings.push(
            Finding::new(TYPE_MISMATCH, Severity::Error, place, message)
                .related(facts.place, format!("declared as {} here", type_words(facts.kind)))
                .help("declare it as `null` if it may hold any type"),
        );
    }

    /// Gives every key its part of the schema, and reports initial values that do not fit it.
    pub(crate) fn apply_parts(&self, schema: &Schema, findings: &mut Vec<Finding>) {
        let table = &mut *self.table.borrow_mut();
        for (key, facts) in table.keys.iter().zip(&mut table.facts) {
            let FieldLookup::Found(parts) = schema.field(&key.name) else { continue };
            let [part] = &parts[..] else { continue };
            facts.schema = Some(part.clone());
            // Null begins as "not known yet"; a value of another type is reported already.
            if key.initial.is_null() || !compatible(facts.kind, value_type(&key.initial)) {
                continue;
            }
            if let Some(first) = part.violations(&key.initial).first() {
                let message =
                    format!("the initial value of `{}` does not match its schema: {first}", key.name);
                findings.push(
                    Finding::new(TYPE_MISMATCH, Severity::Error, facts.place, message)
                        .help("change the initial value or the schema"),
                );
            }
        }
    }

    /// Reports an assigned constant that the key's schema refuses.
    pub(crate) fn check_constant(&self, slot: Slot, value: &Value, place: Span, findings: &mut Vec<Finding>) {
        let table = self.table.borrow();
        let (key, facts) = (&table.keys[slot.index()], &table.facts[slot.index()]);
        let Some(schema) = facts.schema.as_ref().filter(|_| !value.is_null()) else { return };
        if !compatible(facts.kind, value_type(value)) {
            return;
        }
        if let Some(first) = schema.violations(value).first() {
            let message = format!("the value does not match the schema of `{}`: {first}", key.name);
            findings.push(
                Finding::new(TYPE_MISMATCH, Severity::Error, place, message)
                    .related(facts.place, "declared here")
                    .help("the action fails when it runs: change the value or the schema"),
            );
        }
    }

    pub(crate) fn slot_schema(&self, slot: Slot) -> Option<Schema> {
        self.table.borrow().facts.get(slot.index())?.schema.clone()
    }

    pub(crate) fn slot_type(&self, slot: Slot) -> Type {
        self.table.borrow().facts.get(slot.index()).map_or(Type::Any, |facts| facts.kind)
    }

    pub(crate) fn name(&self, slot: Slot) -> Arc<str> {
        self.table.borrow().keys.get(slot.index()).map_or_else(|| "?".into(), |key| key.name.clone())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.table.borrow().keys.iter().map(|key| key.name.to_string()).collect()
    }

    /// Reports keys that are read but neither declared nor ever assigned, and returns the slots.
    pub(crate) fn finish(self, findings: &mut Vec<Finding>) -> (Vec<ContextKey>, Vec<Span>) {
        let table = self.table.into_inner();
        for (key, facts) in table.keys.iter().zip(&table.facts) {
            let Some(place) = facts.read.filter(|_| !key.declared && !facts.assigned) else { continue };
            let severity = if self.declares { Severity::Error } else { Severity::Warning };
            let others = table.keys.iter().filter(|other| other.name != key.name).map(|other| &*other.name);
            let help = match nearest(&key.name, others) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("add `{}` to `context` with its initial value", key.name),
            };
            let message = format!("the context has no key `{}`: it is always null", key.name);
            findings.push(Finding::new(UNKNOWN, severity, place, message).help(help));
        }
        (table.keys, table.facts.into_iter().map(|facts| facts.place).collect())
    }
}

fn compatible(declared: Type, found: Type) -> bool {
    declared == found || [declared, found].iter().any(|kind| matches!(kind, Type::Any | Type::Null))
}

pub(crate) fn value_type(value: &Value) -> Type {
    match value {
        Value::Null => Type::Any,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) | Value::Float(_) => Type::Number,
        Value::Str(_) => Type::String,
        Value::List(_) => Type::List,
        Value::Map(_) => Type::Map,
    }
}

/// Parses a schema's `type`: one word, or a list in which `null` only means that it may be missing.
fn schema_type(view: NodeView<'_>) -> Type {
    let types: Vec<Type> = view.one_or_many().into_iter().map(|word| word_type(word.text())).collect();
    let mut real = types.into_iter().filter(|kind| *kind != Type::Null);
    match (real.next(), real.next()) {
        (Some(only), None) => only,
        _ => Type::Any,
    }
}

fn word_type(word: Option<&str>) -> Type {
    match word {
        Some("string") => Type::String,
        Some("number" | "integer") => Type::Number,
        Some("boolean") => Type::Bool,
        Some("array") => Type::List,
        Some("object") => Type::Map,
        Some("null") => Type::Null,
        _ => Type::Any,
    }
}

fn type_words(kind: Type) -> &'static str {
    match kind {
        Type::Any => "anything",
        Type::Null => "null",
        Type::Bool => "a boolean",
        Type::Number => "a number",
        Type::String => "text",
        Type::List => "a list",
        Type::Map => "a map",
    }
}
