//! Control by people while turns run.

use expect_test::expect;
use rawko_turns::ChannelEvent;

use crate::support::Walk;

fn pause() -> ChannelEvent {
    ChannelEvent::Paused { by: "kim".into() }
}

fn resume() -> ChannelEvent {
    ChannelEvent::Resumed { by: "kim".into() }
}

#[test]
fn a_paused_channel_has_no_clock() {
    let walk =
        Walk::with(&["pm", "dev"]).after(10_000).play("pause", pause()).after(3_600_000).say("pm", "Hm");
    let walk = walk.play("pause", pause()).person("Later").play("resume", resume()).play("resume", resume());
    expect![[r#"
        > …10000 ms
        > pause
            log {"timestamp":"2026-02-04T21:00:10Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Channel paused","channel":"reviews","reason":"by kim"}
            turn 1 of pm suspended: ChannelPaused
        > …3600000 ms
        > pm: Hm
            refused (turn_paused): your turn is paused: the channel is paused
        > pause
            refused (already_paused): the channel is already paused
        > kim: Later
            #1 kim: Later
            #1 to dev, pm
        > resume
            log {"timestamp":"2026-02-04T22:00:10Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Channel resumed","channel":"reviews","reason":"by kim"}
            turn 1 of pm goes on: 50000 ms, messages 1–1
        > resume
            refused (not_paused): the channel is not paused
        > …50000 ms
            #2 notice: ⏱️ pm turn timed out
            #2 to dev, pm
            log {"timestamp":"2026-02-04T22:01:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Timeout","channel":"reviews"}
            turn 1 of pm ended: timeout
            log {"timestamp":"2026-02-04T22:01:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–2
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.after(50_000).text());
}

#[test]
fn a_wait_stands_still_while_the_channel_is_paused() {
    let walk = Walk::with(&["pm", "dev"]).wait("pm", rawko_turns::WaitUntil::Person, Some(10_000));
    let walk = walk.after(4_000).play("pause", pause()).after(60_000).person("Here").resolve("pm");
    expect![[r#"
        > wait until Person
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 10000 ms
        > …4000 ms
        > pause
        > …60000 ms
        > kim: Here
            #1 kim: Here
            #1 to dev, pm
        > pm goes on
            refused (turn_paused): your turn is paused: the channel is paused
        > resume
        > …5999 ms
        > …1 ms
            #2 notice: ⏱️ pm turn timed out
            #2 to dev, pm
            log {"timestamp":"2026-02-04T21:01:10Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"QUEUED","trigger":"Wait timeout","channel":"reviews"}
            turn 1 of pm ended: wait_timeout
            log {"timestamp":"2026-02-04T21:01:10Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–2
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.play("resume", resume()).after(5_999).after(1).text());
}

#[test]
fn nobody_is_granted_a_turn_in_a_paused_channel() {
    let walk = Walk::with(&["pm", "dev"]).play("pause", pause()).remove("pm").play("resume", resume());
    expect![[r#"
        > pause
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Channel paused","channel":"reviews","reason":"by kim"}
            turn 1 of pm suspended: ChannelPaused
        > pm removed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"IDLE","trigger":"Removed from channel","channel":"reviews","reason":"by kim"}
            turn 1 of pm ended: removed
            pm is told: removed by kim
        > resume
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        = dev ACTIVE, pm IDLE
    "#]].assert_eq(&walk.text());
}

#[test]
fn a_turn_is_skipped() {
    let skip = || ChannelEvent::Skipped { by: "kim".into() };
    expect![[r#"
        > skip
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Skipped","channel":"reviews","reason":"by kim"}
            turn 1 of pm ended: skipped
        > skip
            refused (nobody_has_the_turn): no turn is active
        = pm QUEUED
    "#]].assert_eq(&Walk::with(&["pm"]).play("skip", skip()).play("skip", skip()).text());
}

#[test]
fn who_reconnects_within_the_grace_time_goes_on_where_it_was() {
    let walk = Walk::with(&["pm", "dev"]).say("pm", "I begin.").disconnect("pm").after(9_999).reconnect("pm");
    expect![[r#"
        > pm: I begin.
            #1 pm: I begin.
            #1 to dev
        > pm loses its connection
        > …9999 ms
        > pm reconnects with its session
            turn 1 granted to pm again: 50001 ms, messages 1–1
        > …10000 ms
        = dev QUEUED, pm ACTIVE
    "#]]
    .assert_eq(&walk.after(10_000).text());
}

#[test]
fn who_does_not_is_lost() {
    expect![[r#"
        > pm loses its connection
        > …10000 ms
            log {"timestamp":"2026-02-04T21:00:10Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"it did not come back in time; turn 1 since 10000 ms, 0 posted"}
            turn 1 of pm ended: lost
            log {"timestamp":"2026-02-04T21:00:10Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
            #1 notice: ⚠️ pm disconnected, skipping turn
            #1 to dev
        = dev ACTIVE, pm OFFLINE
    "#]].assert_eq(&Walk::with(&["pm", "dev"]).disconnect("pm").after(10_000).text());
}

#[test]
fn a_new_process_without_the_session_begins_anew() {
    expect![[r#"
        > pm starts
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"OFFLINE","trigger":"Agent crashes","channel":"reviews","reason":"it started anew; turn 1 since 0 ms, 0 posted"}
            turn 1 of pm ended: lost
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
            #1 notice: ⚠️ pm disconnected, skipping turn
            #1 to dev
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
        = dev ACTIVE, pm IDLE
    "#]].assert_eq(&Walk::with(&["pm", "dev"]).start("pm").text());
}

#[test]
fn who_was_assigned_while_away_is_queued_when_it_comes() {
    expect![[r#"
        > pm assigned while away
        > pm starts
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"IDLE","to":"QUEUED","trigger":"Assigned to channel","channel":"reviews"}
            pm is told: assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 1 granted to pm: 60000 ms, nothing new
        = pm ACTIVE
    "#]].assert_eq(&Walk::new().assign_absent("pm").start("pm").text());
}
