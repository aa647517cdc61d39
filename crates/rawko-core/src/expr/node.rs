//! The resolved tree that a step evaluates. Every name is a slot, a local, a state node or a function.

use std::sync::Arc;

use super::ast::{Arithmetic, OrderOperator};
use super::functions::ExprFunction;
use super::problem::ExprSpan;
use crate::ids::{NodeId, Slot};
use crate::value::Value;

#[derive(Clone, Debug)]
pub(crate) struct ExprNode {
    pub(crate) kind: ExprKind,
    pub(crate) span: ExprSpan,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Constant(Value),
    Slot(Slot),
    Local(usize),
    /// The bare `context`, as a map.
    Context,
    /// `context[…]` with a key that is not a literal.
    ContextAt(Box<ExprNode>),
    Event(EventPart),
    Input,
    Env,
    Instance(InstancePart),
    StateIn(NodeId),
    Field(Box<ExprNode>, Arc<str>),
    Index(Box<[ExprNode; 2]>),
    Negate(Box<ExprNode>),
    Not(Box<ExprNode>),
    And(Box<[ExprNode; 2]>),
    Or(Box<[ExprNode; 2]>),
    Coalesce(Box<[ExprNode; 2]>),
    Arithmetic(Arithmetic, Box<[ExprNode; 2]>),
    Order(OrderOperator, Box<[ExprNode; 2]>),
    Equal(Box<[ExprNode; 2]>),
    NotEqual(Box<[ExprNode; 2]>),
    In(Box<[ExprNode; 2]>),
    NotIn(Box<[ExprNode; 2]>),
    Concat(Box<[ExprNode; 2]>),
    /// Condition, value when true, value when false.
    Conditional(Box<[ExprNode; 3]>),
    List(Vec<ExprNode>),
    Map(Vec<(Arc<str>, ExprNode)>),
    Call(&'static ExprFunction, Vec<ExprNode>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventPart {
    Whole,
    Type,
    Data,
    Origin,
    SendId,
    InvokeId,
    Item,
    Index,
}

/// Fields of `instance` in expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstancePart {
    Id,
    Parent,
    Started,
}

impl InstancePart {
    pub(crate) const FIELDS: [(&'static str, InstancePart); 3] =
        [("id", InstancePart::Id), ("parent", InstancePart::Parent), ("started", InstancePart::Started)];

    pub(crate) fn named(name: &str) -> Option<InstancePart> {
        Self::FIELDS.iter().find(|(field, _)| *field == name).map(|(_, part)| *part)
    }
}

impl EventPart {
    pub(crate) const FIELDS: [(&'static str, EventPart); 7] = [
        ("type", EventPart::Type),
        ("data", EventPart::Data),
        ("origin", EventPart::Origin),
        ("sendid", EventPart::SendId),
        ("invokeid", EventPart::InvokeId),
        ("item", EventPart::Item),
        ("index", EventPart::Index),
    ];

    /// Returns true for the fields that only item handlers of an `each` see.
    pub(crate) fn is_of_item(self) -> bool {
        matches!(self, EventPart::Item | EventPart::Index)
    }

    /// Returns true for the fields that depend on the sender of an event.
    pub(crate) fn is_of_sender(self) -> bool {
        matches!(self, EventPart::Origin | EventPart::SendId | EventPart::InvokeId)
    }

    pub(crate) fn named(name: &str) -> Option<EventPart> {
        Self::FIELDS.iter().find(|(field, _)| *field == name).map(|(_, part)| *part)
    }
}

impl ExprNode {
    /// The text that the value surely begins with.
    pub(crate) fn prefix(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Constant(value) => value.as_str(),
            ExprKind::Concat(sides) => sides[0].prefix(),
            _ => None,
        }
    }

    pub(crate) fn constant(&self) -> Option<&Value> {
        if let ExprKind::Constant(value) = &self.kind { Some(value) } else { None }
    }

    /// Returns the direct children.
    pub(crate) fn children(&self) -> Vec<&ExprNode> {
        match &self.kind {
            ExprKind::Constant(_)
            | ExprKind::Slot(_)
            | ExprKind::Local(_)
            | ExprKind::Context
            | ExprKind::Event(_)
            | ExprKind::Input
            | ExprKind::Env
            | ExprKind::Instance(_)
            | ExprKind::StateIn(_) => Vec::new(),
            ExprKind::ContextAt(one)
            | ExprKind::Field(one, _)
            | ExprKind::Negate(one)
            | ExprKind::Not(one) => vec![one],
            ExprKind::Index(two)
            | ExprKind::And(two)
            | ExprKind::Or(two)
            | ExprKind::Coalesce(two)
            | ExprKind::Arithmetic(_, two)
            | ExprKind::Order(_, two)
            | ExprKind::Equal(two)
            | ExprKind::NotEqual(two)
            | ExprKind::In(two)
            | ExprKind::NotIn(two)
            | ExprKind::Concat(two) => two.iter().collect(),
            ExprKind::Conditional(three) => three.iter().collect(),
            ExprKind::List(items) | ExprKind::Call(_, items) => items.iter().collect(),
            ExprKind::Map(entries) => entries.iter().map(|(_, value)| value).collect(),
        }
    }

    /// Visits this node and its descendants, parents first.
    pub(crate) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n ExprNode)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Returns true if the node itself, ignoring its descendants, gives the same result for the same operands.
    pub(crate) fn reads_nothing(&self) -> bool {
        match &self.kind {
            ExprKind::Slot(_)
            | ExprKind::Local(_)
            | ExprKind::Context
            | ExprKind::ContextAt(_)
            | ExprKind::Event(_)
            | ExprKind::Input
            | ExprKind::Env
            | ExprKind::Instance(_)
            | ExprKind::StateIn(_) => false,
            ExprKind::Call(function, _) => function.reads_nothing,
            ExprKind::Constant(_)
            | ExprKind::Field(..)
            | ExprKind::Index(_)
            | ExprKind::Negate(_)
            | ExprKind::Not(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Coalesce(_)
            | ExprKind::Arithmetic(..)
            | ExprKind::Order(..)
            | ExprKind::Equal(_)
            | ExprKind::NotEqual(_)
            | ExprKind::In(_)
            | ExprKind::NotIn(_)
            | ExprKind::Concat(_)
            | ExprKind::Conditional(_)
            | ExprKind::List(_)
            | ExprKind::Map(_) => true,
        }
    }
}
