//! The HTTP API under `/v1`, the agents' socket and the page: one router. One folder or file per noun, each with its
//! `routes()`; the OpenAPI document is generated from the same code.

mod access;
mod agents;
mod app;
mod assets;
mod audit;
mod channels;
mod charts;
mod doctor;
mod extract;
mod faults;
mod headers;
mod health;
mod instances;
mod limits;
mod listen;
mod live;
mod metrics;
mod notify;
mod openapi;
mod paging;
mod panics;
mod passage;
mod problem;
mod project;
mod services;
mod session;
mod settings;
mod studio;
mod triggers;
mod usage;
mod work;

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::OpenApiRouter;

#[cfg(feature = "mcp")]
pub(crate) use access::caller_of;
pub use app::{App, AppOptions};
pub use doctor::{DoctorCheck, SettingsText};
pub use limits::HttpTimeouts;
pub use listen::{HttpServer, LinkIssuer};
pub use metrics::serve_metrics;
pub use notify::{MessageFormat, NotifyOptions, Receiver};
pub use openapi::document as openapi_document;
pub use problem::{ErrorResponse, ProblemCode};
pub use project::{
    AgentHealth, AgentInfo, ChartOrigin, HealthState, NewAttachment, NewTask, NoProject, ProjectFuture,
    ProjectService,
};
pub use settings::{Rate, ServerSettings};
pub use studio::{ChartCoverage, ChartFile, ChartTests, NewScenario, SaveChart, ScenarioResult};
pub use triggers::{ServedTriggers, TriggerRunner};
pub use work::{
    ChangedFile, Changes, ChangesRequest, CheckpointInfo, ContinueRequest, NewLimits, RaiseRequest,
    UndoRequest, Undone,
};

/// Router of one noun.
pub(crate) type Routes = OpenApiRouter<App>;

/// All nouns, without middleware.
fn nouns() -> Routes {
    let nouns = [
        session::routes(),
        health::routes(),
        metrics::routes(),
        instances::routes(),
        live::routes(),
        charts::routes(),
        agents::routes(),
        services::routes(),
        channels::routes(),
        audit::routes(),
        notify::routes(),
        usage::routes(),
        doctor::routes(),
        triggers::routes(),
    ];
    nouns.into_iter().fold(OpenApiRouter::with_openapi(openapi::preamble()), OpenApiRouter::merge)
}

/// The complete router of an address.
pub(crate) fn router(app: App) -> Router {
    let (routes, _) = nouns().split_for_parts();
    #[cfg(feature = "mcp")]
    let routes = crate::mcp::routes(&app, routes);
    routes
        .route("/v1/openapi.json", axum::routing::get(openapi::serve))
        .route("/login/{code}", axum::routing::get(session::enter))
        .fallback(assets::serve)
        .layer(from_fn_with_state(app.clone(), passage::pass))
        .with_state(app)
}
