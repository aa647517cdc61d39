//! Values that are larger than a chart accepts, from models and from tools: each call runs at most once, is answered
//! once, and the run ends with its true outcome.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawko_core::Value;
use rawko_host::StartOptions;
use rawko_model::provider::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, Provider, ProviderError, StreamListener,
};
use rawko_model::{Message, MessagePart, Role, StopReason, ToolUse, Usage};
use rawko_store::{MemoryStore, Store};
use serde_json::json;

use crate::yard::{Yard, yard};

const MIB: usize = 1024 * 1024;

/// A model that answers what it is given, in order. A script could not hold answers of this size.
#[derive(Default)]
struct Canned {
    answers: Mutex<VecDeque<Result<Vec<MessagePart>, ProviderError>>>,
    asked: Mutex<Vec<CompletionRequest>>,
}

impl Provider for Canned {
    fn complete<'a>(&'a self, request: CompletionRequest, _: StreamListener<'a>) -> CompletionFuture<'a> {
        let is_summary = request.occasion.ends_with("/summary");
        self.asked.lock().unwrap().push(request);
        let answer = if is_summary { Some(Ok(vec![text("A summary.")])) } else { None };
        let answer = answer.or_else(|| self.answers.lock().unwrap().pop_front());
        let answer = answer.unwrap_or_else(|| Ok(vec![text("Done.")]));
        Box::pin(std::future::ready(answer.map(|parts| Completion {
            message: Message { role: Role::Assistant, parts },
            stop_reason: StopReason::Stop,
            // Small, so that nothing is compacted for its tokens.
            usage: Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() },
            data: None,
            model: None,
        })))
    }
}

impl Canned {
    fn new(answers: impl IntoIterator<Item = Vec<MessagePart>>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().map(Ok).collect()), ..Self::default() })
    }

    fn asked(&self) -> Vec<CompletionRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// Every call in the last prompt, with the results it has there.
    fn answered(&self) -> Vec<(String, Vec<String>)> {
        let messages = self.asked().last().unwrap().messages.clone();
        let parts: Vec<MessagePart> = messages.iter().flat_map(|message| message.parts.clone()).collect();
        let results = |id: &str| {
            let of = |part: &MessagePart| match part {
                MessagePart::ToolResult(result) if result.id == id => Some(result.content.clone()),
                _ => None,
            };
            parts.iter().filter_map(of).collect()
        };
        let call = |part: &MessagePart| match part {
            MessagePart::ToolUse(call) => Some((call.id.clone(), results(&call.id))),
            _ => None,
        };
        parts.iter().filter_map(call).collect()
    }
}

fn text(text: &str) -> MessagePart {
    MessagePart::Text { text: text.to_owned() }
}

fn call(id: &str, name: &str, input: Value) -> MessagePart {
    MessagePart::ToolUse(ToolUse { id: id.to_owned(), name: name.to_owned(), input })
}

fn write(id: &str, path: &str, bytes: usize) -> MessagePart {
    call(id, "Write", Value::map([("path", Value::str(path)), ("content", Value::from("x".repeat(bytes)))]))
}

fn read(id: &str, path: &str) -> MessagePart {
    call(id, "Read", Value::map([("path", Value::str(path))]))
}

fn nested(depth: usize) -> Value {
    (1..depth).fold(Value::map([("leaf", Value::Int(1))]), |inner, _| Value::map([("a", inner)]))
}

fn working(model: &Arc<Canned>) -> Yard {
    yard("[]").answered_by(Arc::clone(model) as Arc<dyn Provider>)
}

/// A file that is an image by its first bytes, and another one for each number.
fn image(yard: &Yard, path: &str, bytes: usize, number: u8) {
    let mut content = vec![number; bytes];
    content[..8].copy_from_slice(b"\x89PNG\r\n\x1a\n");
    std::fs::write(yard.root().join(path), content).unwrap();
}

fn images(request: &CompletionRequest) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.filter(|part| matches!(part, MessagePart::Image { .. })).count()
}

/// Counts the allowed calls of a tool.
fn runs(audit: &[rawko_store::AuditLine], tool: &str) -> usize {
    audit.iter().filter(|line| &*line.service == tool && &*line.decision == "allowed").count()
}

fn outcome(output: &Value) -> &str {
    output.get("outcome").as_str().unwrap_or_default()
}

/// It used to run the third call again and again.
#[tokio::test]
async fn three_large_images_in_one_turn_are_seen() {
    let model = Canned::new([vec![read("1", "1.png"), read("2", "2.png"), read("3", "3.png")]]);
    let yard = working(&model);
    for number in 1..=3 {
        image(&yard, &format!("{number}.png"), 4 * MIB, number);
    }
    let (output, audit) = yard.run_audited("one", json!({})).await;
    assert_eq!(outcome(&output), "finished", "{output}");
    assert_eq!(runs(&audit, "tool:Read"), 3);
    assert_eq!(model.asked().iter().map(images).collect::<Vec<_>>(), [0, 3]);
    let size = serde_json::to_string(&output.to_json()).unwrap().len();
    assert!(size < 10_000, "the output holds references: {size}");
}

#[tokio::test]
async fn images_that_one_turn_cannot_hold_are_told_of() {
    let calls = (1..=6).map(|number| read(&number.to_string(), &format!("{number}.png"))).collect();
    let model = Canned::new([calls]);
    let yard = working(&model);
    for number in 1..=6 {
        image(&yard, &format!("{number}.png"), 4 * MIB, number);
    }
    let (output, audit) = yard.run_audited("one", json!({})).await;
    assert_eq!((outcome(&output), runs(&audit, "tool:Read")), ("finished", 6), "{output}");
    assert_eq!(images(model.asked().last().unwrap()), 3);
    let told = model
        .answered()
        .iter()
        .filter(|(_, said)| said[0].contains("is not shown: the images of one turn"))
        .count();
    assert_eq!(told, 3, "{:?}", model.answered());
}

/// A browser takes a screenshot after each click.
#[tokio::test]
async fn a_long_session_sees_its_newest_images() {
    let model = Canned::new((1..=20).map(|number| vec![read(&number.to_string(), &format!("{number}.png"))]));
    let yard = working(&model);
    for number in 1..=20 {
        image(&yard, &format!("{number}.png"), 2 * MIB, number);
    }
    let (output, audit) = yard.run_audited("one", json!({})).await;
    assert_eq!((outcome(&output), runs(&audit, "tool:Read")), ("finished", 20), "{output}");
    let last = model.asked().last().unwrap().clone();
    assert_eq!(images(&last), 7, "as many as one request can hold");
    let newest = last.messages.last().unwrap();
    assert!(
        newest.parts.iter().any(|part| matches!(part, MessagePart::Image { .. })),
        "the newest among them"
    );
}

#[tokio::test]
async fn an_image_is_found_again_after_a_restart() {
    let model = Arc::new(Canned::default());
    let busy =
        ProviderError { retry_after_ms: Some(500), ..ProviderError::new(ErrorCode::RateLimited, "busy") };
    model.answers.lock().unwrap().extend([Ok(vec![read("1", "1.png")]), Err(busy)]);
    let yard = working(&model).back_off_first("10ms");
    image(&yard, "1.png", 4 * MIB, 1);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let host = yard.host_on(Arc::clone(&store)).await;
    host.start(StartOptions { chart: "one".into(), input: Value::Null, id: Some("i".into()) }).await.unwrap();
    let mut changes = host.changes();
    while host.results("i.worker.0").is_ok_and(|agent| agent.configuration != ["working.backing_off"]) {
        changes.changed().await.unwrap();
    }
    host.close().await;
    std::fs::remove_file(yard.root().join("1.png")).unwrap();
    let host = yard.host_on(store).await;
    host.settled("i", Duration::from_secs(60)).await.unwrap();
    let output = host.results("i").unwrap().output;
    assert_eq!(outcome(&output), "finished", "{output}");
    assert_eq!(model.asked().iter().map(images).collect::<Vec<_>>(), [0, 1, 1]);
    host.close().await;
}

/// It used to end as `finished` with nothing done.
#[tokio::test]
async fn a_write_that_is_too_large_is_answered_and_the_model_can_react() {
    let model = Canned::new([vec![write("1", "large.txt", 17 * MIB)], vec![write("2", "small.txt", 10)]]);
    let yard = working(&model);
    let (output, audit) = yard.run_audited("one", json!({})).await;
    assert_eq!(outcome(&output), "finished", "{output}");
    assert_eq!(yard.read("small.txt").as_deref(), Some("xxxxxxxxxx"));
    assert_eq!(yard.read("large.txt"), None);
    assert_eq!(runs(&audit, "tool:Write"), 2);
    let answered = model.answered();
    assert!(answered[0].1[0].starts_with("not run: its input has"), "{answered:?}");
    assert_eq!(output.get("filesModified").to_json(), json!(["small.txt"]));
}

/// Every size and shape of a call: one completion asks, the next one has the answer.
#[tokio::test]
async fn calls_of_any_size_and_depth_are_answered_once() {
    let list = |length: i64| Value::list((0..length).map(Value::Int).collect());
    let table = [
        ("1 KiB", write("1", "a.txt", 1024), "run"),
        ("900 KB", write("1", "a.txt", 900_000), "run"),
        ("1 MiB and more", write("1", "a.txt", MIB + MIB / 8), "not run"),
        ("5 MiB", write("1", "a.txt", 5 * MIB), "not run"),
        ("15 MiB", write("1", "a.txt", 15 * MIB), "not run"),
        ("16 MiB", write("1", "a.txt", 16 * MIB), "not run"),
        ("40 MiB", write("1", "a.txt", 40 * MIB), "not run"),
        ("10 deep", call("1", "Read", nested(10)), "run"),
        ("64 deep", call("1", "Read", nested(64)), "run"),
        ("65 deep", call("1", "Read", nested(65)), "not run"),
        ("96 deep", call("1", "Read", nested(96)), "not run"),
        ("97 deep", call("1", "Read", nested(97)), "not run"),
        ("120 deep", call("1", "Read", nested(120)), "not run"),
        ("10,000 values", call("1", "Read", list(10_000)), "run"),
        ("300,000 values", call("1", "Read", list(300_000)), "not run"),
        ("a name without end", call("1", &"n".repeat(17 * MIB), Value::Null), "not run"),
        ("an id without end", call(&"i".repeat(17 * MIB), "Read", Value::Null), "run"),
        (
            "an agent that is asked too much",
            call("1", "Task", {
                Value::map([("agent", Value::str("worker")), ("prompt", Value::from("x".repeat(17 * MIB)))])
            }),
            "not run",
        ),
    ];
    for (case, asked, expected) in table {
        let model = Canned::new([vec![asked]]);
        let output = working(&model).run("one", json!({})).await;
        assert_eq!(outcome(&output), "finished", "{case}: {}", shown(&output));
        assert_eq!(model.asked().len(), 2, "{case}");
        let answered = model.answered();
        assert_eq!(answered.len(), 1, "{case}");
        assert_eq!(answered[0].1.len(), 1, "{case}");
        let was_run = if answered[0].1[0].starts_with("not run: ") { "not run" } else { "run" };
        assert_eq!(was_run, expected, "{case}: {}", answered[0].1[0]);
    }
}

fn shown(output: &Value) -> String {
    output.to_string().chars().take(500).collect()
}

#[tokio::test]
async fn more_calls_than_one_answer_may_ask_for() {
    let asked = (0..300).map(|number| read(&number.to_string(), &format!("{number}.txt"))).collect();
    let model = Canned::new([asked]);
    let yard = working(&model);
    for number in 0..300 {
        std::fs::write(yard.root().join(format!("{number}.txt")), format!("{number}\n")).unwrap();
    }
    let (output, audit) = yard.run_audited("one", json!({})).await;
    assert_eq!((outcome(&output), runs(&audit, "tool:Read")), ("finished", 128), "{}", shown(&output));
    let answered = model.answered();
    assert_eq!(answered.iter().filter(|(_, said)| said.len() == 1).count(), 128);
    assert!(answered[127].1[0].contains("asked for 300 calls"), "{}", answered[127].1[0]);
}

/// Tools that give back a lot, one after the other in one turn, and in many.
#[tokio::test]
async fn results_of_any_size_are_taken_once() {
    let print = |id: &str, bytes: usize| {
        let command = format!("echo {id}; head -c {bytes} /dev/zero | tr '\\0' x");
        call(id, "Bash", Value::map([("command", Value::from(command))]))
    };
    for (case, turns, calls, bytes) in
        [("one", 1, 1, 20 * MIB), ("many in one turn", 1, 12, MIB), ("many turns", 12, 4, MIB)]
    {
        let turn = |turn: usize| (0..calls).map(move |at| print(&format!("{turn}-{at}"), bytes)).collect();
        let model = Canned::new((0..turns).map(turn));
        let yard = working(&model).settings("tools: {bash: {output_max: 33554432}}\n");
        let (output, audit) = yard.run_audited("one", json!({})).await;
        assert_eq!(outcome(&output), "finished", "{case}: {}", shown(&output));
        assert_eq!(runs(&audit, "tool:Bash"), turns * calls, "{case}");
        for request in model.asked() {
            let size = serde_json::to_string(&request.messages).unwrap().len();
            assert!(size < 6 * MIB, "{case}: {size}");
        }
        if turns == 1 {
            let answered = model.answered();
            assert_eq!(answered.iter().filter(|(_, said)| said.len() == 1).count(), calls, "{case}");
            assert!(answered.iter().all(|(_, said)| said[0].contains("bytes left out: ")), "{case}");
        }
    }
}

/// Reports of sub-agents come as outputs of child instances, past the tools.
#[tokio::test]
async fn reports_of_any_length_are_taken_once() {
    let send = |number: usize| {
        let input = [("agent", Value::str("worker")), ("prompt", Value::from(format!("Part {number}.")))];
        call(&number.to_string(), "Task", Value::map(input))
    };
    let asks = vec![(0..20).map(send).collect()];
    // Four bytes a character.
    let reports = (0..20).map(|_| vec![text(&"\u{1F980}".repeat(MIB))]);
    let model = Canned::new(asks.into_iter().chain(reports));
    let output = working(&model).run("one", json!({})).await;
    assert_eq!(outcome(&output), "finished", "{}", shown(&output));
    assert_eq!(model.asked().len(), 22);
    let answered = model.answered();
    assert_eq!(answered.len(), 20);
    for (at, (_, reports)) in answered.iter().enumerate() {
        assert_eq!(reports.len(), 1, "{at}");
        let length = reports[0].matches('\u{1F980}').count();
        assert_eq!(length, if at < 8 { 50_000 } else { 5_000 }, "{at}");
        assert!(reports[0].ends_with("[the rest is left out: one report is limited]"), "{at}");
    }
}

#[tokio::test]
async fn an_answer_of_any_length_is_an_answer() {
    for bytes in [MIB, 17 * MIB, 60 * MIB] {
        let model = Canned::new([vec![text(&"x".repeat(bytes))]]);
        let output = working(&model).run("one", json!({})).await;
        assert_eq!(outcome(&output), "finished", "{bytes}: {}", shown(&output));
        let said = output.get("text").as_str().unwrap();
        assert!(said.contains("bytes left out: ") && said.len() < MIB, "{bytes}: {}", said.len());
    }
}

/// A prompt that no compaction makes smaller, and one that its caller cannot hand over.
#[tokio::test]
async fn a_prompt_that_is_too_large_fails_with_the_reason() {
    for (bytes, category, code) in
        [(6 * MIB, "failed", "context_length_exceeded"), (20 * MIB, "execution", "")]
    {
        let model = Canned::new([]);
        let output = working(&model).run("one", json!({"prompt": "x".repeat(bytes)})).await;
        let shown = shown(&output);
        assert_eq!(output.get("category").as_str(), Some(category), "{bytes}: {shown}");
        assert_eq!(output.get("code").as_str().unwrap_or_default(), code, "{bytes}: {shown}");
        assert_eq!(model.asked().len(), 0, "{bytes}");
    }
}
