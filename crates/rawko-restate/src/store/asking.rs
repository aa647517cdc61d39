//! A thread that runs async work for blocking callers. A store may be called from any thread, also from async code of a
//! runtime that must not be entered again.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;

use rawko_store::StoreError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type StoreJob = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The thread ends when this is dropped.
pub(super) struct StoreThread {
    jobs: UnboundedSender<StoreJob>,
}

impl StoreThread {
    pub(super) fn new() -> std::io::Result<StoreThread> {
        let (jobs, queue) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new()
            .name("restate-store".to_owned())
            .spawn(move || runtime.block_on(work(queue)))?;
        Ok(StoreThread { jobs })
    }

    /// Runs a future on the thread and waits for it here.
    pub(super) fn wait<T, E>(
        &self,
        question: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        E: Into<StoreError> + Send + 'static,
    {
        let (reply, answer) = mpsc::sync_channel(1);
        let job = Box::pin(async move {
            // The caller waits for the reply.
            let _ = reply.send(question.await);
        });
        let gone = || StoreError::Io("the thread that queries Restate has stopped".to_owned());
        self.jobs.send(job).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?.map_err(Into::into)
    }
}

async fn work(mut queue: UnboundedReceiver<StoreJob>) {
    while let Some(job) = queue.recv().await {
        tokio::spawn(job);
    }
}
