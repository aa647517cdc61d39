//! The transition table, row by row: the effects of each event and the log line.

use expect_test::{Expect, expect};
use rawko_turns::{LifecycleMove, Loss, MemberState, WaitUntil};

use crate::support::Walk;

fn row(walk: Walk, expected: Expect) {
    expected.assert_eq(&walk.text());
}

#[test]
fn offline_to_idle_agent_starts() {
    row(
        Walk::with(&["pm", "dev"]).stop("dev").quiet().start("dev"),
        expect![[r#"
        > dev starts
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
        = dev IDLE, pm ACTIVE
    "#]],
    );
}

#[test]
fn idle_to_queued_assigned_to_channel() {
    row(
        Walk::with(&["pm", "dev"]).remove("dev").quiet().assign("dev"),
        expect![[r#"
        > dev assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"IDLE","to":"QUEUED","trigger":"Assigned to channel","channel":"reviews","reason":"by kim"}
            dev is told: assigned
        = dev QUEUED, pm ACTIVE
    "#]],
    );
}

#[test]
fn idle_to_offline_agent_stops() {
    row(
        Walk::with(&["pm", "dev"]).remove("dev").quiet().stop("dev"),
        expect![[r#"
        > dev stops
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"IDLE","to":"OFFLINE","trigger":"Agent stops","channel":"reviews","reason":"it disconnected"}
        = dev OFFLINE, pm ACTIVE
    "#]],
    );
}

#[test]
fn queued_to_active_turn_granted() {
    row(
        Walk::new().assign("pm"),
        expect![[r#"
        > pm assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"IDLE","to":"QUEUED","trigger":"Assigned to channel","channel":"reviews","reason":"by kim"}
            pm is told: assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 1 granted to pm: 60000 ms, nothing new
        = pm ACTIVE
    "#]],
    );
}

#[test]
fn queued_to_idle_removed_from_channel() {
    row(
        Walk::with(&["pm", "dev"]).remove("dev"),
        expect![[r#"
        > dev removed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"IDLE","trigger":"Removed from channel","channel":"reviews","reason":"by kim"}
            dev is told: removed by kim
        = dev IDLE, pm ACTIVE
    "#]],
    );
}

#[test]
fn queued_to_offline_agent_disconnects() {
    row(
        Walk::with(&["pm", "dev"]).lose("dev", Loss::DidNotReturn),
        expect![[r#"
        > dev lost: it did not come back in time
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"OFFLINE","trigger":"Agent disconnects","channel":"reviews","reason":"it did not come back in time"}
        = dev OFFLINE, pm ACTIVE
    "#]],
    );
}

#[test]
fn active_to_queued_turn_complete() {
    row(
        Walk::with(&["pm", "dev"]).complete("pm"),
        expect![[r#"
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        = dev ACTIVE, pm QUEUED
    "#]],
    );
}

#[test]
fn active_to_queued_timeout() {
    row(
        Walk::with(&["pm", "dev"]).after(60_000),
        expect![[r#"
        > …60000 ms
            #1 notice: ⏱️ pm turn timed out
            #1 to dev, pm
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Timeout","channel":"reviews"}
            turn 1 of pm ended: timeout
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
        = dev ACTIVE, pm QUEUED
    "#]],
    );
}

#[test]
fn active_to_waiting_wait_requested() {
    row(
        Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, None),
        expect![[r#"
        > wait until Resumed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 300000 ms
        = dev QUEUED, pm WAITING
    "#]],
    );
}

#[test]
fn active_to_offline_agent_crashes() {
    row(
        Walk::with(&["pm", "dev"]).lose("pm", Loss::Exited),
        expect![[r#"
            > pm lost: its process ended
                log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"its process ended; turn 1 since 0 ms, 0 posted"}
                turn 1 of pm ended: lost
                log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
                turn 2 granted to dev: 60000 ms, nothing new
                #1 notice: ⚠️ pm disconnected, skipping turn
                #1 to dev
            = dev ACTIVE, pm OFFLINE
        "#]],
    );
}

#[test]
fn waiting_to_active_wait_resolved() {
    row(
        Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, None).quiet().resolve("pm"),
        expect![[r#"
        > pm goes on
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Wait resolved","channel":"reviews"}
            turn 1 of pm goes on: 60000 ms, nothing new
        = dev QUEUED, pm ACTIVE
    "#]],
    );
}

#[test]
fn waiting_to_queued_wait_timeout() {
    row(
        Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, None).quiet().after(300_000),
        expect![[r#"
            > …300000 ms
                #1 notice: ⏱️ pm turn timed out
                #1 to dev, pm
                log {"timestamp":"2026-02-04T21:05:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"QUEUED","trigger":"Wait timeout","channel":"reviews"}
                turn 1 of pm ended: wait_timeout
                log {"timestamp":"2026-02-04T21:05:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
                turn 2 granted to dev: 60000 ms, messages 1–1
            = dev ACTIVE, pm QUEUED
        "#]],
    );
}

#[test]
fn waiting_to_offline_agent_disconnects() {
    row(
        Walk::with(&["pm", "dev"])
            .wait("pm", WaitUntil::Resumed, None)
            .quiet()
            .lose("pm", Loss::HeartbeatsMissed),
        expect![[r#"
            > pm lost: three heartbeats missed
                log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"OFFLINE","trigger":"Agent disconnects","channel":"reviews","reason":"three heartbeats missed; turn 1 since 0 ms, 0 posted"}
                turn 1 of pm ended: lost
                log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
                turn 2 granted to dev: 60000 ms, nothing new
                #1 notice: ⚠️ pm disconnected, skipping turn
                #1 to dev
            = dev ACTIVE, pm OFFLINE
        "#]],
    );
}

/// `agent_lifecycle.yaml` and the table in Rust must agree.
#[test]
fn the_chart_knows_the_same_moves() {
    let text = include_str!("../../../../charts/agent_lifecycle.yaml");
    let source = rawko_chart::SourceFile::new("agent_lifecycle.yaml", text);
    let chart = rawko_chart::load(&source, &rawko_chart::Registry::default()).chart.expect("the chart loads");
    let paths: [(MemberState, &[LifecycleMove]); 5] = [
        (MemberState::Offline, &[]),
        (MemberState::Idle, &[LifecycleMove::AgentStarted]),
        (MemberState::Queued, &[LifecycleMove::AgentStarted, LifecycleMove::Assigned]),
        (
            MemberState::Active,
            &[LifecycleMove::AgentStarted, LifecycleMove::Assigned, LifecycleMove::TurnGranted],
        ),
        (
            MemberState::Waiting,
            &[
                LifecycleMove::AgentStarted,
                LifecycleMove::Assigned,
                LifecycleMove::TurnGranted,
                LifecycleMove::WaitRequested,
            ],
        ),
    ];
    for (state, path) in paths {
        for (by, solo) in LifecycleMove::ALL.into_iter().flat_map(|by| [(by, false), (by, true)]) {
            let (mut snapshot, _) = rawko_core::start(&chart, rawko_core::Value::Null, 0).unwrap();
            let mut take = |by: LifecycleMove, solo: bool| {
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
