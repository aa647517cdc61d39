//! Triggers: the charts that they start and the secrets that they need. Mistakes in the section are those of the settings.

use rawko_triggers::Triggers;

use super::{CheckState, DoctorResult};
use crate::hosting::ProjectContext;

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let triggers = Triggers::read(&place.settings);
    let offered = place.offered();
    let is_offered = |chart: &str| {
        let id = chart.split('@').next().unwrap_or_default();
        offered.iter().any(|edition| edition.chart.id() == id)
    };
    let mut checks: Vec<DoctorResult> = Vec::new();
    for trigger in &triggers.all {
        let charts = trigger.rules.iter().filter_map(|rule| rule.action.chart());
        for chart in charts.filter(|chart| !is_offered(chart)) {
            let text = format!("trigger `{}` starts the unknown chart `{chart}`", trigger.name);
            let help = format!("correct it in {}; `rawko charts` lists the charts", trigger.file);
            checks.push(DoctorResult::new("trigger", CheckState::Problem, text).help(help));
        }
    }
    for (name, variable) in triggers.missing_secrets(place.settings.environment()) {
        let text = format!("webhook `{name}` cannot be verified: environment variable {variable} is not set");
        checks.push(
            DoctorResult::new("trigger", CheckState::Problem, text).help("set it before `rawko serve`"),
        );
    }
    if checks.is_empty() && !triggers.all.is_empty() {
        let names: Vec<&str> = triggers.all.iter().map(|trigger| trigger.name.as_str()).collect();
        checks.push(DoctorResult::new("trigger", CheckState::Ok, names.join(", ")));
    }
    checks
}
