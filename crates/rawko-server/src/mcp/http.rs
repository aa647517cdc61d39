//! `/mcp` in `rawko serve`. Host, origin and credential were checked before a request gets here.

use std::sync::Arc;

use axum::Router;
use axum::routing::any_service;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::{McpOptions, McpServer};
use crate::http::App;

/// The path of the server.
const PATH: &str = "/mcp";

pub(crate) fn routes(app: &App, router: Router<App>) -> Router<App> {
    let options = McpOptions {
        engine: Arc::clone(app.engine()),
        project: Arc::clone(app.project()),
        world: app.world().clone(),
        clock: app.clock(),
        version: app.version(),
        person: None,
        key: app.mcp_key(),
    };
    let server = McpServer::new(options);
    let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok(server.another()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    router.route(PATH, any_service(service))
}
