//! An instance as one JSON document: what `show --json` prints and the API gives.

use serde_json::{Value as Json, json};

use crate::rows::row_json;
use crate::standing::Standing;

/// Everything about an instance after some step.
pub fn of(standing: &Standing) -> Json {
    let snapshot = &standing.snapshot;
    let mut json = row_json(&standing.row);
    let failure = snapshot.failure().map(|failure| {
        let invoke = standing.chart.invoke_name(failure.invocation.invoke);
        json!({"invoke": invoke, "error": failure.error.to_json()})
    });
    let running = standing.running.iter().map(|running| {
        let open = running.open.as_ref();
        json!({
            "invoke": running.invoke,
            "src": running.name,
            "kind": open.map(|open| open.kind.as_str()),
            "attempt": running.attempt,
            "idempotency": open.map(|open| &open.idempotency),
            "since_ms": open.map(|open| open.opened_ms),
        })
    });
    json["v"] = json!(1);
    json["last_step"] = json["step"].take();
    json["step"] = json!(snapshot.step_number());
    json["at_ms"] = json!(standing.at_ms);
    json["status"] = json!(snapshot.status().as_str());
    json["configuration"] = json!(standing.configuration());
    json["context"] = snapshot.context_map(&standing.chart).to_json();
    json["input"] = snapshot.input().to_json();
    json["output"] = snapshot.output().to_json();
    json["failure"] = json!(failure);
    json["running"] = json!(running.collect::<Vec<_>>());
    json["waits"] = waits(standing);
    json["children"] = json!(standing.children.iter().map(|row| &row.new.id).collect::<Vec<_>>());
    json
}

/// What would move an instance, as data.
pub fn waits(standing: &Standing) -> Json {
    let asks = standing.asks.iter().map(|ask| {
        json!({
            "id": ask.instance, "invoke": ask.invoke, "input": ask.input.to_json(), "expires_ms": ask.expires_ms,
        })
    });
    let timers = standing
        .timers
        .iter()
        .map(|timer| json!({"kind": timer.kind.as_str(), "for": timer.purpose, "due_ms": timer.due_ms}));
    json!({
        "asks": asks.collect::<Vec<_>>(),
        "events": standing.offers.iter().map(|offer| offer.event.as_str()).collect::<Vec<_>>(),
        "timers": timers.collect::<Vec<_>>(),
    })
}
