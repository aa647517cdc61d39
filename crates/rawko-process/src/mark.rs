//! The mark that the processes of one call inherit, so that they are recognised without their parents.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use rustix::process::Pid;

use crate::platform;

/// Holds the mark in the environment of every process of a call.
pub const CALL_VARIABLE: &str = "RAWKO_CALL";
/// Set in every mark. Real finite limits are smaller, so a mark is not mistaken for one.
const MARK_BIT: u64 = 1 << 61;

/// The mark of one call. In a rawko that runs within a call of another rawko it extends that call's mark, so the outer
/// call finds the processes of the inner one.
#[derive(Debug)]
pub struct CallId {
    number: u64,
    value: String,
}

impl CallId {
    /// Creates a mark with a random number, unique among the processes of this machine.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        // Random keys without a dependency: unique among all processes of this machine is all that is needed.
        Self::of(MARK_BIT | (RandomState::new().build_hasher().finish() & (MARK_BIT - 1)))
    }

    /// The mark with a number that another one has.
    pub(crate) fn of(number: u64) -> Self {
        let value = match std::env::var(CALL_VARIABLE) {
            Ok(outer) if !outer.is_empty() => format!("{outer}/{number:x}"),
            Ok(_) | Err(_) => format!("{number:x}"),
        };
        Self { number, value }
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
    fn no_two_marks_are_the_same() {
        let (one, other) = (CallId::new(), CallId::new());
        assert_ne!(one.variable(), other.variable());
        assert_ne!(one.number, other.number);
    }
}
