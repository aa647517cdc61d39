//! Traces of the real binary, as a collector receives them: the tree of a whole task, a run that is killed and resumed,
//! and the content that is not sent.

mod collector;
mod logs;
mod otlp;
mod secrets;

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use expect_test::expect;

use crate::queue::until;
use crate::support::{command, directory};
use collector::{Collector, tree};

const SHOWN: [&str; 4] =
    ["gen_ai.request.model", "gen_ai.tool.call.id", "gen_ai.response.finish_reasons", "error.type"];

#[test]
fn a_task_is_one_trace_with_agents_completions_and_tools_in_it() {
    let collector = Collector::start();
    let dir = directory(&[]);
    let demo = command(dir.path(), &["demo", "slugs"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=research")
        .output()
        .unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    let spans = collector.spans();
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
    assert_eq!(traces.len(), 1, "one task, one trace");
    assert!(spans.iter().all(|span| span.service == "rawko"));
    assert!(collector.contains("x-team: research"));
    expect![[r#"
        invoke_workflow rawko
          call checks:base
          call work:select
            chat scripted model=scripted finish_reasons=[stop]
          invoke_agent planner model=scripted
            call work:open
            chat scripted model=scripted finish_reasons=[tool_call]
            call work:group
            execute_tool Read id=call_1
            execute_tool Read id=call_2
            call work:collect
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool PlanWrite id=call_3
            chat scripted model=scripted finish_reasons=[stop]
          call work:remember
            chat scripted model=scripted finish_reasons=[stop]
          call checks:round
          call work:evaluate
          invoke_agent developer model=scripted
            call work:open
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool Read id=call_1
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool Write id=call_2
            execute_tool Read id=call_3
            execute_tool Edit id=call_4
            execute_tool PlanUpdate id=call_5
            execute_tool PlanUpdate id=call_6
            chat scripted model=scripted finish_reasons=[stop]
          call work:remember
            chat scripted model=scripted finish_reasons=[stop]
          call checks:round
          call work:evaluate
          invoke_agent tester model=scripted
            call work:open
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool Bash ERROR id=call_1 type=tool_error
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool PlanUpdate id=call_2
            chat scripted model=scripted finish_reasons=[stop]
          call work:remember
            chat scripted model=scripted finish_reasons=[stop]
          call checks:round
          call work:evaluate
          invoke_agent developer model=scripted
            call work:open
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool Edit id=call_7
            chat scripted model=scripted finish_reasons=[stop]
          call work:remember
            chat scripted model=scripted finish_reasons=[stop]
          call checks:round
          call work:evaluate
          invoke_agent tester model=scripted
            call work:open
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool Bash id=call_3
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool PlanUpdate id=call_4
            chat scripted model=scripted finish_reasons=[stop]
          call work:remember
            chat scripted model=scripted finish_reasons=[stop]
          call checks:round
          call work:evaluate
          invoke_agent reviewer model=scripted
            call work:open
            chat scripted model=scripted finish_reasons=[tool_call]
            call work:group
            execute_tool Read id=call_1
            execute_tool Read id=call_2
            call work:collect
            chat scripted model=scripted finish_reasons=[tool_call]
            execute_tool PlanUpdate id=call_3
            chat scripted model=scripted finish_reasons=[stop]
          call work:remember
            chat scripted model=scripted finish_reasons=[stop]
          call checks:round
          call work:evaluate
          call checks:round
    "#]]
    .assert_eq(&tree(&spans, &SHOWN));

    // The attributes of the conventions.
    // Of calls at the same time, the first one made, not the first to end.
    let find = |name: &str| {
        let first = spans.iter().find(|span| span.name == name).unwrap();
        let instance = first.attributes.get("rawko.instance");
        let is_same =
            |span: &&otlp::Seen| span.name == name && span.attributes.get("rawko.instance") == instance;
        let same = spans.iter().filter(is_same);
        same.min_by_key(|span| span.attributes.get("rawko.effect").cloned()).unwrap()
    };
    let shown = |name: &str| {
        let span = find(name);
        let lines =
            span.attributes.iter().filter(|(key, _)| key.starts_with("gen_ai.") || key.starts_with("rawko."));
        // The number of tokens depends on the path of the project.
        let shown =
            |key: &str, value: &str| if key.contains("tokens") { "…".to_owned() } else { value.to_owned() };
        let lines: Vec<String> =
            lines.map(|(key, value)| format!("  {key} = {}", shown(key, value))).collect();
        format!("{name} (kind {})\n{}\n", span.kind, lines.join("\n"))
    };
    let told: String =
        ["invoke_workflow rawko", "invoke_agent planner", "chat scripted", "execute_tool Read"]
            .iter()
            .map(|name| shown(name))
            .collect();
    expect![[r#"
        invoke_workflow rawko (kind 1)
          gen_ai.conversation.id = demo
          gen_ai.operation.name = invoke_workflow
          gen_ai.workflow.name = rawko
          rawko.chart = rawko@1.0.0
          rawko.instance = demo
          rawko.outcome = complete
          rawko.status = done
          rawko.tokens = …
          rawko.tool_calls = 17
        invoke_agent planner (kind 1)
          gen_ai.agent.name = planner
          gen_ai.conversation.id = demo.planner.2.2
          gen_ai.operation.name = invoke_agent
          gen_ai.provider.name = demo
          gen_ai.request.model = scripted
          gen_ai.usage.input_tokens = …
          gen_ai.usage.output_tokens = …
          rawko.chart = agent@1.0.0
          rawko.instance = demo.planner.2.2
          rawko.outcome = finished
          rawko.status = done
          rawko.tokens = …
          rawko.tool_calls = 3
        chat scripted (kind 3)
          gen_ai.agent.name = arbiter
          gen_ai.conversation.id = demo
          gen_ai.operation.name = chat
          gen_ai.output.type = json
          gen_ai.provider.name = demo
          gen_ai.request.model = scripted
          gen_ai.response.finish_reasons = [stop]
          gen_ai.usage.input_tokens = …
          gen_ai.usage.output_tokens = …
          rawko.attempt = 1
          rawko.instance = demo
          rawko.step = 1
        execute_tool Read (kind 1)
          gen_ai.agent.name = planner
          gen_ai.conversation.id = demo.planner.2.2
          gen_ai.operation.name = execute_tool
          gen_ai.tool.call.id = call_1
          gen_ai.tool.name = Read
          gen_ai.tool.type = function
          rawko.attempt = 1
          rawko.effect = demo.planner.2.2/3/2
          rawko.instance = demo.planner.2.2
          rawko.step = 3
    "#]]
    .assert_eq(&told);

    // Every step has a span within its instance's.
    let steps: Vec<_> = spans.iter().filter(|span| span.name.starts_with("step")).collect();
    assert!(steps.len() > 50, "{}", steps.len());
    assert!(steps.iter().all(|step| {
        spans
            .iter()
            .any(|span| span.id == step.parent && span.has("rawko.instance") == step.has("rawko.instance"))
    }));
    assert!(spans.iter().all(|span| span.start <= span.end));
    let ids: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    assert_eq!(ids.len(), spans.len(), "no id twice");

    // Neither requests nor responses are in the trace.
    for said in ["punctuation", "free in taken", "planner of this project", "unittest -v"] {
        assert!(!collector.contains(said), "`{said}` was sent");
    }
}

/// The second call waits for a file, and may be repeated.
const TWO_CALLS: &str = "\
statechart:
  id: two_calls
  initial: one
  states:
    one: {invoke: {id: first, src: quick, onDone: two, onError: failed}}
    two: {invoke: {id: second, src: slow, onDone: done, onError: failed}}
    done: {type: final}
    failed: {type: final}
";
const TWO_SERVICES: &str = "\
governance: {allow: [quick, slow]}
services:
  quick: {command: [sh, -c, 'echo 1']}
  slow: {command: [sh, -c, 'touch begun; while [ ! -e go ]; do sleep 0.02; done; echo 2'], on_restart: retry}
";

#[test]
fn a_run_that_is_killed_goes_on_in_the_same_trace() {
    let collector = Collector::start();
    let dir = directory(&[("two.yaml", TWO_CALLS), (".rawko/config.yaml", TWO_SERVICES)]);
    let with = |args: &[&str]| {
        let mut command = command(dir.path(), args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_BSP_SCHEDULE_DELAY", "10");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut killed = with(&["run", "two.yaml", "--id", "t-1"]).spawn().unwrap();
    collector.wait_for("call quick");
    // The span of a call is sent before its result is committed.
    until("the second call", || dir.path().join("begun").exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = collector.spans();
    assert!(before.iter().all(|span| span.name != "invoke_workflow two_calls"), "it has not ended yet");

    fs::write(dir.path().join("go"), "").unwrap();
    assert!(with(&["resume", "t-1"]).status().unwrap().success());
    let spans = collector.spans();
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
    assert_eq!(traces.len(), 1, "both processes write the same trace");
    expect![[r#"
        invoke_workflow two_calls status=done
          call quick call=quick
          call slow call=slow
    "#]]
    .assert_eq(&tree(&spans, &["rawko.status", "rawko.call"]));
    let root = spans.iter().find(|span| span.name == "invoke_workflow two_calls").unwrap();
    assert_eq!(root.parent, "", "nobody invoked it");
    assert!(before.iter().all(|span| span.start >= root.start), "it begins where the first process began it");
}

#[test]
fn nothing_is_sent_unless_somebody_asks_for_it() {
    let collector = Collector::start();
    let chart = "statechart: {id: short, initial: done, states: {done: {type: final}}}\n";
    let endpoint = format!("telemetry: {{endpoint: '{}'}}\n", collector.url());
    let (quiet, loud) = (
        directory(&[("c.yaml", chart)]),
        directory(&[("c.yaml", chart), (".rawko/config.yaml", endpoint.as_str())]),
    );
    let table = [
        ("no collector is named", &quiet, "", "", 0),
        ("a variable without an address", &quiet, "OTEL_SERVICE_NAME", "x", 0),
        ("settings, but the SDK is disabled", &loud, "OTEL_SDK_DISABLED", "true", 0),
        ("settings, but traces go nowhere", &loud, "OTEL_TRACES_EXPORTER", "none", 0),
        ("settings, but nothing is sampled", &loud, "OTEL_TRACES_SAMPLER", "always_off", 0),
        ("settings", &loud, "", "", 1),
    ];
    for (name, dir, variable, value, expected) in table {
        let mut run = command(dir.path(), &["run", "c.yaml"]);
        if !variable.is_empty() {
            run.env(variable, value);
        }
        let run = run.output().unwrap();
        assert!(
            run.status.success() && run.stderr.is_empty(),
            "{name}: {}",
            String::from_utf8_lossy(&run.stderr)
        );
        let roots = collector.spans().iter().filter(|span| span.name == "invoke_workflow short").count();
        assert_eq!(roots, expected, "{name}");
    }
}

/// An unreachable collector affects neither the work nor its duration by much.
#[test]
fn without_the_collector_the_work_is_done_all_the_same() {
    let dir =
        directory(&[("c.yaml", "statechart: {id: short, initial: done, states: {done: {type: final}}}\n")]);
    let run = command(dir.path(), &["run", "c.yaml"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        .env("RAWKO_LOG", "warn")
        .output()
        .unwrap();
    let told = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success(), "{told}");
    assert_eq!(told.matches("traces cannot be sent").count(), 1, "{told}");
}

#[test]
fn what_cannot_be_is_said_before_anything_runs() {
    let dir =
        directory(&[("c.yaml", "statechart: {id: short, initial: done, states: {done: {type: final}}}\n")]);
    let table = [
        (
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            "OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`, and only `http/protobuf` is known here",
            Some(52),
        ),
        (
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            "OTEL_TRACES_SAMPLER: `sometimes` is not known here",
            Some(52),
        ),
        (("RAWKO_LOG", "loud"), "invalid RAWKO_LOG `loud`", Some(2)),
    ];
    for ((name, value), told, code) in table {
        let run = command(dir.path(), &["run", "c.yaml"])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
            .env(name, value)
            .output()
            .unwrap();
        let words = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), code, "{words}");
        assert!(words.contains(told), "{words}");
    }
}
