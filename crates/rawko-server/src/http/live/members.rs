//! Subscriptions of clients. Clients with the same subscription share the same bytes; a queue that grows too long ends
//! its stream.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use tokio::sync::mpsc;

use super::hangup::Hangup;
use super::path::InstancePath;

/// Limit on bytes queued for one client. Shared bytes are in memory once.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Subscription of a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Summaries of all instances.
    Everything,
    /// One instance.
    One(Arc<str>),
    /// One instance and its descendants.
    Below(Arc<str>),
}

/// The hub's end of a stream.
pub(super) struct StreamMember {
    pub(super) id: u64,
    queue: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicUsize>,
    hangup: Hangup,
}

/// The client's end of a stream.
pub(super) struct StreamQueue {
    queue: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn queue(id: u64, hangup: Hangup) -> (StreamMember, StreamQueue) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::<AtomicUsize>::default();
    let member = StreamMember { id, queue: sender, waiting: Arc::clone(&waiting), hangup };
    (member, StreamQueue { queue: receiver, waiting })
}

impl StreamQueue {
    /// Returns the next frames; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let frames = self.queue.recv().await?;
        self.waiting.fetch_sub(frames.len(), Ordering::Relaxed);
        Some(frames)
    }
}

/// Handling of a client that has fallen behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matters {
    /// Required: the client is cut off, and requests the missed entries when it reconnects.
    Yes,
    /// Optional: the frame is skipped.
    No,
}

impl StreamMember {
    /// Returns false if the client is gone.
    fn push(&self, frames: &Bytes, matters: Matters) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        match matters {
            Matters::No if waiting > WAITING_BYTES_MAX / 2 => return true,
            // Frames larger than the limit still reach a client with an empty queue.
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

/// All clients.
#[derive(Default)]
pub(super) struct StreamMembers {
    groups: BTreeMap<Group, Vec<StreamMember>>,
}

/// Frames for each group, in order.
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

/// The groups with clients, so that only their frames are prepared.
#[derive(Clone, Debug, Default)]
pub(super) struct Interest {
    pub(super) everything: bool,
    /// Groups by instance.
    about: HashMap<Arc<str>, Vec<Group>>,
}

impl Interest {
    /// Returns the groups that receive full entries of an instance.
    pub(super) fn in_detail<'a>(&'a self, kin: &'a InstancePath) -> impl Iterator<Item = &'a Group> + 'a {
        let own = self.about.get(&kin.id).into_iter().flatten();
        let above = kin.above.iter().filter_map(|id| self.about.get(id)).flatten();
        own.chain(above.filter(|group| matches!(group, Group::Below(_))))
    }

    pub(super) fn is_about_instances(&self) -> bool {
        !self.about.is_empty()
    }
}

impl StreamMembers {
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn enter(&mut self, group: Group, member: StreamMember) {
        self.groups.entry(group).or_default().push(member);
    }

    /// Takes over the clients of another collection.
    pub(super) fn merge(&mut self, others: StreamMembers) {
        for (group, members) in others.groups {
            self.groups.entry(group).or_default().extend(members);
        }
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

    /// Sends frames, and removes clients that are gone or cannot keep up.
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
        let mut members = StreamMembers::default();
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
        let mut members = StreamMembers::default();
        let (member, mut queue) = queue(1, Hangup::default());
        members.enter(Group::Everything, member);
        members.tell(bundle(3 * 1024 * 1024), Matters::Yes);
        members.tell(bundle(10), Matters::No);
        assert_eq!(queue.next().await.unwrap().len(), 3 * 1024 * 1024);
        members.tell(bundle(20), Matters::No);
        assert_eq!(queue.next().await.unwrap().len(), 20);
    }
}
