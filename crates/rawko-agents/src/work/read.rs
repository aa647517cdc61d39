//! Reads the agent services from a project's files: agents, settings, MCP servers; and collects all problems.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rawko_chart::codes::agents::{UNREADABLE, UNSUPPORTED_KEY};
use rawko_chart::{Finding, Severity, SourceFile, Span};
use rawko_host::{Section, Settings, SettingsReader};

use super::service_tools::ServiceTools;
use super::settings::{MemorySettings, TaskSettings, arbiter, checks_section, memory_problems, prompts};
use super::{AgentServices, ConversationCache, unknown_tools};
use crate::agent::{AgentFile, AgentKind, Agents, Level};
use crate::words::{ProjectWords, WordSettings};
use rawko_arbiter::loop_control::LoopSettings;
use rawko_arbiter::phases::Phases;
use rawko_model::provider::{Providers, Scripted};
use rawko_process::{Egress, HostRules};
use rawko_programs::checks;
use rawko_programs::hooks::CommandHooks;
use rawko_programs::mcp::{
    McpHealthState, McpServers, McpSettings, SamplingModel, ServerHealth, read_mcp_file,
};
use rawko_tools::{Grant, LayeredTools, Permissions, SamplingSettings, SearchEngine, SearchModel, Toolbox};

/// Problems, grouped by file.
pub type AgentProblems = Vec<(SourceFile, Vec<Finding>)>;

/// The status of a component, for diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentHealth {
    /// Component, such as a provider or an MCP server.
    pub about: String,
    /// True if it can be used.
    pub ok: bool,
    /// Result in one line.
    pub text: String,
}

impl AgentServices {
    /// Reads everything agents need from a project. Unreadable parts are reported and left out.
    pub fn read(root: &Path, settings: &Settings) -> (Self, AgentProblems) {
        Self::read_with(root, settings, Agents::read(root, settings.environment()))
    }

    /// Like [`AgentServices::read`], with the agent files as they were read before, and their problems.
    pub fn read_with(
        root: &Path,
        settings: &Settings,
        (agents, wrong): (Agents, AgentProblems),
    ) -> (Self, AgentProblems) {
        let mut problems = AgentProblems::new();
        let agents = agents.with_built_in();
        problems.extend(wrong);
        let mut said = ModelSettings { settings, root, problems: &mut problems };
        let (providers, wrong) = Providers::of_settings(settings, root);
        said.complain(wrong);
        let providers = said.with_scripts(providers, &agents);
        let (loops, wrong) = LoopSettings::of_settings(settings);
        said.complain(wrong.into_iter().map(|(file, findings)| (Arc::from(file), findings)).collect());
        let phases = said.read("phases", |reader, sections| {
            unknown_tools::in_phases(reader, sections);
            Phases::built_in().with(reader, sections)
        });
        let (checks, wrong) = checks::of_settings(settings);
        said.complain(wrong.into_iter().map(|(file, findings)| (Arc::from(file), findings)).collect());
        let (protected, start_time) = said.read("checks", checks_section);
        let LayeredTools { settings: tools, layers } = said.read("tools", |reader, sections| {
            unknown_tools::in_tools(reader, sections);
            LayeredTools::read(reader, sections)
        });
        let (permissions, wrong) = super::permit::permissions(settings);
        said.complain(wrong);
        let arbiter = said.read("arbiter", |reader, sections| arbiter(reader, sections, &agents));
        let task = said.read("task", TaskSettings::read);
        let memories = said.read("memories", MemorySettings::read);
        let words = said.read("instructions", WordSettings::read);
        let worktree_bytes_max = said.read("worktrees", super::settings::worktree_bytes_max);
        let prompts = prompts(root, &arbiter, &mut problems);
        problems.extend(memory_problems(root));
        let (configs, source, wrong) = read_mcp_file(root, settings.environment());
        problems.push((source, wrong));
        let (hooks, wrong) = CommandHooks::read(root, settings.environment());
        problems.extend(wrong);
        let mut confinement =
            tools.confinement(&std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
        // A server over HTTP is connected before anyone can be asked: trust covers its address. Denied hosts stay denied.
        // A program that is started here cannot wait for a person.
        let rules = host_rules(&permissions);
        let denied = HostRules { denied: rules.denied.clone(), ..HostRules::default() };
        if let Some(egress) = &mut confinement.egress {
            egress.rules = rules;
        }
        let egress = Egress { rules: denied, ..tools.web.egress() };
        let own = McpSettings::new(root, settings.environment().clone());
        let sampling = sampling(tools.sampling.as_ref(), &providers);
        let mcp = McpSettings { confinement: confinement.clone(), egress, sampling, ..own };
        let servers = McpServers::start(configs, mcp);
        let words = ProjectWords::read(&std::path::absolute(root).unwrap_or_else(|_| root.to_owned()), words);
        problems.extend(missing_skills(&agents, &words));
        let toolbox = searching(Toolbox::new(root, tools), &providers)
            .with_source(Arc::new(ServiceTools::new(settings.tool_services(root))))
            .with_source(servers.clone())
            .with_skills(words.skills.clone());
        problems.retain(|(_, findings)| !findings.is_empty());
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let environment = settings.environment().clone();
        let agent_services = Self {
            project: root.clone(),
            root,
            agents,
            phases,
            providers,
            toolbox,
            layers,
            permissions,
            loops,
            checks,
            protected,
            start_time,
            arbiter,
            prompts,
            task,
            memories,
            words,
            environment,
            confinement,
            servers,
            hooks,
            language_servers: checks::LanguageServers::default(),
            own_chart: OnceLock::new(),
            history: OnceLock::new(),
            apart: super::ProjectWorktrees::default(),
            worktree: None,
            worktree_bytes_max,
            conversations: ConversationCache::default(),
        };
        (agent_services, problems)
    }

    /// Checks everything agents depend on: models, rules, servers.
    pub async fn health(&self) -> Vec<ComponentHealth> {
        let mut all = self.agents_health();
        all.extend(self.servers.check().await.into_iter().map(server_health));
        all
    }

    /// Checks the agents only, without contacting any server.
    pub fn agents_health(&self) -> Vec<ComponentHealth> {
        self.agents.all().iter().map(|agent| self.model_health(agent)).collect()
    }

    /// WebSearch is optional: agents do not have it without a service, which is valid.
    pub fn search_health(&self) -> ComponentHealth {
        let about = "web search".to_owned();
        let (ok, text) = match self.toolbox.settings().search.as_ref().map(|search| &search.engine) {
            None => {
                let how =
                    "set `tools.search: {provider: searxng | brave | tavily | model}` in .rawko/config.yaml";
                (true, format!("not configured, so agents have no WebSearch; {how}"))
            }
            Some(SearchEngine::Model { model }) => {
                match self.providers.find(model.as_deref().unwrap_or_default()) {
                    Ok((_, name)) => (true, format!("asks {name}")),
                    Err(problem) => (false, problem.to_string()),
                }
            }
            Some(engine) => (true, format!("asks {}", engine.name())),
        };
        ComponentHealth { about, ok, text }
    }

    fn model_health(&self, agent: &AgentFile) -> ComponentHealth {
        let about = format!("agent {}", agent.name);
        let problems = agent.layer().problems();
        if let Some(problem) = problems.into_iter().next() {
            return ComponentHealth { about, ok: false, text: problem };
        }
        let model = model_of(agent).unwrap_or_default();
        let (ok, text) = match agent.kind {
            AgentKind::Llm | AgentKind::Scripted => match self.providers.find(&model) {
                Ok((_, name)) => (true, format!("asks {name}")),
                // A problem of a built-in agent is not an error of the project.
                Err(problem) => (agent.level == Level::BuiltIn, problem.to_string()),
            },
            AgentKind::Process | AgentKind::Acp => {
                let program =
                    agent.command.as_ref().map(|command| command.program.clone()).unwrap_or_default();
                (true, format!("runs {program}"))
            }
            AgentKind::Human => (true, "is a person".to_owned()),
            AgentKind::Chart => {
                (true, format!("runs the chart {}", agent.chart.as_deref().unwrap_or_default()))
            }
        };
        ComponentHealth { about, ok, text }
    }
}

/// Returns the hosts that rules of the settings deny.
fn host_rules(permissions: &[Permissions]) -> HostRules {
    Grant { permissions: permissions.to_vec(), ..Grant::default() }.host_rules().for_program()
}

/// Adds the model that searches, if the settings choose one and it can be used.
fn searching(toolbox: Toolbox, providers: &Providers) -> Toolbox {
    let Some(SearchEngine::Model { model }) = toolbox.settings().search.as_ref().map(|search| &search.engine)
    else {
        return toolbox;
    };
    match providers.find(model.as_deref().unwrap_or_default()) {
        Ok((provider, model)) => toolbox.with_search_model(SearchModel { provider, model }),
        Err(_) => toolbox,
    }
}

/// The rule for MCP servers that ask for completions, with its model. Without the model they are refused.
fn sampling(
    rule: Option<&SamplingSettings>,
    providers: &Providers,
) -> Option<(SamplingSettings, SamplingModel)> {
    let rule = rule?;
    let (provider, model) = providers.find(rule.model.as_deref().unwrap_or_default()).ok()?;
    Some((rule.clone(), SamplingModel { provider, model }))
}

/// Reports skills that agents name and the project does not have: a skill may limit an agent.
fn missing_skills(agents: &Agents, words: &ProjectWords) -> AgentProblems {
    let missing = |agent: &AgentFile| {
        let is_known = |name: &String| words.skills.iter().any(|skill| skill.name == *name);
        let names: Vec<String> = agent.skills.iter().filter(|name| !is_known(name)).cloned().collect();
        let message = format!("there is no skill `{}`", names.first()?);
        let help = "add .agents/skills/NAME/SKILL.md, or remove it from `skills`";
        let finding = UNSUPPORTED_KEY.at(Span::new(0, 0), message).help(help);
        Some((SourceFile::new(agent.file.as_str(), ""), vec![finding]))
    };
    agents.all().iter().filter_map(missing).collect()
}

fn server_health(server: ServerHealth) -> ComponentHealth {
    let ok = server.state == McpHealthState::Up;
    let tools = server.tools.map(|tools| format!(", {tools} tools")).unwrap_or_default();
    let text = match &server.problem {
        Some(problem) if !ok => format!("{}: {problem}", server.server),
        Some(_) | None => format!("{}{tools}", server.server),
    };
    ComponentHealth { about: format!("MCP server {}", server.name), ok, text }
}

/// The settings being read, and the collected problems.
struct ModelSettings<'a> {
    settings: &'a Settings,
    root: &'a Path,
    problems: &'a mut AgentProblems,
}

impl ModelSettings<'_> {
    /// Adds the script of each scripted agent as a provider.
    fn with_scripts(&mut self, providers: Providers, agents: &Agents) -> Providers {
        agents.all().iter().fold(providers, |providers, agent| {
            let Some(script) = agent.script.as_ref().filter(|_| agent.kind == AgentKind::Scripted) else {
                return providers;
            };
            match Scripted::read(&self.root.join(script)) {
                Ok(scripted) => providers.with(script_provider(&agent.name), Arc::new(scripted)),
                Err(problem) => {
                    let finding = UNREADABLE.at(Span::new(0, 0), problem.to_string());
                    let source = SourceFile::new(agent.file.as_str(), "");
                    self.problems.push((source, vec![finding.help("fix the script, or name another one")]));
                    providers
                }
            }
        })
    }

    fn read<T>(&mut self, key: &str, read: impl Fn(&mut SettingsReader<'_>, &[&Section]) -> T) -> T {
        let sections: Vec<&Section> = self.settings.sections(key).collect();
        // Each file alone, for findings at its own places; then all together.
        for section in &sections {
            let mut reader = SettingsReader::new(self.settings.environment());
            read(&mut reader, &[section]);
            self.complain(vec![(Arc::clone(&section.file), reader.findings)]);
        }
        read(&mut SettingsReader::new(self.settings.environment()), &sections)
    }

    fn complain(&mut self, wrong: Vec<(Arc<str>, Vec<Finding>)>) {
        for (file, findings) in wrong.into_iter().filter(|(_, findings)| !findings.is_empty()) {
            let text = self.settings.source(&file).text;
            self.problems.push((SourceFile::new(file, text), findings));
        }
    }
}

/// Returns the model named by an agent's file; its own script counts as one.
pub(super) fn model_of(agent: &AgentFile) -> Option<String> {
    match (&agent.kind, &agent.script) {
        (AgentKind::Scripted, Some(_)) => Some(script_provider(&agent.name)),
        _ => {
            let models: Vec<String> =
                agent.model.iter().chain(&agent.fallback_models).map(ToString::to_string).collect();
            (!models.is_empty()).then(|| models.join(", "))
        }
    }
}

/// Returns the provider name of a scripted agent's file.
fn script_provider(agent: &str) -> String {
    format!("script-of-{agent}")
}

/// Returns true if there are errors that must be fixed before anything runs.
pub fn is_broken(problems: &AgentProblems) -> bool {
    problems.iter().flat_map(|(_, findings)| findings).any(|finding| finding.severity >= Severity::Error)
}
