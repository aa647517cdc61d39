//! `Agenda`: what will happen when. Of several things due at one moment, the one that was put down first happens first.

use rawko_core::Event;

#[derive(Default)]
pub(crate) struct Agenda {
    entries: Vec<Item>,
    next: u64,
}

struct Item {
    due_ms: i64,
    order: u64,
    instance: usize,
    event: Event,
}

impl Agenda {
    pub(crate) fn put(&mut self, due_ms: i64, instance: usize, event: Event) {
        self.entries.push(Item { due_ms, order: self.next, instance, event });
        self.next += 1;
    }

    /// Takes the first thing due at or before `until`.
    pub(crate) fn take_due(&mut self, until: i64) -> Option<(i64, usize, Event)> {
        let (at, _) = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, item)| item.due_ms <= until)
            .min_by_key(|(_, item)| (item.due_ms, item.order))?;
        let item = self.entries.swap_remove(at);
        Some((item.due_ms, item.instance, item.event))
    }

    /// When the next thing happens.
    pub(crate) fn next_due_ms(&self) -> Option<i64> {
        self.entries.iter().map(|item| item.due_ms).min()
    }

    pub(crate) fn drop_timer(&mut self, of: usize, id: u64) {
        self.entries.retain(|item| {
            !(item.instance == of && matches!(item.event, Event::TimerFired { timer } if timer == id))
        });
    }

    /// The answer of a stub that nobody waits for any more.
    pub(crate) fn drop_answer(&mut self, of: usize, id: u64) {
        self.entries.retain(|item| {
            let answers = match item.event {
                Event::InvokeDone { invocation, .. } | Event::InvokeFailed { invocation, .. } => {
                    invocation == id
                }
                Event::Named(_)
                | Event::TimerFired { .. }
                | Event::RetryRequested
                | Event::CancelRequested { .. } => false,
            };
            !(item.instance == of && answers)
        });
    }
}
