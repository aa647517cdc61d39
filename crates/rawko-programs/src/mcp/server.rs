//! One supervised server: started on demand, listed, called, and restarted after a loss.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_process::{Profile, ProjectAccess};
use rmcp::model::ElicitResult;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::browser::Browser;
use super::calls::McpCall;
use super::config::{McpConfig, McpTransport};
use super::connection::{ConnectError, Handshake, McpConnection};
use super::fault::{McpFault, unauthorized};
use super::health::{McpHealthState, ServerHealth};
use super::names::prefix;
use super::oauth::{credential_file, login};
use super::servers::failure;
use super::settings::McpSettings;
use super::supervision::{Supervision, SupervisionStep};
use super::tools::{ToolsByName, known};
use crate::program::in_time;
use rawko_model::ToolSpec;
use rawko_tools::ToolOutcome;

pub(super) struct McpServerHandle {
    pub(super) config: McpConfig,
    pub(super) prefix: String,
    pub(super) settings: Arc<McpSettings>,
    /// What its program may do.
    profile: Profile,
    facts: Mutex<ServerState>,
    /// Held while it is being started, so that it is started once for all waiting calls.
    starting: tokio::sync::Mutex<()>,
    is_stale: Arc<AtomicBool>,
    /// Calls that wait for an answer of a person, by the key of their occasion.
    parked: Mutex<HashMap<String, ParkedCall>>,
    pub(super) has_asked: AtomicBool,
}

pub(super) struct ParkedCall {
    pub(super) connection: Arc<McpConnection>,
    pub(super) call: McpCall,
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

#[derive(Default)]
pub(super) struct ServerState {
    connection: Option<Arc<McpConnection>>,
    pub(super) supervision: Supervision,
    /// Kept while the server is down.
    tools: Option<Arc<ToolsByName>>,
    implementation: Option<String>,
    /// What the server understood before.
    handshake: Handshake,
}

/// The reaction to a start that is only allowed after a delay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartPatience {
    Wait,
    Leave,
}

impl McpServerHandle {
    pub(super) fn new(config: McpConfig, settings: Arc<McpSettings>, access: ProjectAccess) -> Self {
        let profile = settings.confinement.profile_of("mcp", &config.name, Profile::Program(access));
        Self {
            profile,
            prefix: prefix(&config),
            config,
            settings,
            facts: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            is_stale: Arc::new(AtomicBool::new(false)),
            parked: Mutex::default(),
            has_asked: AtomicBool::new(false),
        }
    }

    /// Returns its tools; of a server that is down, the last known ones.
    pub(super) async fn specs(&self) -> Vec<ToolSpec> {
        if let Ok(connection) = self.connection(RestartPatience::Leave).await
            && self.is_stale.swap(false, Ordering::AcqRel)
        {
            // A failed listing is repeated next time; until then the old list is used.
            if self.list(&connection).await.is_err() {
                self.is_stale.store(true, Ordering::Release);
            }
        }
        let tools = self.facts().tools.clone();
        tools.iter().flat_map(|tools| tools.values()).map(|known| known.spec.clone()).collect()
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    pub(super) fn is_safe_to_repeat(&self, full: &str) -> bool {
        let tools = self.facts().tools.clone();
        tools.is_some_and(|tools| tools.get(full).is_some_and(|known| known.is_safe_to_repeat))
    }

    /// Returns the host and port of a server over HTTP.
    pub(super) fn host(&self) -> Option<(String, u16)> {
        self.config.transport.host()
    }

    /// Returns true if a call has asked a person for something.
    pub(super) fn asks(&self) -> bool {
        self.has_asked.load(Ordering::Acquire)
    }

    pub(super) fn only_reads(&self, full: &str) -> bool {
        let tools = self.facts().tools.clone();
        tools.is_some_and(|tools| tools.get(full).is_some_and(|known| known.only_reads))
    }

    /// Logs the person in at a remote server. The next call connects anew.
    pub(super) async fn login(&self, browser: Browser<'_>) -> Result<(), String> {
        let McpTransport::Http { url, .. } = &self.config.transport else {
            return Err(format!("`{}` is a program, which needs no login", self.config.name));
        };
        if self.config.oauth.is_without_person {
            return Err(format!("`{}` uses client credentials, which need no login", self.config.name));
        }
        login(url, &self.config.oauth, &self.settings, browser).await?;
        self.close().await;
        self.facts().supervision.answered();
        Ok(())
    }

    /// Forgets the person's login; returns false if there is none.
    pub(super) async fn logout(&self) -> Result<bool, String> {
        self.close().await;
        match (&self.config.transport, &self.settings.credentials) {
            (McpTransport::Http { url, .. }, Some(folder)) => {
                credential_file(folder, url).remove().map_err(|error| error.to_string())
            }
            _ => Ok(false),
        }
    }

    /// Returns the server's name of a tool. A possibly stale list is refreshed before the tool counts as unknown.
    pub(super) async fn original(
        &self,
        connection: &McpConnection,
        full: &str,
    ) -> Result<String, ToolOutcome> {
        let find = || {
            let tools = self.facts().tools.clone()?;
            tools.get(full).map(|known| known.name.clone())
        };
        if let Some(tool) = find() {
            return Ok(tool);
        }
        let listed = self.list(connection).await;
        find().ok_or_else(|| {
            let name = &self.config.name;
            if let Err(error) = listed {
                let why = error.into_words();
                return failure(format!("the MCP server `{name}` did not list its tools: {why}"));
            }
            let tools = self.facts().tools.clone();
            let names: Vec<String> = tools.iter().flat_map(|tools| tools.keys().cloned()).collect();
            failure(format!("the MCP server `{name}` has no tool `{full}`; it has {}", names.join(", ")))
        })
    }

    pub(super) async fn connection(&self, patience: RestartPatience) -> Result<Arc<McpConnection>, String> {
        if let McpTransport::Unusable { why } = &self.config.transport {
            return Err(why.clone());
        }
        if let Some(connection) = self.open_connection().await {
            return Ok(connection);
        }
        let _starting = self.starting.lock().await;
        if let Some(connection) = self.open_connection().await {
            return Ok(connection);
        }
        self.wait_for_its_turn(patience).await?;
        match self.start().await {
            Ok(connection) => Ok(connection),
            // It works as soon as the person has logged in.
            Err(ConnectError::Unauthorized(why)) => {
                self.facts().supervision.why = Some(why.clone());
                Err(why)
            }
            Err(ConnectError::Failed(why)) => {
                let hidden = self.config.secrets.hide(why.clone());
                let mut facts = self.facts();
                facts.supervision.failed(hidden, Instant::now(), &self.settings);
                // It may be another version by now.
                facts.handshake = Handshake::default();
                Err(why)
            }
        }
    }

    /// Returns the connection if it is open. Records one that was lost in the meantime.
    async fn open_connection(&self) -> Option<Arc<McpConnection>> {
        let connection = self.facts().connection.clone()?;
        if connection.is_open() {
            return Some(connection);
        }
        self.lost(&connection, "the connection closed").await;
        None
    }

    async fn wait_for_its_turn(&self, patience: RestartPatience) -> Result<(), String> {
        let (next, why) = {
            let facts = self.facts();
            let why = facts.supervision.why.clone().unwrap_or_default();
            (facts.supervision.next(Instant::now(), &self.settings), why)
        };
        match (next, patience) {
            (SupervisionStep::Start, _) => Ok(()),
            (SupervisionStep::StartAt(at), RestartPatience::Wait) => {
                sleep_until(at).await;
                Ok(())
            }
            (SupervisionStep::StartAt(_), RestartPatience::Leave) => Err(why),
            (SupervisionStep::LeftAlone { failures, until }, _) => {
                let left = in_time(until.saturating_duration_since(Instant::now()));
                Err(format!(
                    "it failed {failures} times in a row and is left alone for another {left}; last: {why}"
                ))
            }
        }
    }

    async fn start(&self) -> Result<Arc<McpConnection>, ConnectError> {
        self.facts().supervision.started();
        let handshake = self.facts().handshake;
        let program = (self.profile, Arc::clone(&self.is_stale));
        let connection = McpConnection::open(&self.config, &self.settings, program, handshake).await?;
        let connection = Arc::new(connection);
        self.list(&connection).await?;
        let mut facts = self.facts();
        facts.implementation = connection.implementation();
        facts.handshake = connection.handshake();
        facts.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn list(&self, connection: &McpConnection) -> Result<(), ConnectError> {
        let tools = match connection.tools(self.settings.start_timeout).await {
            Ok(tools) => tools,
            Err(McpFault::Refused(why)) => return Err(ConnectError::Failed(why)),
            Err(McpFault::TimedOut) => {
                let within = in_time(self.settings.start_timeout);
                return Err(ConnectError::Failed(format!("it did not list its tools within {within}")));
            }
            Err(McpFault::Unauthorized { challenge }) => {
                let why = unauthorized(&self.config, &self.settings, &challenge);
                return Err(ConnectError::Unauthorized(why));
            }
            Err(McpFault::Lost { why, .. }) => {
                return Err(ConnectError::Failed(connection.loss_in_words(&why).await));
            }
        };
        self.facts().tools = Some(Arc::new(known(&self.prefix, tools)));
        Ok(())
    }

    /// Records a lost connection, once for all calls that notice it.
    pub(super) async fn lost(&self, connection: &Arc<McpConnection>, why: &str) -> String {
        let why = connection.loss_in_words(why).await;
        let mut facts = self.facts();
        if facts.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            facts.connection = None;
            let why = self.config.secrets.hide(why.clone());
            facts.supervision.failed(why, Instant::now(), &self.settings);
        }
        why
    }

    /// Starts it if necessary, and returns its status.
    pub(super) async fn check(&self) -> ServerHealth {
        let _ = self.connection(RestartPatience::Wait).await;
        self.health()
    }

    pub(super) fn health(&self) -> ServerHealth {
        let facts = self.facts();
        let is_open = facts.connection.as_ref().map(|connection| connection.is_open());
        let left_alone = facts.supervision.next(Instant::now(), &self.settings);
        let state = match (&self.config.transport, is_open, left_alone) {
            (McpTransport::Unusable { .. }, _, _) => McpHealthState::Unusable,
            (_, Some(true), _) => McpHealthState::Up,
            (_, _, SupervisionStep::LeftAlone { .. }) => McpHealthState::LeftAlone,
            (_, None, _) if facts.supervision.starts == 0 => McpHealthState::NotStarted,
            (_, Some(false) | None, SupervisionStep::Start | SupervisionStep::StartAt(_)) => {
                McpHealthState::Down
            }
        };
        let unusable = match &self.config.transport {
            McpTransport::Unusable { why } => Some(why.clone()),
            McpTransport::Stdio { .. } | McpTransport::Http { .. } => None,
        };
        ServerHealth {
            name: self.config.name.clone(),
            server: self.config.transport.shown(),
            state,
            tools: facts.tools.as_ref().map(|tools| tools.len()),
            starts: facts.supervision.starts,
            pid: facts.connection.as_ref().filter(|_| is_open == Some(true)).and_then(|open| open.pid()),
            implementation: facts.implementation.clone(),
            problem: unusable.or_else(|| facts.supervision.why.clone()),
        }
    }

    pub(super) async fn close(&self) {
        self.parked().clear();
        let connection = self.facts().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    pub(super) fn facts(&self) -> MutexGuard<'_, ServerState> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn parked(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, call| call.connection.is_open());
        parked
    }
}
