//! Errors of channel operations.

use rawko_host::HostError;
use rawko_turns::Refusal;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    #[error("channel `{0}` not found")]
    NoChannel(String),
    #[error("channel `{0}` already exists")]
    Exists(String),
    #[error("invalid name `{0}`: use at most 64 letters, digits, `-` and `_`")]
    BadName(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("cannot read the stored state of channel `{name}`: {why}")]
    Unreadable { name: String, why: String },
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
