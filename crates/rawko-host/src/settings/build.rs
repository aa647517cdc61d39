//! Builds services, endpoints and the gate from settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rawko_chart::Finding;
use rawko_chart::codes::settings::NEVER_ALLOWED;
use rawko_core::{ServiceSpec, Value};
use rawko_process::{Confinement, Profile, ProjectAccess};

use super::Settings;
use super::checklist::ChecklistEntry;
use super::definition::{Form, ServiceDefinition};
use super::layer::Pattern;
use crate::services::command::CommandService;
use crate::services::http::{HttpClients, HttpService, TIMEOUT};
use crate::services::remote::{RemoteService, RemoteServices, Schemas};
use crate::services::{Environment, Service, Services, ToolService};
use rawko_instance::{Checklist, Gate};
use rawko_settings::{program_host_rules, requires_sandbox};

impl Settings {
    /// Returns the services that charts can invoke. Programs run in the project.
    pub fn services(&self, project_root: &Path) -> Services {
        self.built(&self.said.services, project_root)
    }

    /// Returns the specs of the services that these settings define.
    pub fn service_specs(&self) -> Vec<ServiceSpec> {
        let specs = self.said.services.iter().map(|(name, definition)| ServiceSpec {
            input: definition.input.clone(),
            output: definition.output.clone(),
            on_restart: definition.on_restart,
            ..ServiceSpec::named(name)
        });
        specs.collect()
    }

    /// Returns the services that agents may call as tools.
    pub fn tool_services(&self, project_root: &Path) -> Vec<ToolService> {
        let (client, confinement) = (Arc::new(HttpClients::default()), self.confinement(project_root));
        let gate = self.gate();
        let tools = self.said.services.iter().filter(|(_, definition)| definition.is_tool);
        tools
            .filter_map(|(name, definition)| {
                let is_confined = self.requires_sandbox_outside(&definition.file);
                let shared = (&client, &self.remote);
                let service =
                    definition.service((name, is_confined), &confinement, &self.environment, shared)?;
                Some(ToolService {
                    name: name.as_str().into(),
                    description: definition.description.clone().unwrap_or_default(),
                    input: definition.input.clone(),
                    remote: self.remote.clone(),
                    may_write: matches!(definition.form, Some(Form::Command(_))),
                    refusal: gate.by_settings(name, None).err(),
                    service,
                })
            })
            .collect()
    }

    /// Returns the targets of `send`.
    pub fn endpoints(&self, project_root: &Path) -> Services {
        self.built(&self.said.endpoints, project_root)
    }

    /// Returns the bounds of the project's programs.
    pub fn confinement(&self, project_root: &Path) -> Confinement {
        let root = std::path::absolute(project_root).unwrap_or_else(|_| project_root.to_owned());
        let tools: Vec<_> = self.sections("tools").map(|section| &section.document).collect();
        let mut confinement = self.environment.confinement_of(root, &tools);
        if let Some(egress) = &mut confinement.egress {
            let own = self.user_file().map(|(_, shown)| shown);
            let sections = self.sections("permissions");
            egress.rules = program_host_rules(
                sections
                    .map(|section| (&section.document, &*section.file, Some(&section.file) == own.as_ref())),
            );
        }
        confinement
    }

    /// Returns true if a file outside of this one requires a sandbox, which a service in it cannot lift.
    fn requires_sandbox_outside(&self, file: &str) -> bool {
        let outer = self.sources.iter().skip_while(|(name, _)| &**name != file).skip(1);
        let outer: Vec<&str> = outer.map(|(name, _)| &**name).collect();
        let mut sections = self.sections("tools").filter(|section| outer.contains(&&*section.file));
        sections.any(|section| requires_sandbox(&section.document))
    }

    fn built(&self, definitions: &BTreeMap<String, ServiceDefinition>, project_root: &Path) -> Services {
        let (client, confinement) = (Arc::new(HttpClients::default()), self.confinement(project_root));
        definitions.iter().fold(Services::new(), |services, (name, definition)| {
            let is_confined = self.requires_sandbox_outside(&definition.file);
            let shared = (&client, &self.remote);
            match definition.service((name, is_confined), &confinement, &self.environment, shared) {
                Some(service) => services.add(name, service),
                None => services,
            }
        })
    }

    /// Builds the gate from `governance` of all layers.
    pub fn gate(&self) -> Gate {
        let mut gate = Gate::limited(self.said.calls_max);
        let mut lists = self.said.allow.iter();
        // An unreadable pattern was reported; it allows nothing.
        let fill = |gate: &mut Gate, patterns: &[Pattern]| {
            patterns.iter().for_each(|pattern| drop(gate.allow(&pattern.text, &pattern.file)));
        };
        lists.next().into_iter().for_each(|nearest| fill(&mut gate, nearest));
        for list in lists {
            let mut outer = Gate::limited(None);
            fill(&mut outer, list);
            gate = gate.within(outer);
        }
        for pattern in &self.said.deny {
            // An unreadable pattern might match any name, so everything is denied.
            let denied = gate.deny(&pattern.text, &pattern.file);
            let _ = denied.or_else(|_| gate.deny("*", &pattern.file));
        }
        gate.with_checklist(self.checklist())
    }

    /// Returns the gate for simulations of the project's charts: [`Settings::gate`], except that settings without any
    /// `governance.allow` forbid only what they deny. Such a project has not decided yet what its charts may call.
    pub fn simulated_gate(&self) -> Gate {
        let gate = self.gate();
        if self.said.allow.is_empty() { gate.opened() } else { gate }
    }

    /// Returns the provenance checklist. The notes of a service are its approval, after those of `approvals`.
    fn checklist(&self) -> Checklist {
        let mut list = Checklist::default();
        for entry in &self.said.checklist {
            match entry {
                ChecklistEntry::Required { kind, field, file } => list.require(kind, field, file),
                ChecklistEntry::Approved { name, record, file } => list.approve(name, record.clone(), file),
            }
        }
        for (name, definition) in self.said.services.iter().chain(&self.said.endpoints) {
            if definition.provenance.as_map().is_some() {
                list.approve(name, definition.provenance.clone(), &definition.file);
            }
        }
        list
    }

    /// Reports services of a file that the gate never allows.
    pub(super) fn never_allowed(&self, file: &Arc<str>) -> Vec<Finding> {
        let gate = self.gate();
        let all = self.said.services.iter().chain(&self.said.endpoints);
        all.filter(|(_, definition)| definition.file == *file)
            .filter_map(|(name, definition)| {
                let rule = gate.by_settings(name, None).err()?;
                let message = format!("every call of `{name}` is refused");
                Some(NEVER_ALLOWED.at(definition.span, message).help(rule))
            })
            .collect()
    }
}

impl ServiceDefinition {
    fn service(
        &self,
        (name, is_confined): (&str, bool),
        confinement: &Confinement,
        environment: &Environment,
        (client, remote): (&Arc<HttpClients>, &RemoteServices),
    ) -> Option<Arc<dyn Service>> {
        let (environment, kept) = (environment.clone(), (self.on_restart, self.provenance()));
        Some(match self.form.clone()? {
            Form::Command(mut form) => {
                let usual = Profile::Program(ProjectAccess::Write);
                form.is_trusted &= !is_confined;
                form.is_trusted |= confinement.profile_of("service", name, usual) == Profile::Trusted;
                Arc::new(CommandService::new(form, confinement.clone(), self.timeout, environment, kept))
            }
            Form::Http(form) => {
                let timeout = self.timeout.unwrap_or(TIMEOUT);
                Arc::new(HttpService::new(form, Arc::clone(client), timeout, environment, kept))
            }
            Form::Remote(form) => {
                remote.declare(name, Schemas { input: self.input.clone(), output: self.output.clone() });
                Arc::new(RemoteService::new(form, remote.clone(), self.timeout, kept))
            }
        })
    }

    /// Returns the origin for the audit: the program or URL, its file, and the owner's notes.
    fn provenance(&self) -> Value {
        let mut entries = match &self.form {
            Some(Form::Command(form)) => form.provenance(),
            Some(Form::Http(form)) => form.provenance(),
            Some(Form::Remote(form)) => form.provenance(),
            None => Vec::new(),
        };
        entries.push(("settings", Value::str(&self.file)));
        if let Some(description) = &self.description {
            entries.push(("description", Value::str(description)));
        }
        if !self.provenance.is_null() {
            entries.push(("provenance", self.provenance.clone()));
        }
        Value::map(entries)
    }
}
