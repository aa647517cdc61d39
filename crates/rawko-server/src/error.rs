//! Errors of channel operations.

use rawko_host::HostError;
use rawko_turns::Refusal;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    #[error("there is no channel `{0}`")]
    NoChannel(String),
    #[error("there is already a channel `{0}`")]
    Exists(String),
    #[error("`{0}` cannot be a name: use letters, digits, `-` and `_`, at most 64 of them")]
    BadName(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("what channel `{name}` keeps cannot be read: {why}")]
    Unreadable { name: String, why: String },
    #[error("the server is closing")]
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
