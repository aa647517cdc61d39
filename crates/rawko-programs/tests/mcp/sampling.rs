//! Servers that ask for completions of the person's model: refused unless the settings name them, bounded, and counted.

use std::sync::Arc;

use rawko_model::provider::{Completion, CompletionFuture, CompletionRequest, Provider, StreamListener};
use rawko_model::{Message, Role, StopReason, Usage};
use rawko_programs::mcp::{McpServers, McpSettings, SamplingModel};
use rawko_tools::SamplingSettings;
use serde_json::json;

use crate::support::{call, everything, names, settings, stdio};

/// Answers with the request and its limit of output tokens.
struct Echo;

impl Provider for Echo {
    fn complete<'a>(&'a self, request: CompletionRequest, _: StreamListener<'a>) -> CompletionFuture<'a> {
        let asked = &request.messages[0].parts;
        let text =
            format!("{} [{}] {asked:?}", request.system, request.output_tokens_max.unwrap_or_default());
        Box::pin(async move {
            Ok(Completion {
                message: Message::text(Role::Assistant, text),
                stop_reason: StopReason::Stop,
                usage: Usage { input_tokens: 30, output_tokens: 4, ..Usage::default() },
                data: None,
                model: None,
            })
        })
    }
}

const TOOL: &str = "mcp__everything__trigger-sampling-request";

fn servers(rule: Option<&[&str]>) -> Arc<McpServers> {
    let rule = rule.map(|servers| SamplingSettings {
        servers: servers.iter().map(|&name| name.to_owned()).collect(),
        model: None,
        completions_max: 1,
        output_tokens_max: 50,
    });
    let sampling =
        rule.map(|rule| (rule, SamplingModel { provider: Arc::new(Echo), model: "echo".to_owned() }));
    let config = stdio("everything", "node", &[&everything(), "stdio"]);
    McpServers::start(vec![config], McpSettings { sampling, ..settings() })
}

#[tokio::test]
async fn a_server_that_is_named_uses_the_model_and_the_call_counts_it() {
    let servers = servers(Some(&["everything"]));
    let outcome = call(&servers, TOOL, json!({"prompt": "a haiku", "maxTokens": 4_000})).await;
    assert!(!outcome.is_error, "{}", outcome.content);
    assert!(
        outcome.content.contains("You are a helpful test server. [50] "),
        "no more tokens than the settings allow: {}",
        outcome.content
    );
    let data = outcome.data.to_json();
    assert_eq!(data["usage"]["input_tokens"], 30, "{data}");
    assert_eq!(data["completions"], 1);
    // Each call has its own completions.
    let again = call(&servers, TOOL, json!({"prompt": "another"})).await;
    assert!(!again.is_error, "{}", again.content);
}

#[tokio::test]
async fn a_server_that_is_not_named_is_told_that_there_is_no_sampling() {
    for rule in [None, Some(&["another"][..])] {
        let servers = servers(rule);
        let names = names(&servers).await;
        assert!(names.contains(&"mcp__everything__echo".to_owned()));
        assert!(!names.contains(&TOOL.to_owned()), "it offers the tool to clients with sampling only");
    }
}
