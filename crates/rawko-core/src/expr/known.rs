//! Static types of the data that an expression reads, from schemas: the type of a part, and missing keys.

use crate::ids::Slot;
use crate::schema::{FieldLookup, Schema};

use super::Type;
use super::node::{EventPart, ExprKind, ExprNode};
use super::problem::{ExprProblem, ExprProblemKind, ExprSpan};
use super::suggest::nearest;

/// Facts about data, for checks without running anything.
pub trait KnownTypes {
    /// Returns the type of a context key; [`Type::Any`] if it is not known.
    fn slot(&self, slot: Slot) -> Type;

    /// The schema of what a name stands for, if it has one.
    fn schema(&self, _root: SchemaRoot) -> Option<Schema> {
        None
    }
}

/// Names whose data can have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaRoot {
    /// A context key.
    Slot(Slot),
    /// `event.data`.
    EventData,
    /// `event.item` in a handler of an item.
    EventItem,
    /// The item of an `each` (0) and its index (1).
    Local(usize),
    /// `input`, the input of the instance.
    Input,
}

/// Only the types of context slots.
pub(super) struct SlotTypes<'f>(pub(super) &'f dyn Fn(Slot) -> Type);

impl KnownTypes for SlotTypes<'_> {
    fn slot(&self, slot: Slot) -> Type {
        (self.0)(slot)
    }
}

/// The schemas of which one describes the node's value; `None` if that is not known.
pub(super) fn schemas(node: &ExprNode, known: &dyn KnownTypes) -> Option<Vec<Schema>> {
    match &node.kind {
        ExprKind::Slot(slot) => Some(vec![known.schema(SchemaRoot::Slot(*slot))?]),
        ExprKind::Event(EventPart::Data) => Some(vec![known.schema(SchemaRoot::EventData)?]),
        ExprKind::Event(EventPart::Item) => Some(vec![known.schema(SchemaRoot::EventItem)?]),
        ExprKind::Local(local) => Some(vec![known.schema(SchemaRoot::Local(*local))?]),
        ExprKind::Input => Some(vec![known.schema(SchemaRoot::Input)?]),
        ExprKind::Field(base, key) => {
            let mut found = Vec::new();
            for schema in schemas(base, known)? {
                let FieldLookup::Found(parts) = schema.field(key) else { return None };
                found.extend(parts);
            }
            Some(found)
        }
        ExprKind::Index(two) => schemas(&two[0], known)?.iter().map(Schema::items).collect(),
        _ => None,
    }
}

/// Keys that no schema of their base has.
pub(super) fn unknown_fields(text: &str, root: &ExprNode, known: &dyn KnownTypes) -> Vec<ExprProblem> {
    let mut problems = Vec::new();
    root.walk(&mut |node| problems.extend(unknown_field(text, node, known)));
    problems
}

fn unknown_field(text: &str, node: &ExprNode, known: &dyn KnownTypes) -> Option<ExprProblem> {
    let ExprKind::Field(base, key) = &node.kind else { return None };
    let (mut is_closed, mut names) = (true, Vec::new());
    for schema in schemas(base, known)? {
        match schema.field(key) {
            FieldLookup::Absent { closed, known } => {
                is_closed &= closed;
                names.extend(known);
            }
            FieldLookup::Found(_) | FieldLookup::Open => return None,
        }
    }
    let base = text.get(base.span.range()).unwrap_or("this");
    let close = nearest(key, names.iter().map(|name| &**name));
    let kind = match (is_closed, close) {
        (false, None) => ExprProblemKind::UnmentionedField,
        (true, _) | (false, Some(_)) => ExprProblemKind::UnknownField,
    };
    let message = format!("`{base}` has no key `{key}`");
    let help = match close {
        Some(close) => format!("did you mean `{close}`?"),
        None => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("its keys are {}", names.join(", "))
        }
    };
    Some(ExprProblem::new(kind, key_span(text, node.span, key), message).help(help))
}

/// The key alone where it ends the access, else all of it.
fn key_span(text: &str, whole: ExprSpan, key: &str) -> ExprSpan {
    let range = whole.range();
    match text.get(range.clone()) {
        Some(access) if access.ends_with(key) => ExprSpan::new(range.end - key.len(), range.end),
        _ => whole,
    }
}
