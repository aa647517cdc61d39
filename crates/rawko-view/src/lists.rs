//! `ListPage`: a page of instances whose filters agree with the rows. An instance that works only through children that wait
//! for a person is shown as waiting for that person; the store knows only the instance itself. Apart from the rows,
//! because filters, pages and counts need it, too.

use std::collections::HashMap;

use rawko_host::SnapshotReader;
use rawko_store::{Filter, InstanceKey, InstancePage, InstanceRow, InstanceStatus, StoreError, WaitReason};

use crate::list_index::{Corrections, ListIndex, ListOrder, SortKey, SortPosition, SortedPage};
use crate::rows::asking_below;

/// Requests of children that a list considers.
pub(crate) const ASKING_MAX: usize = 1_000;
/// Generations of ancestors that a list considers.
pub(crate) const GENERATIONS_MAX: u32 = 16;

/// An instance with a descendant that waits for a person.
#[derive(Clone, Debug)]
pub struct AskingAncestor {
    /// The instance.
    pub row: InstanceRow,
    /// True if everything else below it waits for a person, too: then it is shown as waiting.
    pub is_waiting: bool,
}

/// Returns the page of [`rawko_store::Store::list`], with the statuses and waits of [`crate::rows::Row`].
pub fn page(reader: &SnapshotReader, filter: &Filter) -> Result<InstancePage, StoreError> {
    let mut page = reader.store().list(filter)?;
    let Some(StatusDifference { missing, surplus }) = difference(reader, filter)? else { return Ok(page) };
    page.total = page.total.saturating_sub(surplus.len() as u64).saturating_add(missing.len() as u64);
    page.rows.retain(|row| !surplus.contains(&row.key));
    page.rows.extend(missing.into_iter().filter(|row| filter.before.is_none_or(|before| row.key < before)));
    page.rows.sort_by_key(|row| std::cmp::Reverse(row.key));
    if filter.limit > 0 && page.rows.len() > filter.limit {
        page.rows.truncate(filter.limit);
        page.next = page.rows.last().map(|row| row.key);
    }
    Ok(page)
}

/// Returns the same list in another order, over all pages.
pub fn sorted_page(
    reader: &SnapshotReader,
    index: &ListIndex,
    filter: &Filter,
    (order, after): (ListOrder, Option<&SortPosition>),
) -> Result<SortedPage, StoreError> {
    let StatusDifference { missing, surplus } = difference(reader, filter)?.unwrap_or_default();
    let asking = match order.key {
        SortKey::Outcome => {
            let any =
                Filter { statuses: Vec::new(), shown: Vec::new(), outcomes: Vec::new(), ..filter.clone() };
            ancestors(reader, &any)?.into_iter().filter(|it| it.is_waiting).map(|it| it.row.key).collect()
        }
        SortKey::Created | SortKey::Updated | SortKey::Title | SortKey::Cost | SortKey::Steps => Vec::new(),
    };
    let added = missing.into_iter().map(|row| row.key).collect();
    let corrections = Corrections { added, removed: surplus, asking };
    index.page(reader, filter, order, after, &corrections)
}

/// The difference between the list of a store and the one with the statuses that people see.
#[derive(Debug, Default)]
struct StatusDifference {
    missing: Vec<InstanceRow>,
    surplus: Vec<InstanceKey>,
}

fn difference(reader: &SnapshotReader, filter: &Filter) -> Result<Option<StatusDifference>, StoreError> {
    let shows = |status: InstanceStatus| filter.shown.is_empty() || filter.shown.contains(&status);
    let waits = |wait: WaitReason| filter.waits.is_empty() || filter.waits.contains(&wait);
    let by_status = shows(InstanceStatus::Running) != shows(InstanceStatus::Waiting);
    // Without a chart, the list has the descendants themselves.
    let by_person = filter.waits == [WaitReason::Person] && filter.chart.is_some();
    if !by_status && !by_person {
        return Ok(None);
    }
    let mut ancestors = ancestors(reader, filter)?;
    // What no host moves waits for one, also in the store.
    ancestors.retain(|it| filter.driven.includes(&it.row.new));
    let mut surplus = Vec::new();
    if by_status && shows(InstanceStatus::Running) && waits(WaitReason::Work) {
        surplus.extend(ancestors.iter().filter(|it| it.is_waiting).map(|it| it.row.key));
    }
    let is_missing = |it: &AskingAncestor| match it.is_waiting {
        true => shows(InstanceStatus::Waiting) && waits(WaitReason::Person),
        false => by_person && shows(InstanceStatus::Running),
    };
    let missing = ancestors.into_iter().filter(is_missing).map(|it| it.row).collect();
    Ok(Some(StatusDifference { missing, surplus }))
}

/// Returns the instances that match the filter except for its statuses and waits, and work through a descendant that waits
/// for a person.
pub fn ancestors(reader: &SnapshotReader, filter: &Filter) -> Result<Vec<AskingAncestor>, StoreError> {
    let store = reader.store();
    let people = Filter { waits: vec![WaitReason::Person], limit: ASKING_MAX, ..Filter::default() };
    let mut known: HashMap<String, Option<InstanceRow>> = HashMap::new();
    for asking in store.list(&people)?.rows {
        let mut above = asking.new.parent.map(|parent| parent.id.to_string());
        for _ in 0..GENERATIONS_MAX {
            let Some(id) = above.take().filter(|id| !known.contains_key(id)) else { break };
            let row = store.find(&id)?;
            above = row.as_ref().and_then(|row| row.new.parent.as_ref()).map(|parent| parent.id.to_string());
            known.insert(id, row);
        }
    }
    let mut found: Vec<InstanceRow> = known.into_values().flatten().collect();
    found.retain(|row| is_running(row) && matches(row, filter));
    found.sort_by_key(|row| std::cmp::Reverse(row.key));
    Ok(found
        .into_iter()
        .map(|row| {
            let is_waiting = asking_below(reader, &row.new.id, GENERATIONS_MAX).is_some();
            AskingAncestor { row, is_waiting }
        })
        .collect())
}

fn is_running(row: &InstanceRow) -> bool {
    row.head.wait == WaitReason::Work && InstanceStatus::of(&row.head, true) == InstanceStatus::Running
}

/// The part of a filter that is about an instance's place, chart and id.
fn matches(row: &InstanceRow, filter: &Filter) -> bool {
    let chart = &*row.new.chart_id;
    let id = row.new.id.to_ascii_lowercase();
    filter.chart.as_deref().is_none_or(|wanted| wanted == chart)
        && filter.except.iter().all(|other| other != chart)
        && filter.part.as_ref().is_none_or(|part| id.contains(&part.to_ascii_lowercase()))
        && (!filter.roots_only || row.new.parent.is_none())
        && filter.outcomes.is_empty()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rawko_store::{Commit, Head, MemoryStore, NewInstance, ParentInvocation, Store};

    use super::*;

    /// `task` asks through an agent, `busy` has another agent that works, `other` asks by itself, `idle` waits for an event.
    fn reader() -> SnapshotReader {
        let store = MemoryStore::new();
        let instances: [(&str, Option<&str>, &str, WaitReason); 7] = [
            ("task", None, "rawko", WaitReason::Work),
            ("task.a", Some("task"), "agent", WaitReason::Person),
            ("busy", None, "rawko", WaitReason::Work),
            ("busy.a", Some("busy"), "agent", WaitReason::Person),
            ("busy.b", Some("busy"), "agent", WaitReason::Work),
            ("other", None, "order", WaitReason::Person),
            ("idle", None, "rawko", WaitReason::Event),
        ];
        for (at, (id, parent, chart, wait)) in instances.into_iter().enumerate() {
            let parent = parent.map(|parent| ParentInvocation {
                id: parent.into(),
                invocation: 0,
                invoke: "run".into(),
                generation: 1,
            });
            let new = NewInstance {
                id: id.into(),
                chart: [7; 16],
                chart_id: chart.into(),
                version: "1.0.0".into(),
                parent,
                origin: None,
                created_ms: 1_000,
                policy: "".into(),
            };
            let key = InstanceKey(i64::try_from(at).unwrap() + 1);
            let head = Some(Box::new(Head { wait, ..Head::default() }));
            let commit = Commit { instance: key, create: Some(Box::new(new)), head, ..Commit::default() };
            store.commit(&[commit]).unwrap();
        }
        SnapshotReader::new(Arc::new(store))
    }

    #[test]
    fn filters_agree_with_what_the_rows_show() {
        let reader = reader();
        let roots = || Filter { roots_only: true, ..Filter::default() };
        let of_tasks = || Filter { chart: Some("rawko".to_owned()), ..Filter::default() };
        let person = || vec![WaitReason::Person];
        let waiting = |waits| Filter { shown: vec![InstanceStatus::Waiting], waits, ..roots() };
        let table: [(&str, Filter, &[&str]); 10] = [
            ("all", roots(), &["idle", "other", "busy", "task"]),
            ("running", Filter { shown: vec![InstanceStatus::Running], ..roots() }, &["busy"]),
            (
                "waiting",
                Filter { shown: vec![InstanceStatus::Waiting], ..roots() },
                &["idle", "other", "task"],
            ),
            (
                "first",
                Filter { shown: vec![InstanceStatus::Waiting], limit: 2, ..roots() },
                &["idle", "other"],
            ),
            (
                "second",
                Filter {
                    shown: vec![InstanceStatus::Waiting],
                    limit: 2,
                    before: Some(InstanceKey(6)),
                    ..roots()
                },
                &["task"],
            ),
            ("requests", Filter { waits: person(), ..Filter::default() }, &["other", "busy.a", "task.a"]),
            ("tasks with requests", Filter { waits: person(), ..of_tasks() }, &["busy", "task"]),
            ("waiting for an event", waiting(vec![WaitReason::Event]), &["idle"]),
            (
                "tasks that ask and wait",
                Filter { shown: vec![InstanceStatus::Waiting], waits: person(), ..of_tasks() },
                &["task"],
            ),
            (
                "tasks that ask and run",
                Filter { shown: vec![InstanceStatus::Running], waits: person(), ..of_tasks() },
                &["busy"],
            ),
        ];
        for (name, filter, expected) in table {
            let page = page(&reader, &filter).unwrap();
            let ids: Vec<&str> = page.rows.iter().map(|row| &*row.new.id).collect();
            assert_eq!(ids, expected, "{name}");
            if filter.limit == 0 {
                assert_eq!(page.total, expected.len() as u64, "{name}");
            } else {
                assert_eq!((page.total, page.next.is_some()), (3, name == "first"), "{name}");
            }
        }
    }
}
