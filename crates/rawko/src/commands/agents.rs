//! `rawko agents`: lists the agents of a project, their permissions, and problems with them.

use rawko_agents::agent::AgentFile;
use rawko_agents::words::{ProjectWords, WordFile};
use rawko_agents::work::{AgentServices, ComponentHealth};
use rawko_chart::Severity;
use serde_json::{Value as Json, json};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, StoreArgs};
use crate::table::{Cell, ConsoleTable};

const EXAMPLES: &str = "\
Agents are files: `.rawko/agents/*.md` or `*.yaml` of the project and of the user, and
`.claude/agents/*.md`. A chart invokes an agent with `src: agent:NAME`.

Examples:
  rawko agents list
  rawko agents show planner
  rawko agents check
  rawko agents list --json | jq -r '.agents[].name'";

/// List, show and check the agents of a project
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
enum Subcommand {
    /// List all agents and their files
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show the prompt, model, tools and limits of an agent
    Show {
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Check agent files, providers and MCP servers
    Check {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&StoreArgs::default())?;
    match &args.command {
        Subcommand::List { json } => list(&place, *json, console),
        Subcommand::Show { name, json } => show(&place, name, *json, console),
        Subcommand::Check { json } => check(&place, *json, console),
    }
}

fn list(place: &ProjectContext, json: bool, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let agents = place.agents();
    if json {
        let all: Vec<Json> = agents.all().iter().map(described).collect();
        console.line(&format!("{:#}", json!({"v": 1, "agents": all})))?;
        return Ok(CommandVerdict::Done);
    }
    let mut table = ConsoleTable::new(&["NAME", "KIND", "MODEL", "FROM", "WHEN TO USE"]);
    for agent in agents.all() {
        table.add(vec![
            Cell::painted(&agent.name, TextStyle::Bold),
            Cell::new(agent.kind.as_str()),
            Cell::new(models(agent)),
            Cell::painted(&agent.file, TextStyle::Dim),
            Cell::new(agent.when_to_use.lines().next().unwrap_or_default()),
        ]);
    }
    table.print(console)?;
    for unusable in agents.unusable() {
        let text = format!("`{}` in {} is invalid; see `rawko agents check`", unusable.name, unusable.file);
        console.note(TextStyle::Bad, "broken", &text);
    }
    Ok(CommandVerdict::Done)
}

/// Returns the models in order, or the chart of an agent that is one.
fn models(agent: &AgentFile) -> String {
    if let Some(chart) = &agent.chart {
        return format!("chart {chart}");
    }
    let models: Vec<String> =
        agent.model.iter().chain(&agent.fallback_models).map(ToString::to_string).collect();
    if models.is_empty() { "default".to_owned() } else { models.join(", ") }
}

fn described(agent: &AgentFile) -> Json {
    serde_json::to_value(agent).unwrap_or_default()
}

fn show(
    place: &ProjectContext,
    name: &str,
    json: bool,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let agents = place.agents();
    let Some(agent) = agents.get(name) else {
        let names: Vec<&str> = agents.all().iter().map(|agent| agent.name.as_str()).collect();
        return Err(CommandFailure::Usage(format!(
            "agent `{name}` not found; available: {}",
            names.join(", ")
        )));
    };
    if json {
        let mut shown = described(agent);
        let (agent_services, _) = place.agent_services();
        let file = |file: &WordFile| json!({"path": file.path, "directory": file.directory, "bytes": file.text.len()});
        let skill = |skill: &rawko_tools::Skill| json!({"name": skill.name, "description": skill.description, "directory": skill.directory});
        shown["projectInstructions"] = agent_services.words.files.iter().map(file).collect();
        shown["projectSkills"] = agent_services.words.skills.iter().map(skill).collect();
        console.line(&format!("{shown:#}"))?;
        return Ok(CommandVerdict::Done);
    }
    let title = console.paint(TextStyle::Bold, &agent.name);
    console.line(&format!("{title}  {}", agent.display_name))?;
    for (word, text) in facts(agent) {
        let word = console.paint(TextStyle::Dim, &format!("{word:<11}"));
        console.line(&format!("  {word} {text}"))?;
    }
    console.line("")?;
    console.line(agent.system_prompt.trim())?;
    let (agent_services, _) = place.agent_services();
    let words = words(&agent_services.words, agent);
    if !words.is_empty() {
        console.line("")?;
    }
    for (word, text) in words {
        let word = console.paint(TextStyle::Dim, &format!("{word:<13}"));
        console.line(&format!("{word} {text}"))?;
    }
    Ok(CommandVerdict::Done)
}

/// The project's instructions that the agent gets, besides its own prompt.
fn words(words: &ProjectWords, agent: &AgentFile) -> Vec<(&'static str, String)> {
    let file = |file: &WordFile| {
        let when = match file.directory.as_str() {
            "" => "always".to_owned(),
            directory => format!("for files below {directory}/"),
        };
        ("instructions", format!("{} ({} bytes, {when})", file.path, file.text.len()))
    };
    let skill = |skill: &rawko_tools::Skill| {
        let how = if agent.skills.contains(&skill.name) { "in the prompt" } else { "read on demand" };
        ("skill", format!("{} ({}, {how}): {}", skill.name, skill.directory, skill.description))
    };
    words.files.iter().map(file).chain(words.skills.iter().map(skill)).collect()
}

fn facts(agent: &AgentFile) -> Vec<(&'static str, String)> {
    let or_all = |names: &Option<Vec<String>>| {
        names.as_ref().map_or_else(|| "all".to_owned(), |names| names.join(", "))
    };
    let mut facts = vec![
        ("from", agent.file.clone()),
        ("kind", agent.kind.as_str().to_owned()),
        ("when", agent.when_to_use.clone()),
        ("model", models(agent)),
        ("tools", or_all(&agent.tools.allowed)),
    ];
    if let Some(effort) = agent.reasoning {
        facts.push(("reasoning", effort.to_string()));
    }
    if let Some(vision) = &agent.vision_model {
        facts.push(("vision", vision.to_string()));
    }
    if !agent.tools.blocked.is_empty() {
        facts.push(("blocked", agent.tools.blocked.join(", ")));
    }
    if let Some(commands) =
        agent.tools.bash_filter.as_ref().and_then(|filter| filter.allowed_commands.as_ref())
    {
        facts.push(("commands", commands.join(", ")));
    }
    if let Some(most) = agent.limits.max_iterations {
        facts.push(("completions", format!("at most {most}")));
    }
    if !agent.roles.is_empty() {
        facts.push(("roles", agent.roles.join(", ")));
    }
    facts
}

fn check(
    place: &ProjectContext,
    json: bool,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let (agent_services, problems) = place.agent_services();
    let healths = match place.is_trusted()? {
        true => hosting::block_on(async { Ok(agent_services.health().await) })?,
        false => {
            let text = "not started: this project is not trusted; see `rawko trust`".to_owned();
            let servers = ComponentHealth { about: "MCP servers".to_owned(), ok: false, text };
            agent_services.agents_health().into_iter().chain([servers]).collect()
        }
    };
    let mut healths = healths;
    healths.iter_mut().for_each(|health| judge_chart(place, &agent_services, health));
    let wrong =
        problems.iter().flat_map(|(_, findings)| findings).any(|finding| finding.severity >= Severity::Error)
            || healths.iter().any(|health| !health.ok);
    if json {
        let findings: Vec<Json> = problems.iter().flat_map(|(source, findings)| {
            findings.iter().map(move |finding| json!({"file": &*source.name, "code": finding.code, "message": finding.message, "help": finding.help}))
        }).collect();
        let health: Vec<Json> = healths
            .iter()
            .map(|health| json!({"about": health.about, "ok": health.ok, "text": health.text}))
            .collect();
        console
            .line(&format!("{:#}", json!({"v": 1, "ok": !wrong, "findings": findings, "health": health})))?;
    } else {
        for (source, findings) in problems {
            console.report(findings, source)?;
        }
        healths.iter().try_for_each(|health| tell(health, console))?;
    }
    Ok(if wrong { CommandVerdict::Invalid } else { CommandVerdict::Done })
}

/// An agent of kind `chart` needs a chart that can be invoked.
fn judge_chart(place: &ProjectContext, agent_services: &AgentServices, health: &mut ComponentHealth) {
    let name = health.about.strip_prefix("agent ").unwrap_or_default();
    let chart = agent_services.agents.get(name).and_then(|agent| agent.chart.as_deref());
    if let Some(chart) = chart.filter(|chart| place.named(chart).is_err()) {
        let text = format!("there is no usable chart `{chart}`; list charts with `rawko charts`");
        *health = ComponentHealth { ok: false, text, about: health.about.clone() };
    }
}

fn tell(health: &ComponentHealth, console: &mut Console) -> Result<(), CommandFailure> {
    let (word, style) = if health.ok { ("ok", TextStyle::Good) } else { ("broken", TextStyle::Bad) };
    let word = console.paint(style, &format!("{word:<7}"));
    console.line(&format!("{word} {}: {}", health.about, health.text))
}
