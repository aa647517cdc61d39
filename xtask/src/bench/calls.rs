//! AGENT and CALLS: tool calls through the whole loop around a model, on disk, with the real binary. The model is
//! scripted: it asks for one call at a time, and checks the result of each before it asks for the next.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::peers::Peer;
use super::samples::Samples;
use super::tools::Tools;

/// Calls of a short task and of the long one; the time of a call has to be the same in both.
const SHORT: usize = 250;
const LONG: usize = 1_000;
/// Calls of a kind that starts a process or asks another one.
const CALLS: usize = 100;
const SERVICE_CALLS: usize = 500;

const SETTINGS: &str = "\
governance: {allow: ['agent:*', double]}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
loop: {completions_max: 2000}
services: {double: {remote: {}, input: {type: integer}, output: {type: integer}}}
server: {rate: {per_second: 0}}
";

const AGENT: &str = "\
---
name: worker
whenToUse: For the benchmark.
limits: {maxIterations: 2000}
tools: [Read, Bash, mcp__bench__double]
---
You work.
";

const TASK: &str = "\
statechart:
  id: task
  version: 1.0.0
  initial: working
  context: {text: ''}
  states:
    working:
      invoke:
        id: work
        src: agent:worker
        input: {prompt: \"'Begin.'\"}
        onDone: {target: done, actions: [{type: assign, context_updates: {text: event.data.text}}]}
        onError: failed
    done: {type: final, output: context.text}
    failed: {type: final, tags: [error], output: event.data}
";

const DOUBLING: &str = "\
statechart:
  id: doubling
  version: 1.0.0
  initial: working
  context: {calls: 0, results: []}
  states:
    working:
      invoke:
        id: work
        src: double
        each: range(context.calls)
        max_concurrent: 1
        input: item
        onDone: {target: done, actions: [{type: assign, context_updates: {results: event.data}}]}
        onError: failed
    done: {type: final, output: context.results}
    failed: {type: final, tags: [error], output: event.data}
";

pub(crate) fn measure_agent(tools: &Tools, peer: Peer, samples: &mut Samples) -> Result<()> {
    let short = task(tools, "Read", SHORT)?;
    let long = task(tools, "Read", LONG)?;
    let each = |time: Duration, calls: usize| time.as_secs_f64() * 1e3 / calls as f64;
    samples.add(peer, "agent", "ms_per_call", each(long.wall, LONG), Some(each(long.cpu, LONG)));
    let growth = each(long.cpu, LONG) / each(short.cpu, SHORT);
    samples.add(peer, "agent", "growth", growth, None);
    Ok(())
}

pub(crate) fn measure_calls(tools: &Tools, peer: Peer, samples: &mut Samples) -> Result<()> {
    for (tool, metric) in [("Bash", "bash_ms"), ("mcp__bench__double", "mcp_ms")] {
        let spent = task(tools, tool, CALLS)?;
        let each = |time: Duration| time.as_secs_f64() * 1e3 / CALLS as f64;
        samples.add(peer, "calls", metric, each(spent.wall), Some(each(spent.cpu)));
    }
    let line = service_calls(tools)?;
    samples.add_line(peer, "calls", line.trim())
}

struct TaskTimes {
    wall: Duration,
    cpu: Duration,
}

/// A folder that is removed with its files.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    /// Beside the program, because a temporary directory may be in memory.
    fn project(tools: &Tools, script: &Value) -> Result<Folder> {
        let place = tools.rawko.parent().context("a program lies in a directory")?;
        let folder = Folder(place.join("bench-calls").join(std::process::id().to_string()));
        let notes: String = (1..=LONG).map(|line| format!("<{line}>\n")).collect();
        let server = tools.root.join("benches/calls/mcp_server.py");
        let servers = json!({"mcpServers": {"bench": {"command": "python3", "args": ["mcp_server.py"]}}});
        let files = [
            (".rawko/config.yaml", SETTINGS.to_owned()),
            (".rawko/agents/worker.md", AGENT.to_owned()),
            (".rawko/script.yaml", script.to_string()),
            (".rawko/charts/doubling.yaml", DOUBLING.to_owned()),
            (".mcp.json", servers.to_string()),
            ("mcp_server.py", std::fs::read_to_string(server)?),
            ("task.yaml", TASK.to_owned()),
            ("notes.txt", notes),
        ];
        for (name, text) in files {
            let path = folder.0.join("project").join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&folder.0))?;
            std::fs::write(path, text)?;
        }
        Ok(folder)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.join("project")).env("HOME", &self.0).env_remove("XDG_CONFIG_HOME");
        command.env("RAWKO_STATE_DIR", self.0.join("state")).env("RAWKO_TRUST", "all");
        command.env_remove("RAWKO_CALL").stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    }
}

/// The steps of a model that makes these calls and reads their results.
fn script(tool: &str, calls: usize) -> Value {
    let call = |n: usize| match tool {
        "Read" => json!({"path": "notes.txt", "offset": n, "limit": 1}),
        "Bash" => json!({"command": format!("echo '<{n}>'")}),
        _ => json!({"n": n}),
    };
    let result = |n: usize| if tool.starts_with("mcp__") { 2 * n } else { n };
    let mut steps: Vec<Value> =
        (1..=calls).map(|n| json!({"tool_calls": [{"name": tool, "input": call(n)}]})).collect();
    steps.push(json!({"text": "All calls are made."}));
    for (n, step) in steps.iter_mut().enumerate().skip(1) {
        step["expect"] = format!("<{}>", result(n)).into();
    }
    json!([{"agent": "worker", "steps": steps}])
}

fn task(tools: &Tools, tool: &str, calls: usize) -> Result<TaskTimes> {
    let folder = Folder::project(tools, &script(tool, calls))?;
    let mut command = folder.command(&tools.rawko);
    command.args(["run", "task.yaml", "--id", "t"]).stdout(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().context("could not be started")?;
    let mut printed = String::new();
    child.stdout.take().context("stdout is piped")?.read_to_string(&mut printed)?;
    let cpu = cpu_at_end(child.id())?;
    let wall = began.elapsed();
    let status = child.wait()?;
    ensure!(
        status.success() && printed.contains("All calls are made."),
        "the task with {calls} calls of {tool} did not end well: {printed}"
    );
    Ok(TaskTimes { wall, cpu })
}

/// Waits for the end of a child and returns its CPU time with that of its own children. The kernel keeps it until the
/// child is waited for, in hundredths of a second.
fn cpu_at_end(pid: u32) -> Result<Duration> {
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field is the name in brackets, which may contain spaces.
        let fields: Vec<&str> =
            stat.rsplit_once(')').context("no name in stat")?.1.split_whitespace().collect();
        if fields.first() == Some(&"Z") {
            let ticks = fields.get(11..15).context("too few fields in stat")?;
            let ticks: u64 = ticks.iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum();
            return Ok(Duration::from_millis(10 * ticks));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A server that does not outlive the measurement.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A chart calls a service of a Python program; the program measures.
fn service_calls(tools: &Tools) -> Result<String> {
    let folder = Folder::project(tools, &script("Read", 1))?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let token = "a-token-of-the-benchmark";
    let mut serve = folder.command(&tools.rawko);
    serve.args(["serve", "--listen", &address]).env("RAWKO_TOKEN", token).stdout(Stdio::piped());
    let mut server = Server(serve.spawn().context("could not be started")?);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().context("stdout is piped")?).read_line(&mut line)?;
    let mut program = folder.command(Path::new("python3"));
    program.arg(tools.root.join("benches/calls/service.py")).arg(SERVICE_CALLS.to_string());
    program.env("PYTHONPATH", tools.root.join("sdks/python/src"));
    program.env("RAWKO_URL", format!("http://{address}")).env("RAWKO_TOKEN", token);
    let output = program.output()?;
    ensure!(output.status.success(), "the program of the service failed");
    Ok(String::from_utf8(output.stdout)?)
}
