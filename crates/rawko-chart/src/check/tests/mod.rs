//! Tables of small charts and their findings. Locations and rendering are tested in `tests/broken`.

mod eventless;
mod events;
mod failures;
mod guarded_cycles;
mod guards;
mod invokes;
mod reachability;
mod regions;
mod shared_keys;
mod transitions;
mod wildcards;

use super::sketch::lowered;

/// Checks that a chart has exactly these findings, each as `code: message`.
#[track_caller]
fn check(sketch: &str, expected: &[&str]) {
    let mut found: Vec<String> = super::analyse(&lowered(sketch))
        .into_iter()
        .map(|finding| format!("{}: {}", finding.code.trim_start_matches("rawko::chart::"), finding.message))
        .collect();
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "\n{sketch}");
}
