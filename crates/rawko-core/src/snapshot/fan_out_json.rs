//! Fan-outs as JSON: whole in a snapshot, and as the items that changed in the record of a step. Ten thousand answers
//! must not write ten thousand lists.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fan_out::{FanOut, ItemAttempt, ItemState};
use super::json::read_invoke;
use super::{SnapshotError, json};
use crate::chart::Chart;
use crate::value::Value;

#[derive(Serialize, Deserialize)]
pub(super) struct SavedFanOut {
    id: u64,
    invoke: Arc<str>,
    state: Arc<str>,
    first: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<u64>,
    list: Value,
    next: u32,
    /// The items up to the last one that does not wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    items: Vec<SavedItem>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedItem {
    Waiting,
    Running {
        attempt: u32,
        src: Arc<str>,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
    },
    Done(Value),
    Error(Value),
    Stopped,
}

/// The changes of a step to all fan-outs.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct FanOutChanges {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    new: Vec<SavedFanOut>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed: Vec<ItemChanges>,
}

#[derive(Serialize, Deserialize)]
struct ItemChanges {
    id: u64,
    next: u32,
    items: Vec<(u32, SavedItem)>,
}

pub(super) fn save_fan_out(fan_out: &FanOut, chart: &Chart) -> SavedFanOut {
    let mut items: Vec<SavedItem> = fan_out.items.iter().map(save_item).collect();
    while items.last().is_some_and(|item| matches!(item, SavedItem::Waiting)) {
        items.pop();
    }
    SavedFanOut {
        id: fan_out.id,
        invoke: Arc::clone(&chart.tables.invoke(fan_out.invoke).id),
        state: Arc::clone(&chart.node(fan_out.node).path),
        first: fan_out.first,
        earlier: fan_out.earlier,
        list: Value::List(Arc::clone(&fan_out.list)),
        next: fan_out.next,
        items,
    }
}

pub(super) fn read_fan_out(saved: SavedFanOut, chart: &Chart) -> Result<FanOut, SnapshotError> {
    let (node, invoke) = read_invoke(&saved.state, &saved.invoke, chart)?;
    let Value::List(list) = saved.list else {
        return Err(SnapshotError::Malformed("the list of an `each` is not a list".into()));
    };
    if chart.tables.invoke(invoke).each.is_none() {
        return Err(json::unknown("each", &saved.invoke, chart));
    }
    let mut items: Vec<ItemState> = saved.items.into_iter().map(read_item).collect();
    items.resize(list.len(), ItemState::Waiting);
    let fan_out = FanOut::new(saved.id, invoke, node, saved.first, list);
    Ok(FanOut { earlier: saved.earlier, next: saved.next, ..fan_out }.with_items(items))
}

fn save_item(state: &ItemState) -> SavedItem {
    match state {
        ItemState::Waiting => SavedItem::Waiting,
        ItemState::Running(running) => SavedItem::Running {
            attempt: running.attempt,
            src: Arc::clone(&running.src),
            input: running.input.clone(),
        },
        ItemState::Done(data) => SavedItem::Done(data.clone()),
        ItemState::Failed(error) => SavedItem::Error(error.clone()),
        ItemState::Stopped => SavedItem::Stopped,
    }
}

fn read_item(saved: SavedItem) -> ItemState {
    match saved {
        SavedItem::Waiting => ItemState::Waiting,
        SavedItem::Running { attempt, src, input } => {
            ItemState::Running(Box::new(ItemAttempt { attempt, src, input }))
        }
        SavedItem::Done(data) => ItemState::Done(data),
        SavedItem::Error(error) => ItemState::Failed(error),
        SavedItem::Stopped => ItemState::Stopped,
    }
}

pub(super) fn fan_out_changes(before: &[FanOut], after: &[FanOut], chart: &Chart) -> Option<FanOutChanges> {
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let mut changes = FanOutChanges::default();
    let is_same = |one: &FanOut, other: &FanOut| one.id == other.id && one.first == other.first;
    for old in before {
        if !after.iter().any(|new| is_same(new, old)) {
            changes.gone.push(old.id);
        }
    }
    for new in after {
        let Some(old) = before.iter().find(|old| is_same(new, old)) else {
            changes.new.push(save_fan_out(new, chart));
            continue;
        };
        let items = new.items.changed_since(&old.items);
        let items: Vec<(u32, SavedItem)> =
            items.map(|(index, state)| (index as u32, save_item(state))).collect();
        if !items.is_empty() || new.next != old.next {
            changes.changed.push(ItemChanges { id: new.id, next: new.next, items });
        }
    }
    let nothing = changes.gone.is_empty() && changes.new.is_empty() && changes.changed.is_empty();
    (!nothing).then_some(changes)
}

impl FanOutChanges {
    pub(super) fn apply(self, fan_outs: &mut Vec<FanOut>, chart: &Chart) -> Result<(), SnapshotError> {
        fan_outs.retain(|known| !self.gone.contains(&known.id));
        for new in self.new {
            fan_outs.push(read_fan_out(new, chart)?);
        }
        for ItemChanges { id, next, items } in self.changed {
            let Some(known) = fan_outs.iter_mut().find(|known| known.id == id) else {
                return Err(SnapshotError::Malformed(format!("there is no `each` {id}")));
            };
            known.next = next;
            for (index, item) in items {
                known.set(index, read_item(item));
            }
        }
        Ok(())
    }
}
