//! Guards that can never hold: constant ones, and those with contradictory parts. Only plain comparisons are analysed;
//! anything else is not reported.

use rawko_core::expr::{ClaimSubject, Claims, GuardClaim, Operand, Relation, SubjectRoot};
use rawko_core::{Guard, Slot, Value};

use super::index::{ChartIndex, TransitionEdge};
use super::words;
use crate::codes::GUARD_ALWAYS_FALSE;
use crate::finding::Finding;

/// Limit for pairwise comparison; guards with more claims are not analysed.
const CLAIMS_MAX: usize = 64;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    for edge in &index.edges {
        if let Some(guard) = &edge.spec.guard
            && let Some(why) = why_never(guard)
        {
            findings.push(finding(index, edge, guard, why));
        }
    }
}

/// Returns true if a guard holds for all data.
pub(crate) fn always_true(guard: &Guard) -> bool {
    guard.expr.constant() == Some(Value::Bool(true))
}

fn why_never(guard: &Guard) -> Option<&'static str> {
    // Null stands for an invalid guard, which has already been reported.
    if guard.expr.constant().is_some_and(|value| value.is_null()) {
        return None;
    }
    let claims = guard.expr.claims();
    if claims.never {
        Some("always false")
    } else {
        contradict(&claims.list).then_some("its parts exclude each other")
    }
}

fn finding(index: &ChartIndex<'_>, edge: &TransitionEdge<'_>, guard: &Guard, why: &str) -> Finding {
    GUARD_ALWAYS_FALSE
        .at(
            index.guard_span(edge),
            format!(
                "guard `{}` of {} in `{}` can never hold",
                guard.text,
                index.trigger_text(edge),
                index.path(edge.source)
            ),
        )
        .label(why)
        .help("correct the guard, or remove the transition")
}

/// Returns the context keys read by guards that can all hold together; `None` if they cannot, or if they read more.
pub(crate) fn joint_reads(guards: &[&Guard]) -> Option<Vec<Slot>> {
    let mut all: Vec<GuardClaim> = Vec::new();
    for guard in guards {
        let Claims { list, never, more } = guard.expr.claims();
        if never || more {
            return None;
        }
        all.extend(list);
    }
    let slots = all.iter().flat_map(subjects).map(|subject| match subject.root {
        SubjectRoot::Context(slot) => Some(slot),
        // The event stays bound during eventless steps, and input never changes.
        SubjectRoot::EventType | SubjectRoot::EventData | SubjectRoot::Input => None,
    });
    let slots = slots.flatten().collect();
    (!contradict(&all)).then_some(slots)
}

fn subjects(claim: &GuardClaim) -> impl Iterator<Item = &ClaimSubject> {
    let other = match &claim.operand {
        Operand::Subject(other) => Some(other),
        Operand::Value(_) => None,
    };
    std::iter::once(&claim.subject).chain(other)
}

/// Returns true if the guard holds when a count has reached a limit: `context.tries >= context.max_tries`.
pub(crate) fn reaches_limit(index: &ChartIndex<'_>, guard: &Guard) -> bool {
    guard.expr.claims().list.iter().any(|claim| {
        let Operand::Subject(other) = &claim.operand else { return false };
        let limit = match claim.relation {
            Relation::Greater | Relation::GreaterOrEqual => other,
            Relation::Less | Relation::LessOrEqual => &claim.subject,
            Relation::Equal | Relation::NotEqual => return false,
        };
        words::sound_like_limit(last_name(index, limit))
    })
}

fn last_name<'s>(index: &'s ChartIndex<'_>, subject: &'s ClaimSubject) -> &'s str {
    if let Some(name) = subject.path.last() {
        return name;
    }
    match subject.root {
        SubjectRoot::Context(slot) => {
            index.lowered.blueprint.context.get(slot.index()).map(|key| &*key.name).unwrap_or_default()
        }
        SubjectRoot::EventType | SubjectRoot::EventData | SubjectRoot::Input => "",
    }
}

/// Returns true if no data can satisfy all claims. Compares the claims of each subject pairwise.
fn contradict(claims: &[GuardClaim]) -> bool {
    let claims = &claims[..claims.len().min(CLAIMS_MAX)];
    claims.iter().enumerate().any(|(number, claim)| {
        against_itself(claim) || claims[..number].iter().any(|other| exclude(claim, other))
    })
}

fn against_itself(claim: &GuardClaim) -> bool {
    matches!(&claim.operand, Operand::Subject(other) if *other == claim.subject)
        && orders(claim.relation) & EQUAL == 0
}

const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;

/// Returns the possible orderings of two values under a relation.
fn orders(relation: Relation) -> u8 {
    match relation {
        Relation::Equal => EQUAL,
        Relation::NotEqual => LESS | GREATER,
        Relation::Less => LESS,
        Relation::LessOrEqual => LESS | EQUAL,
        Relation::Greater => GREATER,
        Relation::GreaterOrEqual => GREATER | EQUAL,
    }
}

fn exclude(a: &GuardClaim, b: &GuardClaim) -> bool {
    match (&a.operand, &b.operand) {
        (Operand::Subject(x), Operand::Subject(y)) if a.subject == b.subject && x == y => {
            orders(a.relation) & orders(b.relation) == 0
        }
        (Operand::Subject(x), Operand::Subject(y)) if a.subject == *y && *x == b.subject => {
            orders(a.relation) & orders(b.relation.flipped()) == 0
        }
        (Operand::Value(x), Operand::Value(y)) if a.subject == b.subject => {
            exclude_values((a.relation, x), (b.relation, y))
        }
        _ => false,
    }
}

/// Returns true if no value satisfies both relations. Ranges are compared for numbers only.
fn exclude_values((a, x): (Relation, &Value), (b, y): (Relation, &Value)) -> bool {
    if a == Relation::Equal && b == Relation::Equal {
        return x != y;
    }
    if matches!((a, b), (Relation::Equal, Relation::NotEqual) | (Relation::NotEqual, Relation::Equal)) {
        return x == y;
    }
    let (Some(x), Some(y)) = (x.as_f64(), y.as_f64()) else { return false };
    // A value below `y` by `b` and above `x` by `a` needs room between them; likewise the other way round.
    let no_room = |low: f64, low_relation, high: f64, high_relation| {
        low > high || (low == high && orders(low_relation) & orders(high_relation) & EQUAL == 0)
    };
    let (bounds_below, bounds_above) = (|r| orders(r) & LESS == 0, |r| orders(r) & GREATER == 0);
    (bounds_below(a) && bounds_above(b) && no_room(x, a, y, b))
        || (bounds_below(b) && bounds_above(a) && no_room(y, b, x, a))
}
