//! The section `tools` of a settings file.

use std::time::Duration;

use expect_test::expect;
use rawko_chart::SpannedValue;
use rawko_host::{Environment, SettingsReader};
use rawko_tools::{Sandbox, ToolSettings};

fn read(text: &str) -> (ToolSettings, Vec<String>) {
    let environment = Environment::default();
    let mut reader = SettingsReader::new(&environment);
    let settings = ToolSettings::read(&mut reader, &SpannedValue::read(text).unwrap());
    (settings, reader.findings.iter().map(|finding| finding.message.clone()).collect())
}

#[test]
fn everything_can_be_said() {
    let (settings, findings) = read(
        "
bash:
  timeout: 5m
  output_max: 64KiB
  env: {CI: '1', DEPLOY_TOKEN: true}
  sandbox: require
  allowed_commands: [git, cargo *]
  blocked_patterns: ['rm -rf']
web:
  hosts: [docs.rs]
  private: ['localhost:3000']
allowed: [Read, Bash]
blocked: [editFile]
extra_write_paths: [/var/cache/cargo]
",
    );
    assert_eq!(findings, Vec::<String>::new());
    assert_eq!(settings.bash.timeout, Duration::from_secs(300));
    assert_eq!(settings.bash.output_max, 65536);
    assert_eq!(settings.bash.sandbox, Sandbox::Require);
    assert_eq!(
        (settings.bash.passed, settings.bash.set),
        (vec!["DEPLOY_TOKEN".into()], vec![("CI".into(), "1".into())])
    );
    let (settings, _) = read("{allowed: [Read], blocked: [Edit], bash: {blocked_patterns: [sudo]}}");
    expect![[r#"
        GrantLayer {
            source: "the project's settings (`tools` in .rawko/config.yaml)",
            allowed: Some(
                [
                    "Read",
                ],
            ),
            blocked: [
                "Edit",
            ],
            bash: Some(
                BashFilter {
                    allowed_commands: None,
                    blocked_patterns: [
                        "sudo",
                    ],
                },
            ),
            network: None,
        }
    "#]]
    .assert_debug_eq(&settings.project_layer());
}

#[test]
fn nothing_said_is_nothing_narrowed() {
    let (settings, findings) = read("{}");
    assert!(findings.is_empty());
    let layer = settings.project_layer();
    assert!(layer.allowed.is_none() && layer.blocked.is_empty() && layer.bash.is_none());
}

#[test]
fn mistakes_are_told_and_never_widen() {
    let (settings, findings) = read(
        "{bash: {timeout: soon, sandbox: perhaps, blocked_patterns: ['('], allowed_commands: git, tiemout: 3}, \
         extra_write_paths: [relative, /], allowed: Read}",
    );
    expect![[r#"
        [
            "`tools.bash` has no key `tiemout`",
            "`soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`",
            "unknown sandbox mode `perhaps`",
            "`(` is not a regular expression: unclosed group",
            "`allowed_commands` of `tools.bash` must be a list",
            "`relative` cannot be made writable for all commands",
            "`/` cannot be made writable for all commands",
            "`allowed` of `tools` must be a list",
        ]
    "#]]
    .assert_debug_eq(&findings);
    assert_eq!(settings.allowed, Some(Vec::new()), "a list that cannot be read allows nothing");
    assert_eq!(settings.bash.allowed_commands, Some(Vec::new()));
    assert!(!settings.project_layer().allows("Bash"));
}
