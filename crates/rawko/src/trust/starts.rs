//! What the files of a project would start or contact, for the person who decides whether to trust them. Read from the
//! very texts that are hashed, before variables are replaced, so that no secret is printed.

use std::path::{Component, Path, PathBuf};

use rawko_agents::agent::Agents;
use rawko_chart::{SourceFile, SpannedValue};
use rawko_host::Environment;

use super::files::AuthorityFiles;
use super::variables;

const SETTINGS: &str = ".rawko/config.yaml";
const MCP: &str = ".mcp.json";
const CLAUDE: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
const AGENT_FOLDERS: [&str; 2] = [".rawko/agents/", ".claude/agents/"];

/// One thing that a file of the project starts, contacts or turns off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectStart {
    /// `service`, `MCP server`, `agent` …
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
}

/// Returns everything that the files start, contact or turn off.
pub(crate) fn starts(files: &AuthorityFiles) -> Vec<ProjectStart> {
    let mut all = Vec::new();
    let document = |path: &str| SpannedValue::read(files.get(path)?.text.as_deref()?).ok();
    if let Some(settings) = document(SETTINGS) {
        from_settings(&settings, &mut all);
        variables::of_document(&settings, &mut all);
    }
    if let Some(servers) = document(MCP) {
        variables::of_document(&servers, &mut all);
    }
    for (name, server) in document(MCP).iter().flat_map(|file| entries(file, &["mcpServers"])) {
        all.push(ProjectStart { kind: "MCP server", name: name.to_owned(), words: words(server) });
        let variables: Vec<String> =
            entries(server, &["env"]).into_iter().map(|(name, _)| name.to_owned()).collect();
        if !variables.is_empty() {
            all.push(ProjectStart { kind: "variables", name: format!("{name} gets"), words: variables });
        }
    }
    for settings in CLAUDE.iter().filter_map(|path| document(path)) {
        from_claude(&settings, &mut all);
    }
    for (path, file) in files.iter() {
        let is_agent = AGENT_FOLDERS.iter().any(|folder| path.starts_with(folder));
        if let Some(text) = file.text.as_deref().filter(|_| is_agent) {
            from_agent(path, text, &mut all);
            variables::of_text(path, front_matter(text), &mut all);
        }
        let parts: Vec<&str> = path.split('/').collect();
        if let Some(at) = parts.iter().position(|part| *part == ".git") {
            match parts.get(at + 1) {
                Some(&"hooks") => all.push(ProjectStart {
                    kind: "git hook",
                    name: parts[at + 2..].join("/"),
                    words: vec![path.to_owned()],
                }),
                _ => all.extend(file.text.iter().flat_map(|text| text.lines()).map(|line| ProjectStart {
                    kind: "git config",
                    name: path.to_owned(),
                    words: vec![line.to_owned()],
                })),
            }
        }
    }
    all
}

/// Programs that run a script given as an argument.
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "fish", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php",
    "lua",
];
/// Endings of scripts. Other arguments may be files that a program writes, which come and go.
const SCRIPTS: [&str; 16] = [
    "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua", "jar", "ps1", "exe",
];

/// Returns the files of the project that these commands run: programs and scripts.
pub(crate) fn programs(starts: &[ProjectStart], root: &Path) -> Vec<PathBuf> {
    // Agents work on the files that checks run; checks have rules of their own.
    const KINDS: [&str; 5] = ["service", "endpoint", "agent", "MCP server", "hook"];
    let named = starts.iter().filter(|start| KINDS.contains(&start.kind));
    let inside = |word: &str| {
        let path = Path::new(word.trim_matches(['"', '\'']));
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        (is_plain && !path.as_os_str().is_empty()).then(|| root.join(path)).filter(|path| path.is_file())
    };
    let mut found: Vec<PathBuf> =
        named.flat_map(|start| run_words(&start.words)).filter_map(|word| inside(&word)).collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the words of a command that are run: the program, the script of an interpreter, and scripts by their ending.
fn run_words(words: &[String]) -> Vec<String> {
    // A command in one text is split, also inside `sh -c`.
    let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let is_script = |word: &&str| {
        let ending = Path::new(word.trim_matches(['"', '\''])).extension();
        ending.is_some_and(|ending| SCRIPTS.iter().any(|known| ending == *known))
    };
    let is_interpreter = |word: &str| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
            || INTERPRETERS.contains(&name)
    };
    let mut run: Vec<&str> = words.iter().take(1).copied().collect();
    for number in (0..words.len()).filter(|number| is_interpreter(words[*number])) {
        run.extend(words[number + 1..].iter().find(|word| !word.starts_with('-')));
    }
    run.extend(words.iter().copied().filter(is_script));
    run.into_iter().map(str::to_owned).collect()
}

/// Hooks of Claude Code, which run for rawko's agents, too.
fn from_claude(settings: &SpannedValue, all: &mut Vec<ProjectStart>) {
    for (event, groups) in entries(settings, &["hooks"]) {
        let groups = groups.items().unwrap_or_default().iter();
        let hooks =
            groups.flat_map(|group| group.get("hooks").and_then(SpannedValue::items).unwrap_or_default());
        for command in hooks.filter_map(|hook| hook.get("command")?.text()) {
            // Commands name files of the project by a variable.
            let plain = command.replace("\"$CLAUDE_PROJECT_DIR\"/", "").replace("$CLAUDE_PROJECT_DIR/", "");
            let plain = plain.replace("${CLAUDE_PROJECT_DIR}/", "");
            all.push(ProjectStart { kind: "hook", name: event.to_owned(), words: vec![plain] });
        }
    }
}

fn from_settings(settings: &SpannedValue, all: &mut Vec<ProjectStart>) {
    let mut add = |kind, name: &str, words: Vec<String>| {
        if !words.is_empty() {
            all.push(ProjectStart { kind, name: name.to_owned(), words });
        }
    };
    for (section, kind) in [("services", "service"), ("endpoints", "endpoint")] {
        for (name, service) in entries(settings, &[section]) {
            add(kind, name, words(service));
            if service.get("remote").is_some() {
                let words = "provided by programs that connect with a token of the role `service`";
                add("remote", name, vec![words.to_owned()]);
            }
        }
    }
    for (name, agent) in entries(settings, &["turns", "agents"]) {
        add("agent", name, words(agent));
    }
    for (phase, settings) in entries(settings, &["phases"]) {
        for check in settings.get("checks").and_then(SpannedValue::items).unwrap_or_default() {
            let name = check.get("name").and_then(SpannedValue::text).unwrap_or(phase);
            add("check", name, words(check));
        }
    }
    for (name, provider) in entries(settings, &["providers"]) {
        let url = ["base_url", "url"].iter().find_map(|key| provider.get(key)?.text());
        add("model", name, url.map(str::to_owned).into_iter().collect());
    }
    for (name, value) in entries(settings, &["telemetry"]) {
        let url = value.text().filter(|text| text.contains("://"));
        add("telemetry", name, url.map(str::to_owned).into_iter().collect());
    }
    for (name, trigger) in entries(settings, &["triggers"]) {
        let source = ["schedule", "webhook"].into_iter().find_map(|key| Some((key, trigger.get(key)?)));
        let Some((kind, at)) = source else { continue };
        let detail = at.text().or_else(|| at.get("cron")?.text()).or_else(|| at.get("signature")?.text());
        let rules = trigger.get("rules").and_then(SpannedValue::items).unwrap_or_default();
        let charts = rules.iter().chain([trigger]).filter_map(|rule| rule.get("start")?.get("chart")?.text());
        let mut words = vec![kind.to_owned(), detail.unwrap_or_default().to_owned()];
        words.extend(charts.map(|chart| format!("starts {chart}")));
        let has = |key: &str| rules.iter().chain([trigger]).any(|rule| rule.get(key).is_some());
        words.extend(has("send").then(|| "sends events".to_owned()));
        words.extend(has("task").then(|| "starts tasks of agents".to_owned()));
        add("trigger", name, words);
    }
    granted(settings, &mut add);
    let sandbox = settings.get("tools").and_then(|tools| tools.get("bash")?.get("sandbox"));
    let is_off = |at: &&SpannedValue| matches!(at.to_json().to_string().as_str(), "\"off\"" | "false");
    if sandbox.filter(is_off).is_some() {
        add("sandbox", "off", vec!["commands of agents run without a sandbox".to_owned()]);
    }
}

/// What settings allow beyond the default: paths, hosts, variables, programs without a sandbox, tokens.
fn granted(settings: &SpannedValue, add: &mut impl FnMut(&'static str, &str, Vec<String>)) {
    let at = |keys: &[&str]| keys.iter().try_fold(settings, |at, key| at.get(key));
    let texts = |at: &SpannedValue| -> Vec<String> {
        let items = at.items().into_iter().flatten().filter_map(SpannedValue::text).map(str::to_owned);
        let keys = at.entries().into_iter().flatten().map(|entry| entry.key.clone());
        items.chain(keys).chain(at.text().map(str::to_owned)).collect()
    };
    for (keys, kind, name) in [
        (&["tools", "unconfined"][..], "unconfined", "runs without a sandbox"),
        (&["tools", "network", "hosts"], "network", "programs may connect to"),
        (&["tools", "network", "private"], "network", "programs may connect to servers of this machine"),
        (&["tools", "web", "private"], "web", "WebFetch may read servers of this machine"),
        (&["tools", "extra_read_paths"], "paths", "programs may read"),
        (&["tools", "extra_write_paths"], "paths", "programs may write"),
        (&["tools", "bash", "env"], "variables", "commands get"),
        (&["tools", "search", "base_url"], "search", "WebSearch asks"),
        (&["env"], "variables", "charts read"),
        (&["tools", "sampling", "servers"], "sampling", "MCP servers may use the model"),
        (&["permissions", "allow"], "allows", "without asking"),
        (&["server", "listen"], "server", "listens on"),
        (&["server", "hosts"], "server", "answers to the names"),
    ] {
        add(kind, name, at(keys).map(texts).unwrap_or_default());
    }
    for section in ["services", "endpoints"] {
        for (name, service) in entries(settings, &[section]) {
            let is_off =
                |at: &&SpannedValue| matches!(at.to_json().to_string().as_str(), "\"off\"" | "false");
            if service.get("sandbox").filter(is_off).is_some() {
                add("unconfined", name, vec!["runs without a sandbox".to_owned()]);
            }
            for key in ["env", "pass_env"] {
                add("variables", &format!("{name} gets"), service.get(key).map(texts).unwrap_or_default());
            }
        }
    }
    let tokens = at(&["server", "tokens"]).and_then(SpannedValue::items).unwrap_or_default();
    for token in tokens {
        let text = |key: &str| token.get(key).and_then(SpannedValue::text).unwrap_or("?").to_owned();
        add("token", &text("name"), vec![format!("role {}", text("role"))]);
    }
}

/// Returns the front matter. The prompt below it has no variables.
fn front_matter(text: &str) -> &str {
    let body = text.strip_prefix("---").and_then(|rest| rest.find("\n---"));
    body.map_or(text, |end| &text[..end + 3])
}

fn from_agent(path: &str, text: &str, all: &mut Vec<ProjectStart>) {
    let (agents, _) = Agents::of_source(&SourceFile::new(path, text), Environment::none());
    for agent in agents.all() {
        if let Some(command) = &agent.command {
            let words = std::iter::once(&command.program).chain(&command.args).cloned().collect();
            all.push(ProjectStart { kind: "agent", name: agent.name.clone(), words });
        }
    }
}

/// Returns the entries of a map below these keys.
fn entries<'d>(document: &'d SpannedValue, keys: &[&str]) -> Vec<(&'d str, &'d SpannedValue)> {
    let at = keys.iter().try_fold(document, |at, key| at.get(key));
    let entries = at.and_then(SpannedValue::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect()
}

/// Returns the program with its arguments, or the URL.
fn words(at: &SpannedValue) -> Vec<String> {
    let texts = |at: &SpannedValue| -> Vec<String> {
        match (at.text(), at.items()) {
            (Some(text), _) => vec![text.to_owned()],
            (None, Some(items)) => items.iter().filter_map(|item| Some(item.text()?.to_owned())).collect(),
            (None, None) => Vec::new(),
        }
    };
    let mut words = at.get("command").map(texts).unwrap_or_default();
    words.extend(at.get("args").map(texts).unwrap_or_default());
    if words.is_empty() {
        let http = at.get("http").and_then(|http| http.get("url").or(Some(http)));
        words = at.get("url").or(http).map(texts).unwrap_or_default();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::run_words;

    #[test]
    fn programs_and_scripts_are_run_and_other_arguments_are_not() {
        for (command, expected) in [
            ("./deploy --to prod", "./deploy"),
            ("touch ran.txt", "touch"),
            ("python3 -u services/run out.txt", "python3 services/run"),
            ("npx tsx src/server.ts", "npx src/server.ts"),
            ("sh -c ./a.sh", "sh ./a.sh ./a.sh"),
            ("/usr/bin/python3.12 run", "/usr/bin/python3.12 run"),
            ("node server.js data.json", "node server.js server.js"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(run_words(&words).join(" "), expected, "{command}");
        }
    }
}
