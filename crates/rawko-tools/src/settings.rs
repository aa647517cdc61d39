//! Tool settings: the section `tools` of `.rawko/config.yaml`.

use std::path::PathBuf;
use std::time::Duration;

use rawko_chart::{DocumentEntry, SpannedValue};
use rawko_process::Egress;
pub use rawko_process::Sandbox;
use rawko_settings::SettingsReader;

use super::bash::CommandVariables;
use super::grant::{BashFilter, GrantLayer};
use super::permissions::blocked_entry_problem;
use super::sampling::SamplingSettings;
use super::shell::pattern_problem;
use super::web::SearchSettings;

const TIMEOUT: Duration = Duration::from_secs(120);
const OUTPUT_MAX: usize = 30_000;
const OUTPUT_MAX_MOST: u64 = 1024 * 1024;

/// The tool settings of a project.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// Settings of Bash.
    pub bash: BashSettings,
    /// Settings of WebFetch and WebSearch.
    pub web: WebSettings,
    /// The service of WebSearch; agents do not have the tool without one.
    pub search: Option<SearchSettings>,
    /// The MCP servers that may use the model; `None` refuses all.
    pub sampling: Option<SamplingSettings>,
    /// Patterns on names; `None` allows all.
    pub allowed: Option<Vec<String>>,
    /// Tools that no agent may use.
    pub blocked: Vec<String>,
    /// Directories outside the project that commands may write to: caches of cargo, npm and the like.
    pub extra_write_paths: Vec<PathBuf>,
    /// Directories outside the project that programs may read.
    pub extra_read_paths: Vec<PathBuf>,
    /// Programs that run without a sandbox: `mcp:NAME`, `agent:NAME`, `service:NAME`, `checks`.
    pub unconfined: Vec<String>,
    /// Hosts that programs may reach; `None`: no network.
    pub network: Option<Egress>,
}

/// Settings of Bash.
#[derive(Clone, Debug)]
pub struct BashSettings {
    /// Time limit of a command.
    pub timeout: Duration,
    /// Limit of output shown to a model, in bytes.
    pub output_max: usize,
    /// How commands are confined.
    pub sandbox: Sandbox,
    /// Commands that agents may run; `None` allows all.
    pub allowed_commands: Option<Vec<String>>,
    /// Patterns of command lines that are refused.
    pub blocked_patterns: Vec<String>,
    /// The environment of rawko, of which commands inherit a short list.
    pub inherited: CommandVariables,
    /// Variables passed besides that list.
    pub passed: Vec<String>,
    /// Variables set for every command.
    pub set: Vec<(String, String)>,
}

/// Settings of WebFetch and WebSearch.
#[derive(Clone, Debug, Default)]
pub struct WebSettings {
    /// `docs.rs`, `*.example.com`; `None` allows any public host.
    pub hosts: Option<Vec<String>>,
    /// Hosts that may be fetched although their address is private: `localhost:3000`.
    pub private: Vec<String>,
}

impl Default for BashSettings {
    fn default() -> Self {
        Self {
            timeout: TIMEOUT,
            output_max: OUTPUT_MAX,
            sandbox: Sandbox::default(),
            allowed_commands: None,
            blocked_patterns: Vec::new(),
            inherited: CommandVariables::of_process(),
            passed: Vec::new(),
            set: Vec::new(),
        }
    }
}

impl ToolSettings {
    /// Reads the section. Problems are reported to the reader and replaced by the default, except that a mistake in a
    /// list that narrows never widens it.
    pub fn read(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Self {
        let mut settings = Self::default();
        const KEYS: [&str; 10] = [
            "bash",
            "web",
            "search",
            "sampling",
            "network",
            "allowed",
            "blocked",
            "extra_write_paths",
            "extra_read_paths",
            "unconfined",
        ];
        for entry in reader.record(at, "`tools`", &KEYS) {
            match entry.key.as_str() {
                "bash" => settings.bash = BashSettings::read(reader, &entry.value),
                "web" => settings.web = WebSettings::read(reader, &entry.value),
                "search" => settings.search = SearchSettings::read(reader, &entry.value),
                "sampling" => settings.sampling = SamplingSettings::read(reader, &entry.value),
                "allowed" => settings.allowed = Some(texts(reader, entry, "`tools`")),
                "blocked" => settings.blocked = blocked(reader, entry),
                "network" => settings.network = network(reader, &entry.value),
                "unconfined" => settings.unconfined = unconfined(reader, entry),
                "extra_read_paths" => settings.extra_read_paths = paths(reader, entry, "readable"),
                _ => settings.extra_write_paths = paths(reader, entry, "writable"),
            }
        }
        settings
    }

    /// Returns the outermost layer of every grant in the project.
    pub fn project_layer(&self) -> GrantLayer {
        let bash = &self.bash;
        let has_filter = bash.allowed_commands.is_some() || !bash.blocked_patterns.is_empty();
        GrantLayer {
            source: "the project's settings (`tools` in .rawko/config.yaml)".to_owned(),
            allowed: self.allowed.clone(),
            blocked: self.blocked.clone(),
            bash: has_filter.then(|| BashFilter {
                allowed_commands: bash.allowed_commands.clone(),
                blocked_patterns: bash.blocked_patterns.clone(),
            }),
            network: None,
        }
    }
}

impl BashSettings {
    fn read(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Self {
        const KEYS: [&str; 6] =
            ["timeout", "output_max", "env", "sandbox", "allowed_commands", "blocked_patterns"];
        let what = "`tools.bash`";
        let mut bash = Self::default();
        for entry in reader.record(at, what, &KEYS) {
            match entry.key.as_str() {
                "timeout" => {
                    bash.timeout =
                        reader.duration(&entry.value, "`timeout` of `tools.bash`").unwrap_or(TIMEOUT);
                }
                "output_max" => {
                    let size = reader.size(&entry.value, "`output_max` of `tools.bash`");
                    bash.output_max = size.map_or(OUTPUT_MAX, |size| size.min(OUTPUT_MAX_MOST) as usize);
                }
                "env" => (bash.passed, bash.set) = env(reader, &entry.value),
                "sandbox" => bash.sandbox = sandbox(reader, &entry.value),
                "allowed_commands" => bash.allowed_commands = Some(texts(reader, entry, what)),
                _ => bash.blocked_patterns = patterns(reader, entry),
            }
        }
        bash
    }
}

impl WebSettings {
    fn read(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Self {
        let mut web = Self::default();
        for entry in reader.record(at, "`tools.web`", &["hosts", "private"]) {
            match entry.key.as_str() {
                "hosts" => web.hosts = Some(texts(reader, entry, "`tools.web`")),
                _ => web.private = texts(reader, entry, "`tools.web`"),
            }
        }
        web
    }
}

fn texts(reader: &mut SettingsReader<'_>, entry: &DocumentEntry, of: &str) -> Vec<String> {
    let texts = reader.texts(&entry.value, &format!("`{}` of {of}", entry.key));
    texts.into_iter().map(|(text, _)| text.to_owned()).collect()
}

/// Reports entries that block nothing: `Bash(git push: *)`.
fn blocked(reader: &mut SettingsReader<'_>, entry: &DocumentEntry) -> Vec<String> {
    let texts = reader.texts(&entry.value, "`blocked` of `tools`");
    for (text, span) in &texts {
        if let Some(problem) = blocked_entry_problem(text) {
            reader.invalid(*span, problem.message, problem.help);
        }
    }
    texts.into_iter().map(|(text, _)| text.to_owned()).collect()
}

/// Reports an invalid pattern and keeps it: commands are refused until it is fixed.
fn patterns(reader: &mut SettingsReader<'_>, entry: &DocumentEntry) -> Vec<String> {
    let texts = reader.texts(&entry.value, "`blocked_patterns` of `tools.bash`");
    for (text, span) in &texts {
        if let Some(problem) = pattern_problem(text) {
            let message = format!("`{text}` is not a regular expression: {problem}");
            reader.invalid(*span, message, "fix it: until then no command is run");
        }
    }
    texts.into_iter().map(|(text, _)| text.to_owned()).collect()
}

/// Reads a list of names to pass, or a map of names to set; in a map, `true` passes the variable.
fn env(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> (Vec<String>, Vec<(String, String)>) {
    if at.items().is_some() {
        let names = reader.texts(at, "`env` of `tools.bash`");
        return (names.into_iter().map(|(name, _)| name.to_owned()).collect(), Vec::new());
    }
    let (mut passed, mut set) = (Vec::new(), Vec::new());
    for entry in reader.entries(at, "`env` of `tools.bash`") {
        match reader.scalar(&entry.value, &format!("`{}` in `env` of `tools.bash`", entry.key)).as_deref() {
            Some("true") => passed.push(entry.key.clone()),
            Some(value) => set.push((entry.key.clone(), value.to_owned())),
            None => {}
        }
    }
    (passed, set)
}

fn sandbox(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Sandbox {
    // Some YAML versions read a bare `off` as false.
    match reader.scalar(at, "`sandbox` of `tools.bash`").as_deref() {
        Some("auto") | None => Sandbox::Auto,
        Some("off" | "false") => Sandbox::Off,
        Some("require") => Sandbox::Require,
        Some(other) => {
            reader.invalid(
                at.span,
                format!("unknown sandbox mode `{other}`"),
                "write `auto`, `off` or `require`",
            );
            Sandbox::Auto
        }
    }
}

/// Reads the hosts that programs may reach. Without any there is no network.
fn network(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Option<Egress> {
    let (mut hosts, mut private) = (Vec::new(), Vec::new());
    for entry in reader.record(at, "`tools.network`", &["hosts", "private"]) {
        match entry.key.as_str() {
            "hosts" => hosts = texts(reader, entry, "`tools.network`"),
            _ => private = texts(reader, entry, "`tools.network`"),
        }
    }
    let is_any = !hosts.is_empty() || !private.is_empty();
    is_any.then_some(Egress { hosts: Some(hosts), private, ..Egress::default() })
}

/// Reads names of programs with their kind. An unknown kind confines nothing less, and is reported.
fn unconfined(reader: &mut SettingsReader<'_>, entry: &DocumentEntry) -> Vec<String> {
    let names = reader.texts(&entry.value, "`unconfined` of `tools`");
    for (name, span) in &names {
        let kind = name.split_once(':').map(|(kind, _)| kind);
        if *name != "checks" && !matches!(kind, Some("mcp" | "agent" | "service")) {
            let message = format!("`{name}` is not a program");
            reader.invalid(*span, message, "write `mcp:NAME`, `agent:NAME`, `service:NAME` or `checks`");
        }
    }
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Reads paths that are absolute or below the home directory.
fn paths(reader: &mut SettingsReader<'_>, entry: &DocumentEntry, what: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (text, span) in reader.texts(&entry.value, &format!("`{}` of `tools`", entry.key)) {
        let path = match (text.strip_prefix("~/"), std::env::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => PathBuf::from(text),
        };
        if path.is_absolute() && path.parent().is_some() {
            paths.push(path);
        } else {
            let message = format!("`{text}` cannot be made {what} for all commands");
            reader.invalid(span, message, "write an absolute path such as `~/.cargo`");
        }
    }
    paths
}
