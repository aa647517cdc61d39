//! Who may speak, and what becomes of what is said.

use expect_test::expect;
use rawko_turns::Event;

use crate::support::Walk;

#[test]
fn the_word_completes_the_turn_and_is_taken_off() {
    expect![[""]].assert_eq(&Walk::with(&["pm", "dev"]).say("pm", "Looks good.\nTURN_COMPLETE").text());
}

#[test]
fn the_word_alone_posts_nothing() {
    expect![[""]].assert_eq(&Walk::with(&["pm", "dev"]).say("pm", "TURN_COMPLETE").text());
}

#[test]
fn a_late_message_of_the_turn_just_ended_is_posted_without_advancing() {
    let walk = Walk::with(&["pm", "dev", "qa"]).complete("pm").say_in(
        "pm",
        1,
        "m-1",
        "One more thing. TURN_COMPLETE",
    );
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn what_is_out_of_turn_is_refused_with_a_reason() {
    let walk = Walk::with(&["pm", "dev", "qa"]).say("dev", "Me!").complete("pm").complete("dev");
    let walk = walk.say_in("pm", 1, "m-1", "Much later").say("zoe", "Hello").complete("dev").say("qa", "  ");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn the_same_message_again_is_recognised() {
    let walk = Walk::with(&["pm", "dev"]).say_in("pm", 1, "m-1", "Hello.").say_in("pm", 1, "m-1", "Hello.");
    let again = || Event::PersonSpoke { person: "kim".into(), id: Some("k-1".into()), text: "Hi".into() };
    expect![[""]].assert_eq(&walk.play("kim: Hi (k-1)", again()).play("kim: Hi (k-1)", again()).text());
}

#[test]
fn alone_it_rests_as_idle_and_the_next_message_wakes_it() {
    let walk = Walk::with(&["pm"]).say("pm", "Nobody here. TURN_COMPLETE").person("I am.").complete("pm");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn when_a_whole_cycle_is_quiet_turns_rest_until_somebody_speaks() {
    let walk =
        Walk::with(&["pm", "dev"]).complete("pm").complete("dev").after(3_600_000).person("Again, please");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn turns_go_on_where_quiet_does_not_matter() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"restWhenQuiet": false}"#);
    let walk = walk.complete("pm").complete("dev").complete("pm").complete("dev");
    assert_eq!(walk.grants(), "dev pm dev pm");
}

#[test]
fn turns_without_a_person_may_be_limited() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"turnsUnattendedMax": 2}"#);
    let walk = walk.say("pm", "a TURN_COMPLETE").say("dev", "b TURN_COMPLETE").person("Go on");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn a_new_member_gets_some_of_what_came_before() {
    let walk =
        Walk::with(&["pm"]).options(r#"{"joinMessages": 2}"#).say("pm", "a").say("pm", "b").say("pm", "c");
    let walk = walk.assign("dev").complete("pm");
    expect![[""]].assert_eq(&walk.text());
}
