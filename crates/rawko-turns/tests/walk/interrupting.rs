//! A person speaks while an agent has the turn: four modes.

use expect_test::expect;
use rawko_turns::{ChannelEvent, OverrideTo};

use crate::support::Walk;

#[test]
fn queue_holds_it_back_until_the_turn_ends() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "queue"}"#);
    expect![[r#"
        > kim: One
            held: One
        > kim: Two
            held: Two
        > pm: Done. TURN_COMPLETE
            #1 pm: Done.
            #1 to dev
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            #2 kim: One
            #2 to dev, pm
            #3 kim: Two
            #3 to dev, pm
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–3
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.person("One").person("Two").say("pm", "Done. TURN_COMPLETE").text());
}

#[test]
fn interrupt_pauses_the_turn_while_the_person_has_the_floor() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "interrupt"}"#);
    let walk =
        walk.after(10_000).person("Stop.").say("pm", "But…").after(20_000).person("Use main.").after(29_999);
    expect![[r#"
        > …10000 ms
        > kim: Stop.
            log {"timestamp":"2026-02-04T21:00:10Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Human interrupt","channel":"reviews","reason":"by kim"}
            turn 1 of pm suspended: HumanInterrupt
            #1 kim: Stop.
            #1 to dev, pm
        > pm: But…
            refused (turn_paused): your turn is paused: interrupted by a person
        > …20000 ms
        > kim: Use main.
            #2 kim: Use main.
            #2 to dev, pm
        > …29999 ms
        > …1 ms
            log {"timestamp":"2026-02-04T21:01:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Human interrupt over","channel":"reviews"}
            turn 1 of pm goes on: 50000 ms, messages 1–2
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.after(1).text());
}

#[test]
fn a_person_gives_the_floor_back() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "interrupt"}"#).person("Stop.");
    let back = ChannelEvent::Overridden { by: "kim".into(), to: OverrideTo::Active };
    expect![[r#"
        > kim: Stop.
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Human interrupt","channel":"reviews","reason":"by kim"}
            turn 1 of pm suspended: HumanInterrupt
            #1 kim: Stop.
            #1 to dev, pm
        > kim gives the floor back
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Human override","channel":"reviews","reason":"by kim"}
            turn 1 of pm goes on: 60000 ms, messages 1–1
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.play("kim gives the floor back", back).text());
}

#[test]
fn nobody_loses_a_turn_to_an_interruption_in_its_last_second() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "interrupt"}"#);
    expect![[r#"
        > …59999 ms
        > kim: Stop.
            log {"timestamp":"2026-02-04T21:00:59.999Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"WAITING","trigger":"Human interrupt","channel":"reviews","reason":"by kim"}
            turn 1 of pm suspended: HumanInterrupt
            #1 kim: Stop.
            #1 to dev, pm
        > …30000 ms
            log {"timestamp":"2026-02-04T21:01:29.999Z","event":"state_transition","agentId":"pm","from":"WAITING","to":"ACTIVE","trigger":"Human interrupt over","channel":"reviews"}
            turn 1 of pm goes on: 15000 ms, messages 1–1
        = dev QUEUED, pm ACTIVE
    "#]].assert_eq(&walk.after(59_999).person("Stop.").after(30_000).text());
}

#[test]
fn inject_hands_it_to_the_active_agent_at_once() {
    expect![[r#"
        > kim: Use main.
            #1 kim: Use main.
            #1 to dev, pm
        = dev QUEUED, pm ACTIVE
    "#]]
    .assert_eq(&Walk::with(&["pm", "dev"]).person("Use main.").text());
}

#[test]
fn parallel_reaches_everybody_and_leaves_the_turn_alone() {
    let options = r#"{"humanInterruptMode": "parallel", "autoDetectTurnEnd": true}"#;
    let walk = Walk::with(&["pm", "dev"]).options(options).say("pm", "Ready.").after(9_000).person("Nice!");
    expect![[r#"
        > pm: Ready.
            #1 pm: Ready.
            #1 to dev
        > …9000 ms
        > kim: Nice!
            #2 kim: Nice!
            #2 to dev, pm
        > …1000 ms
            warning, pm, turn 1: Agent completed response without TURN_COMPLETE
            log {"timestamp":"2026-02-04T21:00:10Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"Silence","channel":"reviews"}
            turn 1 of pm ended: silence
            log {"timestamp":"2026-02-04T21:00:10Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–2
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.after(1_000).text());
}

#[test]
fn the_mode_may_differ_for_an_agent() {
    let walk = Walk::with(&["pm", "dev"]).agent_options("dev", r#"{"humanInterruptMode": "queue"}"#);
    expect![[r#"
        > kim: To pm
            #1 kim: To pm
            #1 to dev, pm
        > pm completes
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"pm","from":"ACTIVE","to":"QUEUED","trigger":"TURN_COMPLETE","channel":"reviews"}
            turn 1 of pm ended: completed
            log {"timestamp":"2026-02-04T21:00:00Z","event":"state_transition","agentId":"dev","from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"reviews"}
            turn 2 granted to dev: 60000 ms, messages 1–1
        > kim: Not to dev
            held: Not to dev
        = dev ACTIVE, pm QUEUED
    "#]].assert_eq(&walk.person("To pm").complete("pm").person("Not to dev").text());
}
