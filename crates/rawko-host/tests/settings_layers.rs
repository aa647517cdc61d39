//! Settings from several sources: their precedence, and the file of each problem.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use expect_test::expect;
use rawko_chart::{Finding, Source};
use rawko_core::Value;
use rawko_host::{Flags, Settings};

/// A project in a temporary directory, with a user's settings beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new(project: &str, user: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for (path, text) in [("project/.rawko/config.yaml", project), ("user/rawko/config.yaml", user)] {
            let path = place.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn read(&self, variables: &[(&str, &str)]) -> (Settings, Vec<(Source, Vec<Finding>)>) {
        let user = self.0.path().join("user");
        let all = variables.iter().copied().chain([("XDG_CONFIG_HOME", user.to_str().unwrap())]);
        Settings::read_in(&self.0.path().join("project"), &all.collect())
    }
}

#[test]
fn flags_go_over_environment_over_project_over_user_over_defaults() {
    let (project, user) =
        ("store: {size_max: 2MB}", "store: {size_max: 1MB, path: /users.db}\nhost: {instances_in_memory: 1}");
    let set = [
        ("RAWKO_STORE_SIZE_MAX", "3MB"),
        ("RAWKO_STORE", "/environments.db"),
        ("RAWKO_INSTANCES_IN_MEMORY", "3"),
    ];
    let flags = Flags {
        store: Some("/flags.db".into()),
        store_size_max: Some(4_000_000),
        instances_in_memory: Some(4),
    };
    let none = Flags::default;
    let table = [
        ("default", Place::new("", "").read(&[]), none(), ("", None, None)),
        ("user", Place::new("", user).read(&[]), none(), ("/users.db", Some(1_000_000), Some(1))),
        ("project", Place::new(project, user).read(&[]), none(), ("/users.db", Some(2_000_000), Some(1))),
        (
            "environment",
            Place::new(project, user).read(&set),
            none(),
            ("/environments.db", Some(3_000_000), Some(3)),
        ),
        ("flags", Place::new(project, user).read(&set), flags, ("/flags.db", Some(4_000_000), Some(4))),
    ];
    for (which, (settings, problems), flags, expected) in table {
        assert!(problems.is_empty(), "{which}: {problems:?}");
        let settings = settings.with_flags(flags);
        let found = (
            settings.store_path(Path::new("project")).unwrap_or_default(),
            settings.store_size_max(),
            settings.instances_in_memory(),
        );
        assert_eq!(found, (expected.0.into(), expected.1, expected.2), "{which}");
    }
}

#[test]
fn what_the_user_denies_no_project_allows() {
    let place = Place::new(
        "services: {a: {command: [theirs]}}\ngovernance: {allow: ['*']}",
        "services: {a: {command: [mine]}, b: {command: [mine]}}\ngovernance: {allow: [a], deny: [b]}",
    );
    let (settings, problems) = place.read(&[]);
    assert_eq!(settings.service_names(), ["a", "b"]);
    let provenance = settings.services(Path::new(".")).find("a").unwrap().provenance();
    assert_eq!(provenance.get("command"), &Value::list(vec![Value::str("theirs")]));
    let told: Vec<&Finding> = problems.iter().flat_map(|(_, findings)| findings).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let user = place.0.path().join("user/rawko/config.yaml");
    let rule = format!("`b` is refused by `b` in `governance.deny` of {}", user.display());
    assert_eq!(told[0].help.as_deref(), Some(rule.as_str()));
}

#[test]
fn a_user_without_xdg_has_dot_config() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".config/rawko")).unwrap();
    fs::write(home.path().join(".config/rawko/config.yaml"), "host: {instances_in_memory: 7}").unwrap();
    let (settings, _) = Settings::read_in(
        &home.path().join("project"),
        &[("HOME", home.path().to_str().unwrap())].into_iter().collect(),
    );
    assert_eq!(settings.instances_in_memory(), Some(7));
}

#[test]
fn problems_are_told_by_file() {
    let place = Place::new("stor: {}", "services: {a: {command: [x]}}\nenv: [1]");
    let (_, problems) = place.read(&[("RAWKO_STORE_SIZE_MAX", "lots"), ("RAWKO_INSTANCES_IN_MEMORY", "0")]);
    let mut told = String::new();
    for (source, findings) in problems {
        let name = source.name.replace(place.0.path().to_str().unwrap(), "…");
        told.extend(
            findings.iter().map(|finding| format!("{name}: {}: {}\n", finding.code, finding.message)),
        );
    }
    expect![[r#"
        …/project/.rawko/config.yaml: rawko::settings::unknown_key: a settings file has no key `stor`
        …/user/rawko/config.yaml: rawko::settings::wrong_type: an item of `env` must be text
        the environment: rawko::settings::invalid_value: `lots` is not a size
        the environment: rawko::settings::invalid_value: `0` is not a number of instances
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_file_that_cannot_be_read_is_not_no_file() {
    let place = Place::new("", "");
    let file = place.0.path().join("project/.rawko/config.yaml");
    fs::remove_file(&file).unwrap();
    assert!(place.read(&[]).1.is_empty());
    fs::create_dir(&file).unwrap();
    let codes =
        |place: &Place| place.read(&[]).1.iter().map(|(_, findings)| findings[0].code).collect::<Vec<_>>();
    assert_eq!(codes(&place), ["rawko::settings::unreadable"]);
    fs::remove_dir(&file).unwrap();
    fs::write(&file, b"env: [\xff]").unwrap();
    assert_eq!(codes(&place), ["rawko::chart::invalid_utf8"]);
}
