//! Necessary conditions of an expression, as far as they are plain: its parts joined by `and`, each a comparison of a
//! name with a value or with another name. For analysing a guard without evaluating it.

use std::sync::Arc;

use super::Expr;
use super::ast::OrderOperator;
use super::node::{EventPart, ExprKind, ExprNode};
use crate::ids::Slot;
use crate::value::Value;

/// The plain conditions of an expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// All of these must hold for the expression to be true.
    pub list: Vec<GuardClaim>,
    /// One part is false for all data.
    pub never: bool,
    /// The expression contains conditions that the list does not.
    pub more: bool,
}

/// `subject relation operand`, as in `context.count >= 3`. A bare `context.ready` claims to equal true.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardClaim {
    /// Left side of the comparison.
    pub subject: ClaimSubject,
    /// Comparison operator.
    pub relation: Relation,
    /// Right side of the comparison.
    pub operand: Operand,
}

/// A named value: `context.a.b`, `event.data.x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSubject {
    /// First name of the path.
    pub root: SubjectRoot,
    /// Keys below the root, outermost first.
    pub path: Vec<Arc<str>>,
}

/// The named values that expressions start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectRoot {
    /// A context key.
    Context(Slot),
    /// `event.type`.
    EventType,
    /// `event.data`.
    EventData,
    /// `input`, the input of the instance.
    Input,
}

/// The right side of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A constant.
    Value(Value),
    /// Another named value.
    Subject(ClaimSubject),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl Relation {
    /// Returns the complement.
    pub fn negated(self) -> Relation {
        match self {
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
            Relation::Less => Relation::GreaterOrEqual,
            Relation::LessOrEqual => Relation::Greater,
            Relation::Greater => Relation::LessOrEqual,
            Relation::GreaterOrEqual => Relation::Less,
        }
    }

    /// Returns the relation with the two sides exchanged.
    pub fn flipped(self) -> Relation {
        match self {
            Relation::Equal | Relation::NotEqual => self,
            Relation::Less => Relation::Greater,
            Relation::LessOrEqual => Relation::GreaterOrEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterOrEqual => Relation::LessOrEqual,
        }
    }
}

impl From<OrderOperator> for Relation {
    fn from(order: OrderOperator) -> Self {
        match order {
            OrderOperator::Less => Relation::Less,
            OrderOperator::LessOrEqual => Relation::LessOrEqual,
            OrderOperator::Greater => Relation::Greater,
            OrderOperator::GreaterOrEqual => Relation::GreaterOrEqual,
        }
    }
}

impl Expr {
    /// Returns the necessary conditions of the expression, as far as they are plain.
    pub fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        claims.add(&self.inner.root, true);
        claims
    }
}

impl Claims {
    /// Adds the consequences of `node` having the given truth value.
    fn add(&mut self, node: &ExprNode, truth: bool) {
        match (&node.kind, truth) {
            (ExprKind::And(two), true) | (ExprKind::Or(two), false) => {
                self.add(&two[0], truth);
                self.add(&two[1], truth);
            }
            (ExprKind::Not(operand), _) => self.add(operand, !truth),
            (ExprKind::Constant(value), _) => self.never |= (*value == Value::Bool(true)) != truth,
            (ExprKind::Equal(two), _) => self.compare(two, Relation::Equal, truth),
            (ExprKind::NotEqual(two), _) => self.compare(two, Relation::NotEqual, truth),
            (ExprKind::Order(order, two), _) => self.compare(two, Relation::from(*order), truth),
            _ => match subject(node) {
                Some(subject) => {
                    let relation = if truth { Relation::Equal } else { Relation::NotEqual };
                    self.list.push(GuardClaim {
                        subject,
                        relation,
                        operand: Operand::Value(Value::Bool(true)),
                    });
                }
                None => self.more = true,
            },
        }
    }

    fn compare(&mut self, [left, right]: &[ExprNode; 2], relation: Relation, truth: bool) {
        let relation = if truth { relation } else { relation.negated() };
        let claim = match (subject(left), subject(right)) {
            (Some(subject), Some(other)) => {
                Some(GuardClaim { subject, relation, operand: Operand::Subject(other) })
            }
            (Some(subject), None) => claim(subject, relation, right),
            (None, Some(subject)) => claim(subject, relation.flipped(), left),
            (None, None) => None,
        };
        match claim {
            Some(claim) => self.list.push(claim),
            None => self.more = true,
        }
    }
}

fn claim(subject: ClaimSubject, relation: Relation, value: &ExprNode) -> Option<GuardClaim> {
    value.constant().map(|value| GuardClaim { subject, relation, operand: Operand::Value(value.clone()) })
}

pub(super) fn subject(node: &ExprNode) -> Option<ClaimSubject> {
    let root = |root| Some(ClaimSubject { root, path: Vec::new() });
    match &node.kind {
        ExprKind::Slot(slot) => root(SubjectRoot::Context(*slot)),
        ExprKind::Event(EventPart::Type) => root(SubjectRoot::EventType),
        ExprKind::Event(EventPart::Data) => root(SubjectRoot::EventData),
        ExprKind::Input => root(SubjectRoot::Input),
        ExprKind::Field(base, name) => {
            let mut subject = subject(base)?;
            subject.path.push(name.clone());
            Some(subject)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NameResolver, parse};
    use super::*;
    use crate::ids::NodeId;

    /// `context.a`, `context.b`, `context.c` are slots 0, 1 and 2.
    struct LetterSlots;

    impl NameResolver for LetterSlots {
        fn context_key(&self, key: &str) -> Option<Slot> {
            ["a", "b", "c"].iter().position(|name| *name == key).map(|slot| Slot(slot as u32))
        }
        fn context_keys(&self) -> Vec<String> {
            Vec::new()
        }
        fn local(&self, _: &str) -> Option<usize> {
            None
        }
        fn state(&self, _: &str) -> Option<NodeId> {
            Some(NodeId::ROOT)
        }
    }

    fn describe(text: &str) -> String {
        let claims = parse(text).unwrap().resolve(&LetterSlots).unwrap().claims();
        let mut parts: Vec<String> = claims.list.iter().map(describe_claim).collect();
        parts.extend(claims.never.then(|| "never".to_owned()));
        parts.extend(claims.more.then(|| "more".to_owned()));
        parts.join(", ")
    }

    fn describe_claim(claim: &GuardClaim) -> String {
        let operand = match &claim.operand {
            Operand::Value(value) => value.to_json().to_string(),
            Operand::Subject(subject) => describe_subject(subject),
        };
        format!("{} {:?} {operand}", describe_subject(&claim.subject), claim.relation)
    }

    fn describe_subject(subject: &ClaimSubject) -> String {
        let root = match subject.root {
            SubjectRoot::Context(slot) => ["a", "b", "c"][slot.index()].to_owned(),
            root => format!("{root:?}"),
        };
        subject.path.iter().fold(root, |text, part| format!("{text}.{part}"))
    }

    #[test]
    fn an_expression_claims_its_parts() {
        for (text, claims) in [
            ("context.a", "a Equal true"),
            ("not context.a", "a NotEqual true"),
            ("context.a == 1 and 2 < context.b", "a Equal 1, b Greater 2"),
            ("context.a >= context.b", "a GreaterOrEqual b"),
            ("not (context.a == 1 or context.b < 2)", "a NotEqual 1, b GreaterOrEqual 2"),
            ("context.a.x.y != 'z'", "a.x.y NotEqual \"z\""),
            ("event.data.n == 1 and event.type == 'GO'", "EventData.n Equal 1, EventType Equal \"GO\""),
            ("context.a == 1 or context.b", "more"),
            ("context.a == 1 and stateIn('x')", "a Equal 1, more"),
            ("context.a + 1 == 2", "more"),
            ("false", "never"),
            ("true", ""),
        ] {
            assert_eq!(describe(text), claims, "{text}");
        }
    }
}
