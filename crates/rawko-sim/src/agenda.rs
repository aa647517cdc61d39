//! `Agenda`: what will happen when. Of several things due at one moment, the one that was put down first happens first.

use rawko_core::Event;

#[derive(Default)]
pub(crate) struct Agenda {
    entries: Vec<Item>,
    next: u64,
}

pub(crate) struct Item {
    pub(crate) due_ms: i64,
    order: u64,
    pub(crate) instance: usize,
    pub(crate) event: Event,
    pub(crate) answer: Option<Answer>,
}

/// The call that an item answers.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    /// An answer to an earlier attempt does not answer a later one.
    pub(crate) attempt: u32,
    /// It arrives though the call was stopped.
    pub(crate) survives_stop: bool,
}

impl Agenda {
    pub(crate) fn put(&mut self, due_ms: i64, instance: usize, event: Event) {
        self.push(due_ms, instance, event, None);
    }

    pub(crate) fn put_answer(&mut self, due_ms: i64, instance: usize, event: Event, answer: Answer) {
        self.push(due_ms, instance, event, Some(answer));
    }

    fn push(&mut self, due_ms: i64, instance: usize, event: Event, answer: Option<Answer>) {
        self.entries.push(Item { due_ms, order: self.next, instance, event, answer });
        self.next += 1;
    }

    /// Takes the first thing due at or before `until`.
    pub(crate) fn take_due(&mut self, until: i64) -> Option<Item> {
        let (at, _) = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, item)| item.due_ms <= until)
            .min_by_key(|(_, item)| (item.due_ms, item.order))?;
        Some(self.entries.swap_remove(at))
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

    /// Drops the timers that no snapshot has.
    pub(crate) fn retain_timers(&mut self, is_pending: impl Fn(usize, u64) -> bool) {
        self.entries.retain(|item| match item.event {
            Event::TimerFired { timer } => is_pending(item.instance, timer),
            Event::Named(_)
            | Event::InvokeDone { .. }
            | Event::InvokeFailed { .. }
            | Event::RetryRequested
            | Event::CancelRequested { .. } => true,
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
            let survives = item.answer.is_some_and(|answer| answer.survives_stop);
            survives || !(item.instance == of && answers)
        });
    }
}
