//! Servers of rawko: the HTTP API and the page, channels, the socket that agents connect to, and their protocol. Owns
//! all wire types.
#![warn(missing_docs)]

mod agents;
mod asking;
mod channels;
mod error;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "mcp")]
mod mcp;
mod protocol;
mod role;
#[cfg(feature = "http")]
mod services;
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
    AgentHealth, AgentInfo, App, AppOptions, ChangedFile, Changes, ChangesRequest, ChartCoverage, ChartFile,
    ChartOrigin, ChartTests, CheckpointInfo, ContinueRequest, DoctorCheck, HealthState, Inviter,
    MessageFormat, NewAttachment, NewLimits, NewScenario, NewTask, NoProject, NotifyOptions, Patience,
    Problem, ProblemCode, Project, RaiseRequest, Rate, Receiver, SaveChart, ScenarioResult, ServedTriggers,
    Server, ServerSettings, SettingsText, TriggerRunner, UndoRequest, Undone, Working, openapi_document,
    serve_metrics,
};
#[cfg(feature = "mcp")]
pub use mcp::{McpOptions, serve_mcp, serve_mcp_stdio};
#[cfg(feature = "http")]
pub use protocol::json_schema;
pub use protocol::{ChannelInfo, FromAgent, MESSAGE_BYTES_MAX, PROTOCOL, ToAgent, Until, WireMessage};
pub use role::Role;
#[cfg(feature = "http")]
pub use services::{FromProcess, SERVICE_PROTOCOL, ServiceOffer, ToProcess, service_json_schema};
pub use serving::{ServeOptions, Serving};
pub use settings::TurnSettings;
pub use tokens::Tokens;
