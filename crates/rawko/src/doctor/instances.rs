//! Instances that are stalled, and those with faults in the last day. Separate from the store's own checks: a failing
//! expression does not end an instance, so its status alone does not show it.

use rawko_host::SnapshotReader;
use rawko_store::{Filter, InstanceStatus};
use rawko_view::rows::Row;
use rawko_view::{ViewError, faults, lists};

use super::{CheckState, DoctorResult};
use crate::hosting::ProjectContext;
use crate::times;

const LOOK_BACK_MS: i64 = 24 * 60 * 60 * 1_000;
const SHOWN_MAX: usize = 10;

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let Ok(Some(reader)) = place.reader() else { return Vec::new() };
    let now_ms = times::now_ms();
    let mut checks = stalled(&reader, now_ms).unwrap_or_else(|error| vec![unread(&error)]);
    checks.extend(faulty(&reader, now_ms).unwrap_or_else(|error| vec![unread(&error)]));
    checks
}

fn unread(error: &ViewError) -> DoctorResult {
    DoctorResult::new("faults", CheckState::Problem, format!("cannot read the journal: {error}"))
}

/// Instances that nothing moves any more, however long ago they came to rest. A stalled child has failed for its parent,
/// so only top-level ones are listed.
fn stalled(reader: &SnapshotReader, now_ms: i64) -> Result<Vec<DoctorResult>, ViewError> {
    let shown = vec![InstanceStatus::Stalled];
    let page =
        lists::page(reader, &Filter { shown, roots_only: true, limit: SHOWN_MAX, ..Filter::default() })?;
    let rows = Row::with_states(reader, &page.rows)?;
    let mut checks: Vec<DoctorResult> = rows
        .iter()
        .map(|row| {
            let (id, when) = (&row.id, times::ago(row.updated_ms, now_ms));
            let reason = row.reason.as_deref().unwrap_or("a failure is not handled");
            DoctorResult::new("stalled", CheckState::Warn, format!("{id}: stalled {when}: {reason}"))
                .help(format!("retry with `rawko resume {id}`, or end it with `rawko cancel {id}`"))
        })
        .collect();
    if let Some(more) = page.total.checked_sub(SHOWN_MAX as u64).filter(|more| *more > 0) {
        let text = format!("{more} more stalled instances");
        let help = "list them with `rawko ps --status stalled`";
        checks.push(DoctorResult::new("stalled", CheckState::Warn, text).help(help));
    }
    Ok(checks)
}

fn faulty(reader: &SnapshotReader, now_ms: i64) -> Result<Vec<DoctorResult>, ViewError> {
    let faulty = faults::since(reader, now_ms.saturating_sub(LOOK_BACK_MS))?;
    if faulty.is_empty() {
        return Ok(vec![DoctorResult::new("faults", CheckState::Ok, "no faults in the last 24h")]);
    }
    let mut checks: Vec<DoctorResult> = faulty
        .iter()
        .take(SHOWN_MAX)
        .map(|faulty| {
            let (id, last) = (&faulty.instance, &faulty.last);
            let noun = if faulty.count == 1 { "fault" } else { "faults" };
            let when = times::ago(last.at_ms, now_ms);
            let text = format!("{id}: {} {noun}, latest {when}: {}", faulty.count, last.text);
            DoctorResult::new("faults", CheckState::Warn, text)
                .help(format!("see each one with `rawko history {id}`"))
        })
        .collect();
    if let Some(more) = faulty.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        checks.push(DoctorResult::new(
            "faults",
            CheckState::Warn,
            format!("{more} more instances with faults in the last 24h"),
        ));
    }
    Ok(checks)
}
