//! Verifies a chart. Deadlines are judged one by one: the clocks of several `within` properties multiply the states of one
//! exploration, and none of them depends on another.

use rawko_chart::{Property, PropertyKind};
use rawko_core::World;

use crate::builtin::BUILT_IN;
use crate::explore::ExplorationLimits;
use crate::ltl;
use crate::model::Model;
use crate::report::VerifyReport;
use crate::verdicts::verify_together;

/// Verifies the first chart; the others may be invoked by it.
pub fn verify(charts: &[Model], world: &World, limits: &ExplorationLimits<'_>) -> Option<VerifyReport> {
    let mut report = verify_each(charts, world, limits)?;
    let own = charts.first().into_iter().flat_map(|model| &model.properties);
    for (judged, property) in report.properties.iter_mut().skip(BUILT_IN.len()).zip(own) {
        judged.ltl = Some(ltl::formula(property));
    }
    Some(report)
}

fn verify_each(charts: &[Model], world: &World, limits: &ExplorationLimits<'_>) -> Option<VerifyReport> {
    let model = charts.first()?;
    let is_timed = |property: &&Property| matches!(property.kind, PropertyKind::Within { .. });
    if model.properties.iter().filter(is_timed).count() < 2 {
        return verify_together(charts, world, limits);
    }
    let judge = |properties: Vec<Property>| {
        let children = charts[1..].iter().map(|child| child.with_properties(Vec::new()));
        let models: Vec<Model> = [model.with_properties(properties)].into_iter().chain(children).collect();
        verify_together(&models, world, limits)
    };
    let mut report = judge(model.properties.iter().filter(|it| !is_timed(it)).cloned().collect())?;
    let mut untimed = report.properties.split_off(BUILT_IN.len()).into_iter();
    for property in &model.properties {
        let judged = match is_timed(&property) {
            true => judge(vec![property.clone()])?.properties.pop(),
            false => untimed.next(),
        };
        report.properties.extend(judged);
    }
    Some(report)
}
