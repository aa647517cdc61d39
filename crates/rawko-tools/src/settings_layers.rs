//! Tool settings of several files: managed, the user's, the project's. Each file only narrows the permissions of those
//! outside of it; preferences such as a timeout are the nearest file's.

use rawko_chart::SpannedValue;
use rawko_process::{Egress, common_hosts, covers_host};
use rawko_settings::{Section, SettingsReader};

use super::grant::GrantLayer;
use super::sampling::SamplingSettings;
use super::settings::{BashSettings, Sandbox, ToolSettings, WebSettings};

/// The settings of all files together, and one layer of each for every grant.
#[derive(Clone, Debug, Default)]
pub struct LayeredTools {
    /// The settings of the tools, narrowed by every layer.
    pub settings: ToolSettings,
    /// Outermost first.
    pub layers: Vec<GrantLayer>,
}

impl LayeredTools {
    /// Reads the sections `tools`, the nearest to the project first. Problems are reported to the reader.
    pub fn read(reader: &mut SettingsReader<'_>, sections: &[&Section]) -> Self {
        let mut all = Self { settings: ToolSettings::default(), layers: Vec::new() };
        let mut outer: Vec<&SpannedValue> = Vec::new();
        for section in sections.iter().rev() {
            let read = ToolSettings::read(reader, &section.document);
            let own = read.project_layer();
            let source = match &*section.file {
                ".rawko/config.yaml" => own.source.clone(),
                file => format!("the settings of the person (`tools` in {file})"),
            };
            all.layers.push(GrantLayer { source, ..own });
            let place = SectionFiles { outer: &outer, inner: &section.document };
            all.settings = narrowed(all.settings, read, &place);
            outer.push(&section.document);
        }
        if all.layers.is_empty() {
            all.layers.push(all.settings.project_layer());
        }
        all
    }
}

/// The files around a section, to know which keys were set where.
struct SectionFiles<'d> {
    outer: &'d [&'d SpannedValue],
    inner: &'d SpannedValue,
}

impl SectionFiles<'_> {
    fn is_set(&self, keys: &[&str]) -> bool {
        at(self.inner, keys).is_some()
    }

    fn is_set_outside(&self, keys: &[&str]) -> bool {
        self.outer.iter().any(|document| at(document, keys).is_some())
    }

    /// The inner value if it is set, else the outer one.
    fn nearest<T>(&self, keys: &[&str], outer: T, inner: T) -> T {
        if self.is_set(keys) { inner } else { outer }
    }

    /// A list that widens: entries of the inner file count only as far as the outer files, if they have the key, contain
    /// them.
    fn within<T: PartialEq>(&self, keys: &[&str], outer: Vec<T>, inner: Vec<T>) -> Vec<T> {
        match (self.is_set(keys), self.is_set_outside(keys)) {
            (false, _) => outer,
            (true, false) => inner,
            (true, true) => inner.into_iter().filter(|entry| outer.contains(entry)).collect(),
        }
    }
}

fn at<'d>(document: &'d SpannedValue, keys: &[&str]) -> Option<&'d SpannedValue> {
    keys.iter().try_fold(document, |document, key| document.get(key))
}

/// Takes settings apart completely, so that a new setting does not compile until its narrowing is defined here.
fn narrowed(outer: ToolSettings, inner: ToolSettings, place: &SectionFiles<'_>) -> ToolSettings {
    let ToolSettings {
        bash,
        web,
        search,
        sampling,
        allowed,
        blocked,
        extra_write_paths,
        extra_read_paths,
        unconfined,
        network,
    } = inner;
    // A sandbox that is required for commands is required for every program.
    let unconfined = match outer.bash.sandbox {
        Sandbox::Require => outer.unconfined,
        Sandbox::Auto | Sandbox::Off => place.within(&["unconfined"], outer.unconfined, unconfined),
    };
    ToolSettings {
        unconfined,
        network: narrowed_network(outer.network, network, place),
        extra_read_paths: place.within(&["extra_read_paths"], outer.extra_read_paths, extra_read_paths),
        bash: narrowed_bash(outer.bash, bash, place),
        web: narrowed_web(outer.web, web, place),
        // Where queries and the key go is the person's decision, if it was made.
        search: if place.is_set_outside(&["search"]) { outer.search } else { search },
        sampling: narrowed_sampling(outer.sampling, sampling, place),
        // The layers of the grant hold the rules of every file.
        allowed: allowed.or(outer.allowed),
        blocked: [outer.blocked, blocked].concat(),
        extra_write_paths: place.within(&["extra_write_paths"], outer.extra_write_paths, extra_write_paths),
    }
}

/// Servers that may use the model: those that every file with the key names.
fn narrowed_sampling(
    outer: Option<SamplingSettings>,
    inner: Option<SamplingSettings>,
    place: &SectionFiles<'_>,
) -> Option<SamplingSettings> {
    match (place.is_set(&["sampling"]), place.is_set_outside(&["sampling"])) {
        (false, _) => outer,
        (true, false) => inner,
        (true, true) => Some(inner?.within(outer?)),
    }
}

/// Hosts that programs may reach: those that every file with the key allows.
fn narrowed_network(
    outer: Option<Egress>,
    inner: Option<Egress>,
    place: &SectionFiles<'_>,
) -> Option<Egress> {
    match (place.is_set(&["network"]), place.is_set_outside(&["network"])) {
        (false, _) => outer,
        (true, false) => inner,
        (true, true) => Some(inner?.within(outer?)),
    }
}

fn narrowed_bash(outer: BashSettings, inner: BashSettings, place: &SectionFiles<'_>) -> BashSettings {
    let BashSettings {
        timeout,
        output_max,
        sandbox,
        allowed_commands,
        blocked_patterns,
        inherited,
        passed,
        set,
    } = inner;
    let is_set = |name: &String| set.iter().any(|(known, _)| known == name);
    let kept = outer.set.into_iter().filter(|(name, _)| !is_set(name)).collect::<Vec<_>>();
    BashSettings {
        timeout: place.nearest(&["bash", "timeout"], outer.timeout, timeout),
        output_max: place.nearest(&["bash", "output_max"], outer.output_max, output_max),
        sandbox: match (place.is_set(&["bash", "sandbox"]), place.is_set_outside(&["bash", "sandbox"])) {
            (false, _) => outer.sandbox,
            (true, false) => sandbox,
            (true, true) => outer.sandbox.stricter(sandbox),
        },
        allowed_commands: allowed_commands.or(outer.allowed_commands),
        blocked_patterns: [outer.blocked_patterns, blocked_patterns].concat(),
        inherited,
        passed: place.within(&["bash", "env"], outer.passed, passed),
        set: [kept, set].concat(),
    }
}

fn narrowed_web(outer: WebSettings, inner: WebSettings, place: &SectionFiles<'_>) -> WebSettings {
    let WebSettings { hosts, private } = inner;
    // A host in `private` may be fetched although `hosts` does not list it.
    let mut limits = Vec::new();
    limits.extend(place.is_set_outside(&["web", "private"]).then_some(&outer.private));
    limits.extend(outer.hosts.as_ref());
    let is_within = |host: &String| {
        limits.is_empty() || limits.iter().any(|list| list.iter().any(|wide| covers_host(wide, host)))
    };
    let private = match place.is_set(&["web", "private"]) {
        true => private.into_iter().filter(is_within).collect(),
        false => outer.private.clone(),
    };
    let hosts = match (hosts, outer.hosts) {
        (Some(inner), Some(outer)) => Some(common_hosts(&inner, &outer)),
        (inner, outer) => inner.or(outer),
    };
    WebSettings { hosts, private }
}

#[cfg(test)]
mod tests {
    use rawko_settings::Environment;

    use super::*;

    fn read(files: &[(&str, &str)]) -> LayeredTools {
        let section = |(file, text): &(&str, &str)| Section {
            key: "tools".into(),
            file: (*file).into(),
            document: SpannedValue::read(text).unwrap(),
        };
        let sections: Vec<Section> = files.iter().map(section).collect();
        let mut reader = SettingsReader::new(Environment::none());
        let all = LayeredTools::read(&mut reader, &sections.iter().collect::<Vec<_>>());
        assert_eq!(reader.findings, []);
        all
    }

    #[test]
    fn a_project_only_narrows_what_the_person_allows() {
        for (project, user, sandbox, hosts, private) in [
            ("bash: {sandbox: off}", "bash: {sandbox: require}", Sandbox::Require, None, ""),
            ("bash: {sandbox: require}", "bash: {sandbox: off}", Sandbox::Require, None, ""),
            ("bash: {sandbox: off}", "bash: {sandbox: auto}", Sandbox::Auto, None, ""),
            ("bash: {timeout: 1s}", "bash: {sandbox: require}", Sandbox::Require, None, ""),
            ("bash: {sandbox: off}", "web: {}", Sandbox::Off, None, ""),
            ("web: {hosts: ['*']}", "web: {hosts: [docs.rs]}", Sandbox::Auto, Some("docs.rs"), ""),
            ("web: {hosts: [a.b.c, x.y]}", "web: {hosts: ['*.c']}", Sandbox::Auto, Some("a.b.c"), ""),
            ("web: {hosts: [x.y]}", "web: {hosts: [docs.rs]}", Sandbox::Auto, Some(""), ""),
            ("web: {private: [evil.test]}", "web: {hosts: [docs.rs]}", Sandbox::Auto, Some("docs.rs"), ""),
            ("web: {private: ['a:1', 'b:2']}", "web: {private: [a]}", Sandbox::Auto, None, "a:1"),
            ("web: {private: ['a:1']}", "bash: {}", Sandbox::Auto, None, "a:1"),
        ] {
            let all = read(&[(".rawko/config.yaml", project), ("user.yaml", user)]);
            assert_eq!(all.settings.bash.sandbox, sandbox, "{project} {user}");
            assert_eq!(all.settings.web.hosts.map(|hosts| hosts.join(",")).as_deref(), hosts, "{project}");
            assert_eq!(all.settings.web.private.join(","), private, "{project}");
        }
    }

    #[test]
    fn servers_use_the_model_if_every_file_with_the_key_says_so() {
        for (project, user, servers, completions_max) in [
            ("sampling: {servers: [a, b]}", "bash: {}", Some("a,b"), 5),
            ("bash: {}", "sampling: {servers: [a]}", Some("a"), 5),
            ("sampling: {servers: [a, b]}", "sampling: {servers: [b], completions_max: 2}", Some("b"), 2),
            ("sampling: {servers: [a], completions_max: 9}", "sampling: {servers: []}", Some(""), 5),
            ("bash: {}", "web: {}", None, 0),
        ] {
            let sampling = read(&[(".rawko/config.yaml", project), ("user.yaml", user)]).settings.sampling;
            assert_eq!(sampling.as_ref().map(|rule| rule.servers.join(",")).as_deref(), servers, "{project}");
            assert_eq!(sampling.map_or(0, |rule| rule.completions_max), completions_max, "{project} {user}");
        }
    }

    #[test]
    fn every_file_is_a_layer_of_every_grant() {
        let grant = |files: &[(&str, &str)]| crate::Grant::new(read(files).layers);
        let files = [
            (".rawko/config.yaml", "allowed: [Read, Bash, Write]\nblocked: []"),
            ("user.yaml", "blocked: [Bash]"),
            ("managed.yaml", "allowed: [Read, Bash]"),
        ];
        for (tool, expected) in [("Read", true), ("Bash", false), ("Write", false), ("Edit", false)] {
            assert_eq!(grant(&files).allows(tool), expected, "{tool}");
        }
        assert!(grant(&files[..1]).allows("Bash"));
    }
}
