//! Named passes of the build loop with and without progress.

use rawko_arbiter::loop_control::PassKind::{Implement, Validate};
use rawko_arbiter::loop_control::{Detector, LoopSettings, LoopVerdict, Pass, PassHistory, judge_passes};

/// Implement and validate alternating, with the errors that validate counted.
fn passes(errors: &[Option<u64>]) -> PassHistory {
    errors.iter().fold(PassHistory::new(0), |history, errors| {
        history.with(Pass { kind: Implement, errors: None }).with(Pass { kind: Validate, errors: *errors })
    })
}

fn counted(errors: &[u64]) -> PassHistory {
    passes(&errors.iter().map(|errors| Some(*errors)).collect::<Vec<_>>())
}

const MINUTE: i64 = 60_000;

#[test]
fn passes_that_must_fire() {
    let cases: Vec<(&str, PassHistory, i64, Detector)> = vec![
        ("as many errors as ever", counted(&[5, 5, 5, 5, 5]), 0, Detector::ErrorsNotFalling),
        ("more and more errors", counted(&[1, 2, 3, 4, 5]), 0, Detector::ErrorsNotFalling),
        ("up and down", counted(&[3, 5, 3, 5, 3]), 0, Detector::ErrorsNotFalling),
        ("one that will not go", counted(&[9, 4, 1, 1, 1, 1, 1]), 0, Detector::ErrorsNotFalling),
        ("a new one for each that goes", counted(&[2, 1, 2, 1, 2]), 0, Detector::ErrorsNotFalling),
        ("nothing counts errors and nothing ends", passes(&[None; 6]), 0, Detector::Oscillation),
        ("an hour", counted(&[9]), 60 * MINUTE, Detector::TimeInBuild),
        ("an hour although errors fall", counted(&[9, 8, 7]), 61 * MINUTE, Detector::TimeInBuild),
        ("no pass ever ends", PassHistory::new(5 * MINUTE), 66 * MINUTE, Detector::TimeInBuild),
    ];
    for (name, history, now_ms, expected) in cases {
        let verdict = judge_passes(&history, now_ms, &LoopSettings::default());
        assert!(
            matches!(&verdict, LoopVerdict::Doom { detector, .. } if *detector == expected),
            "{name}: {verdict:?}"
        );
    }
}

/// Each threshold works alone: with the others disabled the detector still finds its pattern.
#[test]
fn a_circle_of_passes_is_seen_without_the_count_of_stalled_ones() {
    let settings = LoopSettings { stalled_passes: 100, alternations_max: 8, ..LoopSettings::default() };
    let up_and_down = counted(&[4, 6, 4, 6, 4, 6]);
    let verdict = judge_passes(&up_and_down, 0, &settings);
    assert!(matches!(verdict, LoopVerdict::Doom { detector: Detector::Oscillation, .. }), "{verdict:?}");
    let falling = counted(&[9, 8, 7, 6, 5, 4]);
    assert_eq!(judge_passes(&falling, 0, &settings), LoopVerdict::Fine);
}

#[test]
fn passes_that_must_not_fire() {
    let cases: Vec<(&str, PassHistory, i64)> = vec![
        ("nothing yet", PassHistory::new(0), 0),
        ("the first pass", counted(&[40]), MINUTE),
        ("errors fall", counted(&[10, 8, 6, 4, 2]), 20 * MINUTE),
        ("errors fall slowly", counted(&(0..40).map(|n| 60 - n).collect::<Vec<_>>()), 40 * MINUTE),
        ("errors fall with a step back", counted(&[10, 8, 9, 7, 8, 6, 7, 5]), 20 * MINUTE),
        ("a new test raises the count, then it falls", counted(&[2, 15, 12, 9, 5, 3]), 20 * MINUTE),
        ("clean at last", counted(&[3, 3, 0]), 20 * MINUTE),
        ("clean and still clean", counted(&[0, 0, 0, 0, 0, 0]), 20 * MINUTE),
        ("long honest work", counted(&[9, 7, 5]), 47 * MINUTE),
        ("a clock that went back", counted(&[1]), -5 * MINUTE),
    ];
    for (name, history, now_ms) in cases {
        let verdict = judge_passes(&history, now_ms, &LoopSettings::default());
        assert_eq!(verdict, LoopVerdict::Fine, "{name}");
    }
}

#[test]
fn a_notice_comes_before_doom() {
    let settings = LoopSettings::default();
    for (name, history, now_ms) in [
        ("errors", counted(&[5, 5, 5, 5]), 0),
        ("time", PassHistory::new(0), 50 * MINUTE),
        ("oscillation", passes(&[None; 4]), 0),
    ] {
        let verdict = judge_passes(&history, now_ms, &settings);
        assert!(matches!(verdict, LoopVerdict::Notice { .. }), "{name}: {verdict:?}");
    }
}
