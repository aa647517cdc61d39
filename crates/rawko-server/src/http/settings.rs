//! The `server` section of a project's settings: tokens, host names, and the rate limit.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rawko_chart::{DocumentEntry, Finding, SpannedValue};
use rawko_host::{Environment, Settings, SettingsReader};
use rawko_turns::is_name;

use super::notify::{Receiver, public_url_of, receivers_of};
use crate::role::Role;
use crate::tokens::ServerTokens;

const RATE: Rate = Rate { per_second: 500, burst: 2_000 };

/// Rate limit per client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests per second in the long run.
    pub per_second: u32,
    /// Requests at once after a pause.
    pub burst: u32,
}

/// Settings of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Address to listen on, unless a flag overrides it.
    pub listen: Option<SocketAddr>,
    /// Host names besides those of loopback, for a server behind a proxy.
    pub hosts: Vec<String>,
    /// `None`: unlimited.
    pub rate: Option<Rate>,
    /// Webhooks that receive messages about requests to people.
    pub notify: Vec<Receiver>,
    /// Address of the page for people elsewhere: `https://rawko.example`.
    pub public_url: Option<String>,
    tokens: Vec<TokenSettings>,
    /// The project.
    root: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TokenSettings {
    name: String,
    role: Role,
    from: TokenSource,
    is_of_project: bool,
}

/// Location of a token's text; it is never in the settings themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenSource {
    Variable(String),
    File(PathBuf),
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: None,
            hosts: Vec::new(),
            rate: Some(RATE),
            notify: Vec::new(),
            public_url: None,
            tokens: Vec::new(),
            root: PathBuf::new(),
        }
    }
}

impl ServerSettings {
    /// Reads the section; project settings override user settings. Findings are returned with their file.
    pub fn read(settings: &Settings, root: &Path) -> (Self, Vec<(String, Vec<Finding>)>) {
        let (mut said, mut problems) = (SettingsFile::default(), Vec::new());
        for section in settings.sections("server") {
            let mut reader = SettingsReader::new(settings.environment());
            let is_of_project = &*section.file == PROJECT;
            let mut below = section_of(&mut reader, &section.document, root, is_of_project);
            below.tokens.iter_mut().flatten().for_each(|token| token.is_of_project = is_of_project);
            said = said.over(below);
            if !reader.findings.is_empty() {
                problems.push((section.file.to_string(), reader.findings));
            }
        }
        let said = said.settled();
        let root = if said.tokens.is_empty() { PathBuf::new() } else { root.to_owned() };
        (ServerSettings { root, ..said }, problems)
    }

    /// Reads the texts of the tokens. A missing token is an error, because ignoring it could leave the server open.
    pub fn tokens(&self, environment: &Environment) -> Result<ServerTokens, String> {
        let mut tokens = ServerTokens::default();
        for token in &self.tokens {
            let TokenSettings { name, role, from, .. } = token;
            let text = match from {
                TokenSource::Variable(variable) if Environment::is_operators(variable) => {
                    Err(format!("{variable} is the operator's token; name another variable"))
                }
                TokenSource::Variable(variable) if Environment::is_ordinary(variable) => Err(format!(
                    "every program inherits {variable}, so it is not a secret; name another variable"
                )),
                TokenSource::Variable(variable) => environment
                    .get(variable)
                    .map(str::to_owned)
                    .ok_or_else(|| format!("environment variable {variable} is not set")),
                TokenSource::File(path) => std::fs::read_to_string(path)
                    .map_err(|error| format!("cannot read `{}`: {error}", path.display())),
            };
            let text = text.map_err(|why| format!("cannot load token `{name}`: {why}"))?;
            if text.trim().is_empty() {
                return Err(format!("cannot load token `{name}`: the value is empty"));
            }
            if let Some(why) = token.minted(text.trim(), &self.root) {
                return Err(format!("cannot load token `{name}`: {why}"));
            }
            tokens = tokens.with(name, *role, text.trim());
        }
        Ok(tokens)
    }
}

impl ServerSettings {
    /// Returns the files of tokens that allow more than reading and lie below a directory.
    pub fn token_files_below(&self, folder: &Path) -> Vec<&Path> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let is_below = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&folder));
        let acting = self.tokens.iter().filter(|token| token.role.acts());
        let files = acting.filter_map(|token| match &token.from {
            TokenSource::File(path) => Some(path.as_path()),
            TokenSource::Variable(_) => None,
        });
        files.filter(|path| is_below(path)).collect()
    }
}

/// Settings of one file.
#[derive(Default)]
struct SettingsFile {
    listen: Option<SocketAddr>,
    hosts: Option<Vec<String>>,
    per_second: Option<u32>,
    burst: Option<u32>,
    notify: Option<Vec<Receiver>>,
    public_url: Option<String>,
    tokens: Option<Vec<TokenSettings>>,
}

impl SettingsFile {
    fn over(self, below: SettingsFile) -> SettingsFile {
        SettingsFile {
            listen: self.listen.or(below.listen),
            hosts: self.hosts.or(below.hosts),
            per_second: self.per_second.or(below.per_second),
            burst: self.burst.or(below.burst),
            notify: self.notify.or(below.notify),
            public_url: self.public_url.or(below.public_url),
            tokens: match (self.tokens, below.tokens) {
                // The tokens of the person stay; a project may add some that cannot act.
                (Some(inner), Some(mut outer)) => {
                    let is_new = |token: &TokenSettings| !outer.iter().any(|known| known.name == token.name);
                    let more: Vec<TokenSettings> = inner.into_iter().filter(is_new).collect();
                    outer.extend(more);
                    Some(outer)
                }
                (inner, outer) => inner.or(outer),
            },
        }
    }

    fn settled(self) -> ServerSettings {
        let per_second = self.per_second.unwrap_or(RATE.per_second);
        let burst = self.burst.unwrap_or(RATE.burst.max(per_second));
        ServerSettings {
            listen: self.listen,
            hosts: self.hosts.unwrap_or_default(),
            rate: (per_second > 0).then_some(Rate { per_second, burst }),
            notify: self.notify.unwrap_or_default(),
            public_url: self.public_url,
            tokens: self.tokens.unwrap_or_default(),
            root: PathBuf::new(),
        }
    }
}

/// The settings of the project, as findings name them.
const PROJECT: &str = ".rawko/config.yaml";

/// A shorter value could be guessed.
const SECRET_BYTES_MIN: usize = 16;

impl TokenSettings {
    /// Returns the reason why the project must not define this token: a project names the place of a person's secret, it does
    /// not give itself the authority of a person by a value that it knows.
    fn minted(&self, value: &str, root: &Path) -> Option<String> {
        if !self.is_of_project || !self.role.acts() {
            return None;
        }
        let help = "define it in your own settings (~/.config/rawko/config.yaml)";
        let why = match &self.from {
            TokenSource::File(path) => {
                use std::os::unix::fs::PermissionsExt;
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
                let is_open =
                    std::fs::metadata(&real).is_ok_and(|about| about.permissions().mode() & 0o004 != 0);
                match (real.starts_with(root), is_open) {
                    (true, _) => Some("its file is in the project"),
                    (false, true) => Some("everyone can read its file"),
                    (false, false) => None,
                }
            }
            TokenSource::Variable(_) => None,
        };
        let is_short = value.len() < SECRET_BYTES_MIN;
        let why = why.or(is_short.then_some("its value is shorter than 16 bytes"));
        why.map(|why| format!("the project cannot define a token that can act: {why}; {help}"))
    }
}

fn section_of(
    reader: &mut SettingsReader<'_>,
    at: &SpannedValue,
    root: &Path,
    is_of_project: bool,
) -> SettingsFile {
    let mut said = SettingsFile::default();
    let keys = ["listen", "hosts", "rate", "tokens", "notify", "public_url"];
    for entry in reader.record(at, "`server`", &keys) {
        match entry.key.as_str() {
            "notify" => said.notify = Some(receivers_of(reader, &entry.value, is_of_project)),
            "public_url" => said.public_url = public_url_of(reader, &entry.value, is_of_project),
            "listen" => said.listen = address_of(reader, entry),
            "hosts" => {
                let hosts = reader.texts(&entry.value, "`hosts` of `server`");
                said.hosts = Some(hosts.into_iter().map(|(host, _)| host.to_owned()).collect());
            }
            "rate" => {
                for part in reader.record(&entry.value, "`rate` of `server`", &["per_second", "burst"]) {
                    let is_burst = part.key == "burst";
                    let what = format!("`{}` of `rate`", part.key);
                    let number = reader.whole(&part.value, &what, u64::from(is_burst));
                    let number = number.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
                    *(if is_burst { &mut said.burst } else { &mut said.per_second }) = number;
                }
            }
            _ => said.tokens = Some(tokens_of(reader, &entry.value, root)),
        }
    }
    said
}

fn address_of(reader: &mut SettingsReader<'_>, entry: &DocumentEntry) -> Option<SocketAddr> {
    let text = reader.text(&entry.value, "`listen` of `server`")?;
    let address = text.parse().ok();
    if address.is_none() {
        let message = format!("invalid address `{text}`");
        reader.invalid(entry.value.span, message, "write address and port, for example `127.0.0.1:7411`");
    }
    address
}

fn tokens_of(reader: &mut SettingsReader<'_>, at: &SpannedValue, root: &Path) -> Vec<TokenSettings> {
    let Some(items) = at.items() else {
        reader.wrong_type(at, "`tokens` of `server`", "a list");
        return Vec::new();
    };
    let mut tokens: Vec<TokenSettings> = Vec::new();
    for item in items {
        let Some(token) = token_of(reader, item, root) else { continue };
        if tokens.iter().any(|known| known.name == token.name) {
            reader.invalid(
                item.span,
                format!("duplicate token `{}`", token.name),
                "use a different name for each token",
            );
        } else {
            tokens.push(token);
        }
    }
    tokens
}

fn token_of(reader: &mut SettingsReader<'_>, at: &SpannedValue, root: &Path) -> Option<TokenSettings> {
    let (mut name, mut role, mut from) = (None, None, None);
    for entry in reader.record(at, "a token", &["name", "role", "env", "file"]) {
        let text = reader.text(&entry.value, &format!("`{}` of a token", entry.key))?;
        match entry.key.as_str() {
            "name" if is_name(text) => name = Some(text.to_owned()),
            "name" => {
                let help = "use letters, digits, `-` and `_`";
                reader.invalid(entry.value.span, format!("invalid name `{text}`"), help);
            }
            "role" => {
                role = Role::from_word(text);
                if role.is_none() {
                    let help = "use `service`, `agent`, `read`, `operate` or `admin`";
                    reader.invalid(entry.value.span, format!("unknown role `{text}`"), help);
                }
            }
            "env" => from = Some(TokenSource::Variable(text.to_owned())),
            _ => from = Some(TokenSource::File(root.join(text))),
        }
    }
    let token = name.zip(role).zip(from).map(|((name, role), from)| TokenSettings {
        name,
        role,
        from,
        is_of_project: false,
    });
    if token.is_none() && reader.findings.is_empty() {
        let help = "write `{name: ci, role: operate, env: CI_TOKEN}`";
        reader.invalid(at.span, "a token requires `name`, `role`, and `env` or `file`", help);
    }
    token
}
