//! Reads `.mcp.json`: every problem is a finding with a location, and an unusable server stays in the list with the
//! reason.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_chart::codes::settings::{CONFLICTING_KEYS, MISSING_KEY, UNKNOWN_KEY, UNREADABLE, UNSET_VARIABLE};
use rawko_chart::{DocumentData, DocumentEntry, Finding, Severity, SourceFile, Span, SpannedValue, nearest};
use rawko_settings::{Environment, SettingsReader};
use reqwest::header::{HeaderName, HeaderValue};

use super::config::{McpConfig, McpOAuth, McpTransport};
use super::expand::{ExpandError, FileVariables, expand, variables};
use super::names::{is_header_ours, server_part};
use super::secrets::McpSecrets;

/// The file that lists a project's servers.
pub const MCP_FILE: &str = ".mcp.json";

/// The keys of a file: Claude's form has `mcpServers`, VS Code's `servers` and `inputs`.
const FILE_KEYS: [&str; 3] = ["mcpServers", "servers", "inputs"];
const KEYS: [&str; 13] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "timeout",
    "disabled",
    "enabled",
    "oauth",
];
/// Keys with which other programs describe a server or decide how they use it.
const FOREIGN_KEYS: [&str; 16] = [
    "$schema",
    "alwaysAllow",
    "autoApprove",
    "autoStart",
    "authProviderType",
    "description",
    "dev",
    "disabledTools",
    "enabledTools",
    "excludeTools",
    "gallery",
    "icon",
    "includeTools",
    "name",
    "tools",
    "version",
];

/// Reads the servers of a project and all problems of the file. Without a file there are no servers.
pub fn read_mcp_file(
    project_root: &Path,
    environment: &Environment,
) -> (Vec<McpConfig>, SourceFile, Vec<Finding>) {
    let bytes = rawko_process::read_regular(&project_root.join(MCP_FILE));
    match bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)) {
        Ok(text) => {
            let source = SourceFile::new(MCP_FILE, text);
            let (configs, findings) = read_mcp(&source, environment, project_root);
            (configs, source, findings)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (Vec::new(), SourceFile::new(MCP_FILE, ""), Vec::new())
        }
        Err(error) => {
            let finding = UNREADABLE.at(Span::default(), format!("`{MCP_FILE}` cannot be read: {error}"));
            (Vec::new(), SourceFile::new(MCP_FILE, ""), vec![finding])
        }
    }
}

/// Reads the servers in a text of a project.
pub fn read_mcp(
    source: &SourceFile,
    environment: &Environment,
    project_root: &Path,
) -> (Vec<McpConfig>, Vec<Finding>) {
    let document = match SpannedValue::read(&source.text) {
        Ok(document) => document,
        Err(findings) => return (Vec::new(), findings),
    };
    let root = std::path::absolute(project_root).unwrap_or_else(|_| project_root.to_owned());
    let mut reader = McpReader {
        reader: SettingsReader::new(environment),
        variables: FileVariables { environment, root: &root, inputs: BTreeMap::new() },
        secrets: McpSecrets::default(),
    };
    let mut configs: Vec<McpConfig> = Vec::new();
    let top = reader.record(&document, "an MCP file", &FILE_KEYS);
    if let Some(inputs) = top.iter().find(|entry| entry.key == "inputs") {
        reader.variables.inputs = inputs_of(&inputs.value);
    }
    let mut entries: Vec<&DocumentEntry> = Vec::new();
    for section in top.into_iter().filter(|entry| entry.key != "inputs") {
        entries.extend(reader.reader.entries(&section.value, &format!("`{}`", section.key)));
    }
    for entry in entries {
        let config = reader.server(entry);
        let same = |other: &McpConfig| server_part(&other.name) == server_part(&entry.key);
        if configs.iter().any(same) {
            let message =
                format!("the tools of `{}` would have the same names as those of another server", entry.key);
            reader.reader.say(&CONFLICTING_KEYS, entry.key_span, message, "give it another name");
        } else {
            configs.extend(config);
        }
    }
    reader.reader.findings.sort_by_key(|finding| finding.span);
    (configs, reader.reader.findings)
}

/// Returns VS Code's inputs with their defaults. Other programs read the rest of them.
fn inputs_of(at: &SpannedValue) -> BTreeMap<String, Option<String>> {
    let of = |item: &SpannedValue, key: &str| {
        let entry = item.entries()?.iter().find(|entry| entry.key == key)?;
        entry.value.text().map(str::to_owned)
    };
    let items = at.items().unwrap_or_default().iter();
    items.filter_map(|item| Some((of(item, "id")?, of(item, "default")))).collect()
}

struct McpReader<'e> {
    reader: SettingsReader<'e>,
    variables: FileVariables<'e>,
    /// Secrets of the current server.
    secrets: McpSecrets,
}

impl McpReader<'_> {
    /// Returns the entries with known keys. Programs share this file, so a foreign key is left to its program; only one
    /// that looks like a misspelt key of ours is reported, as a warning.
    fn record<'d>(
        &mut self,
        at: &'d SpannedValue,
        what: &str,
        keys: &[&'static str],
    ) -> Vec<&'d DocumentEntry> {
        let (known, others): (Vec<_>, Vec<_>) =
            self.reader.entries(at, what).iter().partition(|entry| keys.contains(&entry.key.as_str()));
        for entry in others.into_iter().filter(|entry| !FOREIGN_KEYS.contains(&entry.key.as_str())) {
            let key = entry.key.as_str();
            if key == "envFile" {
                let message = "`envFile` is not read: agents can write files of the project";
                let help = "write the variables into `env`";
                self.warn(entry.key_span, message.to_owned(), help.to_owned());
            } else if let Some(near) = nearest(key, keys.iter().copied()) {
                let message = format!("{what} has no key `{key}`");
                self.warn(entry.key_span, message, format!("did you mean `{near}`?"));
            }
        }
        known
    }

    fn warn(&mut self, span: Span, message: String, help: String) {
        let mut finding = UNKNOWN_KEY.at(span, message).help(help);
        finding.severity = Severity::Warning;
        self.reader.report(finding);
    }

    /// Reads one server; `None` if it is disabled.
    fn server(&mut self, entry: &DocumentEntry) -> Option<McpConfig> {
        let before = self.reader.findings.len();
        let what = format!("the server `{}`", entry.key);
        let entries = self.record(&entry.value, &what, &KEYS);
        let get = |key: &str| {
            let found = entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
            found.filter(|value| value.data != DocumentData::Null)
        };
        let is = |key: &str, flag: bool| get(key).is_some_and(|value| value.data == DocumentData::Bool(flag));
        if is("disabled", true) || is("enabled", false) {
            self.reader.findings.truncate(before);
            return None;
        }
        let transport = self.transport(entry, &get);
        let timeout = get("timeout").and_then(|at| self.reader.whole(at, "`timeout`", 1));
        let oauth = get("oauth").map(|at| self.oauth(at)).unwrap_or_default();
        let problem = self.reader.findings[before..].iter().find(|finding| is_in_the_way(finding));
        let transport = match (transport, problem) {
            (Some(transport), None) => transport,
            (_, Some(problem)) => McpTransport::Unusable { why: problem.message.clone() },
            (None, None) => McpTransport::Unusable { why: format!("{what} has no usable transport") },
        };
        Some(McpConfig {
            name: entry.key.clone(),
            transport,
            timeout: timeout.map(Duration::from_millis),
            oauth,
            secrets: std::mem::take(&mut self.secrets),
        })
    }

    fn transport<'d>(
        &mut self,
        entry: &DocumentEntry,
        get: &dyn Fn(&str) -> Option<&'d SpannedValue>,
    ) -> Option<McpTransport> {
        let kind = match get("type") {
            Some(at) => Some((self.reader.text(at, "`type`")?, at.span)),
            None => None,
        };
        let url = get("url").or_else(|| get("httpUrl")).or_else(|| get("serverUrl"));
        match (kind, get("command"), url) {
            (_, Some(_), Some(url)) => {
                let message = "a server has `command` or `url`, not both";
                self.reader.say(&CONFLICTING_KEYS, url.span, message, "remove one of them");
                None
            }
            (None | Some(("stdio", _)), Some(command), None) => self.stdio(command, get),
            (None | Some(("http" | "streamable-http" | "streamableHttp", _)), None, Some(url)) => {
                self.http(url, get("headers"))
            }
            (Some(("sse", span)), _, _) => {
                let help =
                    "write `http` and the streamable HTTP address of the server; most servers have one";
                self.reader.invalid(span, "the transport `sse` is no longer supported", help);
                None
            }
            (Some((kind, span)), _, _)
                if !["stdio", "http", "streamable-http", "streamableHttp"].contains(&kind) =>
            {
                let help = "write `stdio` (with `command`) or `http` (with `url`)";
                self.reader.invalid(span, format!("unknown transport `{kind}`"), help);
                None
            }
            (_, _, _) => {
                let message = format!("the server `{}` has neither `command` nor `url`", entry.key);
                let help = "give it `command` for a program, or `type: http` and `url`";
                self.reader.say(&MISSING_KEY, entry.key_span, message, help);
                None
            }
        }
    }

    fn stdio<'d>(
        &mut self,
        command: &SpannedValue,
        get: &dyn Fn(&str) -> Option<&'d SpannedValue>,
    ) -> Option<McpTransport> {
        let command = self.text(command, "`command`");
        let args = match get("args") {
            Some(at) => {
                let args = self.reader.texts(at, "`args`");
                args.into_iter().map(|(text, span)| self.filled(text, span)).collect()
            }
            None => Some(Vec::new()),
        };
        let env = get("env").map_or(Some(Vec::new()), |at| self.pairs(at, "`env`"));
        let cwd = match get("cwd") {
            Some(at) => Some(PathBuf::from(self.text(at, "`cwd`")?)),
            None => None,
        };
        Some(McpTransport::Stdio { command: command?, args: args?, env: env?, cwd })
    }

    fn http(&mut self, url: &SpannedValue, headers: Option<&SpannedValue>) -> Option<McpTransport> {
        let address = self.text(url, "`url`")?;
        let is_http =
            reqwest::Url::parse(&address).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
        if !is_http {
            self.reader.invalid(
                url.span,
                "`url` is not an HTTP address",
                "write for example `https://host/mcp`",
            );
            return None;
        }
        let headers = headers.map_or(Some(Vec::new()), |at| self.headers(at));
        Some(McpTransport::Http { url: address, headers: headers? })
    }

    /// Reads how rawko authorizes itself at a remote server. Without it everything is discovered.
    fn oauth(&mut self, at: &SpannedValue) -> McpOAuth {
        let entries = self.reader.entries(at, "`oauth`");
        let get = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let mut text = |key: &str| get(key).and_then(|at| self.text(at, &format!("`{key}` of `oauth`")));
        let (client_id, client_secret) = (text("clientId"), text("clientSecret"));
        let (client_metadata_url, grant) = (text("clientMetadataUrl"), text("grant"));
        let scopes = match get("scopes") {
            Some(at) if at.items().is_some() => self
                .reader
                .texts(at, "`scopes` of `oauth`")
                .into_iter()
                .map(|(scope, _)| scope.to_owned())
                .collect(),
            Some(at) => {
                let scopes = self.reader.text(at, "`scopes` of `oauth`").unwrap_or_default();
                scopes.split_whitespace().map(str::to_owned).collect()
            }
            None => Vec::new(),
        };
        let port = get("callbackPort").and_then(|at| self.reader.whole(at, "`callbackPort` of `oauth`", 1));
        let is_without_person = match grant.as_deref() {
            None | Some("authorization_code") => false,
            Some("client_credentials") => true,
            Some(other) => {
                let help = "write `authorization_code` or `client_credentials`";
                self.reader.invalid(at.span, format!("unknown grant `{other}`"), help);
                false
            }
        };
        if is_without_person && (client_id.is_none() || client_secret.is_none()) {
            let message = "the grant `client_credentials` needs `clientId` and `clientSecret`";
            self.reader.say(&MISSING_KEY, at.span, message, "add them; a secret as `${VARIABLE}`");
        }
        McpOAuth {
            client_id,
            client_secret,
            client_metadata_url,
            scopes,
            callback_port: port.and_then(|port| u16::try_from(port).ok()),
            is_without_person,
        }
    }

    fn headers(&mut self, at: &SpannedValue) -> Option<Vec<(String, String)>> {
        let pairs = self.pairs(at, "`headers`")?;
        for (name, value) in &pairs {
            let is_valid = name.parse::<HeaderName>().is_ok() && value.parse::<HeaderValue>().is_ok();
            if !is_valid || is_header_ours(name) {
                let why = if is_valid { "is set by the protocol" } else { "is not a valid header" };
                self.reader.invalid(at.span, format!("`{name}` {why}"), "remove it");
                return None;
            }
        }
        Some(pairs)
    }

    fn pairs(&mut self, at: &SpannedValue, what: &str) -> Option<Vec<(String, String)>> {
        // VS Code writes null for a variable that is not passed on.
        let entries = self.reader.entries(at, what).iter();
        let entries = entries.filter(|entry| entry.value.data != DocumentData::Null);
        let pair = |entry: &DocumentEntry| {
            let text = self.reader.scalar(&entry.value, &format!("`{}` of {what}", entry.key))?;
            Some((entry.key.clone(), self.filled(&text, entry.value.span)?))
        };
        entries.map(pair).collect()
    }

    fn text(&mut self, at: &SpannedValue, what: &str) -> Option<String> {
        let text = self.reader.text(at, what)?;
        self.filled(text, at.span)
    }

    fn filled(&mut self, text: &str, span: Span) -> Option<String> {
        let (code, message, help) = match expand(text, &self.variables) {
            Ok(filled) => {
                variables(text).for_each(|name| self.secrets.add(&name, self.variables.environment));
                return Some(filled);
            }
            Err(ExpandError::NoInput { id, variable }) => (
                &UNSET_VARIABLE,
                format!("the input `{id}` has no value"),
                format!("set the environment variable `{variable}`, or give the input a `default`"),
            ),
            Err(ExpandError::Unset(name)) => (
                &UNSET_VARIABLE,
                format!("the environment variable `{name}` is not set"),
                format!("set it, or write a default: `${{{name}:-…}}`"),
            ),
            Err(ExpandError::NotAName(name)) => (
                &rawko_chart::codes::settings::INVALID_VALUE,
                format!("`${{{name}}}` is not the name of a variable"),
                "write `${NAME}` or `${NAME:-default}`".to_owned(),
            ),
            Err(ExpandError::Unclosed) => (
                &rawko_chart::codes::settings::INVALID_VALUE,
                "a `${` is not closed".to_owned(),
                "write `${NAME}` or `${NAME:-default}`".to_owned(),
            ),
        };
        self.reader.say(code, span, message, help);
        None
    }
}

/// Returns true for findings that make a server unusable. An unknown key is reported but does not.
fn is_in_the_way(finding: &Finding) -> bool {
    let is_spare_key = finding.code == UNKNOWN_KEY.name;
    !is_spare_key && (finding.severity > Severity::Warning || finding.code == UNSET_VARIABLE.name)
}
