//! `MergeQueue`: one merge at a time, with its checks, so that each is judged with the ones before it and none after it.
//! Those that wait get their turn in the order of their calls, not of their arrival: items of a fan-out in item order.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The merges of one project in this process.
#[derive(Clone, Debug, Default)]
pub(super) struct MergeQueue {
    state: Arc<Mutex<QueueState>>,
}

#[derive(Debug, Default)]
struct QueueState {
    is_busy: bool,
    waiting: BTreeMap<(Vec<NamePart>, u64), oneshot::Sender<MergeTurn>>,
    count: u64,
}

/// Part of a name, so that `item[10]` comes after `item[9]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NamePart {
    Number(u64),
    Text(String),
}

/// The right to merge. Ends when it is dropped.
#[derive(Debug)]
pub struct MergeTurn {
    queue: MergeQueue,
    /// Keeps other processes out.
    pub(super) lock: Option<File>,
}

impl MergeQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a call.
    pub(super) async fn turn(&self, call: &str) -> MergeTurn {
        let waiting = {
            let mut state = self.state();
            if !state.is_busy {
                state.is_busy = true;
                None
            } else {
                state.count += 1;
                let (sender, receiver) = oneshot::channel();
                let key = (parts(call), state.count);
                state.waiting.insert(key, sender);
                Some(receiver)
            }
        };
        let turn = || MergeTurn { queue: self.clone(), lock: None };
        match waiting {
            None => turn(),
            // The sender is only dropped with the queue itself, which this keeps.
            Some(receiver) => receiver.await.unwrap_or_else(|_| turn()),
        }
    }
}

impl Drop for MergeTurn {
    fn drop(&mut self) {
        self.lock = None;
        loop {
            let next = {
                let mut state = self.queue.state();
                match state.waiting.pop_first() {
                    Some((_, next)) => next,
                    None => {
                        state.is_busy = false;
                        return;
                    }
                }
            };
            match next.send(MergeTurn { queue: self.queue.clone(), lock: None }) {
                Ok(()) => return,
                // It does not wait any more. Its turn was never taken, so it must not end here.
                Err(unused) => unused.forget(),
            }
        }
    }
}

impl MergeTurn {
    /// Drops the turn without passing it on.
    fn forget(mut self) {
        self.queue = MergeQueue::default();
    }
}

/// Splits a name into text and numbers.
fn parts(name: &str) -> Vec<NamePart> {
    let mut parts = Vec::new();
    for letter in name.chars() {
        match (parts.last_mut(), letter.to_digit(10)) {
            (Some(NamePart::Number(number)), Some(digit)) => {
                *number = number.saturating_mul(10).saturating_add(u64::from(digit));
            }
            (_, Some(digit)) => parts.push(NamePart::Number(u64::from(digit))),
            (Some(NamePart::Text(text)), None) => text.push(letter),
            (_, None) => parts.push(NamePart::Text(letter.to_string())),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_come_in_the_order_of_the_calls() {
        let queue = MergeQueue::default();
        let first = queue.turn("m/4/merges[7]").await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = Vec::new();
        for item in [10, 2, 9, 1] {
            let (own, order) = (queue.clone(), Arc::clone(&order));
            all.push(tokio::spawn(async move {
                let _turn = own.turn(&format!("m/4/merges[{item}]")).await;
                order.lock().unwrap().push(item);
            }));
        }
        while queue.state().waiting.len() < 4 {
            tokio::task::yield_now().await;
        }
        // One that gives up does not hold up the others.
        all[1].abort();
        drop(first);
        for task in all {
            let _ = task.await;
        }
        assert_eq!(*order.lock().unwrap(), [1, 9, 10]);
        drop(queue.turn("again").await);
        assert!(!queue.state().is_busy);
    }
}
