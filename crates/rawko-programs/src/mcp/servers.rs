//! All MCP servers of a project, as one source of tools.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_core::Value;
use rawko_process::ProjectAccess;
use tokio::task::JoinSet;

use super::browser::Browser;
use super::config::{McpConfig, McpTransport};
use super::health::ServerHealth;
use super::server::McpServerHandle;
use super::settings::McpSettings;
use rawko_model::ToolSpec;
use rawko_tools::{Grant, Occasion, ToolFuture, ToolOutcome, ToolSource};

/// Dropping it kills every started program with its child processes.
pub struct McpServers {
    servers: Vec<Arc<McpServerHandle>>,
    /// The same servers for agents that may not write: their programs cannot write either. Those over HTTP are shared.
    reading: Vec<Arc<McpServerHandle>>,
}

impl McpServers {
    /// Takes over servers. Each is started when its tools are first listed or called.
    pub fn start(configs: Vec<McpConfig>, settings: McpSettings) -> Arc<Self> {
        let settings = Arc::new(settings);
        let server = |config: &McpConfig, access| {
            Arc::new(McpServerHandle::new(config.clone(), Arc::clone(&settings), access))
        };
        let servers: Vec<_> = configs.iter().map(|config| server(config, ProjectAccess::Write)).collect();
        let reading = configs.iter().zip(&servers).map(|(config, shared)| match config.transport {
            McpTransport::Stdio { .. } => server(config, ProjectAccess::Read),
            McpTransport::Http { .. } | McpTransport::Unusable { .. } => Arc::clone(shared),
        });
        Arc::new(Self { reading: reading.collect(), servers })
    }

    /// Returns the known status of the servers; starts nothing.
    pub fn health(&self) -> Vec<ServerHealth> {
        self.servers.iter().map(|server| server.health()).collect()
    }

    /// Starts every server that is not up, and returns their status.
    pub async fn check(&self) -> Vec<ServerHealth> {
        let check = |server: Arc<McpServerHandle>| async move { server.check().await };
        self.each(check).await
    }

    /// Logs the person in at a server over HTTP; `browser` shows them the address.
    pub async fn login(&self, name: &str, browser: Browser<'_>) -> Result<(), String> {
        self.named(name)?.login(browser).await
    }

    /// Forgets the person's login at a server; returns false if there is none.
    pub async fn logout(&self, name: &str) -> Result<bool, String> {
        self.named(name)?.logout().await
    }

    fn named(&self, name: &str) -> Result<&Arc<McpServerHandle>, String> {
        let found = self.servers.iter().find(|server| server.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.servers.iter().map(|server| server.name()).collect();
            match names.as_slice() {
                [] => format!("there is no MCP server `{name}`: .mcp.json defines none"),
                names => format!("there is no MCP server `{name}`; .mcp.json defines {}", names.join(", ")),
            }
        })
    }

    /// Ends every program gracefully.
    pub async fn close(&self) {
        let close = |server: Arc<McpServerHandle>| async move { server.close().await };
        self.each(close).await;
        each(self.reading.clone(), close).await;
    }

    /// Runs an operation on every server concurrently; results are in the servers' order.
    async fn each<T, F>(&self, of: fn(Arc<McpServerHandle>) -> F) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        each(self.servers.clone(), of).await
    }

    /// Returns the server of a name: the one with the longest prefix, because names may contain `__` themselves.
    fn of(&self, name: &str) -> Option<&Arc<McpServerHandle>> {
        self.of_access(name, ProjectAccess::Write)
    }

    fn of_access(&self, name: &str, access: ProjectAccess) -> Option<&Arc<McpServerHandle>> {
        let named = self.with_access(access).iter().filter(|server| name.starts_with(&server.prefix));
        named.max_by_key(|server| server.prefix.len())
    }

    fn with_access(&self, access: ProjectAccess) -> &[Arc<McpServerHandle>] {
        match access {
            ProjectAccess::Read => &self.reading,
            ProjectAccess::Write => &self.servers,
        }
    }
}

impl ToolSource for McpServers {
    fn specs(&self, access: ProjectAccess) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + '_>> {
        let specs = |server: Arc<McpServerHandle>| async move { server.specs().await };
        Box::pin(async move { each(self.with_access(access).to_vec(), specs).await.concat() })
    }

    /// Starts only servers whose tools the grant can use.
    fn specs_for<'a>(&'a self, grant: &'a Grant) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + 'a>> {
        let usable = |server: &&Arc<McpServerHandle>| grant.reaches(&server.prefix);
        let servers = self.with_access(grant.access()).iter().filter(usable).cloned().collect();
        Box::pin(async move {
            let specs = |server: Arc<McpServerHandle>| async move { server.specs().await };
            each(servers, specs).await.concat()
        })
    }

    fn has(&self, name: &str) -> bool {
        self.of(name).is_some()
    }

    fn is_safe_to_repeat(&self, name: &str) -> bool {
        let accesses = [ProjectAccess::Write, ProjectAccess::Read];
        accesses
            .iter()
            .any(|access| self.of_access(name, *access).is_some_and(|server| server.is_safe_to_repeat(name)))
    }

    fn only_reads(&self, name: &str) -> bool {
        let accesses = [ProjectAccess::Write, ProjectAccess::Read];
        let servers: Vec<_> = accesses.iter().filter_map(|access| self.of_access(name, *access)).collect();
        // A call of a group cannot ask a person.
        !servers.iter().any(|server| server.asks()) && servers.iter().any(|server| server.only_reads(name))
    }

    fn host(&self, name: &str) -> Option<(String, u16)> {
        self.of(name)?.host()
    }

    fn call<'a>(&'a self, name: &'a str, input: Value, access: ProjectAccess) -> ToolFuture<'a> {
        self.call_for(name, input, access, Occasion::default())
    }

    fn call_for<'a>(
        &'a self,
        name: &'a str,
        input: Value,
        access: ProjectAccess,
        occasion: Occasion<'a>,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            match self.of_access(name, access) {
                Some(server) => server.call(name, input, occasion).await,
                None => failure(format!("there is no MCP server for `{name}`")),
            }
        })
    }
}

/// Runs an operation on servers concurrently; results are in the servers' order.
async fn each<T, F>(servers: Vec<Arc<McpServerHandle>>, of: fn(Arc<McpServerHandle>) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (place, server) in servers.into_iter().enumerate() {
        let task = of(server);
        tasks.spawn(async move { (place, task.await) });
    }
    let mut done = tasks.join_all().await;
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, value)| value).collect()
}

/// A failed call, in words for the model.
pub(super) fn failure(message: impl Into<String>) -> ToolOutcome {
    ToolOutcome { content: message.into(), is_error: true, ..ToolOutcome::default() }
}
