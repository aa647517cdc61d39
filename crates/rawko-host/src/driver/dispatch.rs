//! The dispatcher: one thread that performs the actions of commits in order. One, so that events between two instances
//! arrive in the order they were sent; a thread, because loading an instance reads the disk.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use rawko_instance::DriverAction;
use rawko_store::InstanceKey;

use super::deadlines::DeadlineKind;
use super::slot::MailboxDelivery;
use crate::host::HostInner;

pub(crate) enum DispatchJob {
    Perform(Vec<DriverAction>),
    /// Put a delivery back into a mailbox.
    Post(InstanceKey, MailboxDelivery),
    /// Handle the inputs that wait at an instance.
    Nudge(InstanceKey),
    /// A deadline has passed.
    Due(DeadlineKind),
    /// Report that all earlier jobs are done.
    Barrier(mpsc::SyncSender<()>),
    Stop,
}

/// The sending side of the dispatcher's queue.
pub(crate) struct Dispatch {
    jobs: mpsc::Sender<DispatchJob>,
}

impl Dispatch {
    pub(crate) fn new() -> (Self, mpsc::Receiver<DispatchJob>) {
        let (jobs, receiver) = mpsc::channel();
        (Self { jobs }, receiver)
    }

    pub(crate) fn send(&self, job: DispatchJob) {
        // After `Stop` the receiver is gone. The remaining work is on disk and resumes at the next start.
        let _ = self.jobs.send(job);
    }

    /// Waits until all jobs sent so far are done. Blocks the thread.
    pub(crate) fn wait(&self) {
        let (done, waiting) = mpsc::sync_channel(1);
        self.send(DispatchJob::Barrier(done));
        // An error means that the thread has ended, so there is nothing left to wait for.
        let _ = waiting.recv();
    }
}

/// Starts the thread, which runs until `Stop` or until the host is dropped.
pub(crate) fn spawn(
    host: &Arc<HostInner>,
    jobs: mpsc::Receiver<DispatchJob>,
) -> std::io::Result<JoinHandle<()>> {
    let host = Arc::downgrade(host);
    std::thread::Builder::new().name("rawko-dispatch".into()).spawn(move || run(&host, &jobs))
}

fn run(host: &Weak<HostInner>, jobs: &mpsc::Receiver<DispatchJob>) {
    while let Ok(job) = jobs.recv() {
        let Some(host) = host.upgrade() else { return };
        match job {
            DispatchJob::Perform(actions) => {
                actions.into_iter().for_each(|action| host.perform(action));
                host.unperformed.fetch_sub(1, Ordering::SeqCst);
                host.tell_waiting();
            }
            DispatchJob::Post(key, delivery) => host.post_or_complain(key, delivery),
            DispatchJob::Nudge(key) => host.attend(key),
            DispatchJob::Due(due) => host.handle_due(due),
            // An error means that the caller has stopped waiting.
            DispatchJob::Barrier(done) => drop(done.send(())),
            DispatchJob::Stop => return,
        }
    }
}
