//! Requests about channels, independent of the process that hosts them.

use rawko_server::{ChannelAnswer, ChannelRequest};
use rawko_turns::{Channel, ChannelEffect, ChannelEvent, ChannelMessage};

use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{HostAccess, HostAnswer, NoAnswer, ProjectContext, SocketRequest};

/// A connection to the channels of a project.
pub(crate) struct Asker {
    access: HostAccess,
}

/// New messages and changes of a channel.
pub(crate) struct News {
    pub(crate) channel: Channel,
    pub(crate) version: u64,
    pub(crate) messages: Vec<ChannelMessage>,
}

impl Asker {
    pub(crate) async fn open(place: &ProjectContext, console: &mut Console) -> Result<Asker, CommandFailure> {
        Ok(Asker { access: HostAccess::open(place, &[], console).await? })
    }

    pub(crate) async fn close(self, console: &mut Console) {
        self.access.close(console).await;
    }

    pub(crate) async fn ask(&mut self, request: ChannelRequest) -> Result<ChannelAnswer, CommandFailure> {
        match self.access.ask(SocketRequest::Channel { request }).await {
            Ok(HostAnswer::Channel(answer)) => Ok(answer),
            Ok(_) => Err(astray()),
            Err(NoAnswer::Refused(failure)) => Err(failure),
            Err(NoAnswer::Gone) => Err(CommandFailure::Transient(
                "the process that hosts the channel exited before it answered".to_owned(),
            )),
        }
    }

    pub(crate) async fn look(&mut self, name: &str) -> Result<Channel, CommandFailure> {
        match self.ask(ChannelRequest::Look { name: name.to_owned() }).await? {
            ChannelAnswer::Channel(channel) => Ok(*channel),
            _ => Err(astray()),
        }
    }

    pub(crate) async fn apply(
        &mut self,
        name: &str,
        event: ChannelEvent,
    ) -> Result<Vec<ChannelEffect>, CommandFailure> {
        match self.ask(ChannelRequest::Apply { name: name.to_owned(), event }).await? {
            ChannelAnswer::Effects(effects) => Ok(effects),
            _ => Err(astray()),
        }
    }

    pub(crate) async fn messages(
        &mut self,
        name: &str,
        after: u64,
    ) -> Result<Vec<ChannelMessage>, CommandFailure> {
        let mut all: Vec<ChannelMessage> = Vec::new();
        loop {
            let after = all.last().map_or(after, |last| last.number);
            let request = ChannelRequest::Messages { name: name.to_owned(), after, limit: 1_000 };
            match self.ask(request).await? {
                ChannelAnswer::Messages(messages) if messages.is_empty() => return Ok(all),
                ChannelAnswer::Messages(messages) => all.extend(messages),
                _ => return Err(astray()),
            }
        }
    }

    /// Waits a limited time for news of a channel.
    pub(crate) async fn news(
        &mut self,
        name: &str,
        after: u64,
        version: Option<u64>,
        patience_ms: u64,
    ) -> Result<News, CommandFailure> {
        let name = name.to_owned();
        match self.ask(ChannelRequest::Follow { name, after, version, patience_ms }).await? {
            ChannelAnswer::News { channel, version, messages } => {
                Ok(News { channel: *channel, version, messages })
            }
            _ => Err(astray()),
        }
    }
}

fn astray() -> CommandFailure {
    CommandFailure::Failed("unexpected response from the host".to_owned())
}

/// Returns the name that the speaker claims. The host puts the operator's in its place or beside it.
pub(crate) fn me(claimed: Option<&String>) -> String {
    claimed.cloned().unwrap_or_default()
}
