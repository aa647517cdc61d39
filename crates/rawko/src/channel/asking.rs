//! Requests about channels, independent of the process that hosts them.

use rawko_server::{ChannelAnswer, ChannelRequest};
use rawko_turns::{Channel, Effect, Event, Message};

use crate::console::Console;
use crate::failure::Failure;
use crate::hosting::{Access, Answer, NoAnswer, ProjectContext, Request};

/// A connection to the channels of a project.
pub(crate) struct Asker {
    access: Access,
}

/// New messages and changes of a channel.
pub(crate) struct News {
    pub(crate) channel: Channel,
    pub(crate) version: u64,
    pub(crate) messages: Vec<Message>,
}

impl Asker {
    pub(crate) async fn open(place: &ProjectContext, console: &mut Console) -> Result<Asker, Failure> {
        Ok(Asker { access: Access::open(place, &[], console).await? })
    }

    pub(crate) async fn close(self, console: &mut Console) {
        self.access.close(console).await;
    }

    pub(crate) async fn ask(&mut self, request: ChannelRequest) -> Result<ChannelAnswer, Failure> {
        match self.access.ask(Request::Channel { request }).await {
            Ok(Answer::Channel(answer)) => Ok(answer),
            Ok(_) => Err(astray()),
            Err(NoAnswer::Refused(failure)) => Err(failure),
            Err(NoAnswer::Gone) => Err(Failure::Transient(
                "the process that hosts the channel exited before it answered".to_owned(),
            )),
        }
    }

    pub(crate) async fn look(&mut self, name: &str) -> Result<Channel, Failure> {
        match self.ask(ChannelRequest::Look { name: name.to_owned() }).await? {
            ChannelAnswer::Channel(channel) => Ok(*channel),
            _ => Err(astray()),
        }
    }

    pub(crate) async fn apply(&mut self, name: &str, event: Event) -> Result<Vec<Effect>, Failure> {
        match self.ask(ChannelRequest::Apply { name: name.to_owned(), event }).await? {
            ChannelAnswer::Effects(effects) => Ok(effects),
            _ => Err(astray()),
        }
    }

    pub(crate) async fn messages(&mut self, name: &str, after: u64) -> Result<Vec<Message>, Failure> {
        let mut all: Vec<Message> = Vec::new();
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
    ) -> Result<News, Failure> {
        let name = name.to_owned();
        match self.ask(ChannelRequest::Follow { name, after, version, patience_ms }).await? {
            ChannelAnswer::News { channel, version, messages } => {
                Ok(News { channel: *channel, version, messages })
            }
            _ => Err(astray()),
        }
    }
}

fn astray() -> Failure {
    Failure::Failed("unexpected response from the host".to_owned())
}

/// Returns the name that the speaker claims. The host puts the operator's in its place or beside it.
pub(crate) fn me(claimed: Option<&String>) -> String {
    claimed.cloned().unwrap_or_default()
}
