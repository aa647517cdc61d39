//! `Hub`: follows the store's journal for all streams and distributes new entries. One task for any number of clients;
//! it sleeps while there are none.

use std::time::Duration;

use rawko_host::{CallProgress, Partials};
use rawko_store::StoreError;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::channels::ChannelWatch;
use super::frames;
use super::members::{Bundle, Group, Matters, StreamMember, StreamMembers};
use super::reader::RecordReader;
use crate::http::app::App;

/// Poll interval for records of other processes; the local host notifies immediately.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Progress events that are taken between two reads.
const PROGRESS_AT_ONCE: usize = 4_096;

pub(super) enum HubCommand {
    /// Adds a client that has everything up to `at`. The reply is the position from which it receives entries.
    Join {
        group: Group,
        member: StreamMember,
        at: u64,
        reply: oneshot::Sender<u64>,
    },
    Leave {
        group: Group,
        id: u64,
    },
    Channel {
        name: String,
        version: u64,
    },
}

pub(super) struct Hub {
    app: App,
    commands: mpsc::UnboundedReceiver<HubCommand>,
    own: mpsc::WeakUnboundedSender<HubCommand>,
    members: StreamMembers,
    /// Clients whose position is ahead of the hub.
    joining: Vec<(Group, StreamMember, u64, oneshot::Sender<u64>)>,
    /// Sequence number up to which everything was streamed.
    seq: u64,
    reader: Option<RecordReader>,
    watching: ChannelWatch,
    /// Text of running calls so far.
    partials: Partials,
    /// Progress that was not streamed yet.
    unsent: Vec<CallProgress>,
}

/// Reason why the hub woke up.
enum Woken {
    Changed,
    Closing,
}

impl Hub {
    pub(super) fn start(app: App) -> mpsc::UnboundedSender<HubCommand> {
        let (sender, commands) = mpsc::unbounded_channel();
        let hub = Hub {
            reader: Some(RecordReader::new(app.clone())),
            own: sender.downgrade(),
            app,
            commands,
            members: StreamMembers::default(),
            joining: Vec::new(),
            seq: 0,
            watching: ChannelWatch::default(),
            partials: Partials::default(),
            unsent: Vec::new(),
        };
        tokio::spawn(hub.run());
        sender
    }

    async fn run(mut self) {
        let mut closing = self.app.closing();
        let mut progress = self.app.engine().progress();
        let mut has_progress = true;
        loop {
            let first = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => return,
                first = self.commands.recv() => first,
                told = progress.recv(), if has_progress => {
                    match told {
                        Ok(told) => self.partials.note(&told),
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => has_progress = false,
                    }
                    continue;
                }
            };
            let Some(first) = first else { return };
            self.execute(first);
            // There were no clients before, so streaming starts at the end of the journal.
            let Ok(seq) = self.app.read(|app| app.reader().store().last_seq()).await else {
                self.joining.clear();
                continue;
            };
            self.seq = seq;
            if self.follow(&mut closing, &mut progress).await.is_none() {
                return;
            }
        }
    }

    /// Runs while there are clients. Returns `None` when the server closes.
    async fn follow(
        &mut self,
        closing: &mut watch::Receiver<bool>,
        progress: &mut broadcast::Receiver<CallProgress>,
    ) -> Option<()> {
        let mut changes = self.app.engine().changes();
        self.watch_channels();
        loop {
            while let Ok(command) = self.commands.try_recv() {
                self.execute(command);
            }
            self.admit().await;
            if self.members.is_empty() && self.joining.is_empty() {
                self.watching = ChannelWatch::default();
                return Some(());
            }
            changes.mark_unchanged();
            match self.read(progress).await {
                Some(true) => continue,
                Some(false) => {}
                // The store cannot be read, so clients cannot join.
                None => self.joining.clear(),
            }
            self.admit().await;
            match self.wake(&mut changes, progress, closing).await {
                Woken::Changed => {}
                Woken::Closing => return None,
            }
        }
    }

    async fn wake(
        &mut self,
        changes: &mut watch::Receiver<u64>,
        progress: &mut broadcast::Receiver<CallProgress>,
        closing: &mut watch::Receiver<bool>,
    ) -> Woken {
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => Woken::Closing,
            command = self.commands.recv() => {
                command.into_iter().for_each(|command| self.execute(command));
                Woken::Changed
            }
            // An error means that the host is gone; the store can still be polled.
            Ok(()) = changes.changed() => Woken::Changed,
            first = progress.recv() => {
                first.into_iter().for_each(|told| self.hear(told));
                Woken::Changed
            }
            () = tokio::time::sleep(LOOK_AGAIN) => Woken::Changed,
        }
    }

    fn execute(&mut self, command: HubCommand) {
        match command {
            HubCommand::Join { group, member, at, reply } => self.joining.push((group, member, at, reply)),
            HubCommand::Leave { group, id } => {
                self.joining.retain(|(_, member, _, _)| member.id != id);
                self.members.leave(&group, id);
            }
            HubCommand::Channel { name, version } => {
                let mut bundle = Bundle::default();
                bundle.add(&Group::Everything, &frames::channel(&name, version));
                self.members.tell(bundle, Matters::No);
            }
        }
    }

    /// Adds the clients that have reached the hub's position, so that no entry is sent twice. Each first gets the text
    /// that running calls streamed so far.
    async fn admit(&mut self) {
        // It is part of the text so far, and would be streamed once more.
        if !self.unsent.is_empty() {
            return;
        }
        let seq = self.seq;
        let ready: Vec<_> = self.joining.extract_if(.., |(_, _, at, _)| *at <= seq).collect();
        for (group, member, _, reply) in ready {
            // A failed reply means that the client is gone.
            if reply.send(seq).is_err() {
                continue;
            }
            let mut alone = StreamMembers::default();
            alone.enter(group.clone(), member);
            let so_far = self.partials.so_far();
            let interest = alone.interest();
            if interest.is_about_instances()
                && !so_far.is_empty()
                && let Some(bundle) = self.blocking(move |reader| reader.so_far(&so_far, &interest)).await
            {
                alone.tell(bundle, Matters::No);
            }
            self.members.merge(alone);
        }
    }

    /// Streams new records, and progress. A client receives the progress of a call after the step that requested it, and
    /// before the one with its result. Returns whether there are more records; `None` if the store cannot be read.
    async fn read(&mut self, progress: &mut broadcast::Receiver<CallProgress>) -> Option<bool> {
        let after = self.seq;
        let records = self.blocking(move |reader| reader.records(after)).await?;
        // A call reports its progress before its result is committed: what belongs before these records is here.
        self.hear_all(progress);
        let (unsent, interest) = (std::mem::take(&mut self.unsent), self.members.interest());
        let told = self.blocking(move |reader| reader.serialize(after, &records, unsent, &interest)).await?;
        self.seq = told.seq;
        self.unsent = told.unsent;
        self.members.tell(told.bundle, Matters::Yes);
        if let (Ok(serving), Some(own)) = (self.app.channels(), self.own.upgrade()) {
            told.channels.into_iter().for_each(|name| self.watching.one(name, serving, &own));
        }
        Some(told.is_full)
    }

    /// Takes queued progress events. Dropped ones are recoverable from the journal.
    fn hear_all(&mut self, progress: &mut broadcast::Receiver<CallProgress>) {
        while self.unsent.len() < PROGRESS_AT_ONCE {
            match progress.try_recv() {
                Ok(told) => self.hear(told),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn hear(&mut self, told: CallProgress) {
        self.partials.note(&told);
        self.unsent.push(told);
    }

    /// Runs a blocking store read on the blocking pool.
    async fn blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut RecordReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let mut reader = self.reader.take().unwrap_or_else(|| RecordReader::new(self.app.clone()));
        let done = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut reader);
            (reader, outcome)
        });
        // A panic loses only the caches of `RecordReader`.
        let (reader, outcome) = done.await.ok()?;
        self.reader = Some(reader);
        outcome.ok()
    }

    fn watch_channels(&mut self) {
        if let (Ok(serving), Some(own)) = (self.app.channels(), self.own.upgrade()) {
            self.watching.all(serving, &own);
        }
    }
}
