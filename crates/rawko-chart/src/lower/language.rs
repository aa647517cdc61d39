//! The parts of the expression language that reading a chart needs, in one place.

use rawko_core::expr::{Ast, Expr, ExprProblem, KnownTypes, NameResolver, SchemaRoot, Type};
use rawko_core::{Schema, Slot, Value};

use super::context::ContextSlots;

pub(super) fn parse(text: &str) -> Result<Ast, Vec<ExprProblem>> {
    rawko_core::expr::parse(text)
}

pub(super) fn resolve(ast: &Ast, names: &dyn NameResolver) -> Result<Expr, Vec<ExprProblem>> {
    ast.resolve(names)
}

/// Returns true if it starts with `context`, `event`, `input`, `env`, `agents` or `now(`.
pub(super) fn is_rooted(ast: &Ast) -> bool {
    ast.starts_with_binding_root()
}

pub(super) fn literal(value: Value) -> Expr {
    Expr::literal(value)
}

pub(super) fn null() -> Expr {
    literal(Value::Null)
}

/// Schemas of the data that expressions of a chart read.
pub(super) struct DataSchemas<'l> {
    pub(super) context: &'l ContextSlots,
    /// The schema of `event.data` here.
    pub(super) event: Option<&'l Schema>,
    /// The schemas of the item and the index of an `each`.
    pub(super) locals: &'l [Option<Schema>],
}

impl KnownTypes for DataSchemas<'_> {
    fn slot(&self, slot: Slot) -> Type {
        self.context.slot_type(slot)
    }

    fn schema(&self, root: SchemaRoot) -> Option<Schema> {
        match root {
            SchemaRoot::Slot(slot) => self.context.slot_schema(slot),
            SchemaRoot::EventData => self.event.cloned(),
            SchemaRoot::Local(local) => self.locals.get(local).cloned().flatten(),
            SchemaRoot::EventItem => self.locals.first().cloned().flatten(),
            SchemaRoot::Input => None,
        }
    }
}
