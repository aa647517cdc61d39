//! How an expression uses the data it reads: which names it compares with which constants, and which ones it computes
//! with. For choosing representative values of data that is not known (`rawko verify`).

use super::claims::{ClaimSubject, subject};
use super::node::{EventPart, ExprKind, ExprNode};
use super::{Expr, SubjectRoot};
use crate::value::Value;

/// One use of a named value.
#[derive(Clone, Debug, PartialEq)]
pub struct DataUse {
    /// The value that is read.
    pub subject: ClaimSubject,
    /// The way the expression reads it.
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

/// Functions that reject some values of their arguments after the first one, although the types are right.
const REJECTING: [&str; 6] = ["clamp", "format_time", "glob", "replace", "round", "set"];

/// The position of a node in its expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodePosition {
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
        let position = if is_condition { NodePosition::Condition } else { NodePosition::Result };
        visit(&self.inner.root, position, &mut uses);
        uses
    }

    /// Returns the name that the expression consists of, as in `event.data.score`.
    pub fn subject(&self) -> Option<ClaimSubject> {
        subject(&self.inner.root)
    }

    /// Returns true if the value depends on the time, the agents, the settings, the instance or the sender of the event.
    pub fn reads_world(&self) -> bool {
        let mut reads = false;
        self.inner.root.walk(&mut |node| {
            reads |= match &node.kind {
                ExprKind::Env | ExprKind::Instance(_) => true,
                ExprKind::Event(part) => part.is_of_sender(),
                ExprKind::Call(function, _) => !function.reads_nothing,
                _ => false,
            }
        });
        reads
    }

    /// Returns true if a context key that has values of this type keeps it when it is assigned this expression.
    pub fn keeps_type(&self, slot: crate::ids::Slot, type_name: &str) -> bool {
        keeps(&self.inner.root, slot, type_name)
    }

    /// Returns true if the value may fail although its operands have the right types: it divides by something that is not
    /// a constant, or calls a function that rejects some texts or numbers.
    pub fn fails_by_value(&self) -> bool {
        use super::ast::Arithmetic::{Divide, Power, Remainder};
        let is_zero = |value: &Value| value.as_f64() == Some(0.0);
        let mut fails = false;
        self.inner.root.walk(&mut |node| {
            fails |= match &node.kind {
                ExprKind::Arithmetic(Divide | Remainder, two) => two[1].constant().is_none_or(is_zero),
                ExprKind::Arithmetic(Power, two) => two.iter().any(|one| one.constant().is_none()),
                ExprKind::Call(function, arguments) => {
                    let is_open = |one: &ExprNode| one.constant().is_none();
                    REJECTING.contains(&function.name) && arguments.iter().skip(1).any(is_open)
                }
                _ => false,
            };
        });
        fails
    }

    /// Returns the names that the type of the event is compared with.
    pub fn event_types(&self) -> Vec<Value> {
        let mut types = Vec::new();
        let is_type = |node: &ExprNode| matches!(node.kind, ExprKind::Event(EventPart::Type));
        self.inner.root.walk(&mut |node| match &node.kind {
            ExprKind::Equal(two) | ExprKind::NotEqual(two) => {
                for (one, other) in [(&two[0], &two[1]), (&two[1], &two[0])] {
                    types.extend(other.constant().filter(|_| is_type(one)).cloned());
                }
            }
            ExprKind::In(two) | ExprKind::NotIn(two) if is_type(&two[0]) => {
                types.extend(constants(&two[1]).unwrap_or_default());
            }
            _ => {}
        });
        types
    }

    /// Returns true if the type of the event is used in another way than compared with constants.
    pub fn keeps_event_type(&self) -> bool {
        let (mut reads, mut compared) = (0, 0);
        let is_type = |node: &ExprNode| matches!(node.kind, ExprKind::Event(EventPart::Type));
        self.inner.root.walk(&mut |node| {
            reads += usize::from(matches!(node.kind, ExprKind::Event(EventPart::Type | EventPart::Whole)));
            compared += match &node.kind {
                ExprKind::Equal(two) | ExprKind::NotEqual(two) => {
                    let is_plain =
                        |one: &ExprNode, other: &ExprNode| is_type(one) && other.constant().is_some();
                    usize::from(is_plain(&two[0], &two[1]) || is_plain(&two[1], &two[0]))
                }
                ExprKind::In(two) | ExprKind::NotIn(two) => {
                    usize::from(is_type(&two[0]) && constants(&two[1]).is_some())
                }
                _ => 0,
            };
        });
        reads > compared
    }

    /// Returns the increment if the expression is `context.<slot> + <positive constant>`.
    pub fn increment_of(&self) -> Option<(crate::ids::Slot, i64)> {
        let ExprKind::Arithmetic(super::ast::Arithmetic::Add, two) = &self.inner.root.kind else {
            return None;
        };
        let (slot, by) = match (&two[0].kind, &two[1].kind) {
            (ExprKind::Slot(slot), ExprKind::Constant(Value::Int(by)))
            | (ExprKind::Constant(Value::Int(by)), ExprKind::Slot(slot)) => (*slot, *by),
            _ => return None,
        };
        (by > 0).then_some((slot, by))
    }
}

fn keeps(node: &ExprNode, slot: crate::ids::Slot, type_name: &str) -> bool {
    let is_kept = |part: &ExprNode| keeps(part, slot, type_name);
    match &node.kind {
        ExprKind::Constant(value) => value.type_name() == type_name,
        ExprKind::Slot(of) => *of == slot,
        // Texts and lists are added to their own kind only.
        ExprKind::Arithmetic(super::ast::Arithmetic::Add, two) => two.iter().any(is_kept),
        ExprKind::Arithmetic(..) | ExprKind::Negate(_) => type_name == "number",
        ExprKind::Concat(_) => type_name == "string",
        ExprKind::List(_) => type_name == "list",
        ExprKind::Map(_) => type_name == "map",
        ExprKind::Conditional(three) => three[1..].iter().all(is_kept),
        ExprKind::Coalesce(two) => two.iter().all(is_kept),
        ExprKind::Call(function, arguments) => {
            function.gives.name() == type_name && arguments.first().is_some_and(is_kept)
        }
        ExprKind::Not(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Equal(_)
        | ExprKind::NotEqual(_)
        | ExprKind::Order(..)
        | ExprKind::In(_)
        | ExprKind::NotIn(_) => type_name == Value::Bool(true).type_name(),
        _ => false,
    }
}

fn push(uses: &mut Vec<DataUse>, subject: ClaimSubject, kind: DataUseKind) {
    if subject.root != SubjectRoot::EventType {
        uses.push(DataUse { subject, kind });
    }
}

fn visit(node: &ExprNode, position: NodePosition, uses: &mut Vec<DataUse>) {
    if let Some(subject) = subject(node) {
        let kind = match position {
            NodePosition::Condition => DataUseKind::Truth,
            NodePosition::Result => DataUseKind::Flow,
            NodePosition::Number => DataUseKind::Number,
            NodePosition::Text => DataUseKind::Text,
            NodePosition::Opaque => DataUseKind::Opaque,
        };
        return push(uses, subject, kind);
    }
    match &node.kind {
        // The event as a whole has its data.
        ExprKind::Event(EventPart::Whole | EventPart::Origin) => {
            push(uses, ClaimSubject { root: SubjectRoot::EventData, path: Vec::new() }, DataUseKind::Opaque);
        }
        ExprKind::Not(one) => visit(one, NodePosition::Condition, uses),
        ExprKind::And(two) | ExprKind::Or(two) => {
            two.iter().for_each(|part| visit(part, NodePosition::Condition, uses));
        }
        ExprKind::Order(_, two) => compare(two, DataUseKind::Order, uses),
        ExprKind::Equal(two) | ExprKind::NotEqual(two) => compare(two, DataUseKind::Equal, uses),
        ExprKind::In(two) | ExprKind::NotIn(two) => match (subject(&two[0]), constants(&two[1])) {
            (Some(subject), Some(values)) => push(uses, subject, DataUseKind::Member(values)),
            _ => two.iter().for_each(|part| visit(part, NodePosition::Opaque, uses)),
        },
        ExprKind::Conditional(three) => {
            visit(&three[0], NodePosition::Condition, uses);
            visit(&three[1], position, uses);
            visit(&three[2], position, uses);
        }
        ExprKind::Coalesce(two) => {
            if let Some(subject) = subject(&two[0]) {
                push(uses, subject, DataUseKind::Equal(Value::Null));
            }
            two.iter().for_each(|part| visit(part, position, uses));
        }
        ExprKind::Arithmetic(_, two) => two.iter().for_each(|part| visit(part, NodePosition::Number, uses)),
        ExprKind::Negate(one) => visit(one, NodePosition::Number, uses),
        ExprKind::Concat(two) => two.iter().for_each(|part| visit(part, NodePosition::Text, uses)),
        ExprKind::List(_) | ExprKind::Map(_) if position == NodePosition::Result => {
            node.children().into_iter().for_each(|part| visit(part, NodePosition::Result, uses));
        }
        _ => node.children().into_iter().for_each(|part| visit(part, NodePosition::Opaque, uses)),
    }
}

fn compare([left, right]: &[ExprNode; 2], by: fn(Value) -> DataUseKind, uses: &mut Vec<DataUse>) {
    for (one, other) in [(left, right), (right, left)] {
        let Some(value) = other.constant() else { continue };
        if let Some(subject) = subject(one) {
            return push(uses, subject, by(value.clone()));
        }
        if let (Some(subject), Value::Int(length)) = (measured(one), value) {
            return push(uses, subject, DataUseKind::Length(*length));
        }
    }
    visit(left, NodePosition::Opaque, uses);
    visit(right, NodePosition::Opaque, uses);
}

/// `length(context.items)`
fn measured(node: &ExprNode) -> Option<ClaimSubject> {
    match &node.kind {
        ExprKind::Call(function, arguments) if function.name == "length" => subject(arguments.first()?),
        _ => None,
    }
}

fn constants(node: &ExprNode) -> Option<Vec<Value>> {
    match &node.kind {
        ExprKind::Constant(Value::List(values)) => Some(values.to_vec()),
        ExprKind::List(items) => items.iter().map(|item| item.constant().cloned()).collect(),
        _ => None,
    }
}
