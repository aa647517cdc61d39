//! Rounds without progress: channels whose agents only talk, repeat themselves or do nothing rest as stuck within six
//! rounds of default settings, and channels with work that gets nearer to its goal, or with people, never do.

use rawko_turns::{ChannelEvent, RoundJudgement};

use crate::support::Walk;

/// What one agent does in its turn.
#[derive(Clone, Copy)]
enum Turn {
    Says(&'static str),
    Passes,
    TimesOut,
}

/// What follows a round: nothing, a judgement of the host (rounds without progress since), or a person.
#[derive(Clone, Copy)]
enum After {
    Nothing,
    Progress,
    /// Changed files without a check: the round is forgiven.
    Forgiven,
    Same,
    Loop,
    Person,
}

const NAMES: [&str; 3] = ["pm", "dev", "qa"];

/// Plays rounds until the channel rests, and returns their number; `rounds` if it never does.
fn play(
    agents: usize,
    rounds: usize,
    turn: impl Fn(usize, usize) -> Turn,
    after: impl Fn(usize) -> After,
) -> usize {
    let names = &NAMES[..agents];
    let mut walk = Walk::with(names);
    for round in 0..rounds {
        for (place, name) in names.iter().enumerate() {
            if walk.rests() {
                return round;
            }
            walk = match turn(round, place) {
                Turn::Says(text) => walk.say(name, &format!("{text} TURN_COMPLETE")),
                Turn::Passes => walk.complete(name),
                Turn::TimesOut => walk.after(60_000),
            };
        }
        let without = walk.without();
        let judged = |walk: Walk, without: u32, is_loop: bool| {
            let judgement = RoundJudgement { without, is_loop, memory: serde_json::Value::Null, round: None };
            walk.play("judged", ChannelEvent::RoundJudged { judgement })
        };
        walk = match after(round) {
            After::Nothing => walk,
            After::Progress => judged(walk, 0, false),
            After::Forgiven => judged(walk, without.saturating_sub(1), false),
            After::Same => judged(walk, without, false),
            After::Loop => judged(walk, without, true),
            After::Person => walk.person("Go on."),
        };
    }
    if walk.rests() { rounds } else { rounds + 1 }
}

#[test]
fn channels_without_progress_are_stuck_within_six_rounds() {
    use Turn::{Passes, Says, TimesOut};
    type Row = (&'static str, usize, fn(usize, usize) -> Turn, fn(usize) -> After);
    let table: [Row; 21] = [
        ("two talkers", 2, |_, _| Says("Good point!"), |_| After::Nothing),
        ("two talkers, judged", 2, |_, _| Says("Good point!"), |_| After::Same),
        ("three talkers", 3, |_, _| Says("I agree."), |_| After::Nothing),
        (
            "always another word",
            2,
            |round, _| Says(["a", "b", "c", "d", "e", "f", "g"][round % 7]),
            |_| After::Same,
        ),
        ("liars", 2, |_, _| Says("All tests pass now."), |_| After::Same),
        ("every agent passes", 2, |_, _| Passes, |_| After::Nothing),
        ("three have nothing to say", 3, |_, _| Passes, |_| After::Nothing),
        (
            "one talks, one passes",
            2,
            |_, place| if place == 0 { Says("Well.") } else { Passes },
            |_| After::Nothing,
        ),
        ("turns time out", 2, |_, _| TimesOut, |_| After::Nothing),
        (
            "one times out",
            2,
            |_, place| if place == 0 { Says("Well.") } else { TimesOut },
            |_| After::Nothing,
        ),
        (
            "files go back and forth",
            2,
            |_, _| Says("Reverted."),
            |round| if round == 3 { After::Loop } else { After::Same },
        ),
        ("ping and pong", 2, |_, place| Says(["ping", "pong"][place]), |_| After::Same),
        ("questions without end", 2, |_, _| Says("Which one do you mean?"), |_| After::Same),
        (
            "a question each, answered by a question",
            3,
            |_, _| Says("And what do you think?"),
            |_| After::Nothing,
        ),
        (
            "a claim, then applause",
            2,
            |_, place| Says(["It is fixed.", "Great work!"][place]),
            |_| After::Same,
        ),
        (
            "a claim, then a rejection",
            2,
            |_, place| Says(["It is fixed now.", "It still fails."][place]),
            |_| After::Same,
        ),
        ("a name is handed on", 3, |_, place| Says(["@dev", "@qa", "@pm"][place]), |_| After::Same),
        (
            "talk and silence in turn",
            2,
            |round, _| if round % 2 == 0 { Says("Nearly.") } else { Passes },
            |_| After::Same,
        ),
        (
            "some time out, some pass",
            3,
            |round, place| if (round + place) % 2 == 0 { TimesOut } else { Passes },
            |_| After::Nothing,
        ),
        (
            "progress at first, then talk",
            2,
            |_, _| Says("Nearly there."),
            |round| if round == 0 { After::Progress } else { After::Same },
        ),
        (
            "a change that is forgiven, then the same files again",
            2,
            |_, _| Says("Once more."),
            |round| match round {
                0 => After::Forgiven,
                3 => After::Loop,
                _ => After::Same,
            },
        ),
    ];
    for (name, agents, turn, after) in table {
        let rounds = play(agents, 20, turn, after);
        assert!((1..=6).contains(&rounds), "{name}: {rounds} rounds");
    }
}

#[test]
fn channels_with_progress_or_people_never_rest() {
    use Turn::{Passes, Says};
    type Row = (&'static str, usize, fn(usize, usize) -> Turn, fn(usize) -> After);
    let table: [Row; 20] = [
        ("each round makes a check pass", 2, |_, _| Says("Fixed one."), |_| After::Progress),
        (
            "every second round does",
            2,
            |_, _| Says("Looking."),
            |round| if round % 2 == 1 { After::Progress } else { After::Same },
        ),
        (
            "every fourth round does",
            3,
            |_, _| Says("Looking."),
            |round| if round % 4 == 3 { After::Progress } else { After::Same },
        ),
        ("a person answers each round", 2, |_, _| Says("And now?"), |_| After::Person),
        (
            "a person answers every fourth round",
            2,
            |_, _| Says("And now?"),
            |round| if round % 4 == 3 { After::Person } else { After::Same },
        ),
        (
            "one works, one listens",
            2,
            |_, place| if place == 0 { Says("Done.") } else { Passes },
            |_| After::Progress,
        ),
        (
            "changed files buy time",
            2,
            |_, _| Says("Moved it."),
            |round| if round % 5 == 4 { After::Progress } else { After::Forgiven },
        ),
        (
            "a late judgement",
            2,
            |_, _| Says("Fixed."),
            |round| if round % 3 == 2 { After::Progress } else { After::Nothing },
        ),
        (
            "three agents, progress every third round",
            3,
            |_, _| Says("Looking."),
            |round| if round % 3 == 2 { After::Progress } else { After::Same },
        ),
        (
            "a slow worker",
            2,
            |_, place| if place == 0 { Turn::TimesOut } else { Says("Fixed one.") },
            |_| After::Progress,
        ),
        (
            "a person, then progress",
            2,
            |_, _| Says("Looking."),
            |round| match round % 4 {
                1 => After::Person,
                3 => After::Progress,
                _ => After::Same,
            },
        ),
        (
            "four rounds of questions to a person",
            2,
            |_, _| Says("Which one do you mean?"),
            |round| {
                if round % 5 == 4 {
                    After::Person
                } else if round % 5 == 0 {
                    After::Nothing
                } else {
                    After::Forgiven
                }
            },
        ),
        ("three agents, each round makes progress", 3, |_, _| Says("Fixed one."), |_| After::Progress),
        ("a quiet pair that works", 2, |_, _| Passes, |_| After::Progress),
        (
            "one speaks every second round",
            2,
            |round, place| if round % 2 == place { Says("Fixed one.") } else { Passes },
            |round| if round % 2 == 1 { After::Progress } else { After::Same },
        ),
        (
            "an attempt is taken back, then progress",
            2,
            |_, _| Says("Trying."),
            |round| match round % 4 {
                0 => After::Forgiven,
                3 => After::Progress,
                _ => After::Same,
            },
        ),
        (
            "turns time out while another works",
            3,
            |_, place| if place == 2 { Turn::TimesOut } else { Says("Fixed one.") },
            |round| if round % 2 == 0 { After::Progress } else { After::Same },
        ),
        (
            "a person corrects a loop",
            2,
            |_, _| Says("Reverted."),
            |round| if round % 3 == 2 { After::Person } else { After::Same },
        ),
        (
            "checks take two rounds",
            2,
            |_, _| Says("Fixed."),
            |round| match round % 4 {
                0 | 1 => After::Nothing,
                2 => After::Progress,
                _ => After::Same,
            },
        ),
        (
            "a person in a quiet channel",
            3,
            |_, _| Passes,
            |round| if round % 4 == 3 { After::Person } else { After::Nothing },
        ),
    ];
    for (name, agents, turn, after) in table {
        assert_eq!(play(agents, 15, turn, after), 16, "{name}");
    }
}

#[test]
fn the_agents_hear_of_it_and_a_person_wakes_the_channel() {
    let mut walk = Walk::with(&["pm", "dev"]);
    for _ in 0..5 {
        walk = walk.say("pm", "Yes. TURN_COMPLETE").say("dev", "Indeed. TURN_COMPLETE");
    }
    let grants = walk.grants().split(' ').count();
    let walk = walk.person("Try again.");
    assert_eq!(walk.grants().split(' ').count(), grants + 1);
    let text = walk.text();
    assert!(text.contains("notice: ⚠️ 3 rounds without progress"), "{text}");
    assert!(text.contains("notice: ⏸️ stuck: 5 rounds without progress"), "{text}");
    // Settings: earlier, or never.
    let walk = Walk::with(&["pm", "dev"]).options(r#"{"stuckAfterRounds": 1}"#);
    assert!(walk.complete("pm").complete("dev").rests());
    let mut walk = Walk::with(&["pm", "dev"]).options(r#"{"stuckAfterRounds": 0, "tellAfterRounds": 0}"#);
    for _ in 0..30 {
        walk = walk.complete("pm").complete("dev");
    }
    assert!(!walk.rests());
    assert!(!walk.text().contains("notice"));
}

/// A judgement that arrives late, about the round of this number.
fn late(walk: Walk, without: u32, round: u64, is_loop: bool) -> Walk {
    let judgement = RoundJudgement { without, is_loop, memory: serde_json::Value::Null, round: Some(round) };
    walk.play("judged late", ChannelEvent::RoundJudged { judgement })
}

fn talked(rounds: usize) -> Walk {
    (0..rounds * 2)
        .fold(Walk::with(&NAMES[..2]), |walk, turn| walk.say(NAMES[turn % 2], "Good point! TURN_COMPLETE"))
}

/// Checks take longer than talk: a late judgement neither forgives the rounds since then nor wakes a stuck channel.
#[test]
fn late_judgements_forgive_no_later_round() {
    let walk = late(talked(4), 1, 1, false);
    assert_eq!(walk.without(), 4, "no progress");
    let walk = late(talked(4), 0, 1, false);
    assert_eq!(walk.without(), 3, "progress in the first round, none since");
    let walk = late(talked(5), 2, 2, false);
    assert!(walk.rests(), "stuck");
    let walk = late(talked(5), 0, 3, false);
    assert!(!walk.rests(), "the third round made progress");
    assert_eq!(walk.without(), 2);
    let walk = late(talked(5), 0, 1, false);
    assert!(!walk.rests(), "the first round made progress");
    let walk = NAMES[..2].iter().fold(walk, |walk, name| walk.say(name, "Good point! TURN_COMPLETE"));
    let walk = late(walk, 1, 2, false);
    assert!(walk.rests() && walk.without() == 5, "the same progress is not forgiven twice");
    let walk = late(talked(4).person("Go on."), 4, 4, true);
    assert!(!walk.rests() && walk.without() == 0, "a person posted since then");
}
