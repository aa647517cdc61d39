//! The trace of an instance and all of its descendants, without times.

use std::fmt::Write as _;
use std::time::Duration;

use rawko_host::{Engine, HostError, SnapshotReader};
use rawko_store::{Filter, InstanceRow, RecordKind};
use serde_json::Value as Json;

/// Returns the trace of all instances whose ids begin with this name.
pub(crate) async fn of(engine: &dyn Engine, name: &str) -> String {
    let (reader, name) = (engine.reader().clone(), name.to_owned());
    // The reader of a remote host blocks. Children of a remote host may still commit: reads until two traces are equal.
    let stable = move || {
        let mut last = None;
        loop {
            let next = all(&reader, &name);
            match next {
                Some(trace) if last.as_ref() == Some(&trace) => return trace,
                next => last = next,
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    tokio::task::spawn_blocking(stable).await.unwrap()
}

/// Returns `None` if an instance took a step meanwhile.
pub(crate) fn all(reader: &SnapshotReader, name: &str) -> Option<String> {
    let rows = reader.store().list(&Filter::default()).unwrap().rows;
    let mut rows: Vec<_> = rows.into_iter().filter(|row| belongs(&row.new.id, name)).collect();
    rows.sort_by(|one, other| one.new.id.cmp(&other.new.id));
    rows.iter().try_fold(String::new(), |mut out, row| {
        one(reader, row, &mut out)?;
        Some(out)
    })
}

fn belongs(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

fn one(reader: &SnapshotReader, row: &InstanceRow, out: &mut String) -> Option<()> {
    let (head, new) = (&row.head, &row.new);
    let _ = writeln!(
        out,
        "{} of {}@{}: {} waits {} fault {:?} ledger {:?} parent {:?} origin {:?}",
        new.id,
        new.chart_id,
        new.version,
        head.status.as_str(),
        head.wait.as_str(),
        head.fault,
        head.ledger.as_deref().map(timeless_text),
        new.parent.as_ref().map(|parent| (&parent.id, &parent.invoke)),
        new.origin.as_ref().map(|origin| (&origin.id, origin.step)),
    );
    for record in reader.store().records(row.key, 0, usize::MAX).unwrap() {
        let event = timeless_text(&reader.unpack(&record.event).unwrap());
        let effects = timeless_text(&reader.unpack(&record.effects).unwrap());
        let _ = writeln!(out, "  {} {:?} {event} → {effects}", record.step, record.kind);
        if record.kind == RecordKind::Failed {
            let _ = writeln!(out, "    {}", record.delta);
            continue;
        }
        let after = match reader.snapshot(row, Some(record.step)) {
            Err(HostError::NoStep { .. }) => return None,
            after => after.unwrap(),
        };
        let leaves: Vec<_> = after.chart.leaf_paths(after.snapshot.configuration()).collect();
        let context = timeless(after.snapshot.context_map(&after.chart).to_json());
        let _ = writeln!(out, "    [{}] {context}", leaves.join(", "));
    }
    for effect in reader.store().open_effects(Some(row.key)).unwrap() {
        let key = &effect.idempotency;
        let _ = writeln!(out, "  open {} {} {key}", effect.kind.as_str(), effect.name);
    }
    for line in reader.store().audit(Some(&new.id), usize::MAX).unwrap() {
        let _ = writeln!(out, "  audit {} {} {} {}", line.effect, line.service, line.decision, line.reason);
    }
    Some(())
}

fn timeless_text(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |json| timeless(json).to_string())
}

/// Removes timestamps.
fn timeless(json: Json) -> Json {
    match json {
        Json::Object(entries) => {
            let is_time = |key: &str| key.ends_with("_ms") || key == "time";
            let kept = entries.into_iter().filter(|(key, _)| !is_time(key));
            Json::Object(kept.map(|(key, value)| (key, timeless(value))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(timeless).collect()),
        scalar @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => scalar,
    }
}
