//! Random interleavings of all events, in several channels that share their agents, with crashes at any point. The
//! invariant holds after every event, and no message is lost. A failure prints its seed, which reproduces it.

#![allow(clippy::disallowed_methods, reason = "a seed comes from whoever runs the test")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod generate;
mod model;

use generate::Dice;
use model::Room;
use rawko_turns::ChannelEvent;

const INTERLEAVINGS: u64 = 100_000;
const EVENTS: usize = 24;
const CHANNELS: usize = 2;
/// Replays one seed: `RAWKO_SEED=17 cargo test -p rawko-turns --test interleavings`.
const SEED: &str = "RAWKO_SEED";
/// For a long night: `RAWKO_INTERLEAVINGS=1000000`.
const AMOUNT: &str = "RAWKO_INTERLEAVINGS";

#[test]
#[expect(clippy::disallowed_methods, reason = "a person who looks at one seed says which")]
fn one_hundred_thousand_interleavings_keep_the_invariant_and_lose_nothing() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number(SEED) {
        Some(seed) => interleave(seed),
        None => (0..number(AMOUNT).unwrap_or(INTERLEAVINGS)).for_each(interleave),
    }
}

fn interleave(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut rooms: Vec<Room> = (0..CHANNELS).map(|n| Room::new(seed, n, &mut dice)).collect();
    let mut now_ms = 1_000;
    for _ in 0..EVENTS {
        now_ms += dice.pause_ms();
        if dice.one_in(16) {
            // The host crashes: only the committed state survives, and all connections are gone.
            for room in &mut rooms {
                room.restart();
                room.play(ChannelEvent::Recovered, now_ms);
            }
        }
        for (at, event) in dice.happening(&rooms) {
            rooms[at].play(event, now_ms);
        }
    }
    for room in &mut rooms {
        room.drain(now_ms);
    }
}
