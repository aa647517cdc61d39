//! A replay of a task in its own words, without states and context.

use super::project::{ARBITER, LOOP, SETTINGS, project, team};
use crate::support::run;

#[test]
fn a_task_is_replayed_in_the_words_of_its_session() {
    let dir = project(SETTINGS, &team(), &format!("{ARBITER}{LOOP}"));
    assert_eq!(run(dir.path(), &["task", "Make the tests pass", "--id", "fix"], "").code, Some(0));
    let told = run(dir.path(), &["replay", "fix"], "").stdout;
    for wanted in [
        "→ planner: there is no plan yet",
        "● developer",
        "✓ Edit stock.py",
        "+    return name.strip(), int(count)",
        "plan [x] Ignore spaces",
        // The lines of the call, although the file has changed since.
        "-        counts[name] = count\n    +        counts[name] = counts.get(name, 0) + count\n",
        "Equal names are added up.",
        "complete  after",
        "changed  stock.py",
    ] {
        assert!(told.contains(wanted), "{wanted}\n{told}");
    }
    let brief = run(dir.path(), &["replay", "fix", "--decisions"], "").stdout;
    assert!(brief.contains("developer: a test fails") && !brief.contains("## Task"), "{brief}");
    let history = run(dir.path(), &["history", "fix"], "").stdout;
    // The names of the context are for `-v`.
    for text in [&told, &brief, &history] {
        assert!(!text.contains("currentMode") && !text.contains("iterationCount"), "{text}");
    }
    let whole = run(dir.path(), &["history", "fix", "-v"], "").stdout;
    assert!(whole.contains("currentMode"), "{whole}");
    assert_eq!(run(dir.path(), &["replay", "fix", "--json"], "").code, Some(2), "only with --decisions");
}
