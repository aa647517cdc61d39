//! `RoundJudge`: judges the work of a round of a channel. Implemented by the embedder, because the checks of a project are
//! not the channels' business.

use std::future::Future;
use std::pin::Pin;

use rawko_turns::RoundJudgement;

/// A round that has just ended.
#[derive(Clone, Debug)]
pub struct EndedRound {
    /// Channel name.
    pub channel: String,
    /// The members of the channel.
    pub agents: Vec<String>,
    /// Rounds since the last progress, with this one.
    pub without: u32,
    /// Part of the last judgement of this channel, or null.
    pub memory: serde_json::Value,
}

/// Judges the work of agents in channels.
pub trait RoundJudge: Send + Sync {
    /// Prepares for the rounds of a channel, before its agents work.
    fn begin(&self, _channel: String) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }

    /// Starts the rounds anew, because a person posted while the channel rested. Agents get their turns meanwhile.
    fn start(&self, _channel: String, _agents: Vec<String>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }

    /// `None` if there is nothing to judge; then the rounds alone count.
    fn judge(&self, round: EndedRound) -> Pin<Box<dyn Future<Output = Option<RoundJudgement>> + Send>>;
}
