//! The six edge cases, each with its sub-steps, its notices and its log lines.

use expect_test::expect;
use rawko_turns::Loss;

use crate::support::Walk;

#[test]
fn case_1_an_agent_crashes_in_mid_turn() {
    let walk =
        Walk::with(&["pm", "dev"]).say("pm", "I begin.").lose("pm", Loss::Exited).start("pm").assign("pm");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn case_1_without_the_notice() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"announceDisconnects": false}"#);
    expect![[""]].assert_eq(&walk.lose("pm", Loss::HeartbeatsMissed).text());
}

#[test]
fn case_2_a_turn_times_out_and_its_agent_keeps_its_place() {
    let walk = Walk::with(&["pm", "dev", "qa"]).after(60_000).complete("dev").complete("qa");
    assert_eq!(walk.grants(), "dev qa pm");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn case_2_a_timeout_of_its_own_without_an_announcement() {
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"announceTimeouts": false}"#);
    let walk = walk.agent_options("dev", r#"{"defaultTimeoutSeconds": 5}"#);
    expect![[""]].assert_eq(&walk.complete("pm").after(4_999).after(1).text());
}

#[test]
fn case_4_an_agent_never_signals_done() {
    let walk = Walk::with(&["pm", "dev"]).say("pm", "Ready for review.").after(60_000);
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn case_4_silence_ends_the_turn_where_it_is_detected() {
    let options = r#"{"autoDetectTurnEnd": true, "autoDetectSilenceSeconds": 10}"#;
    let walk = Walk::with(&["pm", "dev"]).options(options);
    let walk =
        walk.after(20_000).say("pm", "Ready for review.").after(9_000).person("Which branch?").after(9_999);
    expect![[""]].assert_eq(&walk.after(1).text());
}

#[test]
fn case_5_all_agents_go_offline() {
    let walk =
        Walk::with(&["pm", "dev"]).lose("dev", Loss::Exited).lose("pm", Loss::Exited).person("Anybody?");
    expect![[""]].assert_eq(&walk.start("dev").assign("dev").text());
}

#[test]
fn case_6_an_agent_is_added_in_mid_cycle() {
    let walk =
        Walk::with(&["pm", "dev"]).say("pm", "a").complete("pm").assign("qa").say("dev", "b").complete("dev");
    let walk = walk.complete("qa").complete("pm");
    assert_eq!(walk.grants(), "dev qa pm dev");
}

#[test]
fn case_6_a_queued_agent_is_removed() {
    let walk = Walk::with(&["pm", "dev", "qa"]).remove("dev").say("pm", "a").complete("pm").complete("qa");
    assert_eq!(walk.grants(), "qa pm");
}

#[test]
fn case_6_the_active_agent_is_removed() {
    let walk = Walk::with(&["pm", "dev", "qa"]).remove("pm").say("pm", "But I was not done").complete("dev");
    assert_eq!(walk.grants(), "dev qa");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn a_host_that_was_down_past_the_deadline_advances_the_turn() {
    let walk = Walk::with(&["pm", "dev"])
        .say("pm", "I begin.")
        .restart_after(3_600_000)
        .reconnect("dev")
        .reconnect("pm");
    expect![[""]].assert_eq(&walk.text());
}

#[test]
fn a_host_that_was_down_for_a_moment_leaves_the_turn_and_who_does_not_return_is_lost() {
    let walk = Walk::with(&["pm", "dev"]).restart_after(1_000).reconnect("dev").after(9_999).after(1);
    expect![[""]].assert_eq(&walk.text());
}
