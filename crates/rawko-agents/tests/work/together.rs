//! Tool calls and sub-agents of one completion that run at the same time: they overlap, keep their order, and give the
//! same conversation as calls that run one after the other.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_host::{Host, PersonAnswer, SettleReason, StartOptions};
use rawko_model::provider::{CompletionFuture, CompletionRequest, Provider, Scripted, StreamListener};
use rawko_store::{AuditLine, Filter};
use serde_json::{Value as Json, json};
use tokio::sync::Barrier;

use crate::yard::{Yard, yard};

const HELPER: &str = "---\nname: helper\nwhenToUse: For help.\n---\nYou help.\n";

fn bash(command: &str) -> Json {
    json!({"name": "Bash", "input": {"command": command}})
}

fn read(path: &str) -> Json {
    json!({"name": "Read", "input": {"path": path}})
}

fn task(prompt: &str) -> Json {
    json!({"name": "Task", "input": {"agent": "helper", "prompt": prompt}})
}

fn script(completions: &[&[Json]]) -> String {
    let steps = completions.iter().map(|calls| json!({"tool_calls": calls}));
    let steps: Vec<Json> = steps.chain([json!({"text": "Done."})]).collect();
    json!([{"agent": "worker", "steps": steps}, {"agent": "helper", "steps": [{"text": "helped"}]}])
        .to_string()
}

/// Returns the contents of the results that the model read last.
fn results(yard: &Yard) -> Vec<String> {
    let last: Json = serde_json::from_str(&yard.last_prompt()).unwrap();
    let parts = last["parts"].as_array().unwrap().iter().filter(|part| part["type"] == "tool_result");
    parts.map(|part| part["content"].as_str().unwrap().to_owned()).collect()
}

async fn started(yard: &Yard) -> Host {
    let host = yard.host().await;
    let start = StartOptions { chart: "one".into(), input: json!({}).into(), id: Some("i".into()) };
    host.start(start).await.unwrap();
    host
}

async fn ended(host: &Host) -> Value {
    let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
    assert!(matches!(settled, SettleReason::Over(_)), "{settled:?}");
    host.results("i").unwrap().output
}

/// Each command waits for a writer of its pipe. All three pipes have a reader before one of them gets a writer, so that
/// commands that ran one after the other would never end.
#[tokio::test]
async fn commands_that_only_read_overlap_and_their_results_are_in_the_order_of_the_calls() {
    let yard = yard(&script(&[&[bash("cat a"), bash("cat b"), bash("cat c")]]));
    let pipes = ["a", "b", "c"].map(|name| yard.root().join(name));
    for pipe in &pipes {
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let host = started(&yard).await;
    let writing = tokio::task::spawn_blocking(move || {
        let open = |pipe| OpenOptions::new().write(true).open(pipe).unwrap();
        let mut writers: Vec<_> = pipes.iter().map(open).collect();
        // The last call ends first.
        while let Some(mut writer) = writers.pop() {
            writeln!(writer, "pipe {}", writers.len()).unwrap();
            drop(writer);
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    writing.await.unwrap();
    let output = ended(&host).await;
    host.close().await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    let read = results(&yard);
    assert_eq!(read.iter().map(|text| text.trim()).collect::<Vec<_>>(), ["pipe 0", "pipe 1", "pipe 2"]);
}

/// Equal calls form a group as long as loop detection would let each of them run.
#[tokio::test]
async fn the_same_command_three_times_is_one_group_and_six_times_are_more() {
    for (calls, groups) in [(3, 1), (6, 2)] {
        let calls = vec![bash("ls"); calls];
        let yard = yard(&script(&[&calls]));
        let host = started(&yard).await;
        ended(&host).await;
        let audit = host.reader().store().audit(None, usize::MAX).unwrap();
        host.close().await;
        let started = |line: &&AuditLine| &*line.decision == "allowed";
        let count = |service: &str| audit.iter().filter(started).filter(|it| &*it.service == service).count();
        assert_eq!(count("work:group"), groups, "{audit:?}");
        assert_eq!(count("work:collect"), 1, "{audit:?}");
    }
}

/// Lets sub-agents answer only once all of them have asked.
struct Meeting {
    script: Scripted,
    barrier: Barrier,
}

impl Provider for Meeting {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        Box::pin(async move {
            if request.agent == "helper" {
                self.barrier.wait().await;
            }
            self.script.complete(request, listener).await
        })
    }
}

#[tokio::test]
async fn sub_agents_run_at_the_same_time_up_to_the_limit() {
    // Sixteen at once without a limit; with one, groups of four, so that a barrier of eight would never open.
    for (limit, count, size) in [("", 16, 16), ("limits: {parallel: 4}\n", 8, 4)] {
        let calls: Vec<Json> = (0..count).map(|number| task(&format!("part {number}"))).collect();
        let script = Scripted::of_text("script.yaml", &script(&[&calls])).unwrap();
        let meeting = Arc::new(Meeting { script, barrier: Barrier::new(size) });
        let agent = format!("---\nname: worker\nwhenToUse: For work.\n{limit}---\nYou work.\n");
        let yard = yard("[]")
            .answered_by(meeting)
            .file(".rawko/agents/worker.md", &agent)
            .file(".rawko/agents/helper.md", HELPER);
        let output = yard.run("one", json!({})).await;
        assert_eq!(output.get("outcome").as_str(), Some("finished"), "{limit}: {output}");
        let messages = output.get("messages").to_json().to_string();
        assert_eq!(messages.matches("helped").count(), count, "{limit}: {messages}");
    }
}

#[tokio::test]
async fn a_call_that_writes_is_before_what_follows_and_after_what_precedes_it() {
    let write = |text: &str| json!({"name": "Write", "input": {"path": "a.txt", "content": text}});
    let calls = [
        bash("sleep 0.3; cat a.txt"),
        read("a.txt"),
        write("second\n"),
        bash("cat a.txt"),
        read("a.txt"),
        bash("sleep 0.2; echo third > a.txt"),
        bash("cat a.txt"),
        bash("cat a.txt"),
    ];
    let yard = yard(&script(&[&calls])).file("a.txt", "first\n");
    let output = yard.run("one", json!({})).await;
    let read = results(&yard);
    let word = |text: &String| {
        ["first", "second", "third"].into_iter().find(|word| text.contains(word)).unwrap_or("-")
    };
    let words: Vec<&str> = read.iter().map(word).collect();
    assert_eq!(words, ["first", "first", "-", "second", "second", "-", "third", "third"], "{read:?}");
    assert_eq!(output.get("changes").as_i64(), Some(2), "{output}");
}

/// A group of calls leaves the same conversation, loop memory and counts as calls that run one after the other.
#[tokio::test]
async fn the_result_is_the_same_as_one_after_the_other() {
    let many: Vec<Json> = (0..6).map(|_| read("a.txt")).collect();
    let table: [(&str, Vec<Vec<Json>>); 7] = [
        ("readers", vec![vec![read("a.txt"), read("b.txt"), bash("cat a.txt")]]),
        ("a missing file", vec![vec![read("a.txt"), read("missing.txt"), read("web/x.txt")]]),
        ("instructions of a directory", vec![vec![read("web/x.txt"), read("web/y.txt"), read("a.txt")]]),
        ("the same call six times", vec![many]),
        ("the same calls in turns", vec![vec![bash("ls"), bash("ls"), read("a.txt"), bash("ls")]; 3]),
        ("a circle of two", vec![vec![read("a.txt"), read("b.txt")]; 12]),
        (
            "a command that the agent may not run",
            vec![vec![bash("ls"), bash("cat /etc/passwd"), read("a.txt")]],
        ),
    ];
    for (case, completions) in table {
        let completions: Vec<&[Json]> = completions.iter().map(Vec::as_slice).collect();
        let run = async |settings: &str| {
            let yard = yard(&script(&completions))
                .settings(settings)
                .file("a.txt", "a\n")
                .file("b.txt", "b\n")
                .file("web/x.txt", "x\n")
                .file("web/y.txt", "y\n")
                .file("web/AGENTS.md", "Use two spaces.\n");
            yard.run("one", json!({})).await.to_json()
        };
        let (together, alone) = (run("").await, run("loop: {parallel_max: 1}\n").await);
        for key in ["outcome", "category", "messages", "memory", "changes", "tool", "attempted", "context"] {
            assert_eq!(together[key], alone[key], "{case}: {key}");
        }
    }
}

/// The call that a person has to approve waits in its place; those before it have run, and those after it follow.
#[tokio::test]
async fn an_approval_of_one_call_loses_no_other() {
    for approved in [true, false] {
        let calls = [read("a.txt"), read("b.txt"), bash("cat b.txt"), read("a.txt"), read("b.txt")];
        let yard = yard(&script(&[&calls]))
            .settings("permissions: {ask: ['Bash(cat:*)']}\n")
            .file("a.txt", "first\n")
            .file("b.txt", "second\n");
        let host = started(&yard).await;
        let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
        assert!(matches!(&settled, SettleReason::Waiting(activity) if activity.person), "{settled:?}");
        let asking = host.reader().store().audit(None, usize::MAX).unwrap();
        let is_read = |line: &&AuditLine| &*line.service == "tool:Read" && &*line.decision == "allowed";
        let reads = asking.iter().filter(is_read).count();
        assert_eq!(reads, 2, "the calls before it have run");
        let rows = host.reader().store().list(&Filter::default()).unwrap().rows;
        let waiting = rows.iter().map(|row| row.new.id.to_string()).find(|id| id.starts_with("i.worker"));
        let answer = PersonAnswer {
            approved,
            by: Some("ada".into()),
            claimed: None,
            asked_ms: None,
            comment: None,
            data: Value::Null,
        };
        host.answer(&waiting.unwrap(), None, answer).await.unwrap();
        ended(&host).await;
        host.close().await;
        let read = results(&yard);
        let expected = if approved { "second" } else { "ada denied this call" };
        assert_eq!(read.len(), 5, "{read:?}");
        assert!(read[0].contains("first") && read[1].contains("second"), "{read:?}");
        assert!(read[2].contains(expected), "{read:?}");
        assert!(read[3].contains("first") && read[4].contains("second"), "{read:?}");
    }
}

/// A budget that cannot pay for all calls pays for the first ones.
#[tokio::test]
async fn a_budget_counts_calls_that_run_at_the_same_time() {
    let chart = "
statechart:
  id: limited
  initial: working
  context: {result: null}
  states:
    working:
      budget: {tool_calls: 3}
      invoke:
        id: work
        src: agent:worker
        input: {prompt: \"'Do it.'\"}
        onDone: {target: over, actions: [{type: assign, context_updates: {result: event.data}}]}
        onError: {target: over, actions: [{type: assign, context_updates: {result: event.data}}]}
    over: {type: final, output: context.result}
";
    let two = [read("a.txt"), read("b.txt")];
    let yard = yard(&script(&[&two, &two])).chart(chart).file("a.txt", "a\n").file("b.txt", "b\n");
    let (output, audit) = yard.run_audited("limited", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("limit_reached"), "{output}");
    let is_allowed = |line: &&AuditLine| &*line.service == "tool:Read" && &*line.decision == "allowed";
    assert_eq!(audit.iter().filter(is_allowed).count(), 3, "{audit:?}");
}
