//! What agents and the server say to each other: JSON, one object a WebSocket message or a line. The types only; the
//! page `docs/formats/agent-protocol.md` and its JSON Schema say the same and are tested against these.

mod from_agent;
#[cfg(feature = "http")]
mod schema;
mod to_agent;

pub use from_agent::{FromAgent, Until};
#[cfg(feature = "http")]
pub use schema::json_schema;
pub use to_agent::{ChannelInfo, ToAgent, WireMessage};

/// The version of the protocol. An agent says which one it speaks; another one is refused.
pub const PROTOCOL: u32 = 1;

/// A message of an agent may not be longer than this.
pub const MESSAGE_BYTES_MAX: usize = 128 * 1024;

/// Milliseconds as people and programs read a moment.
pub(crate) fn moment(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
