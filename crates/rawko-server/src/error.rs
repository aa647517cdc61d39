//! Errors of channel operations.

use rawko_host::HostError;
use rawko_turns::ChannelRefusal;

/// A failed operation on a channel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// No channel has this name.
    #[error("channel `{0}` not found")]
    NoChannel(String),
    /// The name of a new channel is taken.
    #[error("channel `{0}` already exists")]
    Exists(String),
    /// The name has invalid characters or is too long.
    #[error("invalid name `{0}`: use at most 64 letters, digits, `-` and `_`")]
    BadName(String),
    /// The channel refused the event.
    #[error(transparent)]
    Refused(#[from] ChannelRefusal),
    /// The host could not read or commit.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The stored state cannot be parsed.
    #[error("cannot read the stored state of channel `{name}`: {why}")]
    Unreadable {
        /// Channel name.
        name: String,
        /// Reason, as a clause.
        why: String,
    },
    /// The server drains and accepts no request.
    #[error("the server is shutting down")]
    Closing,
}

impl ChannelError {
    /// Returns the machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            ChannelError::NoChannel(_) => "no_such_channel",
            ChannelError::Exists(_) => "exists",
            ChannelError::BadName(_) => "invalid_name",
            ChannelError::Refused(refusal) => refusal.code(),
            ChannelError::Host(_) | ChannelError::Unreadable { .. } => "unavailable",
            ChannelError::Closing => "closing",
        }
    }
}
