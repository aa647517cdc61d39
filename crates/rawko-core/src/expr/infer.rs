//! Static types: for checking updates against the context, and for operations that always fail.

use super::Type;
use super::ast::Arithmetic;
use super::functions::Function;
use super::known::{self, KnownTypes};
use super::limits::FUEL_MAX;
use super::node::{EventPart, InstancePart, Kind, Node};
use super::ops;
use super::problem::{ExprProblem, ExprProblemKind};
use super::resolve::evaluate_constant;
use crate::schema::Schema;

type ContextTypes<'c> = &'c dyn KnownTypes;

pub(crate) fn infer(node: &Node, types: ContextTypes<'_>) -> Type {
    match &node.kind {
        Kind::Constant(value) => Type::of(value),
        Kind::Slot(slot) => types.slot(*slot),
        Kind::Instance(InstancePart::Started) => Type::Number,
        Kind::Instance(InstancePart::Id | InstancePart::Parent) => Type::String,
        Kind::Context | Kind::Event(EventPart::Whole) | Kind::Map(_) => Type::Map,
        Kind::Event(EventPart::Type | EventPart::SendId | EventPart::InvokeId) | Kind::Concat(_) => {
            Type::String
        }
        Kind::Event(EventPart::Data | EventPart::Item)
        | Kind::Local(_)
        | Kind::Input
        | Kind::Field(..)
        | Kind::Index(_) => {
            known::schemas(node, types).map_or(Type::Any, |schemas| Schema::common_type(&schemas))
        }
        Kind::Event(EventPart::Index) => Type::Number,
        Kind::ContextAt(_) | Kind::Event(EventPart::Origin) | Kind::Env => Type::Any,
        Kind::StateIn(_)
        | Kind::Not(_)
        | Kind::And(_)
        | Kind::Or(_)
        | Kind::Order(..)
        | Kind::Equal(_)
        | Kind::NotEqual(_)
        | Kind::In(_)
        | Kind::NotIn(_) => Type::Bool,
        Kind::Negate(_) => Type::Number,
        Kind::Coalesce(two) => either(infer(&two[0], types), infer(&two[1], types)),
        Kind::Conditional(three) => either(infer(&three[1], types), infer(&three[2], types)),
        Kind::Arithmetic(Arithmetic::Add, two) => sum(infer(&two[0], types), infer(&two[1], types)),
        Kind::Arithmetic(..) => Type::Number,
        Kind::List(_) => Type::List,
        Kind::Call(function, _) => function.gives,
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

pub(crate) fn problems(text: &str, root: &Node, types: ContextTypes<'_>) -> Vec<ExprProblem> {
    let mut problems = Vec::new();
    root.walk(&mut |node| {
        let found = mismatch(node, types).or_else(|| always_fails(text, node));
        problems.extend(found.map(|(kind, message)| ExprProblem::new(kind, node.span, message)));
    });
    problems
}

type Found = Option<(ExprProblemKind, String)>;

fn failing(message: String) -> Found {
    Some((ExprProblemKind::TypeMismatch, message))
}

fn mismatch(node: &Node, types: ContextTypes<'_>) -> Found {
    let two = |two: &[Node; 2]| (infer(&two[0], types), infer(&two[1], types));
    match &node.kind {
        Kind::Arithmetic(operator, operands) => arithmetic(*operator, two(operands)),
        Kind::Order(operator, operands) => {
            let (a, b) = two(operands);
            let fits = comparable(a) && comparable(b) && (a == b || a == Type::Any || b == Type::Any);
            if fits { None } else { failing(ops::order_message(*operator, a.name(), b.name())) }
        }
        Kind::Equal(operands) | Kind::NotEqual(operands) => never_equal(two(operands)),
        Kind::In(operands) | Kind::NotIn(operands) => membership(two(operands)),
        Kind::Concat(operands) => {
            let (a, b) = two(operands);
            let compound = [a, b].into_iter().find(|found| matches!(found, Type::List | Type::Map))?;
            failing(ops::concat_message(compound.name()))
        }
        Kind::Not(operand) => condition(infer(operand, types)),
        Kind::And(operands) | Kind::Or(operands) => {
            let (a, b) = two(operands);
            condition(a).or_else(|| condition(b))
        }
        Kind::Conditional(three) => condition(infer(&three[0], types)),
        Kind::Negate(operand) => match infer(operand, types) {
            Type::Any | Type::Number => None,
            other => failing(format!("`-` takes a number, not {}", ops::with_article(other.name()))),
        },
        Kind::Field(base, key) => match infer(base, types) {
            Type::Any | Type::Null | Type::Map => None,
            other => failing(ops::field_message(key, other.name())),
        },
        Kind::Index(operands) => match two(operands) {
            (Type::Any | Type::Null, _) | (Type::List | Type::Map, Type::Any | Type::Null) => None,
            (Type::List, Type::Number) | (Type::Map, Type::String) => None,
            (base, index) => failing(ops::index_message(base.name(), index.name())),
        },
        Kind::Call(function, arguments) => call(function, arguments, types),
        Kind::Constant(_)
        | Kind::Slot(_)
        | Kind::Local(_)
        | Kind::Context
        | Kind::ContextAt(_)
        | Kind::Event(_)
        | Kind::Input
        | Kind::Env
        | Kind::Instance(_)
        | Kind::StateIn(_)
        | Kind::Coalesce(_)
        | Kind::List(_)
        | Kind::Map(_) => None,
    }
}

fn arithmetic(operator: Arithmetic, (a, b): (Type, Type)) -> Found {
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

fn never_equal((a, b): (Type, Type)) -> Found {
    let open = |one| matches!(one, Type::Any | Type::Null);
    if a == b || open(a) || open(b) {
        return None;
    }
    let (a, b) = (ops::with_article(a.name()), ops::with_article(b.name()));
    Some((ExprProblemKind::NeverEqual, format!("{a} and {b} are never equal")))
}

fn membership((item, container): (Type, Type)) -> Found {
    let fits = match container {
        Type::Any | Type::Null | Type::List => true,
        Type::Map => matches!(item, Type::Any | Type::Null | Type::String),
        Type::String => matches!(item, Type::Any | Type::String),
        Type::Bool | Type::Number => false,
    };
    if fits { None } else { failing(ops::membership_message(item.name(), container.name())) }
}

fn condition(found: Type) -> Found {
    match found {
        Type::Any | Type::Null | Type::Bool => None,
        other => failing(ops::truth_message(other.name())),
    }
}

fn call(function: &Function, arguments: &[Node], types: ContextTypes<'_>) -> Found {
    arguments.iter().enumerate().find_map(|(index, argument)| {
        let found = infer(argument, types);
        if function.accepts(index, found) { None } else { failing(function.mismatch(index, found.name())) }
    })
}

/// A constant part that failed to evaluate at load, such as `1 / 0`.
fn always_fails(text: &str, node: &Node) -> Found {
    let known = node.constant().is_none()
        && node.reads_nothing()
        && node.children().iter().all(|child| child.constant().is_some());
    if !known {
        return None;
    }
    failing(evaluate_constant(text, node, FUEL_MAX).0.err()?.message)
}
