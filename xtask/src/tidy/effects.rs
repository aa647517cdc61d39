//! Checks that one crate interprets effects: outside of the core, which requests them, and the instance machine, which
//! carries them out, code only looks at them. A file that matches an effect is listed with its reason.

use std::collections::BTreeSet;
use std::fs;

use super::{files, name};

/// The effects that do something; `Log` and `Fault` are only read.
const ACTING: [&str; 10] = [
    "Invoke",
    "Call",
    "Send",
    "Emit",
    "SetTimer",
    "CancelTimer",
    "StopInvoke",
    "Complete",
    "Cancelled",
    "Stall",
];

/// Files that look at effects without carrying them out.
const LOOKS: [(&str, &str); 14] = [
    ("crates/rawko-chart/src/check/recursion.rs", "finds which charts a first step invokes"),
    ("crates/rawko-host/src/past_usage.rs", "names the invokes of a past step"),
    ("crates/rawko-server/src/http/live/ended.rs", "ends the live line of a stopped call"),
    ("crates/rawko-sim/src/shown_step.rs", "prints the report of a simulation"),
    ("crates/rawko-view/src/faults.rs", "lists faults"),
    ("crates/rawko-view/src/journal/agent.rs", "prints history"),
    ("crates/rawko-view/src/journal/lines.rs", "prints history"),
    ("crates/rawko-view/src/journal/mod.rs", "prints history"),
    ("crates/rawko-view/src/journal/player.rs", "prints history"),
    ("crates/rawko-view/src/journal/task.rs", "prints history"),
    ("crates/rawko/src/commands/logs.rs", "prints logs"),
    ("crates/rawko/src/following/narrator.rs", "prints a task"),
    ("crates/rawko/src/journal/text.rs", "prints history"),
    ("crates/rawko/src/session/scroll/answers.rs", "names the call that a request was about"),
];

/// Returns true if a line names a variant of the core's `Effect` that does something.
fn names_effect(line: &str) -> bool {
    line.match_indices("Effect::").any(|(at, path)| {
        // `PermissionEffect::Ask` is another type.
        let is_whole = !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let variant: String =
            line[at + path.len()..].chars().take_while(|next| next.is_alphanumeric()).collect();
        is_whole && ACTING.contains(&variant.as_str())
    })
}

#[test]
fn only_the_machine_interprets_effects() {
    let interprets = |path: &str| {
        path.starts_with("crates/rawko-core/") || path.starts_with("crates/rawko-instance/")
            // Its own effects: those of a channel.
            || path.starts_with("crates/rawko-turns/")
    };
    let found: BTreeSet<String> = files("crates", ".rs")
        .iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"))
        .filter(|path| fs::read_to_string(path).unwrap().lines().any(names_effect))
        .map(|path| name(path))
        .filter(|path| !interprets(path))
        .collect();
    let known: BTreeSet<String> = LOOKS.iter().map(|(file, _)| (*file).to_owned()).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "effects are for rawko-instance to interpret; let it, or list with a reason: {new:?}"
    );
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "no effect is matched there any more; take it off the list: {gone:?}");
}

#[test]
fn variants_of_other_types_are_no_effects() {
    for line in ["Effect::Send(send) if x", "rawko_core::Effect::Emit { .. } => {}", "(Effect::Stall{..})"] {
        assert!(names_effect(line), "{line}");
    }
    for line in ["PermissionEffect::Call", "Effect::Log { message }", "Effect::Sender", "Effect::ALL"] {
        assert!(!names_effect(line), "{line}");
    }
}
