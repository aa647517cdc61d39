//! Settings: `.rawko/config.yaml` merged with the user's file, the environment and the flags, with a position for every
//! finding. Separate from the host, which gets services, a gate and numbers, and never reads a file.

mod build;
mod checklist;
mod command;
mod definition;
mod files;
mod http;
mod layer;
mod reader;
mod remote;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rawko_chart::{Finding, Severity, SourceFile};
use rawko_core::Value;

pub use rawko_settings::{Section, SettingsReader, parse_size};

use rawko_settings::SectionSource;

use layer::SettingsLayer;

use crate::services::{Environment, RemoteServices};
use rawko_instance::{InstanceLimits, SETTINGS_FILE};

const SHUTDOWN_GRACE: Duration = Duration::from_secs(30);

/// The merged settings of a project, its user, the environment and the flags.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    said: SettingsLayer,
    environment: Environment,
    /// The texts that were read, by the name of their file in sections.
    sources: Vec<(Arc<str>, SourceFile)>,
    /// The queue of remote services, shared by all clones.
    remote: RemoteServices,
}

/// Settings from the command line, which take precedence over all others.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Path of the store.
    pub store: Option<PathBuf>,
    /// In bytes.
    pub store_size_max: Option<u64>,
    /// Instances kept in memory.
    pub instances_in_memory: Option<usize>,
}

impl Settings {
    /// Reads the settings of a project, with all findings by file. Precedence: environment, project file, user file,
    /// managed files, defaults; permissions and limits are only narrowed by each.
    pub fn read(project_root: &Path) -> (Self, Vec<(SourceFile, Vec<Finding>)>) {
        files::read(project_root, &Environment::of_process())
    }

    /// Like [`Settings::read`], with an explicit environment.
    pub fn read_in(
        project_root: &Path,
        environment: &Environment,
    ) -> (Self, Vec<(SourceFile, Vec<Finding>)>) {
        files::read(project_root, environment)
    }

    /// Reads one text as the settings of a project, without reading any file.
    pub fn of_source(source: &SourceFile, environment: &Environment) -> (Self, Vec<Finding>) {
        let file = Arc::from(SETTINGS_FILE);
        let (said, mut findings) = SettingsLayer::of_text(&source.text, &file, environment);
        let sources = vec![(Arc::clone(&file), source.clone())];
        let remote = RemoteServices::default();
        let settings = Self { said, environment: environment.clone(), sources, remote };
        if !is_wrong(&findings) {
            findings.extend(settings.never_allowed(&file));
        }
        (settings, findings)
    }

    /// Returns true if an administrator manages the file of a section: not even a flag of a person exceeds its limits.
    pub fn is_managed(&self, section: &Section) -> bool {
        files::is_managed(&section.file, &self.environment)
    }

    /// Returns the path of the user's settings file, which may not exist, and its name in messages.
    pub fn user_file(&self) -> Option<(PathBuf, Arc<str>)> {
        files::user(&self.environment)
    }

    /// Applies flags on top of all files.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        let Flags { store, store_size_max, instances_in_memory } = flags;
        let above = SettingsLayer {
            store_path: store,
            store_size_max,
            instances_in_memory,
            ..SettingsLayer::default()
        };
        Self { said: above.over(self.said), ..self }
    }

    /// Returns the path of the store; `None` if unset, which means the user's state directory. A path in a file is
    /// relative to the project.
    pub fn store_path(&self, project_root: &Path) -> Option<PathBuf> {
        Some(project_root.join(self.said.store_path.as_deref()?))
    }

    /// Returns the maximum size of the store in bytes; `None` if unset.
    pub fn store_size_max(&self) -> Option<u64> {
        self.said.store_size_max
    }

    /// Returns the number of instances kept in memory; `None` if unset: see `HostBuilder::in_memory_max`.
    pub fn instances_in_memory(&self) -> Option<usize> {
        self.said.instances_in_memory
    }

    /// Returns the bounds on recursion and runaway loops.
    pub fn limits(&self) -> InstanceLimits {
        let (said, default) = (&self.said, InstanceLimits::default());
        InstanceLimits {
            generations_max: said.generations_max.unwrap_or(default.generations_max),
            children_per_second_max: said.children_per_second_max.unwrap_or(default.children_per_second_max),
            zero_delay_steps_max: said.zero_delay_steps_max.unwrap_or(default.zero_delay_steps_max),
            failed_calls_max: said.failed_calls_max.unwrap_or(default.failed_calls_max),
            family_instances_max: said.family_instances_max.unwrap_or(default.family_instances_max),
            family_per_second_max: said.family_per_second_max.unwrap_or(default.family_per_second_max),
            family_per_hour_max: said.family_per_hour_max.unwrap_or(default.family_per_hour_max),
            message_hops_max: said.message_hops_max.unwrap_or(default.message_hops_max),
            messages_per_cause_max: said.messages_per_cause_max.unwrap_or(default.messages_per_cause_max),
        }
    }

    /// Returns how long running calls may take to finish during shutdown.
    pub fn shutdown_grace(&self) -> Duration {
        self.said.shutdown_grace.unwrap_or(SHUTDOWN_GRACE)
    }

    /// Returns the values of `env.NAME` in charts: the variables that settings list and that are set.
    pub fn env(&self) -> Value {
        let names = self.said.env.iter().flatten();
        Value::map(names.filter_map(|name| Some((name.as_str(), Value::str(self.environment.get(name)?)))))
    }

    /// Returns a section for another reader (`providers`, `turns`), the project's before the user's.
    pub fn sections<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'s Section> {
        self.said.sections.iter().filter(move |section| section.key == key)
    }

    /// Returns the text of a file that sections name, to show findings at their place.
    pub fn source(&self, file: &str) -> SourceFile {
        let found = self.sources.iter().find(|(name, _)| &**name == file);
        found.map_or_else(|| SourceFile::new(file, ""), |(_, source)| source.clone())
    }

    /// Returns true for the name of one of these settings files, as sections have it.
    pub fn has_file(&self, file: &str) -> bool {
        self.sources.iter().any(|(name, _)| &**name == file)
    }

    /// Returns the environment that the settings were read with.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the queue of the services that other programs provide. Known to it are the services that were built.
    pub fn remote_services(&self) -> &RemoteServices {
        &self.remote
    }

    /// Returns the names of all services, sorted, including invalid ones.
    pub fn service_names(&self) -> Vec<&str> {
        self.said.services.keys().map(String::as_str).collect()
    }

    /// Returns the names of all endpoints (targets of `send`), sorted.
    pub fn endpoint_names(&self) -> Vec<&str> {
        self.said.endpoints.keys().map(String::as_str).collect()
    }
}

impl SectionSource for Settings {
    fn sections_of(&self, key: &str) -> Vec<&Section> {
        self.said.sections.iter().filter(|section| section.key == key).collect()
    }

    fn environment_of(&self) -> &Environment {
        &self.environment
    }
}

/// Returns true if a finding is worse than a warning, so that the meaning of the whole is uncertain.
fn is_wrong(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity > Severity::Warning)
}
