//! Rounds of honest and of busy agents, and the words that follow from each.

use super::*;

fn failing(tree: &str, errors: u64) -> Round {
    let set = format!("{errors} errors");
    let failing = FailingChecks { checks: u64::from(errors > 0), errors, set };
    Round { tree: tree.to_owned(), checks: Some(failing), ..Round::default() }
}

fn unchecked(tree: &str) -> Round {
    Round { tree: tree.to_owned(), ..Round::default() }
}

fn settled(tree: &str, steps: &[&str], settled: &[&str]) -> Round {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Round { steps: owned(steps), settled: owned(settled), ..failing(tree, 1) }
}

fn judged(rounds: &[Round]) -> String {
    let mut progress = TaskProgress::begun("a");
    let settings = ProgressSettings::default();
    let words: Vec<&str> = rounds.iter().map(|round| progress.record(round, &settings).as_str()).collect();
    words.join(" ")
}

#[test]
fn a_round_is_judged_against_the_best_so_far() {
    let same = |tree: &str, times: usize| vec![failing(tree, 2); times];
    let many = |trees: &str, errors: &[u64]| -> Vec<Round> {
        trees.split(' ').zip(errors).map(|(tree, errors)| failing(tree, *errors)).collect()
    };
    let table = [
        ("nothing is done", same("a", 5), "fine fine tell tell stuck"),
        ("files change, nothing gets better", many("a b c d e", &[2; 5]), "fine fine tell tell stuck"),
        ("errors fall", many("a b c d", &[5, 4, 3, 0]), "fine progress progress progress"),
        (
            "new tests raise the number, and then it falls below the best",
            many("a b c d e", &[5, 3, 6, 4, 2]),
            "fine progress fine fine progress",
        ),
        ("back and forth", many("a b a b", &[2, 3, 2, 3]), "fine fine tell loop"),
        ("one attempt is taken back", many("a b a c", &[2, 3, 2, 1]), "fine fine tell progress"),
        (
            "without checks, changes are forgiven for a while",
            ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"].map(unchecked).to_vec(),
            "fine fine fine fine fine fine fine tell tell stuck stuck",
        ),
        ("talk without checks", vec![unchecked("a"); 5], "fine fine tell tell stuck"),
    ];
    for (name, rounds, expected) in table {
        assert_eq!(judged(&rounds), expected, "{name}");
    }
}

#[test]
fn a_step_counts_once_and_an_endless_plan_does_not_count() {
    let back_and_forth = [
        settled("a", &["x", "y"], &["x"]),
        settled("b", &["x", "y"], &[]),
        settled("c", &["x", "y"], &["x"]),
        settled("d", &["x", "y"], &["x", "y"]),
    ];
    assert_eq!(judged(&back_and_forth), "progress fine fine progress");
    let steps: Vec<String> = (0..12).map(|number| format!("step {number}")).collect();
    let growing: Vec<Round> = (1..12)
        .map(|count| {
            let names: Vec<&str> = steps[..count].iter().map(String::as_str).collect();
            settled(&count.to_string(), &names, &names)
        })
        .collect();
    let ends = "progress fine fine tell tell stuck stuck stuck stuck stuck stuck";
    assert_eq!(judged(&growing), ends);
}

#[test]
fn a_new_verdict_is_progress_once() {
    let said = |word: &str| Round { verdict: Some(word.to_owned()), ..failing("a", 1) };
    let rounds = [said("tester: failed"), said("tester: failed"), said("reviewer: approved")];
    assert_eq!(judged(&rounds), "progress fine fine");
    let words = ["a", "b", "c", "d", "e", "f", "g"].map(said);
    assert_eq!(judged(&words), "progress fine fine tell tell stuck stuck");
}

#[test]
fn ticking_a_plan_off_is_no_work() {
    let names: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    let steps: Vec<&str> = names.iter().map(String::as_str).collect();
    let ticked = |change: fn(Round) -> Round| -> String {
        let rounds = (1..=16).map(|done| change(settled("a", &steps, &steps[..done])));
        judged(&rounds.collect::<Vec<_>>())
    };
    let ends = "progress fine fine tell tell stuck".to_owned() + &" stuck".repeat(10);
    assert_eq!(ticked(|round| round), ends, "a check fails");
    assert_eq!(ticked(|round| Round { checks: None, ..round }), ends, "without checks");
    assert_eq!(ticked(|round| Round { is_reading: true, ..round }), ends, "reading, and a check fails");
    let read = ticked(|round| Round { is_reading: true, checks: None, ..round });
    assert_eq!(read, format!("{}fine fine tell tell stuck stuck", "progress ".repeat(10)));
    let worked: Vec<Round> =
        (1..=11).map(|done| settled(&done.to_string(), &steps, &steps[..done])).collect();
    assert_eq!(judged(&worked), "progress ".repeat(11).trim_end());
}

#[test]
fn more_of_the_same_change_is_no_work() {
    let steps = ["a", "b", "c", "d", "e", "f"];
    let judged = |passes: bool, ticks: bool, shapes: fn(usize) -> [String; 2]| -> String {
        let rounds = (1..=6).map(|round| {
            let (shapes, done) = (Some(shapes(round)), if ticks { round } else { 0 });
            let round = settled(&round.to_string(), &steps, &steps[..done]);
            let checks = round.checks.filter(|_| !passes);
            Round { checks, shapes, ..round }
        });
        judged(&rounds.collect::<Vec<_>>())
    };
    let same = |_: usize| ["a", "a"].map(str::to_owned);
    let prose = |round: usize| [round.to_string(), String::new()];
    assert_eq!(judged(false, true, same), "progress fine fine tell tell stuck");
    assert_eq!(judged(true, true, same), "progress fine fine tell tell stuck");
    assert_eq!(judged(true, false, same), "fine fine fine tell tell stuck");
    assert_eq!(judged(false, true, prose), "fine fine tell tell stuck stuck");
    assert_eq!(judged(true, true, prose), "progress ".repeat(6).trim_end());
    let code = |round: usize| [round, round].map(|round| round.to_string());
    assert_eq!(judged(false, true, code), "progress ".repeat(6).trim_end());
}

/// Other source code and a ticked step in each round: a migration looks the same for some rounds, and ends sooner.
#[test]
fn the_same_failures_end_any_work() {
    let steps: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    let names: Vec<&str> = steps.iter().map(String::as_str).collect();
    let work = |round: usize, errors: u64| {
        let round = settled(&round.to_string(), &names, &names[..round]);
        Round { checks: failing("", errors).checks, ..round }
    };
    let liar: Vec<Round> = (1..=14).map(|round| work(round, 2)).collect();
    assert_eq!(judged(&liar), format!("{}stuck stuck stuck", "progress ".repeat(11)));
    // One error less after ten rounds begins anew.
    let slow: Vec<Round> = (1..=22).map(|round| work(round, if round < 11 { 2 } else { 1 })).collect();
    assert_eq!(judged(&slow), "progress ".repeat(22).trim_end());
}

#[test]
fn breaking_checks_and_repairing_them_is_no_progress() {
    let settings = ProgressSettings::default();
    let judged = |start: u64, errors: &[u64]| -> String {
        let start = failing("a", start).checks.unwrap_or_default();
        let mut progress = TaskProgress::measured("a", &start);
        let words = errors.iter().enumerate().map(|(number, errors)| {
            progress.record(&failing(&format!("t{number}"), *errors), &settings).as_str()
        });
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(judged(1, &[9, 8, 7, 6, 5]), "fine fine tell tell stuck");
    assert_eq!(judged(5, &[4, 9, 7, 3, 0]), "progress fine fine progress progress");
    assert_eq!(judged(2, &[2, 1]), "fine progress");
}

#[test]
fn new_files_while_all_checks_pass_are_forgiven_for_a_while() {
    let trees = ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let rounds: Vec<Round> = trees.map(|tree| failing(tree, 0)).to_vec();
    assert_eq!(judged(&rounds), "fine fine fine fine fine fine fine tell tell stuck");
}
