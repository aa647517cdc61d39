//! A prompt at work: follows its task, sends what happens, and passes the person's decisions on. A permission is asked
//! for as long as it is open, whichever process asked first.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{RequestPermissionOutcome, StopReason};
use rawko_core::Status;
use rawko_host::{CallProgress, SnapshotReader};
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{broadcast, mpsc};

use super::permission::{self, PersonDecision};
use super::session::EditorSession;
use super::start::StartedTask;
use super::updates::{Updates, message};
use crate::commands::answer::allow_always;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::following::next_progress;
use crate::hosting::{HostAccess, Messenger, NoAnswer, ProjectContext, Rest, SocketRequest};
use crate::journal::InstanceTree;
use crate::journal::tail::JournalTail;
use crate::standing::{InstanceStanding, PendingAsk};
use crate::times;

/// Timers within this time are waited for. The person can cancel at any time, so it is long.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(super) struct TaskFollower<'a> {
    pub(super) session: &'a EditorSession,
    pub(super) place: &'a ProjectContext,
    pub(super) connection: &'a ConnectionTo<Client>,
    pub(super) console: Console,
}

/// What a request of the task needs from the person.
type AnsweredAsk = (PendingAsk, Option<RequestPermissionOutcome>);

struct EditorTurn {
    id: String,
    tail: JournalTail,
    updates: Updates,
    messenger: Messenger,
    /// Requests that were sent to the client: instance, invoke and time.
    sent: BTreeSet<(String, String, i64)>,
    answered: mpsc::UnboundedReceiver<AnsweredAsk>,
    answer: mpsc::UnboundedSender<AnsweredAsk>,
    looked_at: Option<u64>,
    is_pausing: bool,
    /// Live text of the calls in this process.
    progress: Option<broadcast::Receiver<CallProgress>>,
}

/// What follows after the task has come to rest.
enum AfterRest {
    /// It was hosted by a process that ended.
    Reopen,
    Stop(StopReason),
}

impl TaskFollower<'_> {
    /// Follows the task until it is over, waits for words, or is cancelled.
    pub(super) async fn until_end(mut self, started: StartedTask) -> Result<StopReason, CommandFailure> {
        let StartedTask { id, mut access, seq, heard } = started;
        let (answer, answered) = mpsc::unbounded_channel();
        let mut turn = EditorTurn {
            tail: JournalTail::after(seq, &access.reader(), InstanceTree::below(&id), None),
            updates: Updates::live(&self.place.root),
            messenger: access.messenger(),
            sent: BTreeSet::new(),
            answered,
            answer,
            looked_at: None,
            is_pausing: false,
            progress: heard,
            id,
        };
        loop {
            match self.watch(&mut access, &mut turn).await {
                Ok(AfterRest::Reopen) => {
                    access.close(&mut self.console).await;
                    access = HostAccess::open(self.place, &[], &mut self.console).await?;
                    let seq = turn.tail.seq();
                    turn.tail =
                        JournalTail::after(seq, &access.reader(), InstanceTree::below(&turn.id), None);
                    turn.messenger = access.messenger();
                    turn.progress = access.progress();
                }
                Ok(AfterRest::Stop(reason)) => {
                    access.close(&mut self.console).await;
                    return Ok(reason);
                }
                Err(failure) => {
                    access.close(&mut self.console).await;
                    return Err(failure);
                }
            }
        }
    }

    async fn watch(
        &mut self,
        access: &mut HostAccess,
        turn: &mut EditorTurn,
    ) -> Result<AfterRest, CommandFailure> {
        let reader = access.reader();
        let mut pulse = access.pulse();
        loop {
            let asked_at = turn.tail.seq();
            let mut is_idle = false;
            let id = turn.id.clone();
            let rest = access.rest(&id, PATIENCE);
            tokio::pin!(rest);
            loop {
                self.catch_up(&reader, turn)?;
                let asks = self.look(&reader, turn)?;
                if is_idle && turn.tail.seq() != asked_at {
                    break;
                }
                if is_idle && turn.is_pausing {
                    return Ok(AfterRest::Stop(StopReason::Cancelled));
                }
                if is_idle && turn.sent.is_empty() {
                    return self.waits(&asks);
                }
                tokio::select! {
                    biased;
                    () = self.session.cancelled(), if !turn.is_pausing => self.pause(turn).await?,
                    outcome = &mut rest, if !is_idle => match outcome {
                        Ok(Rest::Waiting | Rest::Paused) => is_idle = true,
                        Ok(rest) => {
                            self.catch_up(&reader, turn)?;
                            return self.ended(rest, &reader, turn).map(AfterRest::Stop);
                        }
                        Err(NoAnswer::Gone) => return Ok(AfterRest::Reopen),
                        Err(NoAnswer::Refused(failure)) => return Err(failure),
                    },
                    Some(answered) = turn.answered.recv() => self.answered(answered, &reader, turn).await?,
                    heard = next_progress(&mut turn.progress) => {
                        for update in turn.updates.hear(&heard, &turn.id, &reader) {
                            self.session.send(update, self.connection);
                        }
                    }
                    () = pulse.beat() => {}
                }
            }
        }
    }

    /// Sends new entries of the journal. Text that arrived before an entry was stored is sent before it.
    fn catch_up(&self, reader: &SnapshotReader, turn: &mut EditorTurn) -> Result<(), CommandFailure> {
        let EditorTurn { tail, updates, progress, id, .. } = turn;
        tail.read(|entry, _| {
            while let Some(heard) = waiting(progress) {
                let live = updates.hear(&heard, id, reader);
                live.into_iter().for_each(|update| self.session.send(update, self.connection));
            }
            let stored = updates.entry(entry);
            stored.into_iter().for_each(|update| self.session.send(update, self.connection));
            Ok(())
        })
    }

    /// Sends new requests of the task to the client. Returns those that wait for words.
    fn look(
        &self,
        reader: &SnapshotReader,
        turn: &mut EditorTurn,
    ) -> Result<Vec<PendingAsk>, CommandFailure> {
        let seq = turn.tail.seq();
        let standing = InstanceStanding::of(reader, &turn.id, &self.place.world(), times::now_ms())?;
        // A request may be newer than the entries sent so far; the client has to know the call that it is about.
        self.catch_up(reader, turn)?;
        let (questions, asks): (Vec<PendingAsk>, Vec<PendingAsk>) =
            standing.asks.into_iter().partition(permission::is_open_question);
        if turn.looked_at == Some(seq) && turn.tail.seq() == seq {
            return Ok(questions);
        }
        turn.looked_at = Some(seq);
        let keys: BTreeSet<_> = asks.iter().map(key).collect();
        turn.sent.retain(|known| keys.contains(known));
        for ask in asks.into_iter().filter(|_| !turn.is_pausing) {
            if !turn.sent.insert(key(&ask)) {
                continue;
            }
            let call = turn.updates.open_call(&ask.instance, ask.input.get("tool").as_str());
            let request = permission::request(&self.session.id, &ask, call, &self.place.root);
            let sent = self.connection.send_request(request);
            let answer = turn.answer.clone();
            tokio::task::spawn_local(async move {
                let outcome = sent.block_task().await.ok().map(|response| response.outcome);
                let _ = answer.send((ask, outcome));
            });
        }
        Ok(questions)
    }

    /// Passes a decision on. A request that was answered elsewhere is not an error. One that the client dismissed, or
    /// could not show, stays open and ends the turn: otherwise the client would wait for a task that waits for it.
    async fn answered(
        &mut self,
        (ask, outcome): AnsweredAsk,
        reader: &SnapshotReader,
        turn: &mut EditorTurn,
    ) -> Result<(), CommandFailure> {
        let Some(decision) = outcome.and_then(|outcome| PersonDecision::of(&ask, &outcome)) else {
            let standing = InstanceStanding::of(reader, &turn.id, &self.place.world(), times::now_ms())?;
            let is_open = standing.asks.iter().any(|open| key(open) == key(&ask));
            if is_open && !turn.is_pausing {
                self.session.send(message(&permission::unanswered(&ask)), self.connection);
                self.pause(turn).await?;
            }
            return Ok(());
        };
        if !turn.sent.contains(&key(&ask)) {
            return Ok(());
        }
        if decision.always
            && let Err(failure) = allow_always(self.place, &ask)
        {
            self.session
                .send(message(&crate::hosting::RequestRefusal::from(failure).message), self.connection);
        }
        let request = SocketRequest::Answer {
            id: ask.instance.to_string(),
            ask: Some(ask.invoke.clone()),
            asked_ms: Some(ask.since_ms),
            approved: decision.approved,
            by: None,
            comment: None,
            data: decision.data,
        };
        match turn.messenger.ask(self.place, request, &mut self.console).await {
            Ok(_) | Err(CommandFailure::Failed(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    async fn pause(&mut self, turn: &mut EditorTurn) -> Result<(), CommandFailure> {
        turn.is_pausing = true;
        let request = SocketRequest::Pause { id: turn.id.clone() };
        match turn.messenger.ask(self.place, request, &mut self.console).await {
            // It may have ended meanwhile.
            Ok(_) | Err(CommandFailure::Failed(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// The task waits for something that only words can give: the turn ends, and the next prompt is the answer.
    fn waits(&self, questions: &[PendingAsk]) -> Result<AfterRest, CommandFailure> {
        for ask in questions {
            self.session.send(message(&permission::question(ask)), self.connection);
        }
        Ok(AfterRest::Stop(StopReason::EndTurn))
    }

    fn ended(
        &self,
        rest: Rest,
        reader: &SnapshotReader,
        turn: &EditorTurn,
    ) -> Result<StopReason, CommandFailure> {
        if let Rest::Stuck { message, .. } = rest {
            return Err(CommandFailure::Transient(message));
        }
        let standing = InstanceStanding::of(reader, &turn.id, &self.place.world(), times::now_ms())?;
        let output = standing.snapshot.output();
        let outcome = output.get("outcome").as_str().unwrap_or_default().to_owned();
        let problem = output.get("problem").get("message").as_str();
        let summary =
            problem.or_else(|| output.get("summary").as_str()).unwrap_or_default().trim().to_owned();
        let is_done = standing.snapshot.status() == Status::Done;
        let word = match outcome.as_str() {
            "" if is_done => "done".to_owned(),
            "" => "failed".to_owned(),
            outcome => outcome.replace('_', " "),
        };
        let checks = match (output.get("verified").as_bool(), is_done) {
            (Some(false), true) if outcome == "complete" => "\n\nUnverified: this project has no checks.",
            _ => "",
        };
        let text = format!("\n\n**{word}**{}{summary}{checks}", if summary.is_empty() { "" } else { ": " });
        self.session.send(message(&text), self.connection);
        Ok(match outcome.as_str() {
            "limit_reached" => StopReason::MaxTurnRequests,
            "cancelled" => StopReason::Cancelled,
            _ if standing.snapshot.status() == Status::Cancelled => StopReason::Cancelled,
            _ => StopReason::EndTurn,
        })
    }
}

/// Returns the next progress event that has arrived.
fn waiting(progress: &mut Option<broadcast::Receiver<CallProgress>>) -> Option<CallProgress> {
    loop {
        match progress.as_mut()?.try_recv() {
            Ok(heard) => return Some(heard),
            // Missed events are recoverable from the journal.
            Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
        }
    }
}

fn key(ask: &PendingAsk) -> (String, String, i64) {
    (ask.instance.to_string(), ask.invoke.clone(), ask.since_ms)
}
