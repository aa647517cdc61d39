//! The configuration of one MCP server, with variables expanded. `{:?}` redacts values that could be secrets.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::secrets::McpSecrets;

/// A server and its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpConfig {
    /// The name in the file. Tools are `mcp__<name>__<tool>`.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// Timeout of one call; `None` uses the setting for all servers.
    pub timeout: Option<Duration>,
    /// How rawko authorizes itself, over HTTP.
    pub oauth: McpOAuth,
    /// Redacted in the server's output.
    pub secrets: McpSecrets,
}

impl McpConfig {
    /// Creates the settings of a server.
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            timeout: None,
            oauth: McpOAuth::default(),
            secrets: McpSecrets::default(),
        }
    }
}

/// Authorization at a remote server. Everything that is not given is discovered or registered.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct McpOAuth {
    /// The client as registered with the authorization server.
    pub client_id: Option<String>,
    /// The secret of a registered client.
    pub client_secret: Option<String>,
    /// The HTTPS address of a client metadata document, for authorization servers that accept one as client id.
    pub client_metadata_url: Option<String>,
    /// Scopes to request; empty selects those that the server names.
    pub scopes: Vec<String>,
    /// Port of the redirect address; `None` is any free one.
    pub callback_port: Option<u16>,
    /// True for the grant `client_credentials`, which needs no person.
    pub is_without_person: bool,
}

impl fmt::Debug for McpOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOAuth")
            .field("client_id", &self.client_id)
            .field("has_secret", &self.client_secret.is_some())
            .field("scopes", &self.scopes)
            .field("is_without_person", &self.is_without_person)
            .finish_non_exhaustive()
    }
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that communicates over stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables of its own.
        env: Vec<(String, String)>,
        /// Relative to the project; `None` is the project root.
        cwd: Option<PathBuf>,
    },
    /// A remote server (streamable HTTP).
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
    /// An invalid entry. Kept, so that a call reports the reason instead of an unknown tool.
    Unusable {
        /// The reason.
        why: String,
    },
}

impl McpTransport {
    /// Returns the host and the port of a remote server.
    pub fn host(&self) -> Option<(String, u16)> {
        let McpTransport::Http { url, .. } = self else { return None };
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let usual = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            Some(_) | None => (authority, usual),
        };
        Some((host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase(), port))
    }

    /// Returns the program, or the URL without its query.
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

/// Removes user and password from `http://user:password@host/`.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_end);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Arguments, variables and headers may contain secrets: only names are printed.
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
