//! An agent waits in its turn; nobody else gets it meanwhile.

use expect_test::expect;
use rawko_turns::{Event, OverrideTo, State, WaitUntil};

use crate::support::{NINE, Walk};

#[test]
fn what_is_left_of_the_turn_is_left_after_the_wait() {
    let walk = Walk::with(&["pm", "dev"]).after(15_000).wait("pm", WaitUntil::Resumed, None).after(100_000);
    let walk = walk.say("pm", "Hm").complete("dev").person("Take your time");
    expect![[""]].assert_eq(&walk.resolve("pm").text());
}

#[test]
fn a_wait_ends_with_what_it_waits_for() {
    let until = |until: WaitUntil| Walk::with(&["pm", "dev"]).wait("pm", until, Some(10_000));
    let by_message = until(WaitUntil::Message).person("Hello");
    let by_person = until(WaitUntil::Person).person("Hello");
    let by_time = until(WaitUntil::Time(NINE + 5_000)).after(4_999).after(1);
    let only_itself = until(WaitUntil::Resumed).person("Hello");
    for (walk, state) in [
        (by_message, State::Active),
        (by_person, State::Active),
        (by_time, State::Active),
        (only_itself, State::Waiting),
    ] {
        assert_eq!(walk.state("pm"), state);
    }
}

#[test]
fn a_wait_is_no_longer_than_the_channel_allows() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"waitTimeoutSeconds": 20}"#);
    let walk = walk.wait("pm", WaitUntil::Resumed, Some(3_600_000)).after(19_999).after(1);
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn a_person_for_whom_somebody_waits_is_not_held_back() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"humanInterruptMode": "queue"}"#);
    expect![[""]].assert_eq(&walk.wait("pm", WaitUntil::Person, None).person("Here I am").text());
}

#[test]
fn a_person_decides_about_a_waiting_agent() {
    let decide = |to| Event::Overridden { by: "kim".into(), to };
    let walk = Walk::with(&["pm", "dev"]).play("kim: go on", decide(OverrideTo::Active));
    let walk = walk.wait("pm", WaitUntil::Resumed, None).play("kim: go on", decide(OverrideTo::Active));
    let walk = walk.wait("pm", WaitUntil::Resumed, None).play("kim: enough", decide(OverrideTo::Queued));
    expect![[""]].assert_eq(&walk.text());
}
