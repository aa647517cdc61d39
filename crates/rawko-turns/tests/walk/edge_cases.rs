//! The six edge cases, each with its sub-steps, its notices and its log lines.

use expect_test::expect;
use rawko_turns::Loss;

use crate::support::Walk;

#[test]
fn case_1_an_agent_crashes_in_mid_turn() {
    let walk =
        Walk::with(&["pm", "dev"]).say("pm", "I begin.").lose("pm", Loss::Exited).start("pm").assign("pm");
    expect![[r#"
        > pm: I begin.
            #1 pm: I begin.
            #1 to dev
        > pm lost: its process ended
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"its process ended; turn 1 since 0 ms, 1 posted"}
            turn 1 of pm ended: lost
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
            #2 notice: ⚠️ pm disconnected, skipping turn
            #2 to dev
        > pm starts
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
        > pm assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"IDLE","to":"QUEUED","trigger":"Assigned to channel","channel":"reviews","reason":"by kim"}
            pm is told: assigned
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.text());
}

#[test]
fn case_1_without_the_notice() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"announceDisconnects": false}"#);
    expect![[r#"
        > pm lost: three heartbeats missed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"three heartbeats missed; turn 1 since 0 ms, 0 posted"}
            turn 1 of pm ended: lost
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        = dev ACTIVE, pm OFFLINE
    "#]].assert_eq(&walk.lose("pm", Loss::HeartbeatsMissed).text());
}

#[test]
fn case_2_a_turn_times_out_and_its_agent_keeps_its_place() {
    let walk = Walk::with(&["pm", "dev", "qa"]).after(60_000).say("dev", "a TURN_COMPLETE").complete("qa");
    assert_eq!(walk.grants(), "dev qa pm");
    expect![[r#"
        > …60000 ms
            #1 notice: ⏱️ pm turn timed out
            #1 to dev, pm, qa
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Timeout","channel":"reviews"}
            turn 1 of pm ended: timeout
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
        > dev: a TURN_COMPLETE
            #2 dev: a
            #2 to pm, qa
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"dev","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 2 of dev ended: completed
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"qa","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 3 granted to qa: 60000 ms, messages 1–2
        > qa completes
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"qa","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 3 of qa ended: completed
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 4 granted to pm: 60000 ms, messages 1–2
        = dev QUEUED, pm ACTIVE, qa QUEUED
    "#]].assert_eq(&walk.text());
}

#[test]
fn case_2_a_timeout_of_its_own_without_an_announcement() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"announceTimeouts": false}"#);
    let walk = walk.agent_options("dev", r#"{"defaultTimeoutSeconds": 5}"#);
    expect![[r#"
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 5000 ms, nothing new
        > …4999 ms
        > …1 ms
            log {"timestamp":"2026-02-04T21:00:05Z","event":"state_transition","agentId":"dev","from":"ACTIVE","to":"QUEUED","trigger":"Timeout","channel":"reviews"}
            turn 2 of dev ended: timeout
            log {"timestamp":"2026-02-04T21:00:05Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 3 granted to pm: 60000 ms, nothing new
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.complete("pm").after(4_999).after(1).text());
}

#[test]
fn case_4_an_agent_never_signals_done() {
    let walk = Walk::with(&["pm", "dev"]).say("pm", "Ready for review.").after(60_000);
    expect![[r#"
        > pm: Ready for review.
            #1 pm: Ready for review.
            #1 to dev
        > …60000 ms
            warning, pm, turn 1: Agent completed response without TURN_COMPLETE
            #2 notice: ⏱️ pm turn timed out
            #2 to dev, pm
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Timeout","channel":"reviews"}
            turn 1 of pm ended: timeout
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–2
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.text());
}

#[test]
fn case_4_silence_ends_the_turn_where_it_is_detected() {
    let options = r#"{"autoDetectTurnEnd": true, "autoDetectSilenceSeconds": 10}"#;
    let walk = Walk::with(&["pm", "dev"]).options(options);
    let walk =
        walk.after(20_000).say("pm", "Ready for review.").after(9_000).person("Which branch?").after(9_999);
    expect![[r#"
        > …20000 ms
        > pm: Ready for review.
            #1 pm: Ready for review.
            #1 to dev
        > …9000 ms
        > kim: Which branch?
            #2 kim: Which branch?
            #2 to dev, pm
        > …9999 ms
        > …1 ms
            warning, pm, turn 1: Agent completed response without TURN_COMPLETE
            log {"timestamp":"2026-02-04T21:00:39Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Silence","channel":"reviews"}
            turn 1 of pm ended: silence
            log {"timestamp":"2026-02-04T21:00:39Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–2
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.after(1).text());
}

#[test]
fn case_5_all_agents_go_offline() {
    let walk =
        Walk::with(&["pm", "dev"]).lose("dev", Loss::Exited).lose("pm", Loss::Exited).person("Anybody?");
    expect![[r#"
        > dev lost: its process ended
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"OFFLINE","trigger":"Agent disconnects","channel":"reviews","reason":"its process ended"}
        > pm lost: its process ended
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"its process ended; turn 1 since 0 ms, 0 posted"}
            turn 1 of pm ended: lost
            #1 notice: ⚠️ pm disconnected, skipping turn
            #2 notice: ⚠️ No agents available in this channel
        > kim: Anybody?
            #3 kim: Anybody?
        > dev starts
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
        > dev assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"IDLE","to":"QUEUED","trigger":"Assigned to channel","channel":"reviews","reason":"by kim"}
            dev is told: assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–3
        = dev ACTIVE, pm OFFLINE
    "#]].assert_eq(&walk.start("dev").assign("dev").text());
}

#[test]
fn case_6_an_agent_is_added_in_mid_cycle() {
    let walk =
        Walk::with(&["pm", "dev"]).say("pm", "a").complete("pm").assign("qa").say("dev", "b").complete("dev");
    let walk = walk.say("qa", "c TURN_COMPLETE").complete("pm");
    assert_eq!(walk.grants(), "dev qa pm dev");
}

#[test]
fn case_6_a_queued_agent_is_removed() {
    let walk = Walk::with(&["pm", "dev", "qa"])
        .remove("dev")
        .say("pm", "a")
        .complete("pm")
        .say("qa", "b TURN_COMPLETE");
    assert_eq!(walk.grants(), "qa pm");
}

#[test]
fn case_6_the_active_agent_is_removed() {
    let walk = Walk::with(&["pm", "dev", "qa"]).remove("pm").say("pm", "But I was not done").complete("dev");
    assert_eq!(walk.grants(), "dev qa");
    expect![[r#"
        > pm removed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"IDLE","trigger":"Removed from channel","channel":"reviews","reason":"by kim"}
            turn 1 of pm ended: removed
            pm is told: removed by kim
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        > pm: But I was not done
            refused (not_a_member): `pm` is not assigned to this channel
        > dev completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 2 of dev ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"qa","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 3 granted to qa: 60000 ms, nothing new
        = dev QUEUED, pm IDLE, qa ACTIVE
    "#]].assert_eq(&walk.text());
}

#[test]
fn a_host_that_was_down_past_the_deadline_advances_the_turn() {
    let walk = Walk::with(&["pm", "dev"])
        .say("pm", "I begin.")
        .restart_after(3_600_000)
        .reconnect("dev")
        .reconnect("pm");
    expect![[r#"
        > pm: I begin.
            #1 pm: I begin.
            #1 to dev
        > the host starts again after 3600000 ms
            warning, pm, turn 1: Agent completed response without TURN_COMPLETE
            #2 notice: ⏱️ pm turn timed out
            #2 to dev, pm
            log {"timestamp":"2026-02-04T22:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Timeout","channel":"reviews","reason":"recovery: the host was down, due 3540000 ms ago"}
            turn 1 of pm ended: timeout
            log {"timestamp":"2026-02-04T22:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–2
        > dev reconnects with its session
            turn 2 granted to dev again: 60000 ms, messages 1–2
        > pm reconnects with its session
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.text());
}

#[test]
fn a_host_that_was_down_for_a_moment_leaves_the_turn_and_who_does_not_return_is_lost() {
    let walk = Walk::with(&["pm", "dev"]).restart_after(1_000).reconnect("dev").after(9_999).after(1);
    expect![[r#"
        > the host starts again after 1000 ms
        > dev reconnects with its session
        > …9999 ms
        > …1 ms
            log {"timestamp":"2026-02-04T21:00:11Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"it did not come back in time; turn 1 since 11000 ms, 0 posted"}
            turn 1 of pm ended: lost
            log {"timestamp":"2026-02-04T21:00:11Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
            #1 notice: ⚠️ pm disconnected, skipping turn
            #1 to dev
        = dev ACTIVE, pm OFFLINE
    "#]].assert_eq(&walk.text());
}
