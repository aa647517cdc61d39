//! The events that the chart accepts now, as the prompt lists them.

use rawko_core::Chart;
use rawko_sim::{EventChoice, Simulation};
pub(crate) use rawko_view::offers::Offer;
use rawko_view::offers::{is_for_people, outcomes};

/// Returns the events that can be sent, without completions and errors that the engine itself raises.
pub(crate) fn of(simulation: &Simulation) -> Vec<Offer> {
    let choices = simulation.choices();
    let offers = choices.iter().filter(|choice| is_for_people(simulation.chart(), &choice.event));
    offers
        .map(|choice| offer(simulation.chart(), choice))
        .filter(|offer| !offer.transitions.is_empty())
        .collect()
}

fn offer(chart: &Chart, choice: &EventChoice) -> Offer {
    Offer { event: choice.event.to_string(), transitions: outcomes(chart, &choice.trace, &choice.event) }
}
