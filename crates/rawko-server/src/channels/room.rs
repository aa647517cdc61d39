//! `Room`: one channel in memory, with its own task. Only this task changes the channel: it applies an event, commits
//! the outcome, and notifies others only then.

use std::sync::Arc;
use std::time::Duration;

use rawko_host::Clock;
use rawko_turns::{
    Channel, ChannelEffect, ChannelEvent, ChannelMessage, ChannelRefusal, RoundJudgement, reduce,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::channel_store::{ChannelStore, LogEntry, entries};
use super::delivering::deliver;
use super::judging::{EndedRound, RoundJudge};
use super::messages::Messages;
use crate::agents::Hub;
use crate::error::ChannelError;

/// Queue size of a channel. Further senders wait.
const MAILBOX: usize = 256;
/// Delay before a change that the store rejected is retried.
const AGAIN: Duration = Duration::from_secs(1);

/// State of a channel, for watchers.
#[derive(Clone, Debug)]
pub struct ChannelSnapshot {
    /// State after the last commit.
    pub channel: Channel,
    /// Number of changes.
    pub version: u64,
}

pub(crate) enum RoomRequest {
    Apply { event: ChannelEvent, reply: oneshot::Sender<Result<Vec<ChannelEffect>, ChannelError>> },
    Messages { after: u64, limit: usize, reply: oneshot::Sender<Result<Vec<ChannelMessage>, ChannelError>> },
}

/// Handle of a room.
#[derive(Clone)]
pub(crate) struct RoomHandle {
    asks: mpsc::Sender<RoomRequest>,
    glance: watch::Receiver<Arc<ChannelSnapshot>>,
}

/// Receives every entry of the log.
pub type LogSink = Arc<dyn Fn(&LogEntry) + Send + Sync>;

pub(crate) struct Room {
    current: Arc<ChannelSnapshot>,
    messages: Messages,
    keeping: ChannelStore,
    hub: Hub,
    clock: Arc<dyn Clock>,
    log: LogSink,
    judge: Option<Arc<dyn RoundJudge>>,
    /// The memory of the last judgement. Rounds are judged one after the other.
    judged: Arc<tokio::sync::Mutex<Option<serde_json::Value>>>,
    /// The room's own mailbox, for judgements; weak, because the room ends with its last handle.
    own: mpsc::WeakSender<RoomRequest>,
    glance: watch::Sender<Arc<ChannelSnapshot>>,
    /// The channel's instance was paused at the last change.
    is_paused: bool,
}

impl RoomHandle {
    pub(crate) async fn apply(&self, event: ChannelEvent) -> Result<Vec<ChannelEffect>, ChannelError> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(RoomRequest::Apply { event, reply }).await.map_err(|_| ChannelError::Closing)?;
        answer.await.map_err(|_| ChannelError::Closing)?
    }

    pub(crate) async fn messages(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ChannelMessage>, ChannelError> {
        let (reply, answer) = oneshot::channel();
        self.asks
            .send(RoomRequest::Messages { after, limit, reply })
            .await
            .map_err(|_| ChannelError::Closing)?;
        answer.await.map_err(|_| ChannelError::Closing)?
    }

    pub(crate) fn glance(&self) -> Arc<ChannelSnapshot> {
        Arc::clone(&self.glance.borrow())
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Arc<ChannelSnapshot>> {
        self.glance.clone()
    }
}

impl Room {
    /// Starts the room's task. It ends with the last handle.
    pub(crate) fn open(
        channel: Channel,
        keeping: ChannelStore,
        hub: Hub,
        clock: Arc<dyn Clock>,
        log: LogSink,
        judge: Option<Arc<dyn RoundJudge>>,
    ) -> (RoomHandle, JoinHandle<()>) {
        let (asks, mailbox) = mpsc::channel(MAILBOX);
        let current = Arc::new(ChannelSnapshot { channel, version: 0 });
        let (glance, watching) = watch::channel(Arc::clone(&current));
        let messages = Messages::default();
        let own = asks.downgrade();
        let is_paused = false;
        let judged = Arc::default();
        let room =
            Room { current, messages, keeping, hub, clock, log, judge, judged, own, glance, is_paused };
        let task = tokio::spawn(room.run(mailbox));
        (RoomHandle { asks, glance: watching }, task)
    }

    async fn run(mut self, mut mailbox: mpsc::Receiver<RoomRequest>) {
        if let Some(judge) = self.judge.clone() {
            judge.begin(self.current.channel.name.clone()).await;
        }
        loop {
            let due = self.until_due();
            tokio::select! {
                ask = mailbox.recv() => match ask {
                    Some(ask) => self.execute(ask).await,
                    None => return,
                },
                () = sleep(due) => {
                    if self.apply(ChannelEvent::TimePassed).await.is_err() {
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        }
    }

    /// Returns the time until the next deadline.
    fn until_due(&self) -> Option<Duration> {
        // A resume of the instance does not pass through the room.
        if self.is_paused {
            return Some(AGAIN);
        }
        let (due_ms, _) = self.current.channel.next_due()?;
        let wait = due_ms.saturating_sub(self.clock.now_ms());
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    }

    async fn execute(&mut self, ask: RoomRequest) {
        // The requester may be gone; the change stands.
        match ask {
            RoomRequest::Apply { event, reply } => drop(reply.send(self.apply(event).await)),
            RoomRequest::Messages { after, limit, reply } => {
                let upto = self.current.channel.posted;
                drop(reply.send(self.messages.range(
                    &self.keeping,
                    &self.current.channel.name,
                    after,
                    upto,
                    limit,
                )));
            }
        }
    }

    async fn apply(&mut self, event: ChannelEvent) -> Result<Vec<ChannelEffect>, ChannelError> {
        let now_ms = self.clock.now_ms();
        self.is_paused = self.keeping.is_paused(&self.current.channel.name)?;
        if self.is_paused && is_talk(&event) {
            return Err(ChannelRefusal::Paused.into());
        }
        let mut next = self.current.channel.clone();
        // Members come and go while the instance is paused, and none gets the turn.
        let is_own_pause = next.paused_ms.is_some();
        if self.is_paused && !is_own_pause {
            next.paused_ms = Some(now_ms);
        }
        let effects = reduce(&mut next, event.clone(), now_ms)?;
        if self.is_paused && !is_own_pause {
            next.paused_ms = None;
        }
        let channel = &self.current.channel;
        if effects.is_empty() && next == *channel {
            return Ok(effects);
        }
        for agent in next.members.keys().filter(|agent| !channel.members.contains_key(*agent)) {
            self.keeping.ensure_member(&channel.name, agent).await?;
        }
        let log = entries(&next.name, &effects);
        self.keeping.commit(&next, &event, &effects, &log).await?;
        if matches!(event, ChannelEvent::PersonSpoke { .. }) && channel.turn.is_none() {
            self.start_rounds();
        }
        self.committed(next, &effects, &log);
        Ok(effects)
    }

    /// Applies a change in memory once it is on disk.
    fn committed(&mut self, next: Channel, effects: &[ChannelEffect], log: &[LogEntry]) {
        let version = self.current.version + 1;
        self.current = Arc::new(ChannelSnapshot { channel: next, version });
        for effect in effects {
            if let ChannelEffect::Posted(message) = effect {
                self.messages.push(message.clone());
            }
        }
        log.iter().for_each(|entry| (self.log)(entry));
        let channel = &self.current.channel;
        self.hub.note_members(channel);
        deliver(&self.hub, channel, &self.messages, &self.keeping, effects);
        self.glance.send_replace(Arc::clone(&self.current));
        if effects.iter().any(|effect| matches!(effect, ChannelEffect::RoundEnded { .. })) {
            self.judge_round();
        }
    }

    /// Before the turn is granted: the start is what the agents find.
    fn start_rounds(&self) {
        if let Some(judge) = &self.judge {
            tokio::spawn(judge.start(self.current.channel.name.clone(), self.agents()));
        }
    }

    fn agents(&self) -> Vec<String> {
        let members = self.current.channel.members.iter().filter(|(_, member)| member.assigned);
        members.map(|(agent, _)| agent.to_string()).collect()
    }

    /// Has the round judged meanwhile; turns continue until the judgement arrives.
    fn judge_round(&self) {
        let Some(judge) = self.judge.clone() else { return };
        let round = EndedRound {
            channel: self.current.channel.name.clone(),
            agents: self.agents(),
            without: self.current.channel.rounds.without,
            memory: self.current.channel.rounds.memory.clone(),
        };
        let (own, judged, number) =
            (self.own.clone(), Arc::clone(&self.judged), self.current.channel.rounds.number);
        tokio::spawn(async move {
            let mut memory = judged.lock().await;
            let known = memory.clone().unwrap_or_else(|| round.memory.clone());
            let Some(judgement) = judge.judge(EndedRound { memory: known, ..round }).await else { return };
            *memory = Some(judgement.memory.clone());
            let judgement = RoundJudgement { round: Some(number), ..judgement };
            // A closed room needs no judgement.
            let Some(room) = own.upgrade() else { return };
            let (reply, _) = oneshot::channel();
            let _ =
                room.send(RoomRequest::Apply { event: ChannelEvent::RoundJudged { judgement }, reply }).await;
        });
    }
}

/// Returns true for what a paused channel does not do: talking, taking turns, and time that passes.
fn is_talk(event: &ChannelEvent) -> bool {
    match event {
        ChannelEvent::AgentSpoke { .. }
        | ChannelEvent::PersonSpoke { .. }
        | ChannelEvent::TurnCompleted { .. }
        | ChannelEvent::WaitRequested { .. }
        | ChannelEvent::WaitResolved { .. }
        | ChannelEvent::Overridden { .. }
        | ChannelEvent::Skipped { .. }
        | ChannelEvent::NextNamed { .. }
        | ChannelEvent::Paused { .. }
        | ChannelEvent::Resumed { .. }
        | ChannelEvent::RoundJudged { .. }
        | ChannelEvent::TimePassed => true,
        ChannelEvent::AgentStarted { .. }
        | ChannelEvent::AgentStopped { .. }
        | ChannelEvent::ConnectionLost { .. }
        | ChannelEvent::AgentLost { .. }
        | ChannelEvent::Assigned { .. }
        | ChannelEvent::Removed { .. }
        | ChannelEvent::OrderSet { .. }
        | ChannelEvent::PrioritySet { .. }
        | ChannelEvent::OptionsSet { .. }
        | ChannelEvent::Recovered => false,
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
