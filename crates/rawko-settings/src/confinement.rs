//! The bounds of a project's programs, from its settings. Read here, because hosts without agents start programs too.

use std::path::{Path, PathBuf};

use rawko_chart::Document;
use rawko_process::{Confinement, Egress, Sandbox};

use crate::Environment;

impl Environment {
    /// Returns the default bounds for programs of a project.
    pub fn confinement(&self, root: impl Into<PathBuf>) -> Confinement {
        let usual = Confinement::of_project(root);
        let home = self.get("HOME").map(PathBuf::from).or_else(|| usual.home.clone());
        Confinement { home, ..usual }
    }

    /// Returns the bounds that the section `tools` describes. Mistakes are reported where the section is read in full; an
    /// unknown mode is the strictest here.
    pub fn confinement_of(&self, root: impl Into<PathBuf>, tools: Option<&Document>) -> Confinement {
        let mut confinement = self.confinement(root);
        let Some(tools) = tools else { return confinement };
        if let Some(sandbox) = tools.get("bash").and_then(|bash| bash.get("sandbox")) {
            confinement.sandbox = match sandbox.to_json() {
                serde_json::Value::String(mode) if mode == "auto" => Sandbox::Auto,
                serde_json::Value::String(mode) if mode == "off" => Sandbox::Off,
                serde_json::Value::Bool(false) => Sandbox::Off,
                _ => Sandbox::Require,
            };
        }
        let texts = |key: &str| list(tools, key);
        let paths = |key: &str| -> Vec<PathBuf> {
            texts(key).into_iter().map(|text| self.expanded(text)).filter(|path| path.is_absolute()).collect()
        };
        if let Some(network) = tools.get("network") {
            let own = |key: &str| list(network, key).into_iter().map(str::to_owned).collect::<Vec<_>>();
            let (hosts, private) = (own("hosts"), own("private"));
            let is_any = !hosts.is_empty() || !private.is_empty();
            confinement.egress = is_any.then_some(Egress { hosts: Some(hosts), private });
        }
        confinement.unconfined = texts("unconfined").into_iter().map(str::to_owned).collect();
        confinement.extra_read = paths("extra_read_paths");
        confinement.extra_write = paths("extra_write_paths");
        confinement
    }

    fn expanded(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.get("HOME")) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            (Some(_), None) | (None, _) => PathBuf::from(text),
        }
    }
}

fn list<'d>(at: &'d Document, key: &str) -> Vec<&'d str> {
    at.get(key).and_then(Document::items).into_iter().flatten().filter_map(Document::text).collect()
}
