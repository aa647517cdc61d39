//! Servers of rawko: the HTTP API and the page, channels, the socket that agents connect to, and their protocol. Owns
//! all wire types.
//!
//! ```
//! use rawko_server::{Role, ServerTokens};
//!
//! let tokens = ServerTokens::default().with("ci", Role::Operate, "a long secret");
//! assert!(tokens.has("ci") && !tokens.has("a long secret"));
//! assert!(Role::from_word("operate") > Role::from_word("read"));
//! ```
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

pub use agents::{ProjectAgents, TakenTurn, TurnOutcome, TurnTaker};
pub use asking::{ChannelAnswer, ChannelRequest};
pub use channels::{
    ChannelSnapshot, Channels, EndedRound, LogEntry, LogSink, RoundJudge, Warning, channel_instance,
    member_instance,
};
pub use error::ChannelError;
#[cfg(feature = "http")]
pub use http::{
    AgentHealth, AgentInfo, App, AppOptions, ChangedFile, Changes, ChangesRequest, ChartCoverage, ChartFile,
    ChartOrigin, ChartTests, CheckpointInfo, ContinueRequest, DoctorCheck, ErrorResponse, HealthState,
    HttpServer, HttpTimeouts, LinkIssuer, MessageFormat, NewAttachment, NewLimits, NewScenario, NewTask,
    NoProject, NotifyOptions, ProblemCode, ProjectFuture, ProjectService, RaiseRequest, Rate, Receiver,
    SaveChart, ScenarioResult, ServedTriggers, ServerSettings, SettingsText, TriggerRunner, UndoRequest,
    Undone, openapi_document, serve_metrics,
};
#[cfg(feature = "mcp")]
pub use mcp::{McpOptions, serve_mcp, serve_mcp_stdio};
#[cfg(feature = "http")]
pub use protocol::json_schema;
pub use protocol::{ChannelInfo, FromAgent, MESSAGE_BYTES_MAX, PROTOCOL, ToAgent, Until, WireMessage};
pub use role::Role;
#[cfg(feature = "http")]
pub use services::{FromProcess, SERVICE_PROTOCOL, ServiceOffer, ToProcess, service_json_schema};
pub use serving::{ServeOptions, ServingChannels};
pub use settings::TurnSettings;
pub use tokens::ServerTokens;
