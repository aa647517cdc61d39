//! The resolved tree that a step evaluates. Every name is a slot, a local, a state node or a function.

use std::sync::Arc;

use super::ast::{Arithmetic, Order};
use super::functions::Function;
use super::problem::Span;
use crate::ids::{NodeId, Slot};
use crate::value::Value;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Constant(Value),
    Slot(Slot),
    Local(usize),
    /// The bare `context`, as a map.
    Context,
    /// `context[…]` with a key that is not a literal.
    ContextAt(Box<Node>),
    Event(EventPart),
    Input,
    Env,
    Instance(InstancePart),
    StateIn(NodeId),
    Field(Box<Node>, Arc<str>),
    Index(Box<[Node; 2]>),
    Negate(Box<Node>),
    Not(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Coalesce(Box<[Node; 2]>),
    Arithmetic(Arithmetic, Box<[Node; 2]>),
    Order(Order, Box<[Node; 2]>),
    Equal(Box<[Node; 2]>),
    NotEqual(Box<[Node; 2]>),
    In(Box<[Node; 2]>),
    NotIn(Box<[Node; 2]>),
    Concat(Box<[Node; 2]>),
    /// Condition, value when true, value when false.
    Conditional(Box<[Node; 3]>),
    List(Vec<Node>),
    Map(Vec<(Arc<str>, Node)>),
    Call(&'static Function, Vec<Node>),
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

    pub(crate) fn named(name: &str) -> Option<EventPart> {
        Self::FIELDS.iter().find(|(field, _)| *field == name).map(|(_, part)| *part)
    }
}

impl Node {
    pub(crate) fn constant(&self) -> Option<&Value> {
        if let Kind::Constant(value) = &self.kind { Some(value) } else { None }
    }

    /// Returns the direct children.
    pub(crate) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::Constant(_)
            | Kind::Slot(_)
            | Kind::Local(_)
            | Kind::Context
            | Kind::Event(_)
            | Kind::Input
            | Kind::Env
            | Kind::Instance(_)
            | Kind::StateIn(_) => Vec::new(),
            Kind::ContextAt(one) | Kind::Field(one, _) | Kind::Negate(one) | Kind::Not(one) => vec![one],
            Kind::Index(two)
            | Kind::And(two)
            | Kind::Or(two)
            | Kind::Coalesce(two)
            | Kind::Arithmetic(_, two)
            | Kind::Order(_, two)
            | Kind::Equal(two)
            | Kind::NotEqual(two)
            | Kind::In(two)
            | Kind::NotIn(two)
            | Kind::Concat(two) => two.iter().collect(),
            Kind::Conditional(three) => three.iter().collect(),
            Kind::List(items) | Kind::Call(_, items) => items.iter().collect(),
            Kind::Map(entries) => entries.iter().map(|(_, value)| value).collect(),
        }
    }

    /// Visits this node and its descendants, parents first.
    pub(crate) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Node)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Returns true if the node itself, ignoring its descendants, gives the same result for the same operands.
    pub(crate) fn reads_nothing(&self) -> bool {
        match &self.kind {
            Kind::Slot(_)
            | Kind::Local(_)
            | Kind::Context
            | Kind::ContextAt(_)
            | Kind::Event(_)
            | Kind::Input
            | Kind::Env
            | Kind::Instance(_)
            | Kind::StateIn(_) => false,
            Kind::Call(function, _) => function.reads_nothing,
            Kind::Constant(_)
            | Kind::Field(..)
            | Kind::Index(_)
            | Kind::Negate(_)
            | Kind::Not(_)
            | Kind::And(_)
            | Kind::Or(_)
            | Kind::Coalesce(_)
            | Kind::Arithmetic(..)
            | Kind::Order(..)
            | Kind::Equal(_)
            | Kind::NotEqual(_)
            | Kind::In(_)
            | Kind::NotIn(_)
            | Kind::Concat(_)
            | Kind::Conditional(_)
            | Kind::List(_)
            | Kind::Map(_) => true,
        }
    }
}
