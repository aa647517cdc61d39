//! What people change while turns go on.

use expect_test::expect;
use rawko_turns::Event;

use crate::support::Walk;

fn pause() -> Event {
    Event::Paused { by: "kim".into() }
}

fn resume() -> Event {
    Event::Resumed { by: "kim".into() }
}

#[test]
fn a_paused_channel_has_no_clock() {
    let walk =
        Walk::with(&["pm", "dev"]).after(10_000).play("pause", pause()).after(3_600_000).say("pm", "Hm");
    let walk = walk.play("pause", pause()).person("Later").play("resume", resume()).play("resume", resume());
    expect![[""]].assert_eq(&walk.after(50_000).text());
}

#[test]
fn a_wait_stands_still_while_the_channel_is_paused() {
    let walk = Walk::with(&["pm", "dev"]).wait("pm", rawko_turns::WaitUntil::Person, Some(10_000));
    let walk = walk.after(4_000).play("pause", pause()).after(60_000).person("Here").resolve("pm");
    expect![[""]].assert_eq(&walk.play("resume", resume()).after(5_999).after(1).text());
}

#[test]
fn nobody_is_granted_a_turn_in_a_paused_channel() {
    let walk = Walk::with(&["pm", "dev"]).play("pause", pause()).remove("pm").play("resume", resume());
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn a_turn_is_skipped() {
    let skip = || Event::Skipped { by: "kim".into() };
    expect![[""]].assert_eq(&Walk::with(&["pm"]).play("skip", skip()).play("skip", skip()).text());
}

#[test]
fn who_reconnects_within_the_grace_time_goes_on_where_it_was() {
    let walk = Walk::with(&["pm", "dev"]).say("pm", "I begin.").disconnect("pm").after(9_999).reconnect("pm");
    expect![[""]].assert_eq(&walk.after(10_000).text());
}

#[test]
fn who_does_not_is_lost() {
    expect![[""]].assert_eq(&Walk::with(&["pm", "dev"]).disconnect("pm").after(10_000).text());
}

#[test]
fn a_new_process_without_the_session_begins_anew() {
    expect![[""]].assert_eq(&Walk::with(&["pm", "dev"]).start("pm").text());
}

#[test]
fn who_was_assigned_while_away_is_queued_when_it_comes() {
    expect![[""]].assert_eq(&Walk::new().assign_absent("pm").start("pm").text());
}
