//! How an expression uses the data it reads: which names it compares with which constants, and which ones it computes
//! with. For choosing representative values of data that is not known (`rawko verify`).

use super::claims::{Subject, subject};
use super::node::{Kind, Node};
use super::{Expr, SubjectRoot};
use crate::value::Value;

/// One use of a named value.
#[derive(Clone, Debug, PartialEq)]
pub struct DataUse {
    pub subject: Subject,
    pub kind: DataUseKind,
}

/// The way a named value is used. All but the last four are decided by finitely many representative values.
#[derive(Clone, Debug, PartialEq)]
pub enum DataUseKind {
    /// As a condition.
    Truth,
    /// Compared for equality with a constant.
    Equal(Value),
    /// Compared by order with a constant.
    Order(Value),
    /// Looked up in a list of constants.
    Member(Vec<Value>),
    /// Its length is compared with a constant.
    Length(i64),
    /// The expression's value is this value, or a structure that contains it.
    Flow,
    /// An operand of arithmetic.
    Number,
    /// Part of a text.
    Text,
    /// Compared with another name, or passed to a function.
    Opaque,
}

/// The position of a node in its expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Condition,
    Result,
    Number,
    Text,
    Opaque,
}

impl Expr {
    /// Returns every use of context, event data and input. Pass `is_condition` for a guard.
    pub fn data_uses(&self, is_condition: bool) -> Vec<DataUse> {
        let mut uses = Vec::new();
        let position = if is_condition { Position::Condition } else { Position::Result };
        visit(&self.inner.root, position, &mut uses);
        uses
    }

    /// Returns the name that the expression consists of, as in `event.data.score`.
    pub fn subject(&self) -> Option<Subject> {
        subject(&self.inner.root)
    }

    /// Returns true if the value depends on the time, the agents, the settings or the instance.
    pub fn reads_world(&self) -> bool {
        let mut reads = false;
        self.inner.root.walk(&mut |node| {
            reads |= match &node.kind {
                Kind::Env | Kind::Instance(_) => true,
                Kind::Call(function, _) => !function.reads_nothing,
                _ => false,
            }
        });
        reads
    }

    /// Returns the increment if the expression is `context.<slot> + <positive constant>`.
    pub fn increment_of(&self) -> Option<(crate::ids::Slot, i64)> {
        let Kind::Arithmetic(super::ast::Arithmetic::Add, two) = &self.inner.root.kind else { return None };
        let (slot, by) = match (&two[0].kind, &two[1].kind) {
            (Kind::Slot(slot), Kind::Constant(Value::Int(by)))
            | (Kind::Constant(Value::Int(by)), Kind::Slot(slot)) => (*slot, *by),
            _ => return None,
        };
        (by > 0).then_some((slot, by))
    }
}

fn push(uses: &mut Vec<DataUse>, subject: Subject, kind: DataUseKind) {
    if subject.root != SubjectRoot::EventType {
        uses.push(DataUse { subject, kind });
    }
}

fn visit(node: &Node, position: Position, uses: &mut Vec<DataUse>) {
    if let Some(subject) = subject(node) {
        let kind = match position {
            Position::Condition => DataUseKind::Truth,
            Position::Result => DataUseKind::Flow,
            Position::Number => DataUseKind::Number,
            Position::Text => DataUseKind::Text,
            Position::Opaque => DataUseKind::Opaque,
        };
        return push(uses, subject, kind);
    }
    match &node.kind {
        Kind::Not(one) => visit(one, Position::Condition, uses),
        Kind::And(two) | Kind::Or(two) => {
            two.iter().for_each(|part| visit(part, Position::Condition, uses));
        }
        Kind::Order(_, two) => compare(two, DataUseKind::Order, uses),
        Kind::Equal(two) | Kind::NotEqual(two) => compare(two, DataUseKind::Equal, uses),
        Kind::In(two) | Kind::NotIn(two) => match (subject(&two[0]), constants(&two[1])) {
            (Some(subject), Some(values)) => push(uses, subject, DataUseKind::Member(values)),
            _ => two.iter().for_each(|part| visit(part, Position::Opaque, uses)),
        },
        Kind::Conditional(three) => {
            visit(&three[0], Position::Condition, uses);
            visit(&three[1], position, uses);
            visit(&three[2], position, uses);
        }
        Kind::Coalesce(two) => {
            if let Some(subject) = subject(&two[0]) {
                push(uses, subject, DataUseKind::Equal(Value::Null));
            }
            two.iter().for_each(|part| visit(part, position, uses));
        }
        Kind::Arithmetic(_, two) => two.iter().for_each(|part| visit(part, Position::Number, uses)),
        Kind::Negate(one) => visit(one, Position::Number, uses),
        Kind::Concat(two) => two.iter().for_each(|part| visit(part, Position::Text, uses)),
        Kind::List(_) | Kind::Map(_) if position == Position::Result => {
            node.children().into_iter().for_each(|part| visit(part, Position::Result, uses));
        }
        _ => node.children().into_iter().for_each(|part| visit(part, Position::Opaque, uses)),
    }
}

fn compare([left, right]: &[Node; 2], by: fn(Value) -> DataUseKind, uses: &mut Vec<DataUse>) {
    for (one, other) in [(left, right), (right, left)] {
        let Some(value) = other.constant() else { continue };
        if let Some(subject) = subject(one) {
            return push(uses, subject, by(value.clone()));
        }
        if let (Some(subject), Value::Int(length)) = (measured(one), value) {
            return push(uses, subject, DataUseKind::Length(*length));
        }
    }
    visit(left, Position::Opaque, uses);
    visit(right, Position::Opaque, uses);
}

/// `length(context.items)`
fn measured(node: &Node) -> Option<Subject> {
    match &node.kind {
        Kind::Call(function, arguments) if function.name == "length" => subject(arguments.first()?),
        _ => None,
    }
}

fn constants(node: &Node) -> Option<Vec<Value>> {
    match &node.kind {
        Kind::Constant(Value::List(values)) => Some(values.to_vec()),
        Kind::List(items) => items.iter().map(|item| item.constant().cloned()).collect(),
        _ => None,
    }
}
