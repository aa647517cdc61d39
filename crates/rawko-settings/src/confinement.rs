//! The bounds of a project's programs, from its settings. Read here, because hosts without agents start programs too.

use std::path::{Path, PathBuf};

use rawko_chart::SpannedValue;
use rawko_process::{Confinement, Egress, Sandbox};

use crate::Environment;

impl Environment {
    /// Returns the default bounds for programs of a project.
    pub fn confinement(&self, root: impl Into<PathBuf>) -> Confinement {
        let usual = Confinement::of_project(root);
        let home = self.get("HOME").map(PathBuf::from).or_else(|| usual.home.clone());
        Confinement { home, ..usual }
    }

    /// Returns the bounds that the sections `tools` describe, the nearest to the project first. Each only narrows those
    /// outside of it. Mistakes are reported where the sections are read in full; an unknown mode is the strictest here.
    pub fn confinement_of(&self, root: impl Into<PathBuf>, tools: &[&SpannedValue]) -> Confinement {
        let mut confinement = self.confinement(root);
        for (at, inner) in tools.iter().enumerate().rev() {
            let outer = &tools[at + 1..];
            let is_outside = |keys: &[&str]| outer.iter().any(|document| find(document, keys).is_some());
            let had = confinement.sandbox;
            if let Some(sandbox) = sandbox_of(inner) {
                let is_set = is_outside(&["bash", "sandbox"]);
                confinement.sandbox = if is_set { had.stricter(sandbox) } else { sandbox };
            }
            if let Some(network) = inner.get("network") {
                let egress = egress(network);
                confinement.egress = match is_outside(&["network"]) {
                    true => confinement.egress.take().zip(egress).map(|(outer, inner)| inner.within(outer)),
                    false => egress,
                };
            }
            // A sandbox that an outer file requires is required for every program.
            if inner.get("unconfined").is_some()
                && !(had == Sandbox::Require && is_outside(&["bash", "sandbox"]))
            {
                let own = list(inner, "unconfined").into_iter().map(str::to_owned).collect();
                narrow(&mut confinement.unconfined, own, is_outside(&["unconfined"]));
            }
            let paths = |key: &str| -> Vec<PathBuf> {
                let all = list(inner, key).into_iter().map(|text| self.expanded(text));
                all.filter(|path| path.is_absolute()).collect()
            };
            if inner.get("extra_read_paths").is_some() {
                let own = paths("extra_read_paths");
                narrow(&mut confinement.extra_read, own, is_outside(&["extra_read_paths"]));
            }
            if inner.get("extra_write_paths").is_some() {
                let own = paths("extra_write_paths");
                narrow(&mut confinement.extra_write, own, is_outside(&["extra_write_paths"]));
            }
        }
        confinement
    }

    fn expanded(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.get("HOME")) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            (Some(_), None) | (None, _) => PathBuf::from(text),
        }
    }
}

fn list<'d>(at: &'d SpannedValue, key: &str) -> Vec<&'d str> {
    at.get(key).and_then(SpannedValue::items).into_iter().flatten().filter_map(SpannedValue::text).collect()
}

/// Returns true if a section `tools` requires a sandbox.
pub fn requires_sandbox(tools: &SpannedValue) -> bool {
    sandbox_of(tools) == Some(Sandbox::Require)
}

fn find<'d>(document: &'d SpannedValue, keys: &[&str]) -> Option<&'d SpannedValue> {
    keys.iter().try_fold(document, |document, key| document.get(key))
}

fn sandbox_of(tools: &SpannedValue) -> Option<Sandbox> {
    Some(match find(tools, &["bash", "sandbox"])?.to_json() {
        serde_json::Value::String(mode) if mode == "auto" => Sandbox::Auto,
        serde_json::Value::String(mode) if mode == "off" => Sandbox::Off,
        serde_json::Value::Bool(false) => Sandbox::Off,
        _ => Sandbox::Require,
    })
}

/// Replaces a list by that of an inner file, without entries that the outer files do not have.
fn narrow<T: PartialEq>(all: &mut Vec<T>, mut own: Vec<T>, is_set_outside: bool) {
    if is_set_outside {
        own.retain(|entry| all.contains(entry));
    }
    *all = own;
}

fn egress(network: &SpannedValue) -> Option<Egress> {
    let own = |key: &str| list(network, key).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let (hosts, private) = (own("hosts"), own("private"));
    let is_any = !hosts.is_empty() || !private.is_empty();
    is_any.then_some(Egress { hosts: Some(hosts), private, ..Egress::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(yaml: &str) -> SpannedValue {
        SpannedValue::read(yaml).unwrap()
    }

    /// The project's file against the person's: only what both allow.
    #[test]
    fn a_file_only_narrows_those_outside_of_it() {
        let bounds = |project: &str, person: &str| {
            let (project, person) = (tools(project), tools(person));
            let found = Environment::none().confinement_of("/p", &[&project, &person]);
            let hosts = found.egress.and_then(|egress| egress.hosts).unwrap_or_default();
            (found.sandbox, found.unconfined, hosts, found.extra_read)
        };
        let none = || (Vec::<String>::new(), Vec::<String>::new(), Vec::<PathBuf>::new());
        let (unconfined, hosts, read) = none();
        let require = "bash: {sandbox: require}";
        for project in ["bash: {sandbox: off}", "unconfined: ['service:own']", "bash: {sandbox: auto}"] {
            let found = bounds(project, require);
            assert_eq!(
                found,
                (Sandbox::Require, unconfined.clone(), hosts.clone(), read.clone()),
                "{project}"
            );
        }
        let wide = "network: {hosts: [a.example, b.example]}\nextra_read_paths: [/x]";
        assert_eq!(bounds(wide, "network: {hosts: []}\nextra_read_paths: []").2, hosts);
        assert_eq!(bounds(wide, "network: {hosts: ['*.example']}").2, ["a.example", "b.example"]);
        assert_eq!(bounds(wide, "network: {hosts: [b.example]}").2, ["b.example"]);
        assert_eq!(bounds(wide, "extra_read_paths: []").3, read);
        assert_eq!(bounds(wide, "{}").3, [PathBuf::from("/x")]);
        assert_eq!(bounds("unconfined: ['mcp:a']", "{}").1, ["mcp:a"]);
    }
}
