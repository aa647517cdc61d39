//! Own properties as formulas of linear temporal logic over the steps of a run, which may end (LTLf). `within` has a bound
//! in time. The same forms are what the tests give to SPIN.

use rawko_chart::{Property, PropertyKind};
use rawko_core::duration;

/// Returns the formula of a property: `G` always, `F` some time, `W` until, if ever.
pub(crate) fn formula(property: &Property) -> String {
    let formula = match &property.kind {
        PropertyKind::Never(expr) => format!("G !({})", expr.text),
        PropertyKind::Always(expr) => format!("G ({})", expr.text),
        PropertyKind::Before { first, then } => format!("!({}) W ({})", then.text, first.text),
        PropertyKind::Within { from, to, time_ms } => {
            let time = duration::format_ms(*time_ms);
            format!("G (entered({}) -> F[0, {time}] ({}))", from.text, to.text)
        }
        PropertyKind::LeadsTo { from, to } => format!("G (({}) -> F ({}))", from.text, to.text),
    };
    let assumed =
        [(property.assume.people_answer, "people_answer"), (property.assume.events_arrive, "events_arrive")];
    let assumed: Vec<&str> = assumed.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    match assumed.is_empty() {
        true => formula,
        false => format!("{} -> {formula}", assumed.join(" & ")),
    }
}
