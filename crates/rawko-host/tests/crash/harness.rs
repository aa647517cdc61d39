//! Starts hosts, kills them, and reads the remaining store.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rawko_host::SnapshotReader;
use rawko_store::{SqliteOptions, SqliteStore, StoreError};

use crate::bank::Bank;
use crate::charts::settings;
use crate::child::{Orders, store_path};
use crate::dice::Dice;
use crate::ledger::Ledger;

const KILLS: u64 = 200;
const WORKING: usize = 50;

/// Acknowledgements that the hosts printed to standard output.
#[derive(Default)]
struct Heard {
    /// The last acknowledged event, by instance.
    ticks: BTreeMap<String, i64>,
    trouble: BTreeMap<String, u64>,
    finished: bool,
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

pub(crate) fn main() {
    // `cargo test NAME` runs every test program; this one has a single case.
    let filters: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if std::env::args().any(|arg| arg == "--list") {
        println!("crash: test");
        return;
    }
    if !filters.is_empty() && !filters.iter().any(|filter| "crash".contains(filter.as_str())) {
        return;
    }
    let seed = variable("RAWKO_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let kills = variable("RAWKO_KILLS").unwrap_or(KILLS);
    println!("crash test: RAWKO_SEED={seed} RAWKO_KILLS={kills}");
    run(seed, kills);
}

fn run(seed: u64, kills: u64) {
    let mut dice = Dice::new(seed);
    let bank = Bank::open(seed);
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(project.path().join(".rawko/state")).unwrap();
    std::fs::write(project.path().join(".rawko/config.yaml"), settings(&bank.address)).unwrap();
    let heard = Arc::new(Mutex::new(Heard::default()));
    let mut ledger = Ledger::default();
    let (mut torn, mut full) = (0, 0);
    for kill in 1..=kills {
        let mut orders = Orders { project: project.path().to_owned(), working: WORKING, ..Orders::default() };
        match kill % 10 {
            3 | 7 => {
                orders.tear = Some((1 + dice.below(60) as i64, dice.below(1_001)));
                torn += 1;
            }
            5 if kill > 20 => {
                let size = std::fs::metadata(store_path(project.path())).unwrap().len();
                orders.size_max = Some(size + 4_096 * dice.below(8));
                full += 1;
            }
            _ => {}
        }
        let (mut host, listener) = start(&orders, &heard);
        let time = if orders.size_max.is_some() { 400 } else { 10 + dice.below(180) };
        wait(&mut host, Duration::from_millis(time), orders.tear.is_some());
        let _ = host.kill();
        host.wait().unwrap();
        listener.join().unwrap();
        check(&project, &mut ledger, &heard, &bank);
        if kill % 50 == 0 {
            println!("{kill} kills: {} instances, {} records", ledger.instances(), ledger.records);
        }
    }
    let orders = Orders { project: project.path().to_owned(), ..Orders::default() };
    let (mut host, listener) = start(&orders, &heard);
    assert!(host.wait().unwrap().success(), "the last host did not end well");
    listener.join().unwrap();
    assert!(heard.lock().unwrap().finished);
    check(&project, &mut ledger, &heard, &bank);
    let books = bank.books.lock().unwrap();
    ledger.close(&reader(&project).unwrap(), &books);
    let heard = heard.lock().unwrap();
    let refusals: u64 =
        heard.trouble.iter().filter(|(words, _)| words.contains("full")).map(|(_, n)| n).sum();
    assert!(full == 0 || refusals > 0, "a full store was never noticed: {:?}", heard.trouble);
    let calls: u32 = books.calls.values().sum();
    println!(
        "ok: {kills} kills ({torn} torn writes, {full} with a full store, {refusals} refusals heard), {} instances, \
         {} records, {} payments in {calls} calls, {} events acknowledged, {} reports between instances and as many \
         answers",
        ledger.instances(),
        ledger.records,
        books.paid.len(),
        heard.ticks.values().map(|last| last + 1).sum::<i64>(),
        ledger.reports.len(),
    );
    assert!(ledger.last().is_some() && heard.ticks.len() >= WORKING, "nothing happened");
}

/// Waits for a host: a fixed time if it exits by itself, else `time` before the kill.
fn wait(host: &mut Child, time: Duration, goes_by_itself: bool) {
    let time = if goes_by_itself { Duration::from_secs(3) } else { time };
    let from = Instant::now();
    while from.elapsed() < time && host.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn start(orders: &Orders, heard: &Arc<Mutex<Heard>>) -> (Child, JoinHandle<()>) {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .env("RAWKO_CRASH_HOST", serde_json::to_string(orders).unwrap())
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = host.stdout.take().unwrap();
    let heard = Arc::clone(heard);
    let listener = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            hear(&mut heard.lock().unwrap(), &line);
        }
    });
    (host, listener)
}

fn hear(heard: &mut Heard, line: &str) {
    match line.split_once(' ') {
        Some(("ticked", rest)) => {
            // The last line of a killed host may be cut short.
            let Some((id, n)) = rest.split_once(' ').and_then(|(id, n)| Some((id, n.parse().ok()?))) else {
                return;
            };
            let last: &mut i64 = heard.ticks.entry(id.to_owned()).or_insert(n);
            *last = (*last).max(n);
        }
        Some(("trouble", what)) => *heard.trouble.entry(what.to_owned()).or_default() += 1,
        Some(_) => {}
        None => heard.finished |= line == "finished",
    }
}

/// Returns `None` if the host was killed before it had created its store.
fn reader(project: &tempfile::TempDir) -> Option<SnapshotReader> {
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let path = store_path(project.path());
    match SqliteStore::open(&path, options) {
        Ok(store) => Some(SnapshotReader::new(Arc::new(store))),
        Err(StoreError::Io(why)) if !path.exists() || why.ends_with("is not a store yet") => None,
        Err(error) => panic!("{error}"),
    }
}

fn check(project: &tempfile::TempDir, ledger: &mut Ledger, heard: &Mutex<Heard>, bank: &Bank) {
    let (heard, books) = (heard.lock().unwrap(), bank.books.lock().unwrap());
    match reader(project) {
        Some(reader) => ledger.check(&reader, &heard.ticks, &books),
        None => {
            assert!(heard.ticks.is_empty(), "events were acknowledged without a store: {:?}", heard.ticks)
        }
    }
}
