//! The targets: one for each parser of a stranger's text. An outcome is of no interest, only that there is one.

use std::path::Path;

use rawko_agents::agent::Agents;
use rawko_chart::{Registry, SourceFile, SpannedValue};
use rawko_core::expr::{self, EvalScope, NameResolver};
use rawko_core::{Active, Configuration, InstanceFacts, NamedEvent, NodeId, Slot, Value, World};
use rawko_host::Environment;
use rawko_import::{ImportOptions, SourceLanguage, import_as};
use rawko_model::provider::{
    BodyEnd, CompletionRequest, Decoder, Dialect, OpenAiTraits, ReasoningReturn, SchemaSupport,
};
use rawko_programs::incoming;
use rawko_tools::{Grant, UnconfinedCalls};
use rawko_triggers::{
    Cron, HmacOptions, MissedPolicy, Schedule, Signature, SignatureSecret, Webhook, WebhookDelivery,
};

pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) parse: fn(&[u8]),
    /// Words of the language, those that nest first.
    pub(crate) words: &'static [&'static str],
}

const JSON: &[&str] = &["[", "{\"a\":", "\"", "]", "}", ",", "null", "1e5", "\\u0000", "\\ud800"];
const YAML: &[&str] =
    &["[", "- ", "{a: ", "? ", "a: &a ", "*a", "|\n ", "---\n", "!!x ", "<<: ", "\t", "\n  ", "'", "\"", "#"];

pub(crate) const ALL: &[Target] = &[
    Target { name: "tree", parse: tree, words: YAML },
    Target { name: "chart", parse: chart, words: CHART },
    Target { name: "expression", parse: expression, words: EXPRESSION },
    Target { name: "scxml", parse: scxml, words: XML },
    Target { name: "xstate", parse: xstate, words: JS },
    Target { name: "dot", parse: dot, words: DOT },
    Target { name: "langgraph", parse: langgraph, words: JSON },
    Target { name: "stream", parse: stream, words: STREAM },
    Target { name: "mcp_settings", parse: mcp_settings, words: JSON },
    Target { name: "agent_protocol", parse: agent_protocol, words: JSON },
    Target { name: "agent_line", parse: agent_line, words: JSON },
    Target { name: "acp_update", parse: acp_update, words: JSON },
    Target { name: "mcp_result", parse: mcp_result, words: JSON },
    Target {
        name: "language_server",
        parse: language_server,
        words: &["Content-Length: ", "\r\n\r\n", "{\"a\":", "99", "}"],
    },
    Target { name: "shell", parse: shell, words: SHELL },
    Target { name: "cron", parse: cron, words: &["*", "*/", ",", "-", " ", "@daily", "MON", "59", "0"] },
    Target { name: "webhook", parse: webhook, words: WEBHOOK },
    Target { name: "agent_file", parse: agent_file, words: YAML },
    Target { name: "settings", parse: settings, words: YAML },
];

fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

fn tree(input: &[u8]) {
    if let Ok(document) = SpannedValue::read(&text(input)) {
        document.to_json();
    }
}

const CHART: &[&str] = &[
    "[",
    "{a: ",
    "states:\n  ",
    "on: {E: ",
    "- ",
    "parallel",
    "type: ",
    "guard: ",
    "context.x",
    "initial: a\n",
    "always: ",
    "invoke: {src: ",
    "after: {1s: ",
    "history",
    "entry: ",
    "&a ",
    "*a",
    "\n    ",
];

fn chart(input: &[u8]) {
    let (_, loaded) = rawko_chart::load_bytes("fuzz.yaml", input, &Registry::default());
    if let Some(chart) = loaded.chart {
        chart.node_ids().count();
    }
}

const EXPRESSION: &[&str] = &[
    "(",
    "[",
    "not ",
    "-",
    "{a: ",
    "a ? b : ",
    "1 ** ",
    "x.",
    "'",
    "f(",
    " and ",
    " ~ ",
    "context.",
    "event.data",
    "[0]",
    "]",
    ")",
    "}",
    "slice(",
    "1e308",
    " in ",
];

struct NoNames;

impl NameResolver for NoNames {
    fn context_key(&self, _: &str) -> Option<Slot> {
        Some(Slot(0))
    }
    fn context_keys(&self) -> Vec<String> {
        Vec::new()
    }
    fn local(&self, _: &str) -> Option<usize> {
        None
    }
    fn state(&self, _: &str) -> Option<NodeId> {
        None
    }
}

fn expression(input: &[u8]) {
    let text = text(input);
    let Ok(expr) = expr::parse(&text).and_then(|ast| ast.resolve(&NoNames)) else { return };
    let data =
        Value::map([("list", Value::list(vec![Value::Int(1), Value::str("two")])), ("n", Value::float(0.5))]);
    let (context, event) = ([data.clone()], NamedEvent::new("E", data.clone()));
    let (world, instance, configuration) =
        (World::default(), InstanceFacts::default(), Configuration::default());
    let scope = EvalScope {
        context: &context,
        context_names: &["x".into()],
        locals: &[],
        event: Some(&event),
        input: &data,
        now_ms: 1_700_000_000_000,
        world: &world,
        instance: &instance,
        configuration: Active::new(&configuration, &[]),
        sizes: None,
    };
    let _ = expr.eval(&scope);
}

fn imported(language: SourceLanguage, input: &[u8]) {
    if let Ok(done) = import_as(language, &text(input), ImportOptions::default()) {
        // The result is ours: it must be readable for every source.
        rawko_chart::load_bytes("fuzz.yaml", done.yaml.as_bytes(), &Registry::default());
    }
}

const XML: &[&str] = &[
    "<state id=\"a\">",
    "<parallel>",
    "</state>",
    "<!--",
    "<![CDATA[",
    "&lt;",
    "<transition event=\"e\" target=\"a\"/>",
    "<script>",
    "cond=\"",
    "((",
    "<scxml>",
    "<onentry>",
    "<if cond=\"x\">",
    "<assign location=\"x\" expr=\"",
];

fn scxml(input: &[u8]) {
    imported(SourceLanguage::Scxml, input);
}

const JS: &[&str] = &[
    "{",
    "[",
    "(",
    "=>",
    "createMachine({",
    "states: {a: ",
    "on: {E: '",
    "//",
    "/*",
    "`",
    "'",
    "},",
    "...",
    "setup({",
    "import ",
    "((a) => ",
    "!",
];

fn xstate(input: &[u8]) {
    imported(SourceLanguage::Xstate, input);
}

const DOT: &[&str] = &[
    "{",
    "subgraph a {",
    "->",
    "digraph ",
    "[",
    "label=\"",
    "]",
    ";",
    "\"",
    "<",
    "/*",
    "//",
    "strict ",
    "}",
];

fn dot(input: &[u8]) {
    imported(SourceLanguage::Dot, input);
}

fn langgraph(input: &[u8]) {
    imported(SourceLanguage::Langgraph, input);
}

const STREAM: &[&str] = &[
    "data: ",
    "{\"choices\":[{\"delta\":{\"content\":\"",
    "\n\n",
    "event: ",
    "[",
    "{\"a\":",
    "\r",
    "data: [DONE]\n\n",
    "\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"",
    "}",
    "]",
    ":\n",
];

fn stream(input: &[u8]) {
    let traits =
        OpenAiTraits { schema: SchemaSupport::Prompt, is_original: false, reasoning: ReasoningReturn::Never };
    let dialects =
        [Dialect::OpenAi(traits), Dialect::Responses, Dialect::Anthropic, Dialect::Gemini, Dialect::Ollama];
    let request = CompletionRequest::default();
    for dialect in dialects {
        for piece in [input.len().max(1), 7] {
            let mut decoder = Decoder::new(dialect, &request, None, "fuzz");
            // Small pieces only for small inputs: the network does not send 64 KiB in sevens.
            if piece == 7 && input.len() > 4_096 {
                continue;
            }
            let is_read = input.chunks(piece).all(|piece| {
                let outcome = decoder.handle_bytes(piece);
                decoder.take_events();
                outcome.is_ok()
            });
            let _ = decoder.finish(if is_read { BodyEnd::Announced } else { BodyEnd::Broken });
        }
    }
}

fn mcp_settings(input: &[u8]) {
    let source = SourceFile::new(".mcp.json", text(input).into_owned());
    let _ = rawko_programs::mcp::read_mcp(&source, Environment::none(), Path::new("/"));
}

fn agent_protocol(input: &[u8]) {
    let _ = serde_json::from_slice::<rawko_server::FromAgent>(input);
    let _ = serde_json::from_slice::<rawko_server::ToAgent>(input);
}

fn agent_line(input: &[u8]) {
    incoming::read_agent_line(input);
}

fn acp_update(input: &[u8]) {
    incoming::read_acp_update(input);
}

fn mcp_result(input: &[u8]) {
    incoming::read_mcp_result(input);
}

fn language_server(input: &[u8]) {
    incoming::read_language_server(input);
}

const SHELL: &[&str] = &[
    "$(",
    "(",
    "{ ",
    "`",
    "${a:-",
    "if ",
    "; ",
    "| ",
    "&& ",
    "\"",
    "'",
    "<<A\n",
    "\nA\n",
    ">",
    "$((",
    "case a in ",
    "for a in ",
    "\\",
    "sh -c '",
    "find . -exec ",
    "xargs ",
    "env ",
    "git -c ",
    "awk '",
    "sed -e '",
    "<(",
    "[[ ",
];

fn shell(input: &[u8]) {
    let calls = UnconfinedCalls::new(Path::new("/project"));
    let call = Value::map([("command", Value::str(&text(input)))]);
    calls.judge("Bash", &call, Path::new("/project"), &Grant::new([]));
}

fn cron(input: &[u8]) {
    let text = text(input);
    let _ = Cron::parse(&text);
    if let Ok(schedule) = Schedule::new(&text, "Europe/Zurich", MissedPolicy::All { at_most: 100 }) {
        schedule.plan(1_700_000_000_000, 1_795_000_000_000);
        schedule.next_after(1_795_000_000_000);
        schedule.plan(i64::MIN, i64::MAX);
    }
}

const WEBHOOK: &[&str] = &[
    "[",
    "{\"a\":",
    "sha256=",
    "v0=",
    "\n",
    "payload=",
    "%7B",
    "&",
    "1531420618",
    "{\"type\":\"url_verification\"}",
    "event_id",
];

/// The first lines are headers, in the order of the names below; the rest is the body.
fn webhook(input: &[u8]) {
    let text = text(input);
    let (head, body) = text.split_once("\n\n").unwrap_or(("", &text));
    let names = [
        "content-type",
        "x-hub-signature-256",
        "x-slack-request-timestamp",
        "x-github-delivery",
        "x-github-event",
    ];
    let lines: Vec<&str> = head.lines().collect();
    let header =
        |name: &str| names.iter().position(|known| *known == name).and_then(|at| lines.get(at).copied());
    let hmac = HmacOptions {
        header: "x-hub-signature-256".to_owned(),
        prefix: "sha256=".to_owned(),
        encoding: rawko_triggers::Encoding::Base64,
        timestamp: Some("x-slack-request-timestamp".to_owned()),
        tolerance_ms: 300_000,
    };
    for signature in [Signature::Github, Signature::Slack, Signature::Hmac(hmac), Signature::None] {
        let _ = signature.verify(&SignatureSecret::new("s"), &header, body.as_bytes(), 1_531_420_618_000);
        let webhook = Webhook {
            signature,
            secret: None,
            delivery_header: Some("x-github-delivery".to_owned()),
            allows_identical: false,
        };
        let kind = header("content-type").unwrap_or_default();
        let Ok(payload) = rawko_triggers::read_payload(kind, body.as_bytes()) else { continue };
        WebhookDelivery::new(&webhook, &header, body.as_bytes(), payload, 0).challenge(&webhook);
    }
}

fn agent_file(input: &[u8]) {
    let source = SourceFile::new(".rawko/agents/fuzz.md", text(input).into_owned());
    Agents::of_source(&source, Environment::none());
}

fn settings(input: &[u8]) {
    let source = SourceFile::new(".rawko/config.yaml", text(input).into_owned());
    let (settings, _) = rawko_host::Settings::of_source(&source, Environment::none());
    rawko_triggers::Triggers::read(&settings);
    rawko_server::ServerSettings::read(&settings, Path::new("/"));
    rawko_server::TurnSettings::read(&settings, Path::new("/"));
}
