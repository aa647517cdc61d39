//! `Bell`: rings the terminal when a task needs a person who looks elsewhere.

use std::time::{Duration, Instant};

use super::settings::TerminalSettings;

/// Rings when something needs a person who is not at the keyboard.
pub(crate) struct Bell {
    settings: TerminalSettings,
    /// The last key, or the beginning of the session.
    pub(crate) typed: Instant,
    pub(crate) is_due: bool,
}

impl Bell {
    /// A person who has typed within this time is there.
    const QUIET: Duration = Duration::from_secs(10);

    pub(crate) fn new(settings: TerminalSettings) -> Bell {
        Bell { settings, typed: Instant::now(), is_due: false }
    }

    /// Notes that something needs the person.
    pub(crate) fn need(&mut self) {
        self.is_due = self.settings.bell && self.typed.elapsed() >= Bell::QUIET;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bell_rings_for_a_person_who_has_not_typed_lately() {
        let long_ago = Instant::now().checked_sub(Duration::from_secs(60)).unwrap_or_else(Instant::now);
        for (bell, typed, is_due) in
            [(true, long_ago, true), (false, long_ago, false), (true, Instant::now(), false)]
        {
            let mut bell = Bell::new(TerminalSettings { bell });
            bell.typed = typed;
            bell.need();
            assert_eq!(bell.is_due, is_due);
        }
    }
}
