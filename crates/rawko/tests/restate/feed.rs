//! Streams of all instances while workers and two replicas of `serve` are killed: followers go from one replica to the
//! other, and miss and repeat nothing. `RAWKO_FEED_KILLS=300` kills for long.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine, HostError, Library, SnapshotReader};
use rawko_restate::RestateEngine;
use rawko_restate::client::Restate;
use rawko_restate::store::RestateStore;
use rawko_store::Filter;
use rawko_testkit::RestateOptions;
use serde_json::{Value as Json, json};

use crate::support::{PATIENCE, Site, directory, free_address, process, wait_for};

const COUNTER: &str = "statechart: {id: counter, initial: on, context: {n: 0},
    states: {on: {on: {TICK: {actions: [{type: assign, context_updates: {n: context.n + 1}}]}}}}}";
const TOKEN: &str = "a-token-of-the-followers";
const INSTANCES: usize = 6;

/// One record as a follower saw it: its position, its instance and its step.
type StreamedRecord = (u64, String, u64);

/// Follows a stream until it is stopped, at one address after the other.
struct StreamFollower {
    seen: Arc<Mutex<Vec<StreamedRecord>>>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl StreamFollower {
    fn start(addresses: Vec<String>) -> StreamFollower {
        let (seen, stop) = (Arc::<Mutex<Vec<StreamedRecord>>>::default(), Arc::<AtomicBool>::default());
        let (into, until) = (Arc::clone(&seen), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for address in addresses.iter().cycle() {
                if until.load(Ordering::SeqCst) {
                    return;
                }
                let after = into.lock().unwrap().last().map_or(0, |last| last.0);
                if read(address, after, &into, &until).is_err() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
        StreamFollower { seen, stop, thread: Some(thread) }
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    fn seen(mut self) -> Vec<StreamedRecord> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
        self.seen.lock().unwrap().clone()
    }
}

/// Reads one stream until it ends. After some records, the client leaves by itself.
fn read(
    address: &str,
    after: u64,
    seen: &Mutex<Vec<StreamedRecord>>,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    // Without chunks, so that lines are whole.
    write!(
        stream,
        "GET /v1/stream HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nlast-event-id: {after}\r\n\r\n"
    )?;
    let mut lines = BufReader::new(stream);
    let (mut line, mut event) = (String::new(), String::new());
    for _ in 0..2_000 {
        match lines.read_line(&mut line) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                if stop.load(Ordering::SeqCst) {
                    return Ok(());
                }
                continue;
            }
            Err(error) => return Err(error),
        }
        if let Some(name) = line.strip_prefix("event: ") {
            event = name.trim().to_owned();
        } else if let Some(data) = line.strip_prefix("data: ")
            && event == "step"
        {
            let data: Json = serde_json::from_str(data)?;
            let instance = data["instance"].as_str().unwrap().to_owned();
            seen.lock().unwrap().push((
                data["seq"].as_u64().unwrap(),
                instance,
                data["step"].as_u64().unwrap(),
            ));
        }
        line.clear();
    }
    Ok(())
}

/// Sends events to all instances until it is stopped.
async fn load(engine: Arc<RestateEngine>, stop: Arc<AtomicBool>) {
    let chart = Edition::read("counter.yaml", COUNTER).unwrap();
    let sending = (0..INSTANCES).map(|number| {
        let (engine, chart, stop) = (Arc::clone(&engine), chart.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let id = format!("counter-{number}");
            loop {
                match engine.start(chart.clone(), json!({}).into(), Some(id.clone()), Value::Null).await {
                    Ok(_) | Err(HostError::Exists(_)) => break,
                    Err(error) => assert!(error.is_transient(), "{error}"),
                }
            }
            let mut n = 0;
            while !stop.load(Ordering::SeqCst) {
                let event = NamedEvent::new("TICK", Value::Null);
                if engine.send(id.clone(), event, Some(format!("tick-{n}"))).await.is_ok() {
                    n += 1;
                }
            }
        })
    });
    for task in sending.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[test]
fn followers_of_two_replicas_miss_and_repeat_nothing() {
    let kills: u64 = std::env::var("RAWKO_FEED_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(4);
    let dir = directory(&[(".rawko/config.yaml", "server: {rate: {per_second: 0}}\n")]);
    let options = RestateOptions { streams_per_connection: 8, ..RestateOptions::default() };
    let site = Site::new(dir.path(), &options);
    let address = free_address();
    let mut workers: Vec<_> =
        (0..2).map(|number| site.worker(&address, &format!("worker-{number}"))).collect();
    workers[0].says("registered", 0, PATIENCE).unwrap();
    let serving = site.place.clone().with("RAWKO_TOKEN", TOKEN);
    let addresses = [free_address(), free_address()];
    let serve = |number: usize| {
        let name = format!("serve-{number}");
        process(&serving, &name, &["serve", "--listen", &addresses[number]])
    };
    let mut replicas = [serve(0), serve(1)];
    let followers = [0, 1].map(|first: usize| {
        StreamFollower::start(vec![addresses[first].clone(), addresses[1 - first].clone()])
    });

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let restate = Restate::new(&site.server.ingress(), &site.server.admin()).unwrap();
    let engine = {
        let _within = runtime.enter();
        Arc::new(RestateEngine::new(restate.clone(), Library::default()).unwrap())
    };
    let stop = Arc::<AtomicBool>::default();
    let sending = runtime.spawn(load(engine, Arc::clone(&stop)));
    for kill in 0..kills {
        // At least one more record reaches each follower between two kills.
        let before = followers.each_ref().map(StreamFollower::count);
        wait_for("a record at each follower", || {
            followers.iter().zip(before).all(|(follower, before)| follower.count() > before)
        });
        match kill % 3 {
            2 => {
                let number = usize::try_from(kill / 3 % 2).unwrap();
                workers[number].kill();
                workers[number] = site.worker(&address, &format!("worker-{number}"));
            }
            number => {
                let number = usize::try_from(number).unwrap();
                replicas[number].kill();
                replicas[number] = serve(number);
            }
        }
    }
    stop.store(true, Ordering::SeqCst);
    runtime.block_on(sending).unwrap();

    let reader = SnapshotReader::new(Arc::new(RestateStore::new(&restate).unwrap()));
    let mut expected: BTreeSet<StreamedRecord> = BTreeSet::new();
    for row in reader.store().list(&Filter::default()).unwrap().rows {
        for record in reader.store().records(row.key, 0, usize::MAX).unwrap() {
            expected.insert((record.seq, row.new.id.to_string(), record.step));
        }
    }
    wait_for("the last records", || followers.iter().all(|follower| follower.count() >= expected.len()));
    for follower in followers {
        let seen = follower.seen();
        assert!(seen.is_sorted_by(|one, other| one.0 < other.0), "out of order, or twice");
        let missed: Vec<&StreamedRecord> =
            expected.iter().filter(|one| seen.binary_search(one).is_err()).collect();
        assert_eq!(
            (missed, seen.len()),
            (Vec::new(), expected.len()),
            "positions in the journal are those of the stream"
        );
    }
    drop(replicas);
    println!("feed on Restate: {kills} kills, {} records, none missed, none repeated", expected.len());
}
