//! An agent waits within its turn; no other agent gets the turn meanwhile.

use expect_test::expect;
use rawko_turns::{ChannelEvent, MemberState, OverrideTo, WaitUntil};

use crate::support::{NINE, Walk};

#[test]
fn what_is_left_of_the_turn_is_left_after_the_wait() {
    let walk = Walk::with(&["pm", "dev"]).after(15_000).wait("pm", WaitUntil::Resumed, None).after(100_000);
    let walk = walk.say("pm", "Hm").complete("dev").person("Take your time");
    expect![[r#"
        > …15000 ms
        > wait until Resumed
            log {"timestamp":"2026-02-04T21:00:15Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 300000 ms
        > …100000 ms
        > pm: Hm
            refused (turn_paused): your turn is paused: send `resumed` first
        > dev completes
            refused (not_your_turn): it is not your turn; current turn: pm
        > kim: Take your time
            #1 kim: Take your time
            #1 to dev, pm
        > pm goes on
            log {"timestamp":"2026-02-04T21:01:55Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Wait resolved","channel":"reviews"}
            turn 1 of pm goes on: 45000 ms, messages 1–1
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.resolve("pm").text());
}

#[test]
fn a_wait_ends_with_what_it_waits_for() {
    let until = |until: WaitUntil| Walk::with(&["pm", "dev"]).wait("pm", until, Some(10_000));
    let by_message = until(WaitUntil::Message).person("Hello");
    let by_person = until(WaitUntil::Person).person("Hello");
    let by_time = until(WaitUntil::Time(NINE + 5_000)).after(4_999).after(1);
    let only_itself = until(WaitUntil::Resumed).person("Hello");
    for (walk, state) in [
        (by_message, MemberState::Active),
        (by_person, MemberState::Active),
        (by_time, MemberState::Active),
        (only_itself, MemberState::Waiting),
    ] {
        assert_eq!(walk.state("pm"), state);
    }
}

#[test]
fn a_wait_is_no_longer_than_the_channel_allows() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"waitTimeoutSeconds": 20}"#);
    let walk = walk.wait("pm", WaitUntil::Resumed, Some(3_600_000)).after(19_999).after(1);
    expect![[r#"
        > wait until Resumed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 20000 ms
        > …19999 ms
        > …1 ms
            #1 notice: ⏱️ pm turn timed out
            #1 to dev, pm
            log {"timestamp":"2026-02-04T21:00:20Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"QUEUED","trigger":"Wait timeout","channel":"reviews"}
            turn 1 of pm ended: wait_timeout
            log {"timestamp":"2026-02-04T21:00:20Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.text());
}

#[test]
fn a_person_for_whom_somebody_waits_is_not_held_back() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "queue"}"#);
    expect![[r#"
        > wait until Person
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 300000 ms
        > kim: Here I am
            #1 kim: Here I am
            #1 to dev, pm
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Wait resolved","channel":"reviews"}
            turn 1 of pm goes on: 60000 ms, messages 1–1
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.wait("pm", WaitUntil::Person, None).person("Here I am").text());
}

#[test]
fn a_person_decides_about_a_waiting_agent() {
    let decide = |to| ChannelEvent::Overridden { by: "kim".into(), to };
    let walk = Walk::with(&["pm", "dev"]).play("kim: go on", decide(OverrideTo::Active));
    let walk = walk.wait("pm", WaitUntil::Resumed, None).play("kim: go on", decide(OverrideTo::Active));
    let walk = walk.wait("pm", WaitUntil::Resumed, None).play("kim: enough", decide(OverrideTo::Queued));
    expect![[r#"
        > kim: go on
            refused (nobody_waits): no agent is waiting in this channel
        > wait until Resumed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 300000 ms
        > kim: go on
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Human override","channel":"reviews","reason":"by kim"}
            turn 1 of pm goes on: 60000 ms, nothing new
        > wait until Resumed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Wait requested","channel":"reviews","reason":"a build"}
            turn 1 of pm waits at most 300000 ms
        > kim: enough
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"QUEUED","trigger":"Human override","channel":"reviews","reason":"by kim"}
            turn 1 of pm ended: overridden
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.text());
}
