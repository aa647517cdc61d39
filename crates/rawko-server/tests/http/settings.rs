//! The `server` section of the settings.

use std::path::Path;

use expect_test::expect;
use rawko_chart::SourceFile;
use rawko_host::{Environment, Settings};
use rawko_server::{Rate, ServerSettings};

fn read(text: &str, root: &Path) -> (ServerSettings, Vec<String>) {
    let (settings, findings) =
        Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::of_process());
    assert!(findings.is_empty(), "{findings:?}");
    let (settings, problems) = ServerSettings::read(&settings, root);
    let words =
        problems.into_iter().flat_map(|(_, findings)| findings).map(|finding| finding.message).collect();
    (settings, words)
}

#[test]
fn all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kim.token"), "from-the-file\n").unwrap();
    let text = "server:\n  listen: 127.0.0.1:9000\n  hosts: [rawko.example]\n  rate: {per_second: 10, burst: 20}\n  tokens:\n    - {name: ci, role: operate, env: CI_TOKEN}\n    - {name: kim, role: admin, file: kim.token}\n";
    let (settings, problems) = read(text, folder.path());
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(settings.listen, Some("127.0.0.1:9000".parse().unwrap()));
    assert_eq!(settings.hosts, ["rawko.example"]);
    assert_eq!(settings.rate, Some(Rate { per_second: 10, burst: 20 }));
    let environment: Environment = [("CI_TOKEN", "from-the-environment")].into_iter().collect();
    // A project does not give itself the authority of a person by a value that it knows.
    let minted = settings.tokens(&environment).unwrap_err();
    assert!(minted.starts_with("cannot load token `kim`: the project cannot define"), "{minted}");
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("kim.token");
    std::fs::write(&file, "from-a-file-elsewhere\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    let (elsewhere, _) = read(&text.replace("kim.token", &file.display().to_string()), folder.path());
    assert_eq!(format!("{:?}", elsewhere.tokens(&environment).unwrap()), "2 tokens");
    let missing = settings.tokens(&Environment::default()).unwrap_err();
    assert_eq!(missing, "cannot load token `ci`: environment variable CI_TOKEN is not set");
    assert_eq!(settings.token_files_below(folder.path()).len(), 1);
    assert!(settings.token_files_below(Path::new("/nowhere")).is_empty());
}

/// Agents know the value of a variable that every program inherits.
#[test]
fn a_variable_that_is_no_secret_is_no_token() {
    let environment: Environment = [("HOME", "/somewhere"), ("RAWKO_TOKEN", "x")].into_iter().collect();
    for (variable, why) in
        [("HOME", "every program inherits HOME"), ("RAWKO_TOKEN", "is the operator's token")]
    {
        let text = format!("server: {{tokens: [{{name: ci, role: admin, env: {variable}}}]}}\n");
        let (settings, _) = read(&text, Path::new("."));
        let refused = settings.tokens(&environment).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn nothing_is_fine_and_no_rate_is_no_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, _) = read("server: {}\n", folder.path());
    assert_eq!(settings, ServerSettings::default());
    assert!(settings.tokens(&Environment::default()).unwrap().is_empty());
    assert_eq!(read("server: {rate: {per_second: 0}}\n", folder.path()).0.rate, None);
}

#[test]
fn mistakes_are_all_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = "server:\n  listn: 1\n  listen: here\n  rate: {burst: 0}\n  tokens:\n    - {name: a b, role: king, env: X}\n    - {name: ci, role: read, env: X}\n    - {name: ci, role: read, env: Y}\n";
    let (_, problems) = read(text, folder.path());
    expect![[r#"
        `server` has no key `listn`
        invalid address `here`
        `burst` of `rate` must be at least 1
        invalid name `a b`
        unknown role `king`
        duplicate token `ci`"#]]
    .assert_eq(&problems.join("\n"));
    let (_, problems) = read("server: {tokens: [{name: ci, role: read}]}\n", folder.path());
    expect!["a token requires `name`, `role`, and `env` or `file`"].assert_eq(&problems.join("\n"));
    let (_, problems) = read("server: {tokens: secret}\n", folder.path());
    expect!["`tokens` of `server` must be a list"].assert_eq(&problems.join("\n"));
}

/// Messages let their receivers answer, so a project cannot choose them.
#[test]
fn receivers_of_messages() {
    let (own, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = |folder: &Path, name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let read = |name: &str, text: &str| {
        place(own.path(), "rawko/config.yaml", if name == "own" { text } else { "{}" });
        place(project.path(), ".rawko/config.yaml", if name == "own" { "{}" } else { text });
        let environment = [("XDG_CONFIG_HOME", own.path().to_str().unwrap())].into_iter().collect();
        let (settings, _) = Settings::read_in(project.path(), &environment);
        let (settings, problems) = ServerSettings::read(&settings, project.path());
        let words: Vec<String> =
            problems.into_iter().flat_map(|(_, findings)| findings).map(|it| it.message).collect();
        (settings, words)
    };
    let text = "server: {public_url: 'https://rawko.example/', notify: [{name: team, env: HOOK, links_for: 24h}, {name: ops, url: 'http://127.0.0.1:1/x', format: json}]}\n";
    let (settings, words) = read("own", text);
    assert!(words.is_empty(), "{words:?}");
    assert_eq!(settings.public_url.as_deref(), Some("https://rawko.example"));
    let names: Vec<&str> = settings.notify.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, settings.notify[0].links_for.is_some()), (vec!["team", "ops"], true));
    let (settings, words) = read("project", text);
    let refused =
        ["a project cannot choose where links to answer lead", "a project cannot choose who is notified"];
    assert_eq!(words, refused);
    assert!(settings.notify.is_empty() && settings.public_url.is_none());
    let wrong = "server: {public_url: 'ftp://x', notify: [{name: 'a b', url: x}, {name: a}, {name: b, url: 'http://x', format: xml}, 3]}\n";
    expect![[r#"
        invalid address `ftp://x`
        invalid name `a b`
        invalid address
        a receiver requires `name`, and `url` or `env`
        unknown format `xml`
        a receiver must be a map"#]]
    .assert_eq(&read("own", wrong).1.join("\n"));
}
