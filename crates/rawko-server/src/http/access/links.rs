//! One-time links: a browser that opens one in time is logged in as the token that it was issued for. Separate from
//! sessions, because links are not durable: a restarted server has none.

use std::sync::{Mutex, PoisonError};

use subtle::ConstantTimeEq;

/// Lifetime of a link.
pub(crate) const LINK_MS: i64 = 10 * 60 * 1000;
/// Links that are open at once; a new one replaces the oldest.
const OPEN_MAX: usize = 16;

/// The links that were not opened yet.
#[derive(Default)]
pub(crate) struct Links {
    open: Mutex<Vec<OneTimeLink>>,
}

struct OneTimeLink {
    hash: [u8; 32],
    token: String,
    until_ms: i64,
}

impl Links {
    /// Issues a link with this code.
    pub(crate) fn issue(&self, code: &str, token: &str, now_ms: i64) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|link| link.until_ms > now_ms);
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push(OneTimeLink { hash: hash(code), token: token.to_owned(), until_ms: now_ms + LINK_MS });
    }

    /// Returns the name of the token that a code logs in, once.
    pub(crate) fn take(&self, code: &str, now_ms: i64) -> Option<String> {
        let hash = hash(code);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|link| link.until_ms > now_ms);
        let at = open.iter().position(|link| link.hash.ct_eq(&hash).into())?;
        Some(open.remove(at).token)
    }
}

fn hash(code: &str) -> [u8; 32] {
    *blake3::hash(code.as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_once_and_for_ten_minutes() {
        let links = Links::default();
        links.issue("one", "ada", 0);
        links.issue("two", "ada", 0);
        assert_eq!(links.take("three", 1), None);
        assert_eq!(links.take("one", 1).as_deref(), Some("ada"));
        assert_eq!(links.take("one", 1), None, "it was used");
        assert_eq!(links.take("two", LINK_MS), None, "it has expired");
    }

    #[test]
    fn only_the_last_links_are_open() {
        let links = Links::default();
        (0..=OPEN_MAX).for_each(|number| links.issue(&format!("code-{number}"), "ada", 0));
        assert_eq!(links.take("code-0", 1), None);
        assert!(links.take("code-1", 1).is_some());
    }
}
