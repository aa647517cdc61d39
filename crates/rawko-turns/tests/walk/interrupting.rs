//! A person speaks while an agent has the turn: four modes.

use expect_test::expect;
use rawko_turns::{Event, OverrideTo};

use crate::support::Walk;

#[test]
fn queue_holds_it_back_until_the_turn_ends() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "queue"}"#);
    expect![[""]].assert_eq(&walk.person("One").person("Two").say("pm", "Done. TURN_COMPLETE").text());
}

#[test]
fn interrupt_pauses_the_turn_while_the_person_has_the_floor() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "interrupt"}"#);
    let walk =
        walk.after(10_000).person("Stop.").say("pm", "But…").after(20_000).person("Use main.").after(29_999);
    expect![[""]].assert_eq(&walk.after(1).text());
}

#[test]
fn a_person_gives_the_floor_back() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "interrupt"}"#).person("Stop.");
    let back = Event::Overridden { by: "kim".into(), to: OverrideTo::Active };
    expect![[""]].assert_eq(&walk.play("kim gives the floor back", back).text());
}

#[test]
fn nobody_loses_a_turn_to_an_interruption_in_its_last_second() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "interrupt"}"#);
    expect![[""]].assert_eq(&walk.after(59_999).person("Stop.").after(30_000).text());
}

#[test]
fn inject_hands_it_to_the_active_agent_at_once() {
    expect![[""]].assert_eq(&Walk::with(&["pm", "dev"]).person("Use main.").text());
}

#[test]
fn parallel_reaches_everybody_and_leaves_the_turn_alone() {
    let options = r#"{"humanInterruptMode": "parallel", "autoDetectTurnEnd": true}"#;
    let walk = Walk::with(&["pm", "dev"]).options(options).say("pm", "Ready.").after(9_000).person("Nice!");
    expect![[""]].assert_eq(&walk.after(1_000).text());
}

#[test]
fn the_mode_may_differ_for_an_agent() {
    let walk = Walk::with(&["pm", "dev"]).agent_options("dev", r#"{"humanInterruptMode": "queue"}"#);
    expect![[""]].assert_eq(&walk.person("To pm").complete("pm").person("Not to dev").text());
}
