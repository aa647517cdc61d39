//! rawko as an MCP server: each chart is a tool, each instance a task, requests to people are questions to the client, and
//! journals and drawings are resources. One handler for stdio and HTTP; the protocol itself is the library's.

mod calls;
mod charts;
mod handler;
mod http;
mod logging;
mod people;
mod reports;
mod resources;
mod subscriptions;
mod tasks;

use std::sync::Arc;

use rawko_core::World;
use rawko_host::{Clock, Engine, SystemClock};
use rawko_view::document::Document;
use rawko_view::standing::{InstanceStanding, PendingAsk};
use rmcp::ErrorData;
use rmcp::ServiceExt;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use http::routes;
use logging::LogThreshold;
use subscriptions::Subscriptions;

use crate::http::{NoProject, ProjectService};

/// What an MCP server needs to know of its host.
#[derive(Clone)]
pub struct McpOptions {
    /// Host of the instances.
    pub engine: Arc<dyn Engine>,
    /// The project, whose agents take tasks.
    pub project: Arc<dyn ProjectService>,
    /// Values that expressions see besides context and event.
    pub world: World,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Version of rawko, for the server information.
    pub version: &'static str,
    /// The author of answers, unless a request has its own.
    pub person: Option<String>,
    /// Proves that a state which a client returns was issued here. The same after a restart.
    pub key: [u8; 32],
}

impl McpOptions {
    /// Only a host; states of other processes are not accepted.
    pub fn new(engine: Arc<dyn Engine>, key: [u8; 32]) -> McpOptions {
        McpOptions {
            engine,
            project: Arc::new(NoProject),
            world: World::default(),
            clock: Arc::new(SystemClock),
            version: env!("CARGO_PKG_VERSION"),
            person: None,
            key,
        }
    }
}

/// Serves one client until it closes the stream.
pub async fn serve_mcp<R, W>(options: McpOptions, reader: R, writer: W) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let served = McpServer::new(options).serve((reader, writer)).await;
    match served {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Serves the client that started this process, until it closes standard input.
pub async fn serve_mcp_stdio(options: McpOptions) -> Result<(), String> {
    let (reader, writer) = rmcp::transport::stdio();
    serve_mcp(options, reader, writer).await
}

/// The handler. Cheap to clone; each session has its own.
#[derive(Clone)]
pub(crate) struct McpServer {
    options: Arc<McpOptions>,
    /// Resources that the client of this session watches.
    subscriptions: Arc<Subscriptions>,
    /// The least severe log lines that the client of this session wants.
    log_threshold: Arc<LogThreshold>,
}

/// An instance as the tools and tasks show it.
pub(crate) struct InstanceView {
    document: Document,
    asks: Vec<PendingAsk>,
}

impl McpServer {
    pub(crate) fn new(options: McpOptions) -> Self {
        Self { options: Arc::new(options), subscriptions: Arc::default(), log_threshold: Arc::default() }
    }

    /// Returns the handler of another session.
    fn another(&self) -> Self {
        Self {
            options: Arc::clone(&self.options),
            subscriptions: Arc::default(),
            log_threshold: Arc::default(),
        }
    }

    fn engine(&self) -> &Arc<dyn Engine> {
        &self.options.engine
    }

    /// Reads the current state of an instance on the blocking pool.
    async fn view(&self, id: &str) -> Result<InstanceView, ErrorData> {
        let id = id.to_owned();
        self.blocking(move |server| {
            let (reader, options) = (server.engine().reader(), &server.options);
            let standing = InstanceStanding::of(reader, &id, &options.world, options.clock.now_ms())
                .map_err(|error| not_found(&error.to_string()))?;
            let document = Document::of(reader, &standing)
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            Ok(InstanceView { document, asks: standing.asks })
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&McpServer) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&server)).await;
        done.unwrap_or_else(|error| Err(ErrorData::internal_error(error.to_string(), None)))
    }
}

fn not_found(what: &str) -> ErrorData {
    ErrorData::invalid_params(what.to_owned(), None)
}
