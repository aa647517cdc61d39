//! Recent messages of a channel in memory. Older ones are read from the journal on demand.

use std::collections::VecDeque;

use rawko_turns::ChannelMessage;

use super::channel_store::ChannelStore;
use crate::error::ChannelError;

/// Messages in memory per channel.
const TAIL_MAX: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// The last messages, without gaps.
    tail: VecDeque<ChannelMessage>,
}

impl Messages {
    pub(crate) fn push(&mut self, message: ChannelMessage) {
        if self.tail.len() == TAIL_MAX {
            self.tail.pop_front();
        }
        self.tail.push_back(message);
    }

    /// Returns the first messages with numbers above `after` and up to `upto`, at most `limit`.
    pub(crate) fn range(
        &self,
        keeping: &ChannelStore,
        name: &str,
        after: u64,
        upto: u64,
        limit: usize,
    ) -> Result<Vec<ChannelMessage>, ChannelError> {
        if after >= upto || limit == 0 {
            return Ok(Vec::new());
        }
        let wanted = |message: &&ChannelMessage| message.number > after && message.number <= upto;
        if self.tail.front().is_some_and(|first| first.number <= after + 1) {
            return Ok(self.tail.iter().filter(wanted).take(limit).cloned().collect());
        }
        let mut found = Vec::new();
        keeping.changes(name, |change| {
            found.extend(change.posted.iter().filter(wanted).cloned());
            found.len() < limit && found.last().is_none_or(|last: &ChannelMessage| last.number < upto)
        })?;
        found.truncate(limit);
        Ok(found)
    }
}
