//! Instances with faults in the last day. Separate from the store's own checks: a failing expression does not end an
//! instance, so its status alone does not show it.

use rawko_view::faults;

use super::{CheckState, DoctorResult};
use crate::hosting::ProjectContext;
use crate::times;

const LOOK_BACK_MS: i64 = 24 * 60 * 60 * 1_000;
const SHOWN_MAX: usize = 10;

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let Ok(Some(reader)) = place.reader() else { return Vec::new() };
    let now_ms = times::now_ms();
    let faulty = match faults::since(&reader, now_ms.saturating_sub(LOOK_BACK_MS)) {
        Ok(faulty) => faulty,
        Err(error) => {
            return vec![DoctorResult::new(
                "faults",
                CheckState::Problem,
                format!("cannot read the journal: {error}"),
            )];
        }
    };
    if faulty.is_empty() {
        return vec![DoctorResult::new("faults", CheckState::Ok, "no faults in the last 24h")];
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
    checks
}
