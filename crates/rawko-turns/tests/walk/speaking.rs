//! Permission to speak, and the handling of messages.

use expect_test::expect;
use rawko_turns::ChannelEvent;

use crate::support::Walk;

#[test]
fn the_word_completes_the_turn_and_is_taken_off() {
    expect![[r#"
        > pm: Looks good.
        TURN_COMPLETE
            #1 pm: Looks good.
            #1 to dev
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&Walk::with(&["pm", "dev"]).say("pm", "Looks good.\nTURN_COMPLETE").text());
}

#[test]
fn the_word_alone_posts_nothing() {
    expect![[r#"
        > pm: TURN_COMPLETE
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&Walk::with(&["pm", "dev"]).say("pm", "TURN_COMPLETE").text());
}

#[test]
fn a_late_message_of_the_turn_just_ended_is_posted_without_advancing() {
    let walk = Walk::with(&["pm", "dev", "qa"]).complete("pm").say_in(
        "pm",
        1,
        "m-1",
        "One more thing. TURN_COMPLETE",
    );
    expect![[r#"
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        > pm: One more thing. TURN_COMPLETE (turn 1, id m-1)
            #1 pm: One more thing. (late)
            #1 to dev, qa
        = dev ACTIVE, pm QUEUED, qa QUEUED
    "#]].assert_eq(&walk.text());
}

#[test]
fn what_is_out_of_turn_is_refused_with_a_reason() {
    let walk = Walk::with(&["pm", "dev", "qa"]).say("dev", "Me!").complete("pm").complete("dev");
    let walk = walk.say_in("pm", 1, "m-1", "Much later").say("zoe", "Hello").complete("dev").say("qa", "  ");
    expect![[r#"
        > dev: Me!
            refused (not_your_turn): it is not your turn; current turn: pm
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        > dev completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 2 of dev ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"qa","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 3 granted to qa: 60000 ms, nothing new
        > pm: Much later (turn 1, id m-1)
            refused (turn_over): turn 1 has ended
        > zoe: Hello
            refused (not_a_member): `zoe` is not assigned to this channel
        > dev completes
            refused (not_your_turn): it is not your turn; current turn: qa
        > qa:   
            refused (empty): the message is empty
        = dev QUEUED, pm QUEUED, qa ACTIVE
    "#]].assert_eq(&walk.text());
}

#[test]
fn the_same_message_again_is_recognised() {
    let walk = Walk::with(&["pm", "dev"]).say_in("pm", 1, "m-1", "Hello.").say_in("pm", 1, "m-1", "Hello.");
    let again =
        || ChannelEvent::PersonSpoke { person: "kim".into(), id: Some("k-1".into()), text: "Hi".into() };
    expect![[r#"
        > pm: Hello. (turn 1, id m-1)
            #1 pm: Hello.
            #1 to dev
        > pm: Hello. (turn 1, id m-1)
            refused (duplicate): already posted as message 1
        > kim: Hi (k-1)
            #2 kim: Hi
            #2 to dev, pm
        > kim: Hi (k-1)
            refused (duplicate): already posted as message 2
        = dev QUEUED, pm ACTIVE
    "#]]
    .assert_eq(&walk.play("kim: Hi (k-1)", again()).play("kim: Hi (k-1)", again()).text());
}

#[test]
fn alone_it_rests_as_idle_and_the_next_message_wakes_it() {
    let walk = Walk::with(&["pm"]).say("pm", "Nobody here. TURN_COMPLETE").person("I am.").complete("pm");
    expect![[r#"
        > pm: Nobody here. TURN_COMPLETE
            #1 pm: Nobody here.
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"IDLE","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
        > kim: I am.
            #2 kim: I am.
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"IDLE","to":"QUEUED","trigger":"Message","channel":"reviews"}
            #2 to pm
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to pm: 60000 ms, messages 2–2
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"IDLE","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 2 of pm ended: completed
        = pm IDLE
    "#]].assert_eq(&walk.text());
}

#[test]
fn when_a_whole_cycle_is_quiet_turns_rest_until_somebody_speaks() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"restWhenQuiet": true}"#);
    let walk = walk.complete("pm").complete("dev").after(3_600_000).person("Again, please");
    expect![[r#"
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, nothing new
        > dev completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 2 of dev ended: completed
        > …3600000 ms
        > kim: Again, please
            #1 kim: Again, please
            #1 to dev, pm
            log {"timestamp":"2026-02-04T22:00:00Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 3 granted to pm: 60000 ms, messages 1–1
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.text());
}

#[test]
fn a_completed_turn_advances_the_queue_also_without_a_message() {
    let walk = Walk::with(&["pm", "dev"]).complete("pm").complete("dev").complete("pm").complete("dev");
    assert_eq!(walk.grants(), "dev pm dev pm");
}

#[test]
fn turns_without_a_person_may_be_limited() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"turnsUnattendedMax": 2}"#);
    let walk = walk.say("pm", "a TURN_COMPLETE").say("dev", "b TURN_COMPLETE").person("Go on");
    expect![[r#"
        > pm: a TURN_COMPLETE
            #1 pm: a
            #1 to dev
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
        > dev: b TURN_COMPLETE
            #2 dev: b
            #2 to pm
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            #3 notice: ⏸️ 2 turns without a person; the channel rests until a person posts
            #3 to dev, pm
            turn 2 of dev ended: completed
        > kim: Go on
            #4 kim: Go on
            #4 to dev, pm
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 3 granted to pm: 60000 ms, messages 2–4
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.text());
}

#[test]
fn a_new_member_gets_some_of_what_came_before() {
    let walk =
        Walk::with(&["pm"]).options(r#"{"joinMessages": 2}"#).say("pm", "a").say("pm", "b").say("pm", "c");
    let walk = walk.assign("dev").complete("pm");
    expect![[r#"
        > pm: a
            #1 pm: a
        > pm: b
            #2 pm: b
        > pm: c
            #3 pm: c
        > dev assigned
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"OFFLINE","to":"IDLE","trigger":"Agent starts","channel":"reviews"}
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"IDLE","to":"QUEUED","trigger":"Assigned to channel","channel":"reviews","reason":"by kim"}
            dev is told: assigned
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 2–3
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.text());
}
