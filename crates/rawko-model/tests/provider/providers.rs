//! Providers by name: settings, environment, aliases, and the errors when something is missing.

use std::path::Path;

use expect_test::expect;
use rawko_chart::SourceFile;
use rawko_host::{Environment, Settings};
use rawko_model::provider::{CompletionRequest, ProviderError, Providers};
use rawko_testkit::{ModelAnswer, ProviderServer, WireProtocol};

use crate::support::{ask, request, shown};

fn settings(text: &str, variables: &[(&str, &str)]) -> Settings {
    let environment: Environment = variables.iter().copied().collect();
    Settings::of_source(&SourceFile::new("config.yaml", text), &environment).0
}

fn providers(text: &str, variables: &[(&str, &str)]) -> Providers {
    let (providers, problems) = Providers::of_settings(&settings(text, variables), Path::new("."));
    assert!(problems.is_empty(), "{problems:?}");
    providers
}

fn found(providers: &Providers, model: &str) -> String {
    match providers.find(model) {
        Ok((_, model)) => model,
        Err(problem) => format!("{}: {problem}", problem.code().as_str()),
    }
}

#[test]
fn models_are_found_by_name() {
    let all = providers(
        "providers: {default: local/qwen, local: {kind: openai, base_url: \"http://127.0.0.1:1/v1\"}, aliases: {fast: local/tiny, opus: local/big}}",
        &[("ANTHROPIC_API_KEY", "k"), ("GOOGLE_API_KEY", "k")],
    );
    let none = providers("", &[]);
    let mut lines = String::new();
    for (providers, model) in [
        (&all, "anthropic/claude-x"),
        (&all, "claude-sonnet-4-5"),
        (&all, "sonnet"),
        (&all, "opus"),
        (&all, "fast"),
        (&all, ""),
        (&all, "inherit"),
        (&all, "local/org/model:7b"),
        (&all, "google/gemini-x"),
        (&all, "ollama/llama3"),
        (&all, "openai/gpt-x"),
        (&all, "gemini/"),
        (&all, "antropic/claude-x"),
        (&all, "something"),
        (&none, ""),
        (&none, "gemini/gemini-x"),
        (&none, "zai/glm-x"),
    ] {
        lines += &format!("{model:?}\n    {}\n", found(providers, model));
    }
    expect![[r#"
        "anthropic/claude-x"
            claude-x
        "claude-sonnet-4-5"
            claude-sonnet-4-5
        "sonnet"
            claude-sonnet-4-5
        "opus"
            big
        "fast"
            tiny
        ""
            qwen
        "inherit"
            qwen
        "local/org/model:7b"
            org/model:7b
        "google/gemini-x"
            gemini-x
        "ollama/llama3"
            llama3
        "openai/gpt-x"
            authentication_failed: no API key for provider `openai`: set OPENAI_API_KEY or `providers.openai.api_key` in .rawko/config.yaml
        "gemini/"
            invalid_request: `gemini/` has no model name; write `gemini/model`
        "antropic/claude-x"
            invalid_request: there is no provider `antropic` (did you mean `anthropic`?); known providers: anthropic, deepseek, gemini, local, ollama, openai, openrouter, zai
        "something"
            invalid_request: model `something` has no provider; write `provider/model`
        ""
            invalid_request: no model is configured: give the agent a `model`, set `default` under `providers` in .rawko/config.yaml, or set RAWKO_MODEL, for example to anthropic/claude-sonnet-4-5
        "gemini/gemini-x"
            authentication_failed: no API key for provider `gemini`: set GEMINI_API_KEY or GOOGLE_API_KEY or `providers.gemini.api_key` in .rawko/config.yaml
        "zai/glm-x"
            authentication_failed: no API key for provider `zai`: set ZAI_API_KEY or Z_AI_API_KEY or `providers.zai.api_key` in .rawko/config.yaml
    "#]].assert_eq(&lines);
    let over = providers("providers: {default: local/qwen}", &[("RAWKO_MODEL", "ollama/x")]);
    assert_eq!(over.default_model(), Some("ollama/x"));
}

/// Keys and addresses from the usual variables; settings override them.
#[tokio::test]
async fn keys_and_addresses() {
    let server = ProviderServer::new(|asked| {
        let format = match asked.path.as_str() {
            path if path.contains("chat/completions") => WireProtocol::OpenAi,
            path if path.contains("messages") => WireProtocol::Anthropic,
            path if path.contains("Content") => WireProtocol::Gemini,
            _ => WireProtocol::Ollama,
        };
        format.reply(&ModelAnswer::text(&["x"]))
    })
    .await
    .unwrap();
    let url = server.url();
    let bare = url.replace("http://", "");
    let text = format!(
        "providers: {{zai: {{base_url: \"{url}/zai\", api_key: \"${{MY_KEY}}\"}}, mine: {{kind: anthropic, base_url: \"${{BASE}}\", headers: {{x-team: \"a ${{MY_KEY}}\"}}}}, ollama: {{context_tokens: 9000}}}}"
    );
    let variables = [
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_KEY", "k-openai".to_owned()),
        ("ANTHROPIC_BASE_URL", url.clone()),
        ("GEMINI_BASE_URL", url.clone()),
        ("GOOGLE_API_KEY", "k-google".to_owned()),
        ("OLLAMA_HOST", bare),
        ("ZAI_API_KEY", "not this one".to_owned()),
        ("MY_KEY", "k-mine".to_owned()),
        ("BASE", url.clone()),
    ];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let providers = providers(&text, &variables);
    for model in ["openai/m", "anthropic/m", "gemini/m", "ollama/m", "zai/m", "mine/m"] {
        let (provider, model) = providers.find(model).unwrap();
        ask(&*provider, CompletionRequest { model, ..request() }).await.1.unwrap();
    }
    let lines = server.asked().iter().fold(String::new(), |lines, asked| {
        let headers = ["authorization", "x-api-key", "x-goog-api-key", "x-team"];
        let headers: Vec<String> = headers
            .iter()
            .filter_map(|name| Some(format!("{name}: {}", asked.headers.get(*name)?)))
            .collect();
        lines + &format!("{} {}\n", asked.path, headers.join(", "))
    });
    expect![[r#"
        /v1/chat/completions authorization: Bearer k-openai
        /v1/messages 
        /v1beta/models/m:streamGenerateContent?alt=sse x-goog-api-key: k-google
        /api/chat 
        /zai/chat/completions authorization: Bearer k-mine
        /v1/messages x-team: a k-mine
    "#]]
    .assert_eq(&lines);
    assert_eq!(server.asked()[3].body["options"]["num_ctx"], 9000);
}

/// The project's file overrides the user's, key by key.
#[tokio::test]
async fn the_project_goes_over_the_user() {
    let server =
        ProviderServer::new(|_| WireProtocol::OpenAi.reply(&ModelAnswer::text(&["x"]))).await.unwrap();
    let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |folder: &Path, text: &str| {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("config.yaml"), text).unwrap();
    };
    write(
        &home.path().join("rawko"),
        "providers: {default: mine/of-the-user, mine: {kind: openai, base_url: \"http://127.0.0.1:9\", api_key: \"${K}\"}, wrong: {}}",
    );
    write(
        &root.path().join(".rawko"),
        &format!(
            "providers: {{default: mine/of-the-project, mine: {{kind: openai, base_url: \"{}\"}}}}",
            server.url()
        ),
    );
    let home = home.path().display().to_string();
    let environment: Environment =
        [("XDG_CONFIG_HOME", home.as_str()), ("K", "of-the-user")].into_iter().collect();
    let (settings, _) = Settings::read_in(root.path(), &environment);
    let (providers, problems) = Providers::of_settings(&settings, root.path());
    let files: Vec<String> = problems.iter().map(|(file, _)| file.replace(&home, "HOME")).collect();
    assert_eq!(files, ["HOME/rawko/config.yaml"], "each complaint has its file");
    let (provider, model) = providers.find("").unwrap();
    ask(&*provider, CompletionRequest { model, ..request() }).await.1.unwrap();
    let asked = server.asked().remove(0);
    assert_eq!(asked.body["model"], "of-the-project");
    assert_eq!(asked.headers["authorization"], "Bearer of-the-user");
}

/// A header filled from a variable is as secret as a key.
#[tokio::test]
async fn filled_headers_are_not_shown() {
    let server = ProviderServer::new(|asked| {
        WireProtocol::OpenAi.failure(401, "", &format!("what is {}?", asked.headers["x-token"]))
    })
    .await
    .unwrap();
    let text = format!(
        "providers: {{mine: {{kind: openai, base_url: \"{}\", headers: {{x-token: \"${{TOKEN}}\"}}}}}}",
        server.url()
    );
    let (provider, model) = providers(&text, &[("TOKEN", "t-0123456789")]).find("mine/m").unwrap();
    let (_, result) = ask(&*provider, CompletionRequest { model, ..request() }).await;
    assert_eq!(shown(&result), "authentication_failed: mine: the provider returned 401: what is [hidden]?");
}

#[test]
fn everything_wrong_with_settings_is_said() {
    let text = "providers:
  default: 3
  local: {base_url: \"http://127.0.0.1:1\"}
  far: {kind: openai}
  odd: {kind: telepathy}
  demo: {kind: scripted}
  openai: {api_key: \"${UNSET}\", schema: xml, context_tokens: 0, timeout: soon, headers: {\"a b\": x}, speed: 9}
  a/b: {kind: openai, base_url: \"http://x\"}
  prices: {x: {input: -1, output: a}, y: {input: 1}}
  back_off: {first: never}
  aliases: [a]
";
    let (providers, problems) = Providers::of_settings(&settings(text, &[]), Path::new("."));
    let lines: Vec<String> = problems
        .iter()
        .flat_map(|(file, findings)| {
            findings.iter().map(move |it| format!("{file} {}: {}", it.code, it.message))
        })
        .collect();
    expect![[r#"
        .rawko/config.yaml rawko::settings::wrong_type: `default` of `providers` must be text
        .rawko/config.yaml rawko::settings::missing_key: provider `local` has no `kind`
        .rawko/config.yaml rawko::settings::missing_key: provider `far` has no `base_url`
        .rawko/config.yaml rawko::settings::invalid_value: unknown provider kind `telepathy`
        .rawko/config.yaml rawko::settings::missing_key: provider `demo` has no `file`
        .rawko/config.yaml rawko::settings::unknown_key: provider `openai` has no key `speed`
        .rawko/config.yaml rawko::settings::unset_variable: `api_key` of provider `openai` uses `${UNSET}`, which is not set
        .rawko/config.yaml rawko::settings::invalid_value: `schema` of provider `openai` cannot be `xml`
        .rawko/config.yaml rawko::settings::invalid_value: `context_tokens` of provider `openai` must be at least 1
        .rawko/config.yaml rawko::settings::invalid_value: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
        .rawko/config.yaml rawko::settings::invalid_value: `a b` is not a valid header name
        .rawko/config.yaml rawko::settings::invalid_value: `a/b` is not a valid provider name
        .rawko/config.yaml rawko::settings::invalid_value: `input` of the price of `x` must not be negative
        .rawko/config.yaml rawko::settings::wrong_type: `output` of the price of `x` must be a number
        .rawko/config.yaml rawko::settings::missing_key: the price of `x` needs `input` and `output`
        .rawko/config.yaml rawko::settings::missing_key: the price of `y` needs `input` and `output`
        .rawko/config.yaml rawko::settings::invalid_value: `never` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
        .rawko/config.yaml rawko::settings::wrong_type: `aliases` must be a map"#]].assert_eq(&lines.join("\n"));
    let usable: Vec<String> = providers
        .names()
        .filter_map(|(_, problem)| Some(problem?.to_string()))
        .filter(|problem| !problem.starts_with("no key"))
        .collect();
    expect![[r#"
        no API key for provider `anthropic`: set ANTHROPIC_API_KEY or `providers.anthropic.api_key` in .rawko/config.yaml
        no API key for provider `deepseek`: set DEEPSEEK_API_KEY or `providers.deepseek.api_key` in .rawko/config.yaml
        provider `demo` cannot be used: the settings do not set its `file`
        provider `far` cannot be used: the settings do not set its `base_url`
        no API key for provider `gemini`: set GEMINI_API_KEY or GOOGLE_API_KEY or `providers.gemini.api_key` in .rawko/config.yaml
        provider `local` cannot be used: the settings do not set its `kind`
        provider `odd` cannot be used: the settings do not set its `kind`
        no API key for provider `openai`: set UNSET or `providers.openai.api_key` in .rawko/config.yaml
        no API key for provider `openrouter`: set OPENROUTER_API_KEY or `providers.openrouter.api_key` in .rawko/config.yaml
        no API key for provider `zai`: set ZAI_API_KEY or Z_AI_API_KEY or `providers.zai.api_key` in .rawko/config.yaml"#]]
    .assert_eq(&usable.join("\n"));
    let missing: ProviderError = providers.find("openai/gpt").err().unwrap().into();
    assert_eq!(
        missing.message,
        "no API key for provider `openai`: set UNSET or `providers.openai.api_key` in .rawko/config.yaml"
    );
}

/// A script is recorded, and the recording is replayed: paths are resolved against the project root.
#[tokio::test]
async fn scripts_and_tapes_of_a_project() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("script.yaml"), "- text: hello\n- text: never asked for\n").unwrap();
    let text = "providers: {demo: {kind: scripted, file: script.yaml}, record: .rawko/tapes/t.jsonl, broken: {kind: replay, file: none.jsonl}}";
    let (providers, _) = Providers::of_settings(&settings(text, &[]), root.path());
    let (provider, model) = providers.find("demo").unwrap();
    assert_eq!(model, "demo");
    let first = shown(&ask(&*provider, request()).await.1);
    assert_eq!(providers.recording_fault(), None);
    let unused = providers.unused().join("\n").replace(&root.path().display().to_string(), "ROOT");
    assert_eq!(unused, "ROOT/script.yaml:2: the script");
    assert!(
        found(&providers, "broken/x")
            .starts_with("invalid_request: provider `broken` cannot be used: cannot read ")
    );

    let text = "providers: {tape: {kind: replay, file: .rawko/tapes/t.jsonl}}";
    let (providers, _) = Providers::of_settings(&settings(text, &[]), root.path());
    let (provider, _) = providers.find("tape/any").unwrap();
    assert_eq!(providers.unused().len(), 1);
    assert_eq!(shown(&ask(&*provider, request()).await.1), first);
    assert!(providers.unused().is_empty());
}

#[test]
fn a_tape_that_cannot_be_written_stops_everything() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join(".rawko")).unwrap();
    std::fs::write(root.path().join(".rawko/tapes"), "").unwrap();
    let text = "providers: {record: .rawko/tapes/t.jsonl}";
    let (providers, _) = Providers::of_settings(&settings(text, &[("OPENAI_API_KEY", "k")]), root.path());
    let shown = found(&providers, "openai/gpt").replace(&root.path().display().to_string(), "ROOT");
    assert!(
        shown.starts_with(
            "invalid_request: provider `openai` cannot be used: cannot record to ROOT/.rawko/tapes/t.jsonl"
        ),
        "{shown}"
    );
}

#[test]
fn prices_and_waits_of_settings() {
    let providers = providers(
        "providers: {prices: {local/x: {input: 1, output: 2.5}}, back_off: {first: 2s, longest: 1m}}",
        &[],
    );
    let price = providers.prices().find("local", "x").unwrap();
    assert_eq!((price.input, price.cached, price.output), (1.0, 1.0, 2.5));
    assert_eq!((providers.back_off().first_ms, providers.back_off().longest_ms), (2_000, 60_000));
}
