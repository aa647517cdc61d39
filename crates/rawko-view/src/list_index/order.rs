//! `ListOrder`: by what a list is sorted, and the position of an instance in it. A page begins after a position, so it is
//! right also if the instance at that position has moved or is gone.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use rawko_host::Spent;
use rawko_store::{InstanceKey, InstanceRow, InstanceStatus, WaitReason};

use super::sums::UsageSum;
use crate::rows::{self, Row, SpentDocument};

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// Start time.
    Created,
    /// Time of the last record.
    Updated,
    /// Title, or the id without one, ignoring case.
    Title,
    /// The outcome of ended instances, the status of others, alphabetically.
    Outcome,
    /// Cost including running children, then tokens.
    Cost,
    /// Number of the last step.
    Steps,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListOrder {
    /// What it is sorted by.
    pub key: SortKey,
    /// True: highest or latest first.
    pub is_descending: bool,
}

/// The value of an instance in an order. All of a list are of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortValue {
    /// A number or a time.
    Whole(i64),
    /// Cost in billionths of a US dollar, and tokens.
    Cost(i64, i64),
    /// A text.
    Text(Arc<str>),
}

impl SortValue {
    /// Returns the value of a row, for lists that are sorted as a whole.
    pub fn of(row: &Row, key: SortKey) -> SortValue {
        let whole = |number: u64| SortValue::Whole(i64::try_from(number).unwrap_or(i64::MAX));
        match key {
            SortKey::Created => SortValue::Whole(row.created_ms),
            SortKey::Updated => SortValue::Whole(row.updated_ms),
            SortKey::Steps => whole(row.step),
            SortKey::Cost => {
                let SpentDocument { tokens, cost_usd, time_ms, tool_calls } = row.spent;
                UsageSum::of(Spent { tokens, cost_usd, time_ms, tool_calls }).cost()
            }
            SortKey::Outcome if row.waiting_for.as_deref() == Some(WaitReason::Person.as_str()) => {
                SortValue::Text(ASKING.into())
            }
            SortKey::Outcome => SortValue::Text(row.status_word().into()),
            SortKey::Title => SortValue::Text(row.title.as_ref().unwrap_or(&row.id).to_lowercase().into()),
        }
    }
}

/// The place of an instance in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortPosition {
    /// The value that it is sorted by.
    pub value: SortValue,
    /// Decides between equal values.
    pub key: InstanceKey,
}

impl ListOrder {
    fn compare(self, one: &SortPosition, other: &SortPosition) -> Ordering {
        if self.is_descending { other.cmp(one) } else { one.cmp(other) }
    }
}

/// A list in its order.
#[derive(Debug)]
pub(super) struct SortedKeys {
    pub(super) positions: Vec<SortPosition>,
}

impl SortedKeys {
    pub(super) fn new(mut positions: Vec<SortPosition>, order: ListOrder) -> SortedKeys {
        positions.sort_unstable_by(|one, other| order.compare(one, other));
        SortedKeys { positions }
    }

    /// Returns the index of the first instance after a position.
    pub(super) fn after(&self, order: ListOrder, position: &SortPosition) -> usize {
        self.positions.partition_point(|it| order.compare(it, position) != Ordering::Greater)
    }
}

/// The word of instances that wait for a person: after all others that wait.
const ASKING: &str = "waiting for a person";

/// Returns the word that a row shows: the outcome, or the status. `is_asking`: it works through others that wait for a person.
pub(super) fn outcome(row: &InstanceRow, is_asking: bool) -> &'static str {
    if is_asking || (row.head.wait == WaitReason::Person && is_waiting(row)) {
        return ASKING;
    }
    match InstanceStatus::of(&row.head, true) {
        InstanceStatus::Ended => rows::outcome(row).map_or("ended", |outcome| outcome.as_str()),
        status => status.as_str(),
    }
}

fn is_waiting(row: &InstanceRow) -> bool {
    InstanceStatus::of(&row.head, true) == InstanceStatus::Waiting
}

impl fmt::Display for SortPosition {
    /// The form in a cursor.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InstanceKey(key) = self.key;
        match &self.value {
            SortValue::Whole(number) => write!(f, "{key} w {number}"),
            SortValue::Cost(cost, tokens) => write!(f, "{key} c {cost} {tokens}"),
            SortValue::Text(text) => write!(f, "{key} t {text}"),
        }
    }
}

impl SortPosition {
    /// Parses the form in a cursor of a list with this order.
    pub fn parse(text: &str, order: ListOrder) -> Option<SortPosition> {
        let mut parts = text.splitn(3, ' ');
        let key = InstanceKey(parts.next()?.parse().ok()?);
        let (kind, rest) = (parts.next()?, parts.next()?);
        let value = match (order.key, kind) {
            (SortKey::Created | SortKey::Updated | SortKey::Steps, "w") => {
                SortValue::Whole(rest.parse().ok()?)
            }
            (SortKey::Cost, "c") => {
                let (cost, tokens) = rest.split_once(' ')?;
                SortValue::Cost(cost.parse().ok()?, tokens.parse().ok()?)
            }
            (SortKey::Title | SortKey::Outcome, "t") => SortValue::Text(rest.into()),
            _ => return None,
        };
        Some(SortPosition { value, key })
    }
}
