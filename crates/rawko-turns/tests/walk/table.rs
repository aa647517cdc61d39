//! The transition table, row by row: what the channel does, and the line in the log.

use expect_test::{Expect, expect};
use rawko_turns::{Loss, Move, State, WaitUntil};

use crate::support::Walk;

fn row(walk: Walk, expected: Expect) {
    expected.assert_eq(&walk.text());
}

#[test]
fn offline_to_idle_agent_starts() {
    row(Walk::with(&["pm", "dev"]).stop("dev").quiet().start("dev"), expect![[""]]);
}

#[test]
fn idle_to_queued_assigned_to_channel() {
    row(Walk::with(&["pm", "dev"]).remove("dev").quiet().assign("dev"), expect![[""]]);
}

#[test]
fn idle_to_offline_agent_stops() {
    row(Walk::with(&["pm", "dev"]).remove("dev").quiet().stop("dev"), expect![[""]]);
}

#[test]
fn queued_to_active_turn_granted() {
    row(Walk::new().assign("pm"), expect![[""]]);
}

#[test]
fn queued_to_idle_removed_from_channel() {
    row(Walk::with(&["pm", "dev"]).remove("dev"), expect![[""]]);
}

#[test]
fn queued_to_offline_agent_disconnects() {
    row(Walk::with(&["pm", "dev"]).lose("dev", Loss::DidNotReturn), expect![[""]]);
}

#[test]
fn active_to_queued_turn_complete() {
    row(Walk::with(&["pm", "dev"]).complete("pm"), expect![[""]]);
}

#[test]
fn active_to_queued_timeout() {
    row(Walk::with(&["pm", "dev"]).after(60_000), expect![[""]]);
}

#[test]
fn active_to_waiting_wait_requested() {
    row(Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, None), expect![[""]]);
}

#[test]
fn active_to_offline_agent_crashes() {
    row(Walk::with(&["pm", "dev"]).lose("pm", Loss::Exited), expect![[""]]);
}

#[test]
fn waiting_to_active_wait_resolved() {
    row(Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, None).quiet().resolve("pm"), expect![[""]]);
}

#[test]
fn waiting_to_queued_wait_timeout() {
    row(
        Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, None).quiet().after(300_000),
        expect![[""]],
    );
}

#[test]
fn waiting_to_offline_agent_disconnects() {
    row(
        Walk::with(&["pm", "dev"])
            .wait("pm", WaitUntil::Resumed, None)
            .quiet()
            .lose("pm", Loss::HeartbeatsMissed),
        expect![[""]],
    );
}

/// `agent_lifecycle.yaml` and the table in Rust are one table.
#[test]
fn the_chart_knows_the_same_moves() {
    let text = include_str!("../../../../charts/agent_lifecycle.yaml");
    let source = rawko_chart::Source::new("agent_lifecycle.yaml", text);
    let chart = rawko_chart::load(&source, &rawko_chart::Registry::default()).chart.expect("the chart loads");
    let paths: [(State, &[Move]); 5] = [
        (State::Offline, &[]),
        (State::Idle, &[Move::AgentStarted]),
        (State::Queued, &[Move::AgentStarted, Move::Assigned]),
        (State::Active, &[Move::AgentStarted, Move::Assigned, Move::TurnGranted]),
        (State::Waiting, &[Move::AgentStarted, Move::Assigned, Move::TurnGranted, Move::WaitRequested]),
    ];
    for (state, path) in paths {
        for (by, solo) in Move::ALL.into_iter().flat_map(|by| [(by, false), (by, true)]) {
            let (mut snapshot, _) = rawko_core::start(&chart, rawko_core::Value::Null, 0).unwrap();
            let mut take = |by: Move, solo: bool| {
                let data = rawko_core::Value::map([("solo", rawko_core::Value::Bool(solo))]);
                let event = rawko_core::Event::named(by.as_str(), data);
                rawko_core::step(&chart, &mut snapshot, event, 0).unwrap();
                snapshot.context_map(&chart).to_json()["state"].as_str().unwrap().to_owned()
            };
            path.iter().for_each(|by| drop(take(*by, false)));
            let expected = by.leads(state, solo).unwrap_or(state);
            assert_eq!(take(by, solo), expected.as_str(), "{} from {state:?}, solo {solo}", by.as_str());
        }
    }
}
