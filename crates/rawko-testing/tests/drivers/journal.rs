//! Everything that a store holds about its instances, as text to compare: records, audit, open effects, heads.

use std::fmt::Write as _;

use rawko_store::{Filter, Store, content};
use serde_json::Value as Json;

pub(crate) fn of(store: &dyn Store) -> String {
    let mut text = String::new();
    let mut rows = store.list(&Filter::default()).unwrap().rows;
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
    text
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
                return Some(format!(" after {before}\n simulated {left}\n hosted    {right}\n"));
            }
        }
    }
}
