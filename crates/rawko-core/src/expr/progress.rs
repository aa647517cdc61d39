//! How expressions bound a loop: conditions that a growing counter or a list that gets shorter makes false, and assignments
//! that let the counter grow or the list get shorter. For proofs that a loop ends (`rawko verify`).

use super::Expr;
use super::ast::Arithmetic;
use super::claims::{Relation, SubjectRoot, subject};
use super::node::{ExprKind, ExprNode};
use crate::ids::Slot;
use crate::value::Value;

/// The size of a context key that a condition limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMeasure {
    /// A number that stays below a limit, as in `context.rounds < 3`.
    Counter,
    /// A list or text that is not empty, as in `length(context.pending) > 0`.
    Length,
}

/// A condition on one context key that does not stay true if the key advances again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBound {
    /// The counter or the list.
    pub slot: Slot,
    /// Its size.
    pub measure: LoopMeasure,
    /// The context key that the limit is read from; `None` for a constant and for the input.
    pub limit: Option<Slot>,
}

/// What an assignment does to the size of a context key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopDrift {
    /// A counter grows by one or more; a list that is not empty gets shorter.
    Advances,
    /// A counter does not get smaller; a list does not get longer.
    Keeps,
    /// Anything else.
    Any,
}

impl Expr {
    /// Returns the bounds that hold where the expression has the given truth value.
    pub fn loop_bounds(&self, truth: bool) -> Vec<LoopBound> {
        let mut bounds = Vec::new();
        add(&self.inner.root, truth, &mut bounds);
        bounds
    }

    /// Returns what assigning the expression to a context key does to its size.
    pub fn loop_drift(&self, slot: Slot, measure: LoopMeasure) -> LoopDrift {
        drift(&self.inner.root, slot, measure)
    }

    /// Returns true if a context key with a whole number still has one, of a size that floating point numbers represent
    /// exactly, after assigning the expression to it; counting as far as that takes too long to happen.
    pub fn keeps_whole(&self, slot: Slot) -> bool {
        keeps_whole(&self.inner.root, slot)
    }

    /// Returns true if the value depends on the event at hand.
    pub fn reads_event(&self) -> bool {
        let mut reads = false;
        self.inner.root.walk(&mut |node| reads |= matches!(node.kind, ExprKind::Event(_)));
        reads
    }
}

fn add(node: &ExprNode, truth: bool, bounds: &mut Vec<LoopBound>) {
    match (&node.kind, truth) {
        (ExprKind::And(two), true) | (ExprKind::Or(two), false) => {
            two.iter().for_each(|part| add(part, truth, bounds));
        }
        (ExprKind::Not(operand), _) => add(operand, !truth, bounds),
        (ExprKind::Order(order, two), _) => compare(two, Relation::from(*order), truth, bounds),
        (ExprKind::Equal(two), _) => compare(two, Relation::Equal, truth, bounds),
        (ExprKind::NotEqual(two), _) => compare(two, Relation::NotEqual, truth, bounds),
        _ => {}
    }
}

fn compare([left, right]: &[ExprNode; 2], relation: Relation, truth: bool, bounds: &mut Vec<LoopBound>) {
    let relation = if truth { relation } else { relation.negated() };
    bounds.extend(bound(left, relation, right));
    bounds.extend(bound(right, relation.flipped(), left));
}

fn bound(one: &ExprNode, relation: Relation, other: &ExprNode) -> Option<LoopBound> {
    match &one.kind {
        ExprKind::Slot(slot) if matches!(relation, Relation::Less | Relation::LessOrEqual) => {
            let limit = match limit(other)? {
                Limit::Fixed => None,
                Limit::Key(key) if key == *slot => return None,
                Limit::Key(key) => Some(key),
            };
            Some(LoopBound { slot: *slot, measure: LoopMeasure::Counter, limit })
        }
        ExprKind::Call(function, arguments) if function.name == "length" => {
            let ExprKind::Slot(slot) = arguments.first()?.kind else { return None };
            let Some(Value::Int(length)) = other.constant() else { return None };
            let is_nonempty = match relation {
                Relation::Greater => *length >= 0,
                Relation::GreaterOrEqual | Relation::Equal => *length >= 1,
                Relation::NotEqual => *length == 0,
                Relation::Less | Relation::LessOrEqual => false,
            };
            is_nonempty.then_some(LoopBound { slot, measure: LoopMeasure::Length, limit: None })
        }
        _ => None,
    }
}

/// Where a limit is read from.
enum Limit {
    Fixed,
    Key(Slot),
}

/// Returns where a limit is read from; `None` if it may be another one each time.
fn limit(node: &ExprNode) -> Option<Limit> {
    if let Some(value) = node.constant() {
        return value.as_f64().map(|_| Limit::Fixed);
    }
    match subject(node)?.root {
        SubjectRoot::Context(slot) => Some(Limit::Key(slot)),
        SubjectRoot::Input => Some(Limit::Fixed),
        SubjectRoot::EventType | SubjectRoot::EventData => None,
    }
}

fn drift(node: &ExprNode, slot: Slot, measure: LoopMeasure) -> LoopDrift {
    let is_it = |node: &ExprNode| matches!(node.kind, ExprKind::Slot(of) if of == slot);
    let is_positive = |node: &ExprNode| matches!(node.constant(), Some(Value::Int(1..)));
    match (&node.kind, measure) {
        _ if is_it(node) => LoopDrift::Keeps,
        (ExprKind::Arithmetic(Arithmetic::Add, two), LoopMeasure::Counter)
            if (is_it(&two[0]) && is_positive(&two[1])) || (is_it(&two[1]) && is_positive(&two[0])) =>
        {
            LoopDrift::Advances
        }
        (ExprKind::Constant(Value::List(items)), LoopMeasure::Length) if items.is_empty() => {
            LoopDrift::Advances
        }
        (ExprKind::List(items), LoopMeasure::Length) if items.is_empty() => LoopDrift::Advances,
        (ExprKind::Call(function, arguments), LoopMeasure::Length)
            if function.name == "slice" && arguments.first().is_some_and(is_it) =>
        {
            let drops = arguments.get(1).is_some_and(is_positive);
            if drops { LoopDrift::Advances } else { LoopDrift::Keeps }
        }
        (ExprKind::Conditional(three), _) => {
            match (drift(&three[1], slot, measure), drift(&three[2], slot, measure)) {
                (LoopDrift::Any, _) | (_, LoopDrift::Any) => LoopDrift::Any,
                (LoopDrift::Advances, LoopDrift::Advances) => LoopDrift::Advances,
                _ => LoopDrift::Keeps,
            }
        }
        _ => LoopDrift::Any,
    }
}

/// Constants that a counter is set to.
const WHOLE_MAX: u64 = 1 << 53;
/// What one round adds.
const STEP_MAX: i64 = 1_000_000;

fn keeps_whole(node: &ExprNode, slot: Slot) -> bool {
    let is_it = |node: &ExprNode| matches!(node.kind, ExprKind::Slot(of) if of == slot);
    let is_step = |node: &ExprNode| matches!(node.constant(), Some(Value::Int(0..=STEP_MAX)));
    if let Some(value) = node.constant() {
        return matches!(value, Value::Int(number) if number.unsigned_abs() <= WHOLE_MAX);
    }
    match &node.kind {
        ExprKind::Arithmetic(Arithmetic::Add, two) => {
            (is_it(&two[0]) && is_step(&two[1])) || (is_it(&two[1]) && is_step(&two[0]))
        }
        ExprKind::Conditional(three) => keeps_whole(&three[1], slot) && keeps_whole(&three[2], slot),
        _ => is_it(node),
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

    fn expr(text: &str) -> Expr {
        parse(text).unwrap().resolve(&LetterSlots).unwrap()
    }

    #[test]
    fn conditions_that_an_advance_ends() {
        let shown = |text: &str, truth: bool| {
            let bounds = expr(text).loop_bounds(truth);
            let one = |bound: &LoopBound| {
                let limit = bound.limit.map_or(String::new(), |slot| format!(" of {}", slot.0));
                format!("{:?} {}{limit}", bound.measure, bound.slot.0)
            };
            bounds.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        for (text, truth, expected) in [
            ("context.a < 3", true, "Counter 0"),
            ("context.a >= 3", false, "Counter 0"),
            ("context.a < 3", false, ""),
            ("context.a > 3", true, ""),
            ("3 >= context.a", true, "Counter 0"),
            ("context.a <= context.b", true, "Counter 0 of 1"),
            ("context.a >= context.b.max", false, "Counter 0 of 1"),
            ("context.a < context.a.b", true, ""),
            ("context.a < event.data.n", true, ""),
            ("context.a < input.n", true, "Counter 0"),
            ("context.a < context.b + 1", true, ""),
            ("length(context.a) > 0 and context.b < 2", true, "Length 0, Counter 1"),
            ("length(context.a) > 0 or context.b < 2", true, ""),
            ("length(context.a) == 0 or context.b >= 2", false, "Length 0, Counter 1"),
            ("not (length(context.a) == 0)", true, "Length 0"),
            ("length(context.a) != 0", true, "Length 0"),
            ("length(context.a) >= 0", true, ""),
            ("length(context.a) < 5", true, ""),
        ] {
            assert_eq!(shown(text, truth), expected, "{text} {truth}");
        }
    }

    #[test]
    fn assignments_that_advance() {
        use LoopDrift::{Advances, Any, Keeps};
        use LoopMeasure::{Counter, Length};
        for (text, measure, expected) in [
            ("context.a + 1", Counter, Advances),
            ("2 + context.a", Counter, Advances),
            ("context.a + 0", Counter, Any),
            ("context.a - 1", Counter, Any),
            ("context.b + 1", Counter, Any),
            ("context.a", Counter, Keeps),
            ("context.c ? context.a : context.a + 1", Counter, Keeps),
            ("context.c ? 0 : context.a + 1", Counter, Any),
            ("slice(context.a, 1)", Length, Advances),
            ("slice(context.a, 0, 5)", Length, Keeps),
            ("slice(context.a, context.b)", Length, Keeps),
            ("slice(context.b, 1)", Length, Any),
            ("[]", Length, Advances),
            ("[1]", Length, Any),
            ("append(context.a, 1)", Length, Any),
            ("context.a + 1", Length, Any),
        ] {
            assert_eq!(expr(text).loop_drift(Slot(0), measure), expected, "{text}");
        }
    }

    #[test]
    fn assignments_that_keep_a_whole_number() {
        for (text, expected) in [
            ("context.a", true),
            ("0", true),
            ("context.a + 1", true),
            ("context.b ? 0 : 1 + context.a", true),
            ("context.a + 0.5", false),
            ("context.a + 9000000000000000000", false),
            ("9007199254740993", false),
            ("-1e300", false),
            ("1.0", false),
            ("context.b", false),
            ("context.b ? context.c : context.a + 1", false),
            ("max(context.a + 1, context.b)", false),
            ("context.a - 1", false),
            ("event.data.n", false),
        ] {
            assert_eq!(expr(text).keeps_whole(Slot(0)), expected, "{text}");
        }
        assert!(expr("context.a + event.data.n").reads_event());
        assert!(!expr("context.a + input.n").reads_event());
    }
}
