//! Servers of rawko: the HTTP API and the page, channels, the socket that agents connect to, and their protocol. Owns
//! all wire types.

mod agents;
mod asking;
mod channels;
mod error;
mod http;
mod protocol;
mod serving;
mod settings;

pub use agents::{ProjectAgents, Taken, TakenTurn, TurnTaker};
pub use asking::{ChannelAnswer, ChannelRequest};
pub use channels::{Channels, Entry, Glance, LogSink, Warning, channel_instance, member_instance};
pub use error::ChannelError;
pub use http::{
    AgentHealth, AgentInfo, App, AppOptions, ChartOrigin, HealthState, NewTask, NoProject, Patience, Problem,
    ProblemCode, Project, Rate, Role, Server, ServerSettings, Tokens, Working, openapi_document,
    serve_metrics,
};
pub use protocol::{
    ChannelInfo, FromAgent, MESSAGE_BYTES_MAX, PROTOCOL, ToAgent, Until, WireMessage, json_schema,
};
pub use serving::{ServeOptions, Serving};
pub use settings::TurnSettings;
