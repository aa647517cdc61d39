//! The parts of the expression language that reading a chart needs, in one place.

use rawko_core::Value;
use rawko_core::expr::{Ast, Expr, ExprProblem, Names, Type};

use super::context::Context;

pub(super) fn parse(text: &str) -> Result<Ast, Vec<ExprProblem>> {
    rawko_core::expr::parse(text)
}

pub(super) fn resolve(ast: &Ast, names: &dyn Names) -> Result<Expr, Vec<ExprProblem>> {
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

pub(super) fn infer(expr: &Expr, context: &Context) -> Type {
    expr.infer(&|slot| context.slot_type(slot))
}

pub(super) fn type_problems(expr: &Expr, context: &Context) -> Vec<ExprProblem> {
    expr.type_problems(&|slot| context.slot_type(slot))
}
