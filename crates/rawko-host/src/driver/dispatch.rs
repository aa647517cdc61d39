//! The dispatcher: one thread that performs the actions of commits in order. One, so that events between two instances
//! arrive in the order they were sent; a thread, because loading an instance reads the disk.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use rawko_instance::Action;
use rawko_store::InstanceKey;

use super::deadlines::Due;
use super::slot::Delivery;
use crate::host::Inner;

pub(crate) enum Job {
    Perform(Vec<Action>),
    /// Put a delivery back into a mailbox.
    Post(InstanceKey, Delivery),
    /// Handle the inputs that wait at an instance.
    Nudge(InstanceKey),
    /// A deadline has passed.
    Due(Due),
    Stop,
}

/// The sending side of the dispatcher's queue.
pub(crate) struct Dispatch {
    jobs: mpsc::Sender<Job>,
}

impl Dispatch {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Job>) {
        let (jobs, receiver) = mpsc::channel();
        (Self { jobs }, receiver)
    }

    pub(crate) fn send(&self, job: Job) {
        // After `Stop` the receiver is gone. The remaining work is on disk and resumes at the next start.
        let _ = self.jobs.send(job);
    }
}

/// Starts the thread, which runs until `Stop` or until the host is dropped.
pub(crate) fn spawn(host: &Arc<Inner>, jobs: mpsc::Receiver<Job>) -> std::io::Result<JoinHandle<()>> {
    let host = Arc::downgrade(host);
    std::thread::Builder::new().name("rawko-dispatch".into()).spawn(move || run(&host, &jobs))
}

fn run(host: &Weak<Inner>, jobs: &mpsc::Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        let Some(host) = host.upgrade() else { return };
        match job {
            Job::Perform(actions) => {
                actions.into_iter().for_each(|action| host.perform(action));
                host.unperformed.fetch_sub(1, Ordering::SeqCst);
                host.tell_waiting();
            }
            Job::Post(key, delivery) => host.post_or_complain(key, delivery),
            Job::Nudge(key) => host.attend(key),
            Job::Due(due) => host.handle_due(due),
            Job::Stop => return,
        }
    }
}
