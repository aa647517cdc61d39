//! rawko's client in a scenario of the suite: it reads a `.mcp.json`, logs in where the server requires it, lists the
//! tools and calls each. It knows nothing of the scenario but what a person would configure.

use std::path::Path;
use std::process::ExitCode;

use rawko_chart::SourceFile;
use rawko_core::Value;
use rawko_host::Environment;
use rawko_programs::mcp::{McpServers, McpSettings, read_mcp};
use rawko_tools::{Occasion, ProjectAccess, ToolOutcome, ToolSource};
use serde_json::{Map, Value as Json, json};

/// Logins for one call until the client gives up.
const LOGINS_MAX: usize = 3;
const NAME: &str = "suite";

pub(crate) fn run() -> ExitCode {
    let url = std::env::args().next_back().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match runtime.block_on(visit(&url)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

async fn visit(url: &str) -> Result<(), String> {
    let context: Json = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let servers = servers(url, &context, folder.path());
    let mut logins = 0;
    while let Some(why) = problem(&servers).await {
        log_in(&servers, &why, &mut logins).await?;
    }
    for (tool, input) in calls(&servers, &context).await {
        let mut outcome = call(&servers, &tool, &input).await;
        while outcome.is_error && outcome.content.contains("rawko mcp login") {
            log_in(&servers, &outcome.content, &mut logins).await?;
            outcome = call(&servers, &tool, &input).await;
        }
        println!("{tool}: {}", outcome.content);
    }
    servers.close().await;
    Ok(())
}

/// Reads the file that a person would write for this server.
fn servers(url: &str, context: &Json, folder: &Path) -> std::sync::Arc<McpServers> {
    let mut oauth = json!({"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"});
    if let (Some(id), Some(secret)) = (context.get("client_id"), context.get("client_secret")) {
        oauth["clientId"] = id.clone();
        oauth["clientSecret"] = secret.clone();
        let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
        if scenario.contains("client-credentials") {
            oauth["grant"] = json!("client_credentials");
        }
    }
    let file = json!({"mcpServers": {NAME: {"type": "http", "url": url, "oauth": oauth}}});
    let environment = Environment::of_process();
    let (configs, findings) = read_mcp(&SourceFile::new(".mcp.json", file.to_string()), &environment, folder);
    assert!(findings.is_empty(), "{findings:?}");
    let settings = McpSettings {
        credentials: Some(folder.join("credentials")),
        ..McpSettings::new(folder, environment)
    };
    McpServers::start(configs, settings)
}

async fn problem(servers: &McpServers) -> Option<String> {
    let health = servers.check().await.remove(0);
    if health.tools.is_some() { None } else { Some(health.problem.unwrap_or_default()) }
}

/// Logs in as a person would, in a browser that follows the redirect back to rawko.
async fn log_in(servers: &McpServers, why: &str, logins: &mut usize) -> Result<(), String> {
    if !why.contains("rawko mcp login") || *logins == LOGINS_MAX {
        return Err(why.to_owned());
    }
    *logins += 1;
    let browser = |url: &str| {
        let url = url.to_owned();
        let client =
            rawko_http::build(|builder| builder.redirect(reqwest::redirect::Policy::limited(5))).unwrap();
        tokio::spawn(async move { client.get(url).send().await.map(drop) });
    };
    servers.login(NAME, &browser).await
}

/// Returns the calls that the scenario asks for, or one of each tool.
async fn calls(servers: &McpServers, context: &Json) -> Vec<(String, Json)> {
    let full = |name: &str| format!("mcp__{NAME}__{name}");
    if let Some(calls) = context.get("toolCalls").and_then(Json::as_array) {
        let call = |call: &Json| Some((full(call.get("name")?.as_str()?), call.get("arguments")?.clone()));
        return calls.iter().filter_map(call).collect();
    }
    let specs = servers.specs(ProjectAccess::Write).await;
    let schemas: Vec<Json> = specs.iter().map(|spec| spec.input_schema.to_json()).collect();
    let first = schemas.first().cloned().unwrap_or_default();
    specs.into_iter().zip(&schemas).map(|(spec, schema)| (spec.name, arguments(schema, &first))).collect()
}

/// Returns a value for each required argument. An object is the schema of the first tool: a scenario compares it with the
/// one that its server sent.
fn arguments(schema: &Json, first: &Json) -> Json {
    let required = schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
    let mut arguments = Map::new();
    for name in required.iter().filter_map(Json::as_str) {
        let value = match schema["properties"][name]["type"].as_str() {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("object") => first.clone(),
            _ => json!("text"),
        };
        arguments.insert(name.to_owned(), value);
    }
    Json::Object(arguments)
}

/// Makes a call; the person accepts every form as it is.
async fn call(servers: &McpServers, tool: &str, input: &Json) -> ToolOutcome {
    let accepted = Value::map([] as [(&str, Value); 0]);
    let mut reply = None;
    loop {
        let occasion = Occasion { key: tool, can_ask: true, reply, ..Occasion::default() };
        let input = Value::from_json(input.clone());
        let outcome = servers.call_for(tool, input, ProjectAccess::Write, occasion).await;
        if outcome.data.get("question").is_null() {
            return outcome;
        }
        reply = Some(&accepted);
    }
}
