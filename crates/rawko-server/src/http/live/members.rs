//! Who listens to what. Those who listen to the same get the same bytes; a queue that grows too long ends its stream.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use tokio::sync::mpsc;

use super::hangup::Hangup;
use super::kin::Kin;

/// What may wait for one client. What is told to many waits in memory once.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What somebody listens to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Every instance, in few words.
    Everything,
    /// This instance.
    One(Arc<str>),
    /// This instance and everything below it.
    Below(Arc<str>),
}

/// The hub's end of a stream.
pub(super) struct Member {
    pub(super) id: u64,
    queue: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicUsize>,
    hangup: Hangup,
}

/// The stream's end.
pub(super) struct Queue {
    queue: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn queue(id: u64, hangup: Hangup) -> (Member, Queue) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::<AtomicUsize>::default();
    let member = Member { id, queue: sender, waiting: Arc::clone(&waiting), hangup };
    (member, Queue { queue: receiver, waiting })
}

impl Queue {
    /// The next frames; `None` when there will be no more.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let frames = self.queue.recv().await?;
        self.waiting.fetch_sub(frames.len(), Ordering::Relaxed);
        Some(frames)
    }
}

/// What becomes of a client that is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matters {
    /// It must not miss this: it is cut off, and asks again for what it missed.
    Yes,
    /// It can do without.
    No,
}

impl Member {
    /// Whether it is still there.
    fn push(&self, frames: &Bytes, matters: Matters) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        match matters {
            Matters::No if waiting > WAITING_BYTES_MAX / 2 => return true,
            // Frames larger than the whole queue still reach whoever keeps up.
            Matters::Yes if waiting > 0 && waiting + frames.len() > WAITING_BYTES_MAX => {
                self.hangup.cut();
                return false;
            }
            Matters::Yes | Matters::No => {}
        }
        self.waiting.fetch_add(frames.len(), Ordering::Relaxed);
        self.queue.send(frames.clone()).is_ok()
    }
}

/// Everybody who listens.
#[derive(Default)]
pub(super) struct Members {
    groups: BTreeMap<Group, Vec<Member>>,
}

/// What there is to tell each group, in order.
#[derive(Default)]
pub(super) struct Bundle {
    frames: BTreeMap<Group, Vec<u8>>,
}

impl Bundle {
    pub(super) fn add(&mut self, group: &Group, frame: &[u8]) {
        match self.frames.get_mut(group) {
            Some(frames) => frames.extend_from_slice(frame),
            None => drop(self.frames.insert(group.clone(), frame.to_vec())),
        }
    }
}

/// Which groups there are, for whoever prepares what to tell them.
#[derive(Clone, Debug, Default)]
pub(super) struct Interest {
    pub(super) everything: bool,
    /// Groups by the instance they are about.
    about: HashMap<Arc<str>, Vec<Group>>,
}

impl Interest {
    /// The groups that want to hear of an instance in detail.
    pub(super) fn in_detail<'a>(&'a self, kin: &'a Kin) -> impl Iterator<Item = &'a Group> + 'a {
        let own = self.about.get(&kin.id).into_iter().flatten();
        let above = kin.above.iter().filter_map(|id| self.about.get(id)).flatten();
        own.chain(above.filter(|group| matches!(group, Group::Below(_))))
    }

    pub(super) fn is_about_instances(&self) -> bool {
        !self.about.is_empty()
    }
}

impl Members {
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn enter(&mut self, group: Group, member: Member) {
        self.groups.entry(group).or_default().push(member);
    }

    pub(super) fn leave(&mut self, group: &Group, id: u64) {
        if let Some(members) = self.groups.get_mut(group) {
            members.retain(|member| member.id != id);
            if members.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    pub(super) fn interest(&self) -> Interest {
        let mut interest = Interest::default();
        for group in self.groups.keys() {
            match group {
                Group::Everything => interest.everything = true,
                Group::One(id) | Group::Below(id) => {
                    interest.about.entry(Arc::clone(id)).or_default().push(group.clone());
                }
            }
        }
        interest
    }

    /// Those who have gone, or cannot keep up, are let go.
    pub(super) fn tell(&mut self, bundle: Bundle, matters: Matters) {
        for (group, frames) in bundle.frames {
            let frames = Bytes::from(frames);
            if let Some(members) = self.groups.get_mut(&group) {
                members.retain(|member| member.push(&frames, matters));
                if members.is_empty() {
                    self.groups.remove(&group);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(bytes: usize) -> Bundle {
        let mut bundle = Bundle::default();
        bundle.add(&Group::Everything, &vec![b'x'; bytes]);
        bundle
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_cut_off_and_the_others_are_not() {
        let mut members = Members::default();
        let hangup = Hangup::default();
        let (slow, mut unread) = queue(1, hangup.clone());
        let (quick, mut read) = queue(2, Hangup::default());
        members.enter(Group::Everything, slow);
        members.enter(Group::Everything, quick);
        for _ in 0..9 {
            members.tell(bundle(1024 * 1024), Matters::Yes);
            assert_eq!(read.next().await.unwrap().len(), 1024 * 1024);
        }
        hangup.wanted().await;
        let mut waiting = 0;
        while let Some(frames) = unread.next().await {
            waiting += frames.len();
        }
        assert_eq!(waiting, WAITING_BYTES_MAX, "what fits waits, and then it ends");
        assert!(!members.is_empty());
    }

    #[tokio::test]
    async fn what_does_not_matter_is_left_out_for_whoever_is_behind() {
        let mut members = Members::default();
        let (member, mut queue) = queue(1, Hangup::default());
        members.enter(Group::Everything, member);
        members.tell(bundle(3 * 1024 * 1024), Matters::Yes);
        members.tell(bundle(10), Matters::No);
        assert_eq!(queue.next().await.unwrap().len(), 3 * 1024 * 1024);
        members.tell(bundle(20), Matters::No);
        assert_eq!(queue.next().await.unwrap().len(), 20);
    }
}
