//! `restate lists [INSTANCES]`: how long it takes to start instances, to list them and to hear of a step, as a user does: by
//! `rawko ps`, and by a page and the stream of `rawko serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rawko_core::{NamedEvent, Value};
use rawko_host::Engine;

use crate::site::{Site, TOKEN};

/// Clients that start instances.
const CLIENTS: usize = 16;
const PAGES: usize = 100;
const COMMANDS: usize = 10;
const STEPS: usize = 200;
/// Time between two steps that are heard.
const BETWEEN_STEPS: Duration = Duration::from_millis(50);
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Latencies of one kind of look.
struct Looks {
    what: String,
    all: Vec<Duration>,
}

impl Looks {
    fn print(mut self, out: &mut impl Write) -> Result<()> {
        self.all.sort_unstable();
        let at = |share: f64| self.all[((self.all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        writeln!(out, "| {} | {:.1} | {:.1} | {:.1} |", self.what, at(0.5), at(0.9), at(0.99))?;
        Ok(())
    }
}

pub(crate) fn measure(runtime: &tokio::runtime::Runtime, instances: usize) -> Result<()> {
    let mut site = Site::start(1)?;
    let engine: Arc<dyn Engine> = {
        let _within = runtime.enter();
        Arc::new(site.engine()?)
    };
    let begun = Instant::now();
    runtime.block_on(start(&engine, instances))?;
    let mut out = std::io::stdout();
    writeln!(out, "{instances} instances started in {:.1} s", begun.elapsed().as_secs_f64())?;
    let address = site.serve()?;
    let page = || get(&address, "/v1/instances?limit=50");
    let ready = Instant::now();
    while !page().is_ok_and(|text| text.contains("\"i-")) {
        ensure!(ready.elapsed() < READY_WITHIN, "`rawko serve` does not list them");
        std::thread::sleep(Duration::from_millis(50));
    }
    writeln!(out, "| | median, ms | 90 of 100 | 99 of 100 |\n|---|---:|---:|---:|")?;
    let timed = |count: usize, what: &str, look: &dyn Fn() -> Result<()>| -> Result<Looks> {
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            let from = Instant::now();
            look()?;
            all.push(from.elapsed());
        }
        Ok(Looks { what: what.to_owned(), all })
    };
    timed(PAGES, "a page of 50", &|| page().map(drop))?.print(&mut out)?;
    timed(COMMANDS, "`rawko ps`, a new process", &|| {
        let listed = Command::new(crate::site::rawko()?)
            .args(["ps", "--restate", &site.ingress(), "--admin", &site.admin()])
            .current_dir(site.folder())
            .output()?;
        ensure!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        Ok(())
    })?
    .print(&mut out)?;
    heard(runtime, &engine, &address)?.print(&mut out)
}

async fn start(engine: &Arc<dyn Engine>, instances: usize) -> Result<()> {
    let chart = crate::counter()?;
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (engine, chart) = (Arc::clone(engine), chart.clone());
            tokio::spawn(async move {
                for number in (client..instances).step_by(CLIENTS) {
                    let input = Value::map([("limit", Value::Int(1_000_000_000))]);
                    engine.start(chart.clone(), input, Some(format!("i-{number}")), Value::Null).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// Sends events to some instances, and measures from the response until the stream of `rawko serve` has the step; at most 0.
fn heard(runtime: &tokio::runtime::Runtime, engine: &Arc<dyn Engine>, address: &str) -> Result<Looks> {
    let mut stream = BufReader::new(request(address, "/v1/stream")?);
    let mut head = String::new();
    while stream.read_line(&mut head)? > 2 {}
    ensure!(head.contains(" 200 OK"), "{head}");
    let (seen, steps) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line.starts_with("data: ") && line.contains("\"instance\":\"i-") {
                let _ = seen.send((Instant::now(), std::mem::take(&mut line)));
            }
            line.clear();
        }
    });
    let mut all = Vec::with_capacity(STEPS);
    for step in 0..STEPS {
        let id = format!("i-{}", step % 10);
        runtime.block_on(engine.send(id.clone(), NamedEvent::new("INC", Value::Null), None))?;
        let sent = Instant::now();
        let named = format!("\"instance\":\"{id}\"");
        loop {
            let (at, line) = steps.recv_timeout(READY_WITHIN).context("the stream has no such step")?;
            if line.contains(&named) {
                all.push(at.saturating_duration_since(sent));
                break;
            }
        }
        std::thread::sleep(BETWEEN_STEPS);
    }
    Ok(Looks { what: "a step heard".to_owned(), all })
}

fn request(address: &str, path: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(READY_WITHIN))?;
    // Without chunks, so that lines are whole.
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n\r\n")?;
    Ok(stream)
}

fn get(address: &str, path: &str) -> Result<String> {
    let mut text = String::new();
    request(address, path)?.read_to_string(&mut text)?;
    ensure!(text.contains(" 200 OK"), "{text}");
    Ok(text)
}
