//! One MCP server as a file describes it, with variables filled in. `{:?}` shows no value that could be a secret.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::secrets::McpSecrets;

/// A server and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpConfig {
    /// As the file has it. Tools are `mcp__<name>__<tool>`.
    pub name: String,
    pub transport: McpTransport,
    /// For one call; `None`: as settings have it for all servers.
    pub timeout: Option<Duration>,
    /// Taken out of what the server says.
    pub secrets: McpSecrets,
}

impl McpConfig {
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        Self { name: name.into(), transport, timeout: None, secrets: McpSecrets::default() }
    }
}

#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that speaks on stdin and stdout.
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        /// From the project; `None`: the project itself.
        cwd: Option<PathBuf>,
    },
    /// A server that somebody else runs (streamable HTTP).
    Http { url: String, headers: Vec<(String, String)> },
    /// What the file says cannot be used. Kept, so that a call says why instead of there being no such tool.
    Unusable { why: String },
}

impl McpTransport {
    /// What it is, for people: the program, or the address without what follows a `?`.
    pub fn shown(&self) -> String {
        match self {
            McpTransport::Stdio { command, .. } => command.clone(),
            McpTransport::Http { url, .. } => {
                let address = url.split(['?', '#']).next().unwrap_or_default();
                without_password(address)
            }
            McpTransport::Unusable { .. } => "not usable".to_owned(),
        }
    }
}

/// `http://user:password@host/` without the two.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_end);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Arguments, variables and headers may hold secrets: only names are shown.
impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        match self {
            McpTransport::Stdio { args, env, cwd, .. } => f
                .debug_struct("Stdio")
                .field("command", &self.shown())
                .field("args", &args.len())
                .field("env", &names(env))
                .field("cwd", cwd)
                .finish(),
            McpTransport::Http { headers, .. } => {
                f.debug_struct("Http").field("url", &self.shown()).field("headers", &names(headers)).finish()
            }
            McpTransport::Unusable { why } => f.debug_struct("Unusable").field("why", why).finish(),
        }
    }
}
