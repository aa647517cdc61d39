//! `Hub`: follows the store's journal for all streams and hands out what it finds. One task, however many listen; it
//! sleeps while nobody does.

use std::time::Duration;

use rawko_host::Progress;
use rawko_store::StoreError;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::channels::Watching;
use super::frames;
use super::members::{Bundle, Group, Interest, Matters, Member, Members};
use super::telling::Telling;
use crate::http::app::App;

/// What another process writes is found after this at the latest; our own host tells at once.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// What calls told is handed out so many at a time.
const PROGRESS_AT_ONCE: usize = 256;

pub(super) enum Command {
    /// Somebody who has seen everything up to `at` wants to hear the rest. It is told from where the rest begins.
    Join {
        group: Group,
        member: Member,
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
    commands: mpsc::UnboundedReceiver<Command>,
    own: mpsc::WeakUnboundedSender<Command>,
    members: Members,
    /// Those who have seen more than has been told yet.
    joining: Vec<(Group, Member, u64, oneshot::Sender<u64>)>,
    /// Up to where everything was told.
    seq: u64,
    telling: Option<Telling>,
    watching: Watching,
}

/// Why the hub goes on.
enum Woken {
    Changed,
    Told(Vec<Progress>),
    Closing,
}

impl Hub {
    pub(super) fn start(app: App) -> mpsc::UnboundedSender<Command> {
        let (sender, commands) = mpsc::unbounded_channel();
        let hub = Hub {
            telling: Some(Telling::new(app.clone())),
            own: sender.downgrade(),
            app,
            commands,
            members: Members::default(),
            joining: Vec::new(),
            seq: 0,
            watching: Watching::default(),
        };
        tokio::spawn(hub.run());
        sender
    }

    async fn run(mut self) {
        let mut closing = self.app.closing();
        loop {
            let first = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => return,
                first = self.commands.recv() => first,
            };
            let Some(first) = first else { return };
            self.obey(first);
            // Nobody was there to be told: it begins with what comes now.
            let Ok(seq) = self.app.read(|app| app.reader().store().last_seq()).await else {
                self.joining.clear();
                continue;
            };
            self.seq = seq;
            if self.follow(&mut closing).await.is_none() {
                return;
            }
        }
    }

    /// As long as somebody listens. `None`: the server closes.
    async fn follow(&mut self, closing: &mut watch::Receiver<bool>) -> Option<()> {
        let mut changes = self.app.engine().changes();
        let mut progress = self.app.engine().progress();
        self.watch_channels();
        loop {
            while let Ok(command) = self.commands.try_recv() {
                self.obey(command);
            }
            self.admit();
            if self.members.is_empty() && self.joining.is_empty() {
                self.watching = Watching::default();
                return Some(());
            }
            changes.mark_unchanged();
            match self.read().await {
                Some(true) => continue,
                Some(false) => {}
                // The store gives nothing now; whoever waits to join would wait in vain.
                None => self.joining.clear(),
            }
            self.admit();
            match self.wake(&mut changes, &mut progress, closing).await {
                Woken::Changed => {}
                Woken::Told(all) => {
                    // A call begins after the step that asked for it; whoever listens hears of them in that order.
                    while self.read().await == Some(true) {}
                    self.hand_out_progress(all).await;
                }
                Woken::Closing => return None,
            }
        }
    }

    async fn wake(
        &mut self,
        changes: &mut watch::Receiver<u64>,
        progress: &mut broadcast::Receiver<Progress>,
        closing: &mut watch::Receiver<bool>,
    ) -> Woken {
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => Woken::Closing,
            command = self.commands.recv() => {
                command.into_iter().for_each(|command| self.obey(command));
                Woken::Changed
            }
            // An error says that the host has gone; the store can still be looked at.
            Ok(()) = changes.changed() => Woken::Changed,
            first = progress.recv() => Woken::Told(heard(first, progress)),
            () = tokio::time::sleep(LOOK_AGAIN) => Woken::Changed,
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Join { group, member, at, reply } => self.joining.push((group, member, at, reply)),
            Command::Leave { group, id } => {
                self.joining.retain(|(_, member, _, _)| member.id != id);
                self.members.leave(&group, id);
            }
            Command::Channel { name, version } => {
                let mut bundle = Bundle::default();
                bundle.add(&Group::Everything, &frames::channel(&name, version));
                self.members.tell(bundle, Matters::No);
            }
        }
    }

    /// Lets in those who have seen no more than what was told: nothing comes twice.
    fn admit(&mut self) {
        let seq = self.seq;
        for (group, member, _, reply) in self.joining.extract_if(.., |(_, _, at, _)| *at <= seq) {
            // Whoever has gone meanwhile is not there to be told.
            if reply.send(seq).is_ok() {
                self.members.enter(group, member);
            }
        }
    }

    /// Tells what came meanwhile. Whether there is more; `None` when the store cannot be read.
    async fn read(&mut self) -> Option<bool> {
        let (after, interest) = (self.seq, self.members.interest());
        let told = self.blocking(move |telling| telling.read(after, &interest)).await?;
        self.seq = told.seq;
        self.members.tell(told.bundle, Matters::Yes);
        if let (Ok(serving), Some(own)) = (self.app.channels(), self.own.upgrade()) {
            told.channels.into_iter().for_each(|name| self.watching.one(name, serving, &own));
        }
        Some(told.is_full)
    }

    async fn hand_out_progress(&mut self, all: Vec<Progress>) {
        let interest: Interest = self.members.interest();
        if all.is_empty() || !interest.is_about_instances() {
            return;
        }
        if let Some(bundle) = self.blocking(move |telling| telling.progress(&all, &interest)).await {
            self.members.tell(bundle, Matters::No);
        }
    }

    /// Has the store read where that holds up nobody else.
    async fn blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Telling) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let mut telling = self.telling.take().unwrap_or_else(|| Telling::new(self.app.clone()));
        let done = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut telling);
            (telling, outcome)
        });
        // A panic takes what it remembered with it, and nothing else.
        let (telling, outcome) = done.await.ok()?;
        self.telling = Some(telling);
        outcome.ok()
    }

    fn watch_channels(&mut self) {
        if let (Ok(serving), Some(own)) = (self.app.channels(), self.own.upgrade()) {
            self.watching.all(serving, &own);
        }
    }
}

/// What was told, and what else has been by now. What was missed is no loss: the journal says it all again.
fn heard(first: Result<Progress, RecvError>, progress: &mut broadcast::Receiver<Progress>) -> Vec<Progress> {
    let mut all: Vec<Progress> = first.into_iter().collect();
    while all.len() < PROGRESS_AT_ONCE
        && let Ok(next) = progress.try_recv()
    {
        all.push(next);
    }
    all
}
