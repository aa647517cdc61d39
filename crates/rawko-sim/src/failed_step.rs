//! Failed steps of the simulated instance since the last line, read from its journal.

use rawko_core::{Event, Fault};
use rawko_store::{InstanceKey, RecordKind, content};

use crate::driver::SimDriver;

/// The last step of the simulated instance that could not be taken since the line before.
/// Once it has ended, events that it could not send are faults: nothing of it failed.
pub(crate) fn failed_step(
    driver: &SimDriver,
    root: InstanceKey,
    seen: &mut u64,
) -> (Option<String>, Vec<Fault>) {
    let store = driver.store();
    let Ok(records) = store.records(root, *seen, usize::MAX) else { return (None, Vec::new()) };
    *seen = records.last().map_or(*seen, |record| record.seq);
    let has_ended = store.instance(root).ok().flatten().is_some_and(|row| row.head.status.is_over());
    let read = |text: &str| content::unpack(text, &mut |hash| store.blob(hash)).ok();
    let (mut failed, mut undelivered) = (None, Vec::new());
    for record in records.iter().filter(|record| record.kind == RecordKind::Failed) {
        let reason = read(&record.delta).and_then(|text| serde_json::from_str::<String>(&text).ok());
        let event = read(&record.event).and_then(|text| serde_json::from_str::<Event>(&text).ok());
        match (reason, event) {
            (Some(reason), Some(Event::Named(event)))
                if has_ended && &*event.name == "error.communication" =>
            {
                undelivered.push(Fault::of_send(&reason));
            }
            (reason, _) => failed = reason.or(failed),
        }
    }
    (failed, undelivered)
}
