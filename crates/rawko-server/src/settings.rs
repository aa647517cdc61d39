//! The `turns` section of a project's settings: options for all channels, per channel and per agent; channels to
//! create; agents that the server starts.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rawko_arbiter::loop_control::LoopSettings;
use rawko_chart::{DocumentData, DocumentEntry, Finding, SpannedValue};
use rawko_host::{Settings, SettingsReader};
use rawko_turns::{AgentId, OptionLayers, TurnOptions, is_name};

use crate::agents::ProcessCommand;

/// Turn options, allowed in the section, in a channel and in an agent.
const OPTIONS: [&str; 16] = [
    "defaultTimeoutSeconds",
    "humanInterruptMode",
    "announceTimeouts",
    "announceDisconnects",
    "announceEmpty",
    "autoDetectTurnEnd",
    "autoDetectSilenceSeconds",
    "waitTimeoutSeconds",
    "humanHoldSeconds",
    "reconnectGraceSeconds",
    "turnOrder",
    "restWhenQuiet",
    "tellAfterRounds",
    "stuckAfterRounds",
    "turnsUnattendedMax",
    "joinMessages",
];
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Settings of channels.
#[derive(Clone, Debug, Default)]
pub struct TurnSettings {
    pub(crate) options: TurnOptions,
    pub(crate) agents: BTreeMap<AgentId, AgentSettings>,
    pub(crate) channels: BTreeMap<String, ChannelSettings>,
    pub(crate) heartbeat: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AgentSettings {
    pub(crate) options: TurnOptions,
    pub(crate) command: Option<ProcessCommand>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ChannelSettings {
    pub(crate) options: TurnOptions,
    /// In the order of the file.
    pub(crate) agents: Vec<(AgentId, TurnOptions)>,
}

impl TurnSettings {
    /// Returns true if an agent is a program that the server starts.
    pub fn starts(&self, agent: &str) -> bool {
        self.agents.get(&AgentId::from(agent)).is_some_and(|agent| agent.command.is_some())
    }

    /// Reads the section; project settings override user settings. Findings are returned with their file.
    pub fn read(settings: &Settings, root: &Path) -> (Self, Vec<(String, Vec<Finding>)>) {
        let mut all = TurnSettings::default();
        let mut problems = Vec::new();
        for section in settings.sections("turns") {
            let mut reader = SettingsReader::new(settings.environment());
            let said = section_of(&mut reader, &section.document, root);
            all = all.over(said);
            for command in all.agents.values_mut().filter_map(|agent| agent.command.as_mut()) {
                command.confinement = settings.confinement(root);
            }
            if !reader.findings.is_empty() {
                problems.push((section.file.to_string(), reader.findings));
            }
        }
        let (loops, _) = LoopSettings::of_settings(settings);
        let limits = TurnOptions {
            tell_after_rounds: Some(loops.tell_after),
            stuck_after_rounds: Some(loops.stuck_after),
            ..TurnOptions::default()
        };
        if limits != guard_defaults() {
            all.options = all.options.over(&limits);
        }
        (all, problems)
    }

    fn over(mut self, below: TurnSettings) -> TurnSettings {
        for (name, channel) in below.channels {
            self.channels.entry(name).or_insert(channel);
        }
        for (name, agent) in below.agents {
            self.agents.entry(name).or_insert(agent);
        }
        let options = self.options.over(&below.options);
        TurnSettings { options, heartbeat: self.heartbeat.or(below.heartbeat), ..self }
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        self.heartbeat.unwrap_or(HEARTBEAT)
    }

    /// Returns the initial options of a channel.
    pub fn layers(&self, channel: &str) -> OptionLayers {
        let of_agent = |(agent, said): (&AgentId, &AgentSettings)| (agent.clone(), said.options.clone());
        let here = self.channels.get(channel);
        let options = |agents: &[(AgentId, TurnOptions)]| agents.iter().cloned().collect();
        OptionLayers {
            project: self.options.clone(),
            project_agents: self.agents.iter().map(of_agent).collect(),
            channel: here.map(|here| here.options.clone()).unwrap_or_default(),
            agents: here.map(|here| options(&here.agents)).unwrap_or_default(),
        }
    }
}

/// The limits of rounds in settings that do not mention them.
fn guard_defaults() -> TurnOptions {
    let loops = LoopSettings::default();
    TurnOptions {
        tell_after_rounds: Some(loops.tell_after),
        stuck_after_rounds: Some(loops.stuck_after),
        ..TurnOptions::default()
    }
}

fn section_of(reader: &mut SettingsReader<'_>, at: &SpannedValue, root: &Path) -> TurnSettings {
    let mut said = TurnSettings::default();
    let keys = [OPTIONS.as_slice(), &["agents", "channels", "heartbeatSeconds"]].concat();
    for entry in reader.record(at, "`turns`", &keys) {
        match entry.key.as_str() {
            "agents" => {
                for agent in names(reader, &entry.value, "`agents` of `turns`") {
                    let read = agent_of(reader, agent, root);
                    said.agents.insert(agent.key.as_str().into(), read);
                }
            }
            "channels" => {
                for channel in names(reader, &entry.value, "`channels` of `turns`") {
                    let read = channel_of(reader, channel);
                    said.channels.insert(channel.key.clone(), read);
                }
            }
            "heartbeatSeconds" => {
                let seconds = reader.whole(&entry.value, "`heartbeatSeconds` of `turns`", 1);
                said.heartbeat = seconds.map(Duration::from_secs);
            }
            _ => option(reader, entry, &mut said.options),
        }
    }
    said
}

/// Returns the entries of a map whose keys are names of channels or agents.
fn names<'d>(reader: &mut SettingsReader<'_>, at: &'d SpannedValue, what: &str) -> Vec<&'d DocumentEntry> {
    let entries = reader.entries(at, what);
    let fits = |entry: &&DocumentEntry| {
        let fits = is_name(&entry.key);
        if !fits {
            let help = "use letters, digits, `-` and `_`";
            reader.invalid(entry.key_span, format!("invalid name `{}`", entry.key), help);
        }
        fits
    };
    entries.iter().filter(fits).collect()
}

fn agent_of(reader: &mut SettingsReader<'_>, agent: &DocumentEntry, root: &Path) -> AgentSettings {
    let mut said = AgentSettings::default();
    let what = format!("agent `{}`", agent.key);
    let keys = [OPTIONS.as_slice(), &["command", "env", "pass_env"]].concat();
    let (mut env, mut pass_env) = (BTreeMap::new(), Vec::new());
    for entry in reader.record(&agent.value, &what, &keys) {
        match entry.key.as_str() {
            "command" => {
                let named = format!("`command` of {what}");
                let program: Vec<String> = match &entry.value.data {
                    DocumentData::Str(program) => vec![program.clone()],
                    DocumentData::Null
                    | DocumentData::Bool(_)
                    | DocumentData::Int(_)
                    | DocumentData::Float(_)
                    | DocumentData::List(_)
                    | DocumentData::Map(_) => reader
                        .texts(&entry.value, &named)
                        .into_iter()
                        .map(|(word, _)| word.to_owned())
                        .collect(),
                };
                if program.is_empty() {
                    reader.invalid(
                        entry.value.span,
                        format!("{named} is empty"),
                        "write the program and its arguments",
                    );
                } else {
                    said.command = Some(ProcessCommand {
                        program,
                        folder: root.to_owned(),
                        env: BTreeMap::new(),
                        pass_env: Vec::new(),
                        environment: reader.environment().clone(),
                        confinement: reader.environment().confinement(root),
                    });
                }
            }
            "env" => {
                for variable in reader.entries(&entry.value, &format!("`env` of {what}")) {
                    let value = reader.scalar(&variable.value, &format!("`{}` of `env`", variable.key));
                    env.extend(value.map(|value| (variable.key.clone(), value)));
                }
            }
            "pass_env" => {
                let names = reader.texts(&entry.value, &format!("`pass_env` of {what}"));
                pass_env = names.into_iter().map(|(name, _)| name.to_owned()).collect();
            }
            _ => option(reader, entry, &mut said.options),
        }
    }
    if let Some(command) = &mut said.command {
        (command.env, command.pass_env) = (env, pass_env);
    }
    said
}

fn channel_of(reader: &mut SettingsReader<'_>, channel: &DocumentEntry) -> ChannelSettings {
    let mut said = ChannelSettings::default();
    let what = format!("channel `{}`", channel.key);
    let keys = [OPTIONS.as_slice(), &["agents"]].concat();
    for entry in reader.record(&channel.value, &what, &keys) {
        match entry.key.as_str() {
            "agents" => said.agents = members_of(reader, &entry.value, &format!("`agents` of {what}")),
            _ => option(reader, entry, &mut said.options),
        }
    }
    said
}

/// Reads a list of names, or a map of names to options.
fn members_of(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Vec<(AgentId, TurnOptions)> {
    if at.items().is_some() {
        let all = reader.texts(at, what);
        return all.into_iter().map(|(name, _)| (name.into(), TurnOptions::default())).collect();
    }
    let mut members = Vec::new();
    for agent in names(reader, at, what) {
        let mut options = TurnOptions::default();
        for entry in reader.record(&agent.value, &format!("agent `{}`", agent.key), &OPTIONS) {
            option(reader, entry, &mut options);
        }
        members.push((agent.key.as_str().into(), options));
    }
    members
}

/// Reads one option, named as in `turnConfig`.
fn option(reader: &mut SettingsReader<'_>, entry: &DocumentEntry, options: &mut TurnOptions) {
    let one = serde_json::json!({entry.key.as_str(): entry.value.to_json()});
    match serde_json::from_value::<TurnOptions>(one) {
        Ok(said) => *options = said.over(options),
        Err(error) => {
            let message = format!("invalid value of `{}`: {error}", entry.key);
            reader.invalid(entry.value.span, message, "see the guide on channels");
        }
    }
}
