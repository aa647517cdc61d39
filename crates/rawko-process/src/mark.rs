//! The mark that the processes of one call inherit, so that they are recognised without their parents.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Pid;

use crate::platform;

/// Holds the mark in the environment of every process of a call.
pub const CALL_VARIABLE: &str = "RAWKO_CALL";
/// Set in every mark. Real finite limits are smaller, so a mark is not mistaken for one. Marks before release 0.2 had the
/// bit below it, and random numbers.
const MARK_BIT: u64 = 1 << 62;
/// Below it: the process id of the host, the end of its start time, and a counter. A call that is still running after a
/// million others would share its mark.
const PID_BITS: u32 = 22;
const START_BITS: u32 = 20;
const COUNT_BITS: u32 = 20;

/// The host that a mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkHost {
    pid: u64,
    start: u64,
}

impl MarkHost {
    /// This process. Without a process table its start is a random number, so that marks are still unique.
    fn own() -> MarkHost {
        let pid = std::process::id();
        let start = match platform::process(pid.cast_signed()) {
            Some(row) => row.started,
            None => RandomState::new().build_hasher().finish(),
        };
        MarkHost { pid: low(u64::from(pid), PID_BITS), start: low(start, START_BITS) }
    }

    /// Returns the host of a mark; `None` for another number.
    pub(crate) fn of(number: u64) -> Option<MarkHost> {
        let is_mark = number >> (PID_BITS + START_BITS + COUNT_BITS)
            == MARK_BIT >> (PID_BITS + START_BITS + COUNT_BITS);
        is_mark.then(|| MarkHost {
            pid: low(number >> (START_BITS + COUNT_BITS), PID_BITS),
            start: low(number >> COUNT_BITS, START_BITS),
        })
    }

    /// Returns true if the host runs. Another process with its number started at another time.
    pub(crate) fn is_alive(self) -> bool {
        let row = i32::try_from(self.pid).ok().and_then(platform::process);
        row.is_some_and(|row| !row.is_zombie && low(row.started, START_BITS) == self.start)
    }

    fn mark(self, count: u64) -> u64 {
        MARK_BIT | self.pid << (START_BITS + COUNT_BITS) | self.start << COUNT_BITS | low(count, COUNT_BITS)
    }
}

fn low(number: u64, bits: u32) -> u64 {
    number & ((1 << bits) - 1)
}

/// The mark of one call. In a rawko that runs within a call of another rawko it extends that call's mark, so the outer
/// call finds the processes of the inner one.
#[derive(Debug)]
pub struct CallId {
    number: u64,
    value: String,
}

impl CallId {
    /// Creates a mark that is unique among the processes of this machine, and names this process as the host.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        static OWN: LazyLock<MarkHost> = LazyLock::new(MarkHost::own);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self::of(OWN.mark(COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The mark with a number that another one has.
    pub(crate) fn of(number: u64) -> Self {
        let value = match std::env::var(CALL_VARIABLE) {
            Ok(outer) if !outer.is_empty() => format!("{outer}/{number:x}"),
            Ok(_) | Err(_) => format!("{number:x}"),
        };
        Self { number, value }
    }

    /// Returns the numbers of the marks in an environment: of a call, and of those around it.
    pub(crate) fn numbers_in(variables: &[u8]) -> Vec<u64> {
        let prefix = format!("{CALL_VARIABLE}=");
        let entries = variables.split(|byte| *byte == 0);
        let values = entries.filter_map(|entry| std::str::from_utf8(entry).ok()?.strip_prefix(&prefix));
        values
            .flat_map(|value| value.split('/'))
            .filter_map(|number| u64::from_str_radix(number, 16).ok())
            .collect()
    }

    /// The variable to start the first process of the call with.
    pub fn variable(&self) -> (&'static str, &str) {
        (CALL_VARIABLE, &self.value)
    }

    /// The soft limit of file locks that marks a process, for a shell that sets it on itself (`ulimit -S -x` in bash).
    pub fn lock_limit(&self) -> u64 {
        self.number
    }

    /// Marks a process that was just started.
    pub(crate) fn put_on(&self, pid: Pid) {
        platform::put_mark(pid, self.number);
    }

    /// Returns true if a process carries the mark.
    pub(crate) fn is_on(&self, pid: i32) -> bool {
        platform::has_mark(pid, self.number, &|variables| self.is_in(variables))
    }

    fn is_in(&self, variables: &[u8]) -> bool {
        let values = variables.split(|byte| *byte == 0).filter_map(|entry| {
            entry
                .strip_prefix(CALL_VARIABLE.as_bytes())?
                .strip_prefix(b"=")?
                .strip_prefix(self.value.as_bytes())
        });
        values.into_iter().any(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_an_environment_also_when_it_was_extended() {
        let mark = CallId { number: 7, value: "a/7".into() };
        let table: [(&[u8], bool); 7] = [
            (b"RAWKO_CALL=a/7\0", true),
            (b"HOME=/\0RAWKO_CALL=a/7/b\0PATH=/bin\0", true),
            (b"RAWKO_CALL=a/77\0", false),
            (b"RAWKO_CALL=a\0", false),
            (b"X_RAWKO_CALL=a/7\0", false),
            (b"X=RAWKO_CALL=a/7\0", false),
            (b"", false),
        ];
        for (variables, expected) in table {
            assert_eq!(mark.is_in(variables), expected, "{}", String::from_utf8_lossy(variables));
        }
    }

    #[test]
    fn a_mark_names_its_host() {
        let mark = CallId::new();
        assert_eq!(MarkHost::of(mark.number), Some(MarkHost::own()));
        assert!(MarkHost::own().is_alive());
        let gone = MarkHost { start: low(MarkHost::own().start + 1, START_BITS), ..MarkHost::own() };
        assert!(!gone.is_alive());
        assert_eq!(MarkHost::of(gone.mark(9)), Some(gone));
        // An earlier release's mark, a real limit, no limit.
        for other in [1 << 61 | 1 << 60 | 7, 1_048_576, u64::MAX] {
            assert_eq!(MarkHost::of(other), None, "{other:x}");
        }
        let variables = format!("A=1\0RAWKO_CALL=a/{:x}/7\0B=2", mark.number);
        assert_eq!(CallId::numbers_in(variables.as_bytes()), [10, mark.number, 7]);
    }

    #[test]
    fn no_two_marks_are_the_same() {
        let (one, other) = (CallId::new(), CallId::new());
        assert_ne!(one.variable(), other.variable());
        assert_ne!(one.number, other.number);
    }
}
