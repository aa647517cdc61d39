//! Everything that a store holds about a family of instances, as text to compare: records, audit, open effects, heads.

use std::fmt::Write as _;
use std::sync::Arc;

use rawko_store::{Filter, InstanceRow, OpenEffect, Store, content};
use serde_json::Value as Json;

use crate::player::{ID, Member};

/// Returns the journal of an instance and its descendants, with `simulated` as the id of the root.
pub(crate) fn of(store: &dyn Store, root: &str) -> String {
    let mut text = String::new();
    let mut rows = rows_of(store, root);
    rows.sort_by(|one, other| one.new.id.cmp(&other.new.id));
    let plain = |packed: &str| {
        let text = content::unpack(packed, &mut |hash| store.blob(hash)).unwrap();
        // Reprints JSON, so that whitespace does not differ between drivers. Keeps the order of keys.
        serde_json::from_str::<Json>(&text).map_or(text, |json| json.to_string())
    };
    for row in rows {
        let (new, head) = (&row.new, &row.head);
        let parent = new.parent.as_ref().map(|parent| (&parent.id, &parent.invoke));
        writeln!(text, "{} of {} parent {parent:?}: {head:?}", new.id, new.chart_id).unwrap();
        for record in store.records(row.key, 0, usize::MAX).unwrap() {
            let (event, delta) = (plain(&record.event), plain(&record.delta));
            let effects = plain(&record.effects);
            let (step, at_ms, kind) = (record.step, record.at_ms, record.kind);
            writeln!(text, "  {step} {at_ms} {kind:?} {event} {delta} → {effects}").unwrap();
        }
        for effect in store.open_effects(Some(row.key)).unwrap() {
            let (kind, key) = (effect.kind.as_str(), &effect.idempotency);
            writeln!(text, "  open {kind} {} {key} {:?}", effect.name, effect.due_ms).unwrap();
        }
        // Calls that run side by side end in any order; each one's lines are in theirs. Where a service comes from differs
        // by driver, everything else of a line does not.
        let mut audit = store.audit(Some(&new.id), usize::MAX).unwrap();
        audit.sort_by(|one, other| (one.at_ms, &one.effect).cmp(&(other.at_ms, &other.effect)));
        for line in audit {
            let (effect, service) = (&line.effect, &line.service);
            let (decision, reason) = (&line.decision, &line.reason);
            writeln!(text, "  audit {} {effect} {service} {decision} {reason}", line.at_ms).unwrap();
        }
    }
    if root == ID { text } else { text.replace(root, ID) }
}

/// Returns true for one instance without calls and messages.
pub(crate) fn has_only_timers(journal: &str) -> bool {
    let has_others = ["invoke", "call", "send", "emit"]
        .iter()
        .any(|effect| journal.contains(&format!(r#""effect":"{effect}""#)));
    !has_others
}

fn rows_of(store: &dyn Store, root: &str) -> Vec<InstanceRow> {
    let part = Some(root.to_owned());
    let mut rows = store.list(&Filter { part, ..Filter::default() }).unwrap().rows;
    rows.retain(|row| row.new.root() == root);
    rows
}

/// Returns all instances of a local store.
pub(crate) fn family(store: &dyn Store) -> Vec<Member> {
    let member = |row: InstanceRow| Member {
        invoke: row.new.parent.as_ref().map(|parent| Arc::clone(&parent.invoke)),
        is_over: row.head.status.is_over(),
        next_due_ms: row.head.next_due_ms,
        to_itself: false,
        open: store.open_effects(Some(row.key)).unwrap(),
        id: row.new.id,
    };
    rows_of(store, ID).into_iter().map(member).collect()
}

/// Returns the running calls of a local store, each with its instance.
pub(crate) fn running(store: &dyn Store) -> Vec<Member> {
    let open = store.open_effects(None).unwrap().into_iter().filter(OpenEffect::is_running);
    let member = |effect: OpenEffect| Member {
        id: store.instance(effect.instance).unwrap().unwrap().new.id,
        invoke: None,
        is_over: false,
        next_due_ms: None,
        to_itself: false,
        open: vec![effect],
    };
    open.map(member).collect()
}

/// The first line that differs, with the one before.
pub(crate) fn difference(expected: &str, found: &str) -> Option<String> {
    let (mut one, mut other) = (expected.lines(), found.lines());
    let mut before = "";
    loop {
        match (one.next(), other.next()) {
            (None, None) => return None,
            (left, right) if left == right => before = left.unwrap_or_default(),
            (left, right) => {
                let shown = |line: Option<&str>| line.unwrap_or("nothing").to_owned();
                let (left, right) = (shown(left), shown(right));
                return Some(format!(" after {before}\n simulated {left}\n played    {right}\n"));
            }
        }
    }
}
