//! Static types: for checking updates against the context, and for operations that always fail.

use super::Type;
use super::ast::Arithmetic;
use super::functions::ExprFunction;
use super::known::{self, KnownTypes};
use super::limits::FUEL_MAX;
use super::node::{EventPart, ExprKind, ExprNode, InstancePart};
use super::ops;
use super::problem::{ExprProblem, ExprProblemKind};
use super::resolve::evaluate_constant;
use crate::schema::Schema;

type ContextTypes<'c> = &'c dyn KnownTypes;

pub(crate) fn infer(node: &ExprNode, types: ContextTypes<'_>) -> Type {
    match &node.kind {
        ExprKind::Constant(value) => Type::of(value),
        ExprKind::Slot(slot) => types.slot(*slot),
        ExprKind::Instance(InstancePart::Started) => Type::Number,
        ExprKind::Instance(InstancePart::Id | InstancePart::Parent) => Type::String,
        ExprKind::Context | ExprKind::Event(EventPart::Whole) | ExprKind::Map(_) => Type::Map,
        ExprKind::Event(EventPart::Type | EventPart::SendId | EventPart::InvokeId) | ExprKind::Concat(_) => {
            Type::String
        }
        ExprKind::Event(EventPart::Data | EventPart::Item)
        | ExprKind::Local(_)
        | ExprKind::Input
        | ExprKind::Field(..)
        | ExprKind::Index(_) => {
            known::schemas(node, types).map_or(Type::Any, |schemas| Schema::common_type(&schemas))
        }
        ExprKind::Event(EventPart::Index) => Type::Number,
        ExprKind::ContextAt(_) | ExprKind::Event(EventPart::Origin) | ExprKind::Env => Type::Any,
        ExprKind::StateIn(_)
        | ExprKind::Not(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Order(..)
        | ExprKind::Equal(_)
        | ExprKind::NotEqual(_)
        | ExprKind::In(_)
        | ExprKind::NotIn(_) => Type::Bool,
        ExprKind::Negate(_) => Type::Number,
        ExprKind::Coalesce(two) => either(infer(&two[0], types), infer(&two[1], types)),
        ExprKind::Conditional(three) => either(infer(&three[1], types), infer(&three[2], types)),
        ExprKind::Arithmetic(Arithmetic::Add, two) => sum(infer(&two[0], types), infer(&two[1], types)),
        ExprKind::Arithmetic(..) => Type::Number,
        ExprKind::List(_) => Type::List,
        ExprKind::Call(function, _) => function.gives,
    }
}

/// A type means "this or null", so null beside another type adds nothing.
fn either(a: Type, b: Type) -> Type {
    match (a, b) {
        (Type::Null, other) | (other, Type::Null) => other,
        (a, b) if a == b => a,
        _ => Type::Any,
    }
}

fn sum(a: Type, b: Type) -> Type {
    match (a, b) {
        (Type::Any, known) | (known, Type::Any) => known,
        (known, _) => known,
    }
}

pub(crate) fn problems(text: &str, root: &ExprNode, types: ContextTypes<'_>) -> Vec<ExprProblem> {
    let mut problems = Vec::new();
    root.walk(&mut |node| {
        let found = mismatch(node, types).or_else(|| always_fails(text, node));
        problems.extend(found.map(|(kind, message)| ExprProblem::new(kind, node.span, message)));
    });
    problems
}

type InferenceProblem = Option<(ExprProblemKind, String)>;

fn failing(message: String) -> InferenceProblem {
    Some((ExprProblemKind::TypeMismatch, message))
}

fn mismatch(node: &ExprNode, types: ContextTypes<'_>) -> InferenceProblem {
    let two = |two: &[ExprNode; 2]| (infer(&two[0], types), infer(&two[1], types));
    match &node.kind {
        ExprKind::Arithmetic(operator, operands) => arithmetic(*operator, two(operands)),
        ExprKind::Order(operator, operands) => {
            let (a, b) = two(operands);
            let fits = comparable(a) && comparable(b) && (a == b || a == Type::Any || b == Type::Any);
            if fits { None } else { failing(ops::order_message(*operator, a.name(), b.name())) }
        }
        ExprKind::Equal(operands) | ExprKind::NotEqual(operands) => never_equal(two(operands)),
        ExprKind::In(operands) | ExprKind::NotIn(operands) => membership(two(operands)),
        ExprKind::Concat(operands) => {
            let (a, b) = two(operands);
            let compound = [a, b].into_iter().find(|found| matches!(found, Type::List | Type::Map))?;
            failing(ops::concat_message(compound.name()))
        }
        ExprKind::Not(operand) => condition(infer(operand, types)),
        ExprKind::And(operands) | ExprKind::Or(operands) => {
            let (a, b) = two(operands);
            condition(a).or_else(|| condition(b))
        }
        ExprKind::Conditional(three) => condition(infer(&three[0], types)),
        ExprKind::Negate(operand) => match infer(operand, types) {
            Type::Any | Type::Number => None,
            other => failing(format!("`-` takes a number, not {}", ops::with_article(other.name()))),
        },
        ExprKind::Field(base, key) => match infer(base, types) {
            Type::Any | Type::Null | Type::Map => None,
            other => failing(ops::field_message(key, other.name())),
        },
        ExprKind::Index(operands) => match two(operands) {
            (Type::Any | Type::Null, _) | (Type::List | Type::Map, Type::Any | Type::Null) => None,
            (Type::List, Type::Number) | (Type::Map, Type::String) => None,
            (base, index) => failing(ops::index_message(base.name(), index.name())),
        },
        ExprKind::Call(function, arguments) => call(function, arguments, types),
        ExprKind::Constant(_)
        | ExprKind::Slot(_)
        | ExprKind::Local(_)
        | ExprKind::Context
        | ExprKind::ContextAt(_)
        | ExprKind::Event(_)
        | ExprKind::Input
        | ExprKind::Env
        | ExprKind::Instance(_)
        | ExprKind::StateIn(_)
        | ExprKind::Coalesce(_)
        | ExprKind::List(_)
        | ExprKind::Map(_) => None,
    }
}

fn arithmetic(operator: Arithmetic, (a, b): (Type, Type)) -> InferenceProblem {
    let adds = operator == Arithmetic::Add;
    let fits = |one: Type| match one {
        Type::Any | Type::Number => true,
        Type::String | Type::List => adds,
        Type::Null | Type::Bool | Type::Map => false,
    };
    if fits(a) && fits(b) && (a == b || a == Type::Any || b == Type::Any) {
        return None;
    }
    failing(ops::mismatch_message(operator, a.name(), b.name()))
}

fn comparable(one: Type) -> bool {
    matches!(one, Type::Any | Type::Number | Type::String)
}

fn never_equal((a, b): (Type, Type)) -> InferenceProblem {
    let open = |one| matches!(one, Type::Any | Type::Null);
    if a == b || open(a) || open(b) {
        return None;
    }
    let (a, b) = (ops::with_article(a.name()), ops::with_article(b.name()));
    Some((ExprProblemKind::NeverEqual, format!("{a} and {b} are never equal")))
}

fn membership((item, container): (Type, Type)) -> InferenceProblem {
    let fits = match container {
        Type::Any | Type::Null | Type::List => true,
        Type::Map => matches!(item, Type::Any | Type::Null | Type::String),
        Type::String => matches!(item, Type::Any | Type::String),
        Type::Bool | Type::Number => false,
    };
    if fits { None } else { failing(ops::membership_message(item.name(), container.name())) }
}

fn condition(found: Type) -> InferenceProblem {
    match found {
        Type::Any | Type::Null | Type::Bool => None,
        other => failing(ops::truth_message(other.name())),
    }
}

fn call(function: &ExprFunction, arguments: &[ExprNode], types: ContextTypes<'_>) -> InferenceProblem {
    arguments.iter().enumerate().find_map(|(index, argument)| {
        let found = infer(argument, types);
        if function.accepts(index, found) { None } else { failing(function.mismatch(index, found.name())) }
    })
}

/// A constant part that failed to evaluate at load, such as `1 / 0`.
fn always_fails(text: &str, node: &ExprNode) -> InferenceProblem {
    let known = node.constant().is_none()
        && node.reads_nothing()
        && node.children().iter().all(|child| child.constant().is_some());
    if !known {
        return None;
    }
    failing(evaluate_constant(text, node, FUEL_MAX).0.err()?.message)
}
