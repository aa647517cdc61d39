//! The writer shares one call to the store among many, answers in order, and fails only whom it must.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use rawko_store::*;

/// A store of which only `commit` is asked: it waits to be let through, and answers as the test says.
struct Gated {
    began: Sender<usize>,
    answers: Mutex<Receiver<Answer>>,
}

enum Answer {
    Fine,
    Full,
    Panic,
    /// Refuses whatever has this instance in it.
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

/// Everything but `commit` comes from an empty memory store.
struct Wrapped(Gated, MemoryStore);

impl Store for Wrapped {
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError> {
        self.0.answer(commits)
    }
    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError> {
        self.1.put_chart(chart)
    }
    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        self.1.chart(hash)
    }
    fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        self.1.charts()
    }
    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError> {
        self.1.find(id)
    }
    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError> {
        self.1.instance(key)
    }
    fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.1.list(filter)
    }
    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.1.children(id)
    }
    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<Base>, StoreError> {
        self.1.base(key, at)
    }
    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.1.records(key, after, limit)
    }
    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.1.tail(after, limit)
    }
    fn last_seq(&self) -> Result<u64, StoreError> {
        self.1.last_seq()
    }
    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        self.1.open_effects(key)
    }
    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        self.1.inbound(key)
    }
    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        self.1.timers()
    }
    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError> {
        self.1.delivered(key, delivery)
    }
    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        self.1.blob(hash)
    }
    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.1.audit(instance, limit)
    }
    fn marks(&self) -> Result<Marks, StoreError> {
        self.1.marks()
    }
    fn report(&self) -> Result<Report, StoreError> {
        self.1.report()
    }
}

/// A writer over a gated store, and what was answered to whom.
struct Desk {
    writer: Writer,
    answers: Sender<Answer>,
    began: Receiver<usize>,
    told: Arc<Mutex<Vec<(i64, &'static str)>>>,
}

impl Desk {
    fn new() -> Desk {
        let (answers, answered) = channel();
        let (began_at, began) = channel();
        let gated = Gated { began: began_at, answers: Mutex::new(answered) };
        let writer = Writer::new(Arc::new(Wrapped(gated, MemoryStore::new())));
        Desk { writer, answers, began, told: Arc::default() }
    }

    fn submit(&self, key: i64) {
        let told = self.told.clone();
        self.writer.submit(
            vec![Commit { instance: InstanceKey(key), ..Commit::default() }],
            move |outcome| {
                let word = match outcome {
                    Ok(()) => "ok",
                    Err(StoreError::Full(_)) => "full",
                    Err(StoreError::Refused(_)) => "refused",
                    Err(_) => "broken",
                };
                told.lock().unwrap().push((key, word));
            },
        );
    }

    /// The first commit is in the store's hands when this returns, and what is submitted next waits behind it.
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
