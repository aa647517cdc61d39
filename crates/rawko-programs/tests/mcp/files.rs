//! `.mcp.json`: valid contents and findings.

use std::path::Path;

use expect_test::{Expect, expect};
use rawko_chart::SourceFile;
use rawko_chart::render::{ReportStyle, report};
use rawko_host::Environment;
use rawko_programs::mcp::{McpTransport, read_mcp, read_mcp_file};

fn environment() -> Environment {
    Environment::from_iter([("TOKEN", "s3cret"), ("HOME", "/ada")])
}

/// Prints each server on a line, then the findings.
fn check(text: &str, expected: Expect) {
    let source = SourceFile::new(".mcp.json", text);
    let (configs, findings) = read_mcp(&source, &environment(), Path::new("/ada/repo"));
    let shown: String = configs.iter().map(|config| format!("{config:?}\n")).collect();
    assert!(!shown.contains("s3cret"), "{shown}");
    expected.assert_eq(&format!("{shown}{}", report(&findings, &source, ReportStyle::default())));
}

#[test]
fn servers_as_other_programs_write_them() {
    let text = r#"{
  "mcpServers": {
    "git": {"command": "uvx", "args": ["mcp-server-git", "--repository", "${HOME}/repo"], "env": {"TOKEN": "${TOKEN}", "DEPTH": 3}},
    "docs": {"type": "http", "url": "https://user:word@${DOCS_HOST:-docs.example}/mcp?key=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}, "timeout": 5000},
    "plain": {"type": "stdio", "command": "server", "cwd": "tools"},
    "off": {"command": "server", "disabled": true}
  }
}"#;
    check(
        text,
        expect![[r#"
            McpConfig { name: "git", transport: Stdio { command: "uvx", args: 3, env: ["TOKEN", "DEPTH"], cwd: None }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(1 values)) }
            McpConfig { name: "docs", transport: Http { url: "https://docs.example/mcp", headers: ["Authorization"] }, timeout: Some(5s), oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(1 values)) }
            McpConfig { name: "plain", transport: Stdio { command: "server", args: 0, env: [], cwd: Some("tools") }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
        "#]],
    );
    let (configs, _) = read_mcp(&SourceFile::new(".mcp.json", text), &environment(), Path::new("/ada/repo"));
    let McpTransport::Http { url, headers } = &configs[1].transport else { panic!("{configs:?}") };
    assert_eq!(url, "https://user:word@docs.example/mcp?key=s3cret");
    assert_eq!(headers, &[("Authorization".to_owned(), "Bearer s3cret".to_owned())]);
}

#[test]
fn keys_of_other_programs_are_left_to_them() {
    check(
        r#"{
  "$schema": "https://example.com/schema.json",
  "description": "shared by several programs",
  "experiments": {"anything": [1, 2]},
  "mcpServers": {
    "git": {"command": "uvx", "description": "git", "enabled": true, "disabled": false, "autoApprove": ["status"],
            "alwaysAllow": [], "icon": "x.png", "trust": {"level": 3}, "env": {"A": null}},
    "gemini": {"httpUrl": "https://docs.example/mcp", "includeTools": ["search"]},
    "windsurf": {"serverUrl": "https://docs.example/mcp"},
    "off": {"command": "server", "enabled": false},
    "with a file": {"command": "server", "envFile": "${workspaceFolder}/.env"}
  }
}"#,
        expect![[r#"
            McpConfig { name: "git", transport: Stdio { command: "uvx", args: 0, env: [], cwd: None }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "gemini", transport: Http { url: "https://docs.example/mcp", headers: [] }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "windsurf", transport: Http { url: "https://docs.example/mcp", headers: [] }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "with a file", transport: Stdio { command: "server", args: 0, env: [], cwd: None }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            warning[rawko::settings::unknown_key]: `envFile` is not read: agents can write files of the project
              --> .mcp.json:11:42
               |
            11 |     "with a file": {"command": "server", "envFile": "${workspaceFolder}/.env"}
               |                                          ^^^^^^^^^
               |
               = help: write the variables into `env`

        "#]],
    );
}

#[test]
fn the_form_of_vs_code() {
    let text = r#"{
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "API key", "password": true},
    {"type": "promptString", "id": "region", "default": "eu"},
    {"type": "pickString", "id": "missing", "options": ["a", "b"]}
  ],
  "servers": {
    "search": {"type": "stdio", "command": "npx", "args": ["-y", "search", "--dir", "${workspaceFolder}/x"],
               "env": {"KEY": "${input:api-key}", "REGION": "${input:region}", "TOKEN": "${env:TOKEN}"}},
    "remote": {"type": "http", "url": "https://docs.example/${input:region}/mcp", "dev": {"watch": "src"}},
    "asks": {"command": "server", "args": ["${input:missing}"]},
    "project": {"command": "${CLAUDE_PROJECT_DIR}/bin/server"}
  }
}"#;
    check(
        text,
        expect![[r#"
        McpConfig { name: "search", transport: Unusable { why: "the input `api-key` has no value" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
        McpConfig { name: "remote", transport: Http { url: "https://docs.example/eu/mcp", headers: [] }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
        McpConfig { name: "asks", transport: Unusable { why: "the input `missing` has no value" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
        McpConfig { name: "project", transport: Stdio { command: "/ada/repo/bin/server", args: 0, env: [], cwd: None }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
        warning[rawko::settings::unset_variable]: the input `api-key` has no value
         --> .mcp.json:9:31
          |
        9 |                "env": {"KEY": "${input:api-key}", "REGION": "${input:region}", "TOKEN": "${env:TOKEN}"}},
          |                               ^^^^^^^^^^^^^^^^^^
          |
          = help: set the environment variable `RAWKO_INPUT_API_KEY`, or give the input a `default`

        warning[rawko::settings::unset_variable]: the input `missing` has no value
          --> .mcp.json:11:44
           |
        11 |     "asks": {"command": "server", "args": ["${input:missing}"]},
           |                                            ^^^^^^^^^^^^^^^^^^
           |
           = help: set the environment variable `RAWKO_INPUT_MISSING`, or give the input a `default`

    "#]],
    );
    let environment = Environment::from_iter([("TOKEN", "s3cret"), ("RAWKO_INPUT_API_KEY", "k3y")]);
    let (configs, _) = read_mcp(&SourceFile::new(".mcp.json", text), &environment, Path::new("/ada/repo"));
    let McpTransport::Stdio { args, env, .. } = &configs[0].transport else { panic!("{configs:?}") };
    assert_eq!(args[3], "/ada/repo/x");
    let expected = [("KEY", "k3y"), ("REGION", "eu"), ("TOKEN", "s3cret")];
    assert_eq!(env, &expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let McpTransport::Stdio { command, .. } = &configs[3].transport else { panic!("{configs:?}") };
    assert_eq!(command, "/ada/repo/bin/server");
}

#[test]
fn authorization_is_configured_in_the_file() {
    check(
        r#"{
  "mcpServers": {
    "person": {"url": "https://docs.example/mcp", "oauth": {"clientId": "rawko", "scopes": ["read", "write"], "callbackPort": 8123}},
    "machine": {"url": "https://docs.example/mcp",
                "oauth": {"grant": "client_credentials", "clientId": "ci", "clientSecret": "${TOKEN}", "scopes": "read write"}},
    "no secret": {"url": "https://docs.example/mcp", "oauth": {"grant": "client_credentials", "clientId": "ci"}},
    "no grant": {"url": "https://docs.example/mcp", "oauth": {"grant": "password"}}
  }
}"#,
        expect![[r#"
            McpConfig { name: "person", transport: Http { url: "https://docs.example/mcp", headers: [] }, timeout: None, oauth: McpOAuth { client_id: Some("rawko"), has_secret: false, scopes: ["read", "write"], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "machine", transport: Http { url: "https://docs.example/mcp", headers: [] }, timeout: None, oauth: McpOAuth { client_id: Some("ci"), has_secret: true, scopes: ["read", "write"], is_without_person: true, .. }, secrets: McpSecrets(Redactor(1 values)) }
            McpConfig { name: "no secret", transport: Unusable { why: "the grant `client_credentials` needs `clientId` and `clientSecret`" }, timeout: None, oauth: McpOAuth { client_id: Some("ci"), has_secret: false, scopes: [], is_without_person: true, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "no grant", transport: Unusable { why: "unknown grant `password`" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            error[rawko::settings::missing_key]: the grant `client_credentials` needs `clientId` and `clientSecret`
             --> .mcp.json:6:63
              |
            6 |     "no secret": {"url": "https://docs.example/mcp", "oauth": {"grant": "client_credentials", "clientId": "ci"}},
              |                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              |
              = help: add them; a secret as `${VARIABLE}`

            error[rawko::settings::invalid_value]: unknown grant `password`
             --> .mcp.json:7:62
              |
            7 |     "no grant": {"url": "https://docs.example/mcp", "oauth": {"grant": "password"}}
              |                                                              ^^^^^^^^^^^^^^^^^^^^^
              |
              = help: write `authorization_code` or `client_credentials`

        "#]],
    );
}

#[test]
fn every_problem_has_a_place_and_no_server_disappears() {
    check(
        r#"{
  "mcpServers": {
    "unset": {"command": "server", "env": {"KEY": "${NO_SUCH}"}},
    "broken variable": {"command": "server", "args": ["${"]},
    "both": {"command": "server", "url": "http://localhost"},
    "neither": {"args": []},
    "old": {"type": "sse", "url": "http://localhost/sse"},
    "strange": {"type": "carrier-pigeon", "url": "http://localhost"},
    "no address": {"type": "http", "url": "localhost:80"},
    "our header": {"url": "http://localhost", "headers": {"Mcp-Session-Id": "1"}},
    "args": {"command": "server", "args": "--all"},
    "spare key": {"command": "server", "comand": "x"},
    "a b": {"command": "server"},
    "a_b": {"command": "server"}
  }
}"#,
        expect![[r#"
            McpConfig { name: "unset", transport: Unusable { why: "the environment variable `NO_SUCH` is not set" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "broken variable", transport: Unusable { why: "a `${` is not closed" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "both", transport: Unusable { why: "a server has `command` or `url`, not both" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "neither", transport: Unusable { why: "the server `neither` has neither `command` nor `url`" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "old", transport: Unusable { why: "the transport `sse` is no longer supported" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "strange", transport: Unusable { why: "unknown transport `carrier-pigeon`" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "no address", transport: Unusable { why: "`url` is not an HTTP address" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "our header", transport: Unusable { why: "`Mcp-Session-Id` is set by the protocol" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "args", transport: Unusable { why: "`args` must be a list" }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "spare key", transport: Stdio { command: "server", args: 0, env: [], cwd: None }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            McpConfig { name: "a b", transport: Stdio { command: "server", args: 0, env: [], cwd: None }, timeout: None, oauth: McpOAuth { client_id: None, has_secret: false, scopes: [], is_without_person: false, .. }, secrets: McpSecrets(Redactor(0 values)) }
            warning[rawko::settings::unset_variable]: the environment variable `NO_SUCH` is not set
             --> .mcp.json:3:51
              |
            3 |     "unset": {"command": "server", "env": {"KEY": "${NO_SUCH}"}},
              |                                                   ^^^^^^^^^^^^
              |
              = help: set it, or write a default: `${NO_SUCH:-…}`

            error[rawko::settings::invalid_value]: a `${` is not closed
             --> .mcp.json:4:55
              |
            4 |     "broken variable": {"command": "server", "args": ["${"]},
              |                                                       ^^^^
              |
              = help: write `${NAME}` or `${NAME:-default}`

            error[rawko::settings::conflicting_keys]: a server has `command` or `url`, not both
             --> .mcp.json:5:42
              |
            5 |     "both": {"command": "server", "url": "http://localhost"},
              |                                          ^^^^^^^^^^^^^^^^^^
              |
              = help: remove one of them

            error[rawko::settings::missing_key]: the server `neither` has neither `command` nor `url`
             --> .mcp.json:6:5
              |
            6 |     "neither": {"args": []},
              |     ^^^^^^^^^
              |
              = help: give it `command` for a program, or `type: http` and `url`

            error[rawko::settings::invalid_value]: the transport `sse` is no longer supported
             --> .mcp.json:7:21
              |
            7 |     "old": {"type": "sse", "url": "http://localhost/sse"},
              |                     ^^^^^
              |
              = help: write `http` and the streamable HTTP address of the server; most servers have one

            error[rawko::settings::invalid_value]: unknown transport `carrier-pigeon`
             --> .mcp.json:8:25
              |
            8 |     "strange": {"type": "carrier-pigeon", "url": "http://localhost"},
              |                         ^^^^^^^^^^^^^^^^
              |
              = help: write `stdio` (with `command`) or `http` (with `url`)

            error[rawko::settings::invalid_value]: `url` is not an HTTP address
             --> .mcp.json:9:43
              |
            9 |     "no address": {"type": "http", "url": "localhost:80"},
              |                                           ^^^^^^^^^^^^^^
              |
              = help: write for example `https://host/mcp`

            error[rawko::settings::invalid_value]: `Mcp-Session-Id` is set by the protocol
              --> .mcp.json:10:58
               |
            10 |     "our header": {"url": "http://localhost", "headers": {"Mcp-Session-Id": "1"}},
               |                                                          ^^^^^^^^^^^^^^^^^^^^^^^
               |
               = help: remove it

            error[rawko::settings::wrong_type]: `args` must be a list
              --> .mcp.json:11:43
               |
            11 |     "args": {"command": "server", "args": "--all"},
               |                                           ^^^^^^^ found text

            warning[rawko::settings::unknown_key]: the server `spare key` has no key `comand`
              --> .mcp.json:12:40
               |
            12 |     "spare key": {"command": "server", "comand": "x"},
               |                                        ^^^^^^^^
               |
               = help: did you mean `command`?

            error[rawko::settings::conflicting_keys]: the tools of `a_b` would have the same names as those of another server
              --> .mcp.json:14:5
               |
            14 |     "a_b": {"command": "server"}
               |     ^^^^^
               |
               = help: give it another name

        "#]],
    );
}

#[test]
fn files_that_are_no_list_of_servers() {
    check(
        "{",
        expect![[r#"
        error[rawko::chart::yaml_syntax]: invalid YAML: unclosed bracket '{'
         --> .mcp.json:1:1
          |
        1 | {
          | ^
          |
          = help: check for a missing colon, quote or bracket, or wrong indentation, here or just before

    "#]],
    );
    check(
        r#"{"mcpServer": {}}"#,
        expect![[r#"
            warning[rawko::settings::unknown_key]: an MCP file has no key `mcpServer`
             --> .mcp.json:1:2
              |
            1 | {"mcpServer": {}}
              |  ^^^^^^^^^^^
              |
              = help: did you mean `mcpServers`?

        "#]],
    );
    check(
        r#"{"mcpServers": []}"#,
        expect![[r#"
        error[rawko::settings::wrong_type]: `mcpServers` must be a map
         --> .mcp.json:1:16
          |
        1 | {"mcpServers": []}
          |                ^^ found a list

    "#]],
    );
}

#[test]
fn a_file_that_is_not_there_or_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let (configs, _, findings) = read_mcp_file(folder.path(), &environment());
    assert!(configs.is_empty() && findings.is_empty(), "no file: no servers");

    std::fs::create_dir(folder.path().join(".mcp.json")).unwrap();
    let (_, _, findings) = read_mcp_file(folder.path(), &environment());
    assert_eq!(findings[0].code, "rawko::settings::unreadable");
}
