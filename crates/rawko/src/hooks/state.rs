//! The state of a session's run, read with as little as possible: the settings, one row and one snapshot of the store.
//! Claude Code waits for every hook, so charts, agents and trusted files of the project are not loaded here; changes of
//! the run go through `hosting`, which does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_agents::work;
use rawko_chart::Severity;
use rawko_core::{Chart, NodeId, Snapshot, Status, TransitionTrigger, Value};
use rawko_host::{Flags, Settings, SnapshotReader};
use rawko_settings::{StateDir, short_hash};
use rawko_store::{SqliteOptions, SqliteStore};
use rawko_tools::{Grant, GrantLayer, Permissions};

use crate::authority;
use crate::failure::CommandFailure;
use crate::hosting::{ProjectContext, StoreArgs};
use crate::project::LoadedProject;

/// Longest part of a session id in the id of its run.
const SESSION_CHARS_MAX: usize = 48;
/// The tag of states in which Claude must not stop yet.
const KEEP_WORKING: &str = "keep_working";
/// The key of the context with a text for Claude.
const NOTICE: &str = "notice";

/// Where the run of a session is stored, and the rules of the settings.
pub(super) struct HookPlace {
    pub(super) root: PathBuf,
    store: Option<PathBuf>,
    pub(super) permissions: Vec<Permissions>,
}

/// A run as it stands.
pub(super) struct RunState {
    pub(super) id: String,
    chart: Arc<Chart>,
    snapshot: Snapshot,
}

/// Returns the id of the run of a session.
pub(super) fn run_id(session: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    match session.len() <= SESSION_CHARS_MAX && session.chars().all(is_plain) {
        true => format!("claude-{session}"),
        false => format!("claude-{}", short_hash(session.as_bytes())),
    }
}

impl HookPlace {
    /// Finds the project of a session. `directory` is where Claude Code was started.
    pub(super) fn find(directory: &Path, args: &StoreArgs) -> Result<HookPlace, CommandFailure> {
        let root = LoadedProject::home_above(directory).ok_or_else(|| {
            CommandFailure::Usage(format!(
                "there is no `.rawko` in `{}` or above; run `rawko init --claude` there",
                directory.display()
            ))
        })?;
        let (settings, problems) = Settings::read(&root);
        let (permissions, wrong) = work::permissions(&settings);
        let is_error = |finding: &rawko_chart::Finding| finding.severity >= Severity::Error;
        let broken = problems.iter().find(|(_, findings)| findings.iter().any(is_error));
        let broken = broken.map(|(source, _)| source.name.to_string());
        let broken = broken.or_else(|| {
            let (file, _) = wrong.iter().find(|(_, findings)| findings.iter().any(is_error))?;
            Some(file.to_string())
        });
        if let Some(file) = broken {
            return Err(CommandFailure::Invalid(format!("invalid settings in `{file}`; see `rawko doctor`")));
        }
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let flags = Flags { store: args.store.as_ref().map(absolute), ..Flags::default() };
        let settings = settings.with_flags(flags);
        let store = store(&root, &settings, args)?;
        Ok(HookPlace { root, store, permissions })
    }

    /// Reads the run of a session; `None` if it has not begun.
    pub(super) fn run(&self, id: &str, args: &StoreArgs) -> Result<Option<RunState>, CommandFailure> {
        let Some(reader) = self.reader(args)? else { return Ok(None) };
        let Some(row) = reader.store().find(id)? else { return Ok(None) };
        let restored = reader.snapshot(&row, None)?;
        Ok(Some(RunState { id: id.to_owned(), chart: restored.chart, snapshot: restored.snapshot }))
    }

    fn reader(&self, args: &StoreArgs) -> Result<Option<SnapshotReader>, CommandFailure> {
        let Some(store) = &self.store else {
            return ProjectContext::in_directory(&self.root, args)?.reader();
        };
        let mut log = store.clone().into_os_string();
        log.push("-wal");
        if !store.exists() && !Path::new(&log).exists() {
            return Ok(None);
        }
        let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
        match SqliteStore::open(store, options) {
            Ok(store) => Ok(Some(SnapshotReader::new(Arc::new(store)))),
            // The creation was interrupted; the next host creates it.
            Err(_) if SqliteStore::is_blank(store) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the file of the store; `None` if the instances are on Restate.
fn store(root: &Path, settings: &Settings, args: &StoreArgs) -> Result<Option<PathBuf>, CommandFailure> {
    if args.host.is_remote(settings)? {
        return Ok(None);
    }
    let state = StateDir::of(settings.environment());
    match settings.store_path(root) {
        Some(store) => {
            let is_chosen = args.store.is_some()
                || settings.environment().get("RAWKO_STORE").is_some_and(|path| !path.is_empty());
            if !is_chosen {
                authority::refuse_named(root, state.as_ref().ok(), &store)?;
            }
            Ok(Some(store))
        }
        None => state
            .map(|state| Some(state.store(root)))
            .map_err(|error| CommandFailure::Usage(error.to_string())),
    }
}

impl RunState {
    /// Returns true if a transition of an active state waits for this event.
    pub(super) fn handles(&self, event: &str) -> bool {
        if self.snapshot.status() != Status::Active {
            return false;
        }
        let active = self.chart.active(self.snapshot.configuration());
        self.chart.transition_ids().map(|id| self.chart.transition(id)).any(|transition| {
            matches!(&transition.trigger, TransitionTrigger::Event(descriptor) if matches(descriptor, event))
                && active.contains(transition.source)
        })
    }

    /// Returns the tools of the active states as a grant, with the rules of the settings.
    pub(super) fn grant(&self, permissions: impl IntoIterator<Item = Permissions>) -> Grant {
        let mut layers: Vec<GrantLayer> = self.leaves().filter_map(|leaf| self.layer(leaf)).collect();
        if self.snapshot.status() != Status::Active {
            let source = format!("the run `{}`, which is over", self.id);
            let blocked = ["Write", "Edit"].map(str::to_owned).to_vec();
            layers.push(GrantLayer { source, blocked, ..GrantLayer::default() });
        }
        let mut grant = Grant::new(layers);
        grant.add_permissions(permissions);
        grant
    }

    fn layer(&self, leaf: NodeId) -> Option<GrantLayer> {
        let node = self.chart.node(leaf);
        let tools = node.policy.get("tools");
        let names = |key: &str| -> Option<Vec<String>> {
            let list = tools.get(key).as_list()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        tools.as_map()?;
        Some(GrantLayer {
            source: format!("the state `{}` of the chart `{}`", node.path, self.chart.id()),
            allowed: names("allowed"),
            blocked: names("blocked").unwrap_or_default(),
            ..GrantLayer::default()
        })
    }

    /// Returns true if Claude must not stop in this state.
    pub(super) fn keeps_working(&self) -> bool {
        let tagged = |leaf: NodeId| {
            let mut around = std::iter::successors(Some(leaf), |node| self.chart.node(*node).parent);
            around.any(|node| self.chart.node(node).docs.tags.iter().any(|tag| tag == KEEP_WORKING))
        };
        self.snapshot.status() == Status::Active && self.leaves().any(tagged)
    }

    /// Returns the active states as paths.
    pub(super) fn states(&self) -> String {
        self.chart.leaf_paths(self.snapshot.configuration()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the states with their descriptions, and the notice of the chart.
    pub(super) fn words(&self) -> String {
        let described = self.leaves().filter_map(|leaf| self.chart.node(leaf).docs.description.as_deref());
        let mut words = format!("state `{}`", self.states());
        if self.snapshot.status() != Status::Active {
            words = format!("the run is over ({words})");
        }
        for text in described.map(str::trim).filter(|text| !text.is_empty()) {
            words += ": ";
            words += text;
        }
        if let Some(notice) = self.notice() {
            words += "\n";
            words += &notice;
        }
        words
    }

    fn notice(&self) -> Option<String> {
        let context = self.snapshot.context_map(&self.chart);
        let notice = context.get(NOTICE).as_str()?.trim().to_owned();
        Some(notice).filter(|notice| !notice.is_empty())
    }

    /// Returns the id of the chart.
    pub(super) fn chart(&self) -> &str {
        self.chart.id()
    }

    fn leaves(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.snapshot.configuration().frontier().iter().copied()
    }
}

/// Returns true if an event descriptor of a chart covers an event.
fn matches(descriptor: &str, event: &str) -> bool {
    match descriptor.strip_suffix(".*") {
        Some(prefix) => {
            event.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }
        None => descriptor == event || descriptor == "*",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_run_whatever_its_id() {
        let uuid = "1f0c5bb2-0d6e-4a59-9c6b-2f6d1d0a7f11";
        assert_eq!(run_id(uuid), format!("claude-{uuid}"));
        let odd = run_id("../../x y");
        assert!(odd.starts_with("claude-") && !odd.contains(['/', ' ', '.']), "{odd}");
        assert_ne!(odd, run_id("../../x z"));
    }

    #[test]
    fn descriptors_cover_events() {
        for (descriptor, event, expected) in [
            ("Stop", "Stop", true),
            ("PostToolUse.Edit", "PostToolUse.Edit", true),
            ("PostToolUse.*", "PostToolUse.Edit", true),
            ("PostToolUse.*", "PostToolUseFailure.Edit", false),
            ("*", "Stop", true),
            ("PostToolUse", "PostToolUse.Edit", false),
        ] {
            assert_eq!(matches(descriptor, event), expected, "{descriptor} {event}");
        }
    }
}
