//! Turn order: round-robin, by priority, or named by a person.

use rawko_turns::{ChannelEvent, ChannelRefusal, reduce};

use crate::support::Walk;

fn round(mut walk: Walk, turns: usize) -> String {
    for _ in 0..turns {
        let Some(turn) = walk.channel.turn.clone() else { break };
        walk = walk.say(turn.agent.as_str(), "x TURN_COMPLETE");
    }
    walk.grants()
}

fn prioritise(walk: Walk, agent: &str, priority: i32) -> Walk {
    walk.play("priority", ChannelEvent::PrioritySet { agent: agent.into(), priority })
}

#[test]
fn round_robin_goes_around_the_list() {
    assert_eq!(round(Walk::with(&["a", "b", "c"]), 5), "b c a b c");
}

#[test]
fn priority_decides_within_a_cycle_and_starves_nobody() {
    let walk = Walk::with(&["a", "b", "c"]).options(r#"{"turnOrder": "priority"}"#);
    let walk = prioritise(prioritise(walk, "c", 10), "b", 5);
    assert_eq!(round(walk, 7), "c b c b a c b");
}

#[test]
fn manual_is_whom_a_person_names_and_nobody_otherwise() {
    let walk = Walk::with(&["a", "b", "c"]).options(r#"{"turnOrder": "manual"}"#);
    let name = |agent: &str| ChannelEvent::NextNamed { agent: agent.into(), by: "kim".into() };
    let walk =
        walk.complete("a").person("Hm").play("next c", name("c")).complete("c").play("next c", name("c"));
    assert_eq!(walk.grants(), "c c");
}

#[test]
fn a_person_may_name_the_next_in_any_order() {
    let walk = Walk::with(&["a", "b", "c"]);
    let walk = walk.play("next c", ChannelEvent::NextNamed { agent: "c".into(), by: "kim".into() });
    assert_eq!(round(walk, 4), "c a b c");
}

#[test]
fn the_list_can_be_put_in_order_in_mid_cycle() {
    let walk = Walk::with(&["a", "b", "c", "d"]);
    let order = ChannelEvent::OrderSet { agents: ["d", "a", "c"].map(Into::into).to_vec() };
    assert_eq!(round(walk.play("order", order), 4), "c b d a");
}

#[test]
fn an_order_of_strangers_is_refused() {
    let mut channel = Walk::with(&["a", "b"]).channel;
    let mut order = |names: &[&str]| {
        let agents = names.iter().map(|name| (*name).into()).collect();
        reduce(&mut channel, ChannelEvent::OrderSet { agents }, 0)
    };
    assert_eq!(order(&["a", "z"]), Err(ChannelRefusal::NotInQueue { agent: "z".into() }));
    assert_eq!(order(&["a", "a"]), Err(ChannelRefusal::NamedTwice { agent: "a".into() }));
}

#[test]
fn whoever_comes_after_a_lost_agent_is_next() {
    let walk = Walk::with(&["a", "b", "c", "d"]).say("a", "x TURN_COMPLETE");
    let walk = walk.lose("b", rawko_turns::Loss::Exited);
    assert_eq!(round(walk, 3), "b c d a c");
}
