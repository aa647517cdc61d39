//! Servers of rawko: the HTTP API and the page, channels, the socket that agents connect to, and their protocol. Owns
//! all wire types.

mod agents;
mod asking;
mod channels;
mod error;
#[cfg(feature = "http")]
mod http;
mod protocol;
mod role;
mod serving;
mod settings;
mod tokens;

pub use agents::{ProjectAgents, Taken, TakenTurn, TurnTaker};
pub use asking::{ChannelAnswer, ChannelRequest};
pub use channels::{
    ChannelSnapshot, Channels, EndedRound, Entry, LogSink, RoundJudge, Warning, channel_instance,
    member_instance,
};
pub use error::ChannelError;
#[cfg(feature = "http")]
pub use http::{
    AgentHealth, AgentInfo, App, AppOptions, ChangedFile, Changes, ChangesRequest, ChartOrigin,
    CheckpointInfo, ContinueRequest, HealthState, Inviter, NewAttachment, NewLimits, NewTask, NoProject,
    Patience, Problem, ProblemCode, Project, RaiseRequest, Rate, Server, ServerSettings, UndoRequest, Undone,
    Working, openapi_document, serve_metrics,
};
#[cfg(feature = "http")]
pub use protocol::json_schema;
pub use protocol::{ChannelInfo, FromAgent, MESSAGE_BYTES_MAX, PROTOCOL, ToAgent, Until, WireMessage};
pub use role::Role;
pub use serving::{ServeOptions, Serving};
pub use settings::TurnSettings;
pub use tokens::Tokens;
