//! `InstanceRows`: the rows of all instances in memory, in the order of lists. Kept up to date by the entries of the index.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rawko_store::{Filter, InstanceKey, InstancePage, InstanceRow};

use crate::layout::StoredRow;

/// The place of an instance in lists: by its start, since keys are hashes of ids.
type Age = (i64, InstanceKey);

#[derive(Default)]
pub(super) struct InstanceRows {
    by_age: BTreeMap<Age, StoredRow>,
    ages: HashMap<InstanceKey, Age>,
    children: HashMap<Arc<str>, Vec<Age>>,
}

impl FromIterator<StoredRow> for InstanceRows {
    fn from_iter<T: IntoIterator<Item = StoredRow>>(rows: T) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|row| all.put(row));
        all
    }
}

impl InstanceRows {
    /// Adds a row, or replaces an earlier one.
    pub(super) fn put(&mut self, row: StoredRow) {
        let age = (row.new.created_ms, row.key);
        if self.ages.insert(row.key, age).is_none()
            && let Some(parent) = &row.new.parent
        {
            let children = self.children.entry(Arc::clone(&parent.id)).or_default();
            let at = children.partition_point(|other| *other < age);
            children.insert(at, age);
        }
        self.by_age.insert(age, row);
    }

    pub(super) fn row(&self, key: InstanceKey) -> Option<&StoredRow> {
        self.by_age.get(self.ages.get(&key)?)
    }

    pub(super) fn id(&self, key: InstanceKey) -> Option<Arc<str>> {
        self.row(key).map(|row| Arc::clone(&row.new.id))
    }

    /// Returns all rows, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &StoredRow> {
        self.by_age.values()
    }

    /// Returns the children of an instance, oldest first.
    pub(super) fn children(&self, id: &str) -> Vec<InstanceRow> {
        let ages = self.children.get(id).map_or(&[][..], Vec::as_slice);
        ages.iter().filter_map(|age| self.by_age.get(age)).cloned().map(InstanceRow::from).collect()
    }

    /// Returns one page of rows, newest first.
    pub(super) fn page(&self, filter: &Filter) -> InstancePage {
        // The end of the last page, even if that instance no longer matches.
        let before = filter.before.and_then(|key| self.ages.get(&key));
        let limit = if filter.limit == 0 { usize::MAX } else { filter.limit };
        let mut page = InstancePage::default();
        let mut last = None;
        for (age, row) in self.by_age.iter().rev().filter(|(_, row)| matches(row, filter)) {
            page.total += 1;
            if before.is_some_and(|before| age >= before) {
                continue;
            }
            if page.rows.len() < limit {
                last = Some(row.key);
                page.rows.push(row.clone().into());
            } else {
                page.next = last;
            }
        }
        page
    }
}

fn matches(row: &StoredRow, filter: &Filter) -> bool {
    (filter.statuses.is_empty() || filter.statuses.contains(&row.head.status))
        && (filter.waits.is_empty() || filter.waits.contains(&row.head.wait))
        && (filter.outcomes.is_empty()
            || row.head.outcome.is_some_and(|outcome| filter.outcomes.contains(&outcome)))
        && filter.shows(&row.new, &row.head)
        && filter.chart.as_deref().is_none_or(|chart| chart == &*row.new.chart_id)
        && !filter.except.iter().any(|chart| **chart == *row.new.chart_id)
        && !(filter.roots_only && row.new.parent.is_some())
        && filter.part.as_deref().is_none_or(|part| has_part(&row.new.id, part))
}

fn has_part(id: &str, part: &str) -> bool {
    id.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use rawko_store::{Head, NewInstance, ParentInvocation};

    use super::*;
    use crate::layout::instance_key;

    fn row(id: &str, created_ms: i64, parent: Option<&str>) -> StoredRow {
        let parent = parent.map(|parent| ParentInvocation {
            id: parent.into(),
            invocation: 0,
            invoke: "run".into(),
            generation: 1,
        });
        let new = NewInstance {
            id: id.into(),
            chart: [7; 16],
            chart_id: "order".into(),
            version: "1.0.0".into(),
            parent,
            origin: None,
            created_ms,
            policy: "".into(),
        };
        let (head, key) = (Head::default(), instance_key(id));
        StoredRow { updated_ms: created_ms, key, new, head, step: 0, records: 1, audit: 0, to_itself: 0 }
    }

    fn ids(rows: &[InstanceRow]) -> Vec<&str> {
        rows.iter().map(|row| &*row.new.id).collect()
    }

    #[test]
    fn pages_are_newest_first_and_each_instance_is_on_one() {
        let all = [("c", 3), ("a", 1), ("b", 2), ("a", 1)];
        let rows: InstanceRows = all.into_iter().map(|(id, at)| row(id, at, None)).collect();
        let first = rows.page(&Filter { limit: 2, ..Filter::default() });
        assert_eq!((ids(&first.rows), first.total), (vec!["c", "b"], 3));
        let second = rows.page(&Filter { limit: 2, before: first.next, ..Filter::default() });
        assert_eq!((ids(&second.rows), second.total, second.next), (vec!["a"], 3, None));
        let exact = rows.page(&Filter { limit: 3, ..Filter::default() });
        assert_eq!(exact.next, None);
        assert_eq!(rows.id(instance_key("b")).as_deref(), Some("b"));
    }

    #[test]
    fn children_are_those_of_one_parent() {
        let all = [row("a.2", 5, Some("a")), row("a", 1, None), row("a.1", 4, Some("a")), row("b", 2, None)];
        let mut rows: InstanceRows = all.into_iter().collect();
        rows.put(row("a.2", 5, Some("a")));
        assert_eq!(ids(&rows.children("a")), ["a.1", "a.2"]);
        assert_eq!(ids(&rows.page(&Filter { roots_only: true, ..Filter::default() }).rows), ["b", "a"]);
    }
}
