//! The sandbox: the layers that this kernel supports, tried with a real program, and the profile of each program that the
//! project configures.

use rawko_agents::agent::{AgentKind, Agents};
use rawko_host::Environment;
use rawko_process::{Confinement, Launch, Layers, Profile, ProgramStdin, ProjectAccess, Sandbox};
use rawko_programs::mcp::{McpTransport, read_mcp_file};

use super::{CheckState, DoctorResult};
use crate::hosting::{self, ProjectContext};

const ABOUT: &str = "sandbox";

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let confinement = place.settings.confinement(&place.root);
    let mut checks = layers(&confinement);
    checks.push(network(&confinement));
    checks.push(programs(place, &confinement));
    checks.extend(unconfined(place, &confinement));
    checks.extend(refused(place, &confinement));
    checks
}

/// The programs that have no state in which they could wait: a rule that asks about hosts refuses their connections.
fn refused(place: &ProjectContext, confinement: &Confinement) -> Option<DoctorResult> {
    let rules = confinement.egress.as_ref().map(|egress| &egress.rules)?;
    let rule = &rules.asked.first().filter(|_| rules.approved.iter().all(|rule| rule.pattern != "*"))?.source;
    let waits = |(kind, _): &(&str, String)| *kind == "agent";
    let named = named(place).into_iter().filter(|program| !waits(program));
    let confined = named.filter(|(kind, name)| profile(place, confinement, kind, name) != Profile::Trusted);
    let names = confined.map(|(kind, name)| format!("{kind}:{name}"));
    let names: Vec<String> = ["checks".to_owned(), "hooks".to_owned()].into_iter().chain(names).collect();
    let text =
        format!("{rule} asks about hosts: {} cannot wait, and are refused the connection", names.join(", "));
    let help = "allow hosts with `Network(domain:HOST)` in `permissions.allow` of your own settings";
    Some(DoctorResult::new(ABOUT, CheckState::Warn, text).help(help))
}

/// Starts `true` as Bash would be started.
fn layers(confinement: &Confinement) -> Vec<DoctorResult> {
    if confinement.sandbox == Sandbox::Off {
        let text = "switched off in settings (`tools.bash.sandbox: off`)";
        return vec![DoctorResult::new(ABOUT, CheckState::Warn, text)];
    }
    match layers_of(confinement.clone()) {
        Ok(layers) => {
            let held = layers.0.iter().filter_map(|(layer, state)| {
                let detail = state.as_ref().ok()?;
                Some(format!("{layer} {detail}").trim_end().to_owned())
            });
            let held = DoctorResult::new(ABOUT, CheckState::Ok, held.collect::<Vec<_>>().join(", "));
            let missing = layers.missing().map(|(layer, why)| {
                let text = format!("no {layer}: {why}");
                DoctorResult::new(ABOUT, CheckState::Warn, text)
                    .help(format!("without it {}", layer.without_it()))
            });
            std::iter::once(held).chain(missing).collect()
        }
        Err(why) => vec![DoctorResult::new(ABOUT, CheckState::Problem, why)],
    }
}

/// Returns the layers that hold for programs of a project, tried with a real one.
pub(crate) fn layers_of(confinement: Confinement) -> Result<Layers, String> {
    let tried = hosting::block_on(async { Ok(tried(confinement).await) });
    tried.unwrap_or_else(|_| Err("the programs of the sandbox could not be started".to_owned()))
}

async fn tried(confinement: Confinement) -> Result<Layers, String> {
    let launch = Launch {
        input: ProgramStdin::Null,
        inherited: Environment::of_process().all(),
        ..Launch::new("true", Profile::Workspace, confinement)
    };
    let mut launched = launch.start().await.map_err(|error| error.to_string())?;
    let _ = launched.child.wait().await;
    launched.layers.ok_or_else(|| "programs are not confined on this system".to_owned())
}

fn network(confinement: &Confinement) -> DoctorResult {
    let Some(egress) = &confinement.egress else {
        return DoctorResult::new(ABOUT, CheckState::Ok, "network of programs: none");
    };
    let hosts: Vec<&str> = egress.hosts.iter().flatten().chain(&egress.private).map(String::as_str).collect();
    DoctorResult::new(ABOUT, CheckState::Ok, format!("network of programs: by proxy to {}", hosts.join(", ")))
}

/// The programs that are confined.
fn programs(place: &ProjectContext, confinement: &Confinement) -> DoctorResult {
    let named = named(place).into_iter();
    let confined = named.filter(|(kind, name)| profile(place, confinement, kind, name) != Profile::Trusted);
    let names: Vec<String> = confined.map(|(kind, name)| format!("{kind}:{name}")).collect();
    let names = ["Bash".to_owned(), "checks".to_owned()].into_iter().chain(names);
    let text = format!("confined: {}", names.collect::<Vec<_>>().join(", "));
    DoctorResult::new(ABOUT, CheckState::Ok, text)
}

fn unconfined(place: &ProjectContext, confinement: &Confinement) -> Vec<DoctorResult> {
    let mut all = named(place);
    all.push(("checks", String::new()));
    let unconfined =
        all.into_iter().filter(|(kind, name)| profile(place, confinement, kind, name) == Profile::Trusted);
    let check = |(kind, name): (&str, String)| {
        let text = format!("{kind} {name} is {}", Profile::Trusted).replace("  ", " ");
        DoctorResult::new(ABOUT, CheckState::Warn, text)
            .help("turned off in the settings: `sandbox: off` or `tools.unconfined`")
    };
    unconfined.map(check).collect()
}

fn profile(place: &ProjectContext, confinement: &Confinement, kind: &str, name: &str) -> Profile {
    let usual = Profile::Program(ProjectAccess::Write);
    let services = place.settings.services(&place.root);
    let is_off = kind == "service"
        && services
            .find(name)
            .is_some_and(|service| service.provenance().get("sandbox").as_str() == Some("off"));
    if is_off { Profile::Trusted } else { confinement.profile_of(kind, name, usual) }
}

/// Every program that is configured, with its kind.
fn named(place: &ProjectContext) -> Vec<(&'static str, String)> {
    let environment = Environment::of_process();
    let services = place.settings.services(&place.root);
    let is_program = |name: &&str| {
        services.find(name).is_some_and(|service| service.provenance().get("command").as_list().is_some())
    };
    let names = place.settings.service_names().into_iter().filter(is_program);
    let mut all: Vec<(&'static str, String)> = names.map(|name| ("service", name.to_owned())).collect();
    let (servers, _, _) = read_mcp_file(&place.root, &environment);
    let servers = servers.into_iter().filter(|server| matches!(server.transport, McpTransport::Stdio { .. }));
    all.extend(servers.map(|server| ("mcp", server.name)));
    let (agents, _) = Agents::read(&place.root, &environment);
    let programs =
        agents.all().iter().filter(|agent| matches!(agent.kind, AgentKind::Process | AgentKind::Acp));
    all.extend(programs.map(|agent| ("agent", agent.name.clone())));
    all
}
