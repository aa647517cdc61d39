//! The table of each state in the specification: whether an agent receives messages, may respond and is in the queue.

use rawko_turns::{MemberState, WaitUntil};

use crate::support::Walk;

/// A walk in which `dev` is in the state, what it receives of a message by `kim`, whether it may respond, and whether it has a
/// place in the queue.
fn rows() -> Vec<(MemberState, Walk, bool, bool, bool)> {
    let two = || Walk::with(&["pm", "dev"]);
    let active = || two().complete("pm");
    vec![
        (MemberState::Offline, two().stop("dev"), false, false, false),
        (MemberState::Idle, two().remove("dev"), false, false, false),
        (MemberState::Queued, two(), true, false, true),
        (MemberState::Active, active(), true, true, true),
        (MemberState::Waiting, active().wait("dev", WaitUntil::Resumed, None), true, false, true),
    ]
}

#[test]
fn each_state_receives_responds_and_queues_as_specified() {
    for (state, walk, receives, _, is_queued) in rows() {
        assert_eq!(walk.state("dev"), state);
        assert_eq!(state.is_in_queue(), is_queued, "{state:?}");
        let heard = walk.quiet().person("News.");
        assert_eq!(heard.state("dev"), state, "a message moves no agent");
        let text = heard.text();
        let is_delivered = text.lines().any(|line| line.contains("#1 to") && line.contains("dev"));
        assert_eq!(is_delivered, receives, "{state:?}: {text}");
    }
    for (state, walk, _, responds, _) in rows() {
        let text = walk.quiet().say("dev", "Mine.").text();
        let is_posted = text.lines().any(|line| line.contains("dev: Mine.") && line.contains('#'));
        assert_eq!(is_posted, responds, "{state:?}: {text}");
        assert_eq!(text.contains("refused ("), !responds, "{state:?}: {text}");
    }
}

#[test]
fn each_state_lasts_as_specified() {
    // Until the agent starts, until it is assigned, until its turn comes.
    let walk = Walk::with(&["pm", "dev"]).stop("dev").after(24 * 60 * 60 * 1_000);
    assert_eq!(walk.state("dev"), MemberState::Offline);
    assert_eq!(walk.start("dev").state("dev"), MemberState::Idle);
    let walk = Walk::with(&["pm", "dev"]).remove("dev").after(30_000);
    assert_eq!(walk.state("dev"), MemberState::Idle);
    assert_eq!(walk.assign("dev").state("dev"), MemberState::Queued);
    assert_eq!(Walk::with(&["pm", "dev"]).after(59_999).state("dev"), MemberState::Queued);
    assert_eq!(Walk::with(&["pm", "dev"]).complete("pm").state("dev"), MemberState::Active);
    // Until the turn is complete or its time is up; until the trigger or the timeout.
    assert_eq!(Walk::with(&["pm", "dev"]).after(60_000).state("pm"), MemberState::Queued);
    let waiting = || Walk::with(&["pm", "dev"]).wait("pm", WaitUntil::Resumed, Some(20_000));
    assert_eq!(waiting().after(19_999).state("pm"), MemberState::Waiting);
    assert_eq!(waiting().resolve("pm").state("pm"), MemberState::Active);
    assert_eq!(waiting().after(20_000).state("pm"), MemberState::Queued);
}
