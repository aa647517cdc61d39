//! The writer shares one call to the store among many commits, replies in order, and fails only the commits it must.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use common::With;
use rawko_store::*;

/// A fake disk: it blocks until released, and returns the test's result.
struct Gated {
    began: Sender<usize>,
    answers: Mutex<Receiver<Answer>>,
}

enum Answer {
    Fine,
    Full,
    Panic,
    /// Refuses every batch with this instance.
    RefuseOf(i64),
}

impl Gated {
    fn answer(&self, commits: &[Commit]) -> Result<(), StoreError> {
        self.began.send(commits.len()).unwrap();
        let answer = self.answers.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv().unwrap();
        match answer {
            Answer::Fine => Ok(()),
            Answer::Full => Err(StoreError::Full("test".to_owned())),
            Answer::Panic => panic!("the store's bug, as the test wants it"),
            Answer::RefuseOf(key) if commits.iter().any(|commit| commit.instance.0 == key) => {
                Err(StoreError::Refused("test".to_owned()))
            }
            Answer::RefuseOf(_) => Ok(()),
        }
    }
}

/// A writer over a gated store, and the replies of each caller.
struct Desk {
    writer: CommitWriter,
    answers: Sender<Answer>,
    began: Receiver<usize>,
    told: Arc<Mutex<Vec<(i64, &'static str)>>>,
}

impl Desk {
    fn new() -> Desk {
        let (answers, answered) = channel();
        let (began_at, began) = channel();
        let gated = Gated { began: began_at, answers: Mutex::new(answered) };
        let on_commit = Box::new(move |_: &MemoryStore, commits: &[Commit]| gated.answer(commits));
        let writer = CommitWriter::new(Arc::new(With { store: MemoryStore::new(), on_commit }));
        Desk { writer, answers, began, told: Arc::default() }
    }

    fn submit(&self, key: i64) {
        self.submit_all(&[key]);
    }

    /// Records the reply under the first key.
    fn submit_all(&self, keys: &[i64]) {
        let (told, first) = (self.told.clone(), keys[0]);
        let commit = |key: &i64| Commit { instance: InstanceKey(*key), ..Commit::default() };
        self.writer.submit(keys.iter().map(commit).collect(), move |outcome| {
            let word = match outcome {
                Ok(()) => "ok",
                Err(StoreError::Full(_)) => "full",
                Err(StoreError::Refused(_)) => "refused",
                Err(_) => "broken",
            };
            told.lock().unwrap().push((first, word));
        });
    }

    /// Returns once the store holds the first commit, so that later ones queue behind it.
    fn submit_and_hold(&self, key: i64) {
        self.submit(key);
        assert_eq!(self.began.recv().unwrap(), 1);
    }

    fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        answers.into_iter().for_each(|answer| self.answers.send(answer).unwrap());
    }

    fn told(self) -> Vec<(i64, &'static str)> {
        self.writer.flush();
        let told = self.told.lock().unwrap().clone();
        self.writer.close();
        told
    }
}

#[test]
fn what_waits_behind_a_commit_goes_together() {
    let desk = Desk::new();
    desk.submit_and_hold(0);
    (1..=64).for_each(|key| desk.submit(key));
    desk.answer([Answer::Fine, Answer::Fine]);
    assert_eq!(desk.began.recv().unwrap(), 64);
    desk.writer.flush();
    assert_eq!((desk.writer.commits(), desk.writer.batches()), (65, 2));
    assert_eq!(desk.told(), (0..=64).map(|key| (key, "ok")).collect::<Vec<_>>());
}

#[test]
fn a_refused_commit_fails_alone() {
    let desk = Desk::new();
    desk.submit_and_hold(0);
    (1..=3).for_each(|key| desk.submit(key));
    desk.answer([
        Answer::Fine,
        Answer::RefuseOf(2),
        Answer::RefuseOf(2),
        Answer::RefuseOf(2),
        Answer::RefuseOf(2),
    ]);
    assert_eq!(desk.told(), [(0, "ok"), (1, "ok"), (2, "refused"), (3, "ok")]);
}

#[test]
fn what_was_submitted_together_fails_together() {
    let desk = Desk::new();
    desk.submit_and_hold(0);
    desk.submit_all(&[1, 2]);
    desk.submit_all(&[3, 4]);
    desk.answer([Answer::Fine, Answer::RefuseOf(2), Answer::RefuseOf(2), Answer::RefuseOf(2)]);
    assert_eq!(desk.told(), [(0, "ok"), (1, "refused"), (3, "ok")]);
}

#[test]
fn a_full_disk_fails_the_batch_and_the_next_one_may_work() {
    let desk = Desk::new();
    desk.submit_and_hold(0);
    (1..=2).for_each(|key| desk.submit(key));
    desk.answer([Answer::Fine, Answer::Full]);
    desk.writer.flush();
    desk.submit(3);
    desk.answer([Answer::Fine]);
    assert_eq!(desk.told(), [(0, "ok"), (1, "full"), (2, "full"), (3, "ok")]);
}

#[test]
fn a_panic_in_the_store_or_in_a_callback_is_contained() {
    let desk = Desk::new();
    desk.submit_and_hold(0);
    desk.answer([Answer::Panic]);
    desk.writer.flush();
    desk.writer.submit(vec![Commit::default()], |_| panic!("the caller's bug, as the test wants it"));
    desk.answer([Answer::Fine]);
    desk.writer.flush();
    desk.submit(2);
    desk.answer([Answer::Fine]);
    assert_eq!(desk.told(), [(0, "broken"), (2, "ok")]);
}

#[test]
fn dropping_it_waits_for_everything() {
    let desk = Desk::new();
    (0..10).for_each(|key| desk.submit(key));
    desk.answer((0..10).map(|_| Answer::Fine));
    let told = desk.told.clone();
    drop(desk);
    assert_eq!(told.lock().unwrap().len(), 10);
}

#[test]
fn a_callback_may_drop_the_last_reference() {
    let writer = Arc::new(CommitWriter::new(Arc::new(MemoryStore::new())));
    let (last, (go, wait), (sender, dropped)) = (Arc::clone(&writer), channel::<()>(), channel());
    writer.submit(vec![Commit::default()], move |_| {
        wait.recv().unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(last)));
        sender.send(outcome.is_ok()).unwrap();
    });
    drop(writer);
    go.send(()).unwrap();
    assert_eq!(dropped.recv(), Ok(true), "the writer waited for its own thread");
}
