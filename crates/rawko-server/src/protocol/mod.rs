//! Protocol between agents and the server: JSON, one object per WebSocket message or line. Only the types;
//! `docs/formats/agent-protocol.md` and its JSON Schema document them and are tested against them.

mod from_agent;
#[cfg(feature = "http")]
mod schema;
mod to_agent;

pub use from_agent::{FromAgent, Until};
#[cfg(feature = "http")]
pub use schema::json_schema;
pub use to_agent::{ChannelInfo, ToAgent, WireMessage};

/// Version of the protocol. An agent sends its version; any other is rejected.
pub const PROTOCOL: u32 = 1;

/// Size limit on messages from an agent.
pub const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// Formats a time as RFC 3339.
pub(crate) fn moment(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
