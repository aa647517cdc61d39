//! Real servers over stdio: listed, called, killed, called again.

use rawko_model::MessagePart;
use rawko_programs::mcp::{McpHealthState, McpTransport};
use rawko_tools::ToolSource;
use serde_json::json;

use crate::support::{call, everything, kill_server, names, project, said, start, stdio, tool};

#[tokio::test]
async fn the_everything_server_of_npm() {
    let servers = start(stdio("everything", "node", &[&everything(), "stdio"]));
    assert_eq!(servers.health()[0].state, McpHealthState::NotStarted, "nothing starts before it is needed");

    let names = names(&servers).await;
    assert!(names.contains(&"mcp__everything__echo".to_owned()), "{names:?}");
    assert_eq!(servers.health()[0].state, McpHealthState::Up);

    let echo = |words: &'static str| said(&servers, "mcp__everything__echo", json!({"message": words}));
    assert_eq!(echo("hello").await, "Echo: hello");

    let structured =
        call(&servers, "mcp__everything__get-structured-content", json!({"location": "Chicago"})).await;
    assert!(structured.data.get("temperature").as_f64().is_some(), "{structured:?}");

    let image = call(&servers, "mcp__everything__get-tiny-image", json!({})).await;
    let Some(MessagePart::Image { media_type, data }) = image.images.first() else {
        panic!("no image: {image:?}")
    };
    assert_eq!(media_type, "image/png");
    assert!(data.starts_with("iVBOR"), "a PNG in base64");

    kill_server(&servers);
    assert_eq!(servers.health()[0].state, McpHealthState::Down);
    assert_eq!(echo("again").await, "Echo: again");
    assert_eq!(servers.health()[0].starts, 2);
}

#[tokio::test]
async fn the_memory_server_of_npm_keeps_its_file_over_a_kill() {
    let folder = tempfile::tempdir_in(project()).unwrap();
    let script = tool("peers/node_modules/@modelcontextprotocol/server-memory/dist/index.js");
    let mut config = stdio("memory", "node", &[&script]);
    let McpTransport::Stdio { env, .. } = &mut config.transport else { unreachable!() };
    let file = folder.path().join("memory.jsonl");
    env.push(("MEMORY_FILE_PATH".into(), file.to_string_lossy().into_owned()));
    let servers = start(config);

    let ada = json!({"entities": [{"name": "ada", "entityType": "person", "observations": ["counts"]}]});
    said(&servers, "mcp__memory__create_entities", ada).await;
    kill_server(&servers);
    let graph = said(&servers, "mcp__memory__read_graph", json!({})).await;
    assert!(graph.contains("ada"), "{graph}");
    assert!(servers.is_safe_to_repeat("mcp__memory__read_graph"));
    assert!(!servers.is_safe_to_repeat("mcp__memory__nothing_of_this_name"));
}

#[tokio::test]
async fn the_time_server_of_pypi() {
    let servers = start(stdio("time", &tool("python/bin/python"), &["-m", "mcp_server_time"]));
    assert_eq!(names(&servers).await, ["mcp__time__convert_time", "mcp__time__get_current_time"]);

    let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    for round in ["first", "after a kill"] {
        let answer = said(&servers, "mcp__time__convert_time", noon.clone()).await;
        assert!(answer.contains("T21:00:00+09:00"), "{round}: {answer}");
        kill_server(&servers);
    }

    let nowhere = call(&servers, "mcp__time__get_current_time", json!({"timezone": "Nowhere/Land"})).await;
    assert!(nowhere.is_error, "{nowhere:?}");
    assert!(nowhere.content.contains("Nowhere/Land"), "{nowhere:?}");
}
