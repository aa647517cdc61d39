//! Reads a project once and starts a host for it: trust, settings, charts, agents, services, store, in this order. The
//! same parts that the commands use, without a terminal.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rawko_agents::work::{self, AgentServices};
use rawko_chart::{Registry, Severity, SourceFile};
use rawko_core::World;
use rawko_host::{Edition, Gate, Host, Services, Settings};
use rawko_settings::{StateDir, make_private};
use rawko_store::{Lock, LockHolder, MemoryStore, SqliteOptions, SqliteStore, Store};

use super::error::{Error, Result};
use super::options::{ProjectOptions, StoreChoice};
use super::project::{Project, ProjectInner};
use crate::authority::{self, Operator};
use crate::loading;
use crate::project::LoadedProject as ProjectFiles;
use crate::times;
use crate::trust::{self, TrustStanding};

/// The source of rules that the program sets, in audits and refusals.
const PROGRAM: &str = "the program";

/// The contents of a project directory.
#[derive(Default)]
struct Read {
    root: Option<PathBuf>,
    settings: Settings,
    charts: Vec<Edition>,
    agent_services: Option<Arc<AgentServices>>,
    services: Services,
    endpoints: Services,
    world: World,
    registry: Registry,
}

pub(super) async fn open(options: ProjectOptions, directory: &Path) -> Result<Project> {
    if !directory.is_dir() {
        return Err(Error::Usage(format!("`{}` is not a directory", directory.display())));
    }
    let home = ProjectFiles::home_above(directory);
    let root = home.clone().unwrap_or_else(|| directory.to_owned());
    let unreadable = |error: std::io::Error| Error::from(trust::unreadable(&error));
    // Hashed before anything is read from them, and compared after everything was.
    let mut files = trust::read(&root, home.is_some()).map_err(unreadable)?;
    let (settings, problems) = Settings::read(&root);
    refuse(&problems)?;
    let project = home.map(|home| ProjectFiles::at(&home)).transpose()?;
    for chart in project.iter().flat_map(ProjectFiles::authority) {
        files.add(&root, &chart).map_err(unreadable)?;
    }
    if let TrustStanding::Differs(differences) = trust::standing(&root, &files)?
        && !options.trust_files
    {
        return Err(Error::Untrusted(Error::from(trust::untrusted(&differences, &files)).to_string()));
    }
    let (agent_services, problems) = match &project {
        Some(project) => AgentServices::read_with(&root, &settings, project.read_agents()),
        None => AgentServices::read(&root, &settings),
    };
    refuse(&problems)?;
    let agent_services = Arc::new(with_models(agent_services, &options));
    let mut charts = Vec::new();
    if let Some(project) = &project {
        let offered = loading::offered(project);
        // A broken chart is not replaced by a built-in one of its name: the change would go unnoticed.
        if let Some((_, failure)) = offered.broken.into_iter().next() {
            return Err(failure.into());
        }
        charts = offered.charts;
    }
    let own = work::editions();
    let is_replaced = |own: &Edition| charts.iter().any(|chart| chart.chart.id() == own.chart.id());
    let own: Vec<Edition> = own.into_iter().filter(|own| !is_replaced(own)).collect();
    let registry = project.as_ref().map(ProjectFiles::known).unwrap_or_default();
    charts.extend(own);
    trust::pin_all(&root, &files);
    let services = settings.services(&root);
    let services = trust::pinned(services, &settings.service_names(), &root, &files);
    let endpoints = settings.endpoints(&root);
    let endpoints = trust::pinned(endpoints, &settings.endpoint_names(), &root, &files);
    let agents = agent_services.agents.entries();
    let world = World { env: settings.env(), agents };
    trust::insist_on_same(&root, &files)?;
    let read = Read {
        services: agent_services.join(services),
        root: Some(root),
        settings,
        charts,
        agent_services: Some(agent_services),
        endpoints,
        world,
        registry,
    };
    build(options, read).await
}

pub(super) async fn start(mut options: ProjectOptions) -> Result<Project> {
    if matches!(options.store, StoreChoice::OfProject) {
        options.store = StoreChoice::Memory;
    }
    // Every name that a chart may use was added by the program.
    build(options, Read { registry: Registry::default().complete(), ..Read::default() }).await
}

async fn build(options: ProjectOptions, read: Read) -> Result<Project> {
    let Read { root, settings, charts, agent_services, mut services, endpoints, world, mut registry } = read;
    let mut gate = if root.is_some() { settings.gate() } else { Gate::limited(None) };
    let names = options.services.iter().map(|service| service.spec().name.to_string());
    for pattern in names.chain(options.allow.iter().cloned()) {
        gate.allow(&pattern, &Arc::from(PROGRAM)).map_err(|error| Error::Usage(error.to_string()))?;
    }
    for service in &options.services {
        registry.add_service(&*service.spec().name);
        registry.add_spec(service.spec().clone());
        services = services.add(&*service.spec().name, service.service());
    }
    let added = options.charts.iter().map(|(name, text)| Edition::read(name, text));
    let added: Vec<Edition> = added.collect::<std::result::Result<_, _>>()?;
    for edition in &added {
        let source = SourceFile::new(Arc::clone(&edition.name), Arc::clone(&edition.text));
        registry.add_chart_of(edition.chart.id(), edition.chart.version(), &source);
    }
    let (store, lock) = open_store(&options, root.as_deref(), &settings)?;
    let mut builder = Host::builder()
        .store(store)
        .services(services)
        .endpoints(endpoints)
        .gate(gate.clone())
        .limits(settings.limits())
        .world(world)
        .in_memory_max(settings.instances_in_memory());
    if let Some(agent_services) = &agent_services {
        builder = builder.agents(Arc::clone(agent_services) as Arc<dyn rawko_host::AgentResolver>);
    }
    if let Some(observer) = options.observer {
        builder = builder.observer(observer);
    }
    if let Some(clock) = options.clock {
        builder = builder.clock(clock);
    }
    if !options.continue_all {
        builder = builder.only_requested();
    }
    // Those of the program come last: they replace others of the same id and version.
    builder = charts.into_iter().chain(added.iter().cloned()).fold(builder, |it, chart| it.chart(chart));
    let built_in = work::editions().into_iter().map(|edition| edition.chart.hash()).collect::<HashSet<_>>();
    let host = builder.start().await?;
    let (checked, lock) = (Mutex::new(built_in), Mutex::new(lock));
    let project = Project {
        inner: Arc::new(ProjectInner { host, root, settings, gate, agent_services, registry, checked, lock }),
    };
    for edition in &added {
        if let Err(error) = project.inner.check(edition) {
            project.close().await;
            return Err(error);
        }
    }
    Ok(project)
}

/// Opens the store and keeps other processes out of it.
fn open_store(
    options: &ProjectOptions,
    root: Option<&Path>,
    settings: &Settings,
) -> Result<(Arc<dyn Store>, Option<Lock>)> {
    let file = match &options.store {
        StoreChoice::Memory => return Ok((Arc::new(MemoryStore::new()), None)),
        StoreChoice::File(file) => file.clone(),
        StoreChoice::OfProject => store_of_project(root.unwrap_or(Path::new(".")), settings)?,
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let cannot = |error| Error::Usage(format!("cannot create `{}`: {error}", folder.display()));
        make_private(folder).map_err(cannot)?;
    }
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let drives = (!options.continue_all).then(Vec::new);
    let holder = LockHolder {
        pid: std::process::id(),
        command: program,
        started_ms: times::now_ms(),
        socket: None,
        drives,
    };
    let lock = Lock::take(&file, &holder)?;
    let sizes = SqliteOptions { size_max_bytes: settings.store_size_max(), ..SqliteOptions::default() };
    Ok((Arc::new(SqliteStore::open(&file, sizes)?), Some(lock)))
}

/// Returns the store that the commands use for this project. Acting on it needs the operator's credential.
fn store_of_project(root: &Path, settings: &Settings) -> Result<PathBuf> {
    let state = StateDir::of(settings.environment());
    let no_state = || crate::failure::CommandFailure::Usage(rawko_settings::NoStateDir.to_string());
    Operator::load(state.as_ref().map_err(|_| no_state()))?;
    if let Some(store) = settings.store_path(root) {
        authority::refuse_named(root, state.as_ref().ok(), &store)?;
        return Ok(store);
    }
    let state = state.map_err(|_| no_state())?;
    let store = state.store(root);
    state.make().map_err(|error| Error::Usage(format!("{}: {error}", state.path().display())))?;
    authority::move_in(root, &state, &store)?;
    Ok(store)
}

/// Puts the models of the program in place of those of the settings.
fn with_models(mut agent_services: AgentServices, options: &ProjectOptions) -> AgentServices {
    let mut providers = std::mem::take(&mut agent_services.providers);
    for (name, provider) in &options.providers {
        providers = providers.with(name, Arc::clone(provider));
    }
    if let Some(script) = &options.script {
        providers = providers.only(script.clone());
    }
    agent_services.providers = match &options.observer {
        Some(observer) => work::observed(providers, Arc::clone(observer)),
        None => providers,
    };
    agent_services
}

/// Fails if there is an error among these findings, with all of them.
fn refuse(problems: &work::AgentProblems) -> Result<()> {
    if !work::is_broken(problems) {
        return Ok(());
    }
    let wrong = problems
        .iter()
        .filter(|(_, findings)| findings.iter().any(|finding| finding.severity >= Severity::Error));
    let texts = wrong.map(|(source, findings)| Error::from(loading::unusable(source, findings)).to_string());
    Err(Error::Invalid(texts.collect::<Vec<_>>().join("\n")))
}
