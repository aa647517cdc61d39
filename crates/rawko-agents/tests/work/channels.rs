//! Rounds of channels with the real judge: the project's files and checks. Agents that talk, lie or only look busy are stuck
//! within six rounds of default settings, and honest work never is. The rules of turns: `crates/rawko-turns/tests/walk/rounds.rs`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rawko_agents::work::{judge_round, start_rounds};
use serde_json::Value as Json;

use crate::puppet::{NO_CHECKS, check, part_of};
use crate::yard::yard;

/// Rounds without progress until a channel rests, by default.
const STUCK_AFTER: u64 = 5;

/// What the agents of a channel do to its files in a round.
type Work = fn(&Path, usize);

/// Returns the round after which the channel rests; `None` if it does not.
async fn resting(settings: &str, rounds: usize, work: Work) -> Option<usize> {
    let state = tempfile::tempdir().unwrap();
    let yard = yard("[]\n").settings(settings).state_dir(state.path());
    let yard = yard.file("notes.txt", "Notes\n").file("src/app.rs", "pub fn app() {}\n");
    let agent_services = Arc::new(yard.agent_services());
    start_rounds(Arc::clone(&agent_services), "room".to_owned()).await;
    let (mut memory, mut without) = (Json::Null, 0);
    for round in 1..=rounds {
        work(&yard.root(), round);
        let judged = judge_round(&agent_services, "room", memory, without + 1).await.unwrap();
        if judged.is_loop || judged.without >= STUCK_AFTER {
            return Some(round);
        }
        (memory, without) = (judged.memory, judged.without);
    }
    None
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn append(root: &Path, path: &str, text: &str) {
    let before = fs::read_to_string(root.join(path)).unwrap_or_default();
    put(root, path, &format!("{before}{text}"));
}

fn fix(root: &Path, number: usize) {
    put(root, &format!("done/{number}"), "x");
}

fn write_part(root: &Path, number: usize) {
    let (path, text) = part_of(number);
    put(root, &path, &text);
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_that_only_look_busy_rest_within_six_rounds() {
    let (red, green, none) = (check(3), check(0), NO_CHECKS.to_owned());
    let table: [(&str, &str, Work); 12] = [
        ("talk", &red, |_, _| ()),
        ("talk without checks", &none, |_, _| ()),
        ("talk while the checks pass", &green, |_, _| ()),
        ("a report a turn", &red, |root, round| {
            for turn in [2 * round, 2 * round + 1] {
                put(root, &format!("REPORT-{turn}.md"), "All tests pass.\n");
            }
        }),
        ("a report a turn, without checks", &none, |root, round| {
            for turn in [2 * round, 2 * round + 1] {
                put(root, &format!("REPORT-{turn}.md"), "All tests pass.\n");
            }
        }),
        ("a line more in the notes", &red, |root, round| append(root, "notes.txt", &format!("{round}\n"))),
        ("a line more in the notes, without checks", &none, |root, round| {
            append(root, "notes.txt", &format!("{round}\n"));
        }),
        ("a space more, the checks pass", &green, |root, _| append(root, "notes.txt", " ")),
        ("numbered files", &red, |root, round| put(root, &format!("junk/{round}"), "x")),
        ("back and forth", &red, |root, round| put(root, "a.txt", ["one", "two"][round % 2])),
        ("another number in the code", &none, |root, round| {
            put(root, "src/app.rs", &format!("pub const ROUND: u32 = {round};\n"));
        }),
        ("one error, then talk", &red, |root, _| fix(root, 1)),
    ];
    for (name, settings, work) in table {
        let rested = resting(settings, 15, work).await;
        assert!(rested.is_some_and(|round| round <= 6), "{name}: {rested:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_with_honest_work_never_rest() {
    let (ten, three, five, none, green) = (check(10), check(3), check(5), NO_CHECKS.to_owned(), check(0));
    let table: [(&str, &str, usize, Work); 8] = [
        ("one error a round", &ten, 10, fix),
        ("one error every second round", &five, 10, |root, round| fix(root, round / 2)),
        ("one error every fourth round", &three, 12, |root, round| {
            if round % 4 == 0 {
                fix(root, round);
            }
        }),
        ("a part of the work a round, without checks", &none, 8, write_part),
        ("a part of the work a round, the checks pass", &green, 8, write_part),
        ("a chapter a round, without checks", &none, 6, |root, round| {
            let words = ["Turns", "Rounds", "Agents", "Checks", "People", "Plans"];
            append(root, "guide.md", &format!("# {}\n", words[round % 6]));
        }),
        ("parts, then an error", &three, 12, |root, round| match round % 4 {
            0 => fix(root, round),
            _ => write_part(root, round),
        }),
        ("an attempt is taken back", &five, 8, |root, round| match round {
            2 => append(root, "src/app.rs", "mod attempt;\n"),
            3 => put(root, "src/app.rs", "pub fn app() {}\n"),
            round => fix(root, round),
        }),
    ];
    for (name, settings, rounds, work) in table {
        assert_eq!(resting(settings, rounds, work).await, None, "{name}");
    }
}
