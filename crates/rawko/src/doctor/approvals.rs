//! Approvals of governance: those that expired or will soon, and agents and services that lack one.

use super::{CheckState, DoctorResult};
use rawko_core::ServiceClass;

use crate::hosting::ProjectContext;
use crate::times;

/// Approvals that end within this time are reported.
const SOON_MS: i64 = 30 * 24 * 60 * 60 * 1000;

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let (gate, now_ms) = (place.settings.gate(), times::now_ms());
    if gate.checklist().is_empty() {
        return Vec::new();
    }
    let mut checks = Vec::new();
    for expiry in gate.checklist().expiries(now_ms) {
        let about = format!(
            "{}: {} on {}",
            expiry.name,
            if expiry.left_ms <= 0 { "expired" } else { "expires" },
            expiry.day
        );
        let help = format!("review it and change `expires` in `governance.approvals` of {}", expiry.file);
        if expiry.left_ms <= 0 {
            checks.push(DoctorResult::new("approval", CheckState::Problem, about).help(help));
        } else if expiry.left_ms <= SOON_MS {
            checks.push(DoctorResult::new("approval", CheckState::Warn, about).help(help));
        }
    }
    let agents = place.agents();
    let agents = agents.all().iter().map(|agent| ServiceClass::Agent.named(&agent.name));
    let services = place.settings.service_names().into_iter().map(str::to_owned);
    for name in services.chain(agents) {
        // An expired approval was reported above.
        match gate.approved(&name, i64::MIN) {
            Ok(_) => {}
            Err(why) => checks.push(
                DoctorResult::new("approval", CheckState::Warn, format!("{name}: not approved")).help(why),
            ),
        }
    }
    if checks.is_empty() {
        checks.push(DoctorResult::new("approval", CheckState::Ok, "complete; none expires within 30 days"));
    }
    checks
}
