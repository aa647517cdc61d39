//! The process table, as `/proc` shows it. Read-only; processes that exit during a read are skipped.

use std::path::Path;

use super::ProcessRow;

/// The ids at one moment. The kernel lists them in ascending order; the newest are most likely to end or fork soon.
pub(super) fn ids() -> Vec<i32> {
    let files = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut ids: Vec<i32> =
        files.filter_map(|file| file.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    ids.reverse();
    ids
}

pub(super) fn read(pid: i32) -> Option<ProcessRow> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    parse(pid, &text)
}

/// How often each thread of a process got a processor; `None` if one of them has it now. Times of the kernel are too coarse:
/// a file is created within one tick.
pub(super) fn runs(pid: i32) -> Option<Vec<(i32, u64)>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).ok()? {
        let at = thread.ok()?.path();
        // Before the state: a thread that rests after this was read has not run more often.
        let runs = std::fs::read_to_string(at.join("schedstat")).ok()?;
        let state = std::fs::read_to_string(at.join("stat")).ok()?;
        let (_, state) = state.rsplit_once(") ")?;
        if state.starts_with('R') {
            return None;
        }
        let thread = at.file_name()?.to_str()?.parse().ok()?;
        found.push((thread, run_count(&runs)?));
    }
    found.sort_unstable();
    Some(found)
}

/// Reads the third number of a `schedstat`. A kernel that does not count prints 0.
fn run_count(text: &str) -> Option<u64> {
    text.split_whitespace().nth(2)?.parse().ok().filter(|runs| *runs > 0)
}

/// The pipes without a name that a process has as stdin, stdout and stderr.
pub(super) fn pipes(pid: i32) -> Vec<String> {
    let folder = Path::new("/proc").join(pid.to_string()).join("fd");
    let links = (0..3).filter_map(|number| std::fs::read_link(folder.join(number.to_string())).ok());
    links
        .filter_map(|link| link.into_os_string().into_string().ok())
        .filter(|link| link.starts_with("pipe:"))
        .collect()
}

/// The name of the program stands in brackets and may hold anything, brackets too.
fn parse(pid: i32, text: &str) -> Option<ProcessRow> {
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    Some(ProcessRow {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
        is_zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_skipped() {
        let text = "7 (a) S (b)) Z 1 7 6 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 3531 2 3 4";
        let expected = ProcessRow { pid: 7, parent: 1, group: 7, session: 6, started: 3531, is_zombie: true };
        assert_eq!(parse(7, text), Some(expected));
        assert_eq!(parse(7, "7 (cut"), None);
        assert_eq!(parse(7, "7 (cut) S 1 2"), None);
    }

    #[test]
    fn a_kernel_that_does_not_count_runs_shows_none() {
        for (text, expected) in [("812 40 7\n", Some(7)), ("0 0 0\n", None), ("", None)] {
            assert_eq!(run_count(text), expected, "{text}");
        }
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(ids().contains(&own));
        assert!(read(own).is_some_and(|entry| !entry.is_zombie));
    }
}
