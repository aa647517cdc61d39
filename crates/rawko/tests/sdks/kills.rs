//! Many calls of services in other languages while their programs and the server are killed: each order is paid under
//! one key, and none is lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::support::{Language, Process, SERVICE_TOKEN, Served, TOKEN};

/// `charge` may be repeated by the server; `charge_once` only by its chart, which keeps the key.
const SETTINGS: &str = "\
governance: {allow: [charge, charge_once]}
server:
  rate: {per_second: 0}
  tokens: [{name: bank, role: service, env: SERVICE_TOKEN}]
services:
  charge:
    remote: {reconnect: 500ms}
    on_restart: retry
    input: {type: integer}
    output: {type: string}
  charge_once: {remote: {reconnect: 500ms}, input: {type: integer}, output: {type: string}}
";

fn chart(id: &str, src: &str, retry: &str) -> String {
    format!(
        "\
statechart:
  id: {id}
  version: 1.0.0
  initial: paying
  context: {{order: 0, receipt: ''}}
  states:
    paying:
      invoke:
        id: payment
        src: {src}
        input: context.order
{retry}        onDone: {{target: paid, actions: [{{type: assign, context_updates: {{receipt: event.data}}}}]}}
        onError: unpaid
    paid: {{type: final, output: context.receipt}}
    unpaid: {{type: final, output: \"'unpaid'\"}}
"
    )
}

fn calls() -> usize {
    std::env::var("RAWKO_SDK_CALLS").ok().and_then(|amount| amount.parse().ok()).unwrap_or(60)
}

#[test]
fn killed_python_programs_and_servers_lose_no_call_and_pay_nothing_twice() {
    survive("Python", Language::Python);
}

#[test]
fn killed_node_programs_and_servers_lose_no_call_and_pay_nothing_twice() {
    survive("Node", Language::Node);
}

#[expect(clippy::print_stdout, reason = "the nightly tier shows the numbers")]
fn survive(name: &str, language: Language) {
    let amount = calls();
    let retry = "        retry: {max_attempts: 1000, initial_delay: 50ms}\n";
    let served = Served::new(&[
        (".rawko/config.yaml", SETTINGS),
        (".rawko/charts/pay.yaml", &chart("pay", "charge", "")),
        (".rawko/charts/pay_once.yaml", &chart("pay_once", "charge_once", retry)),
    ]);
    let paid = served.folder.path().join("paid");
    fs::create_dir(&paid).unwrap();
    let bank = |number: usize| {
        let mut command = served.script(language, &language.of_tests("bank"), SERVICE_TOKEN);
        Process::start(command.arg(&paid).arg(format!("bank-{number}")))
    };
    let mut server = served.serve();
    let mut banks = [bank(0), bank(1)];
    let mut driver = served.script(language, &language.of_tests("drive"), TOKEN);
    let mut driver = Process::start(driver.arg(amount.to_string()).stdout(Stdio::piped()));
    let lines = lines_of(&mut driver);

    // One of the three is killed after each few payments: at moments that depend on the machine.
    let (mut receipts, mut kills, step) = (BTreeMap::new(), 0, (amount / 100).max(2));
    loop {
        match lines.recv_timeout(Duration::from_millis(20)) {
            Ok(line) => {
                let (order, receipt) = line.split_once(' ').unwrap();
                assert!(receipts.insert(order.to_owned(), receipt.to_owned()).is_none(), "{line}");
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        if count(&paid) > (kills + 1) * step {
            match kills % 3 {
                2 => {
                    server.kill();
                    server = served.serve();
                }
                number => {
                    let new = bank(number);
                    std::mem::replace(&mut banks[number], new).kill();
                }
            }
            kills += 1;
        }
    }
    assert!(driver.0.wait().unwrap().success(), "{name}: the driver failed");
    let mut payments: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(&paid).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let (order, key) = file.split_once('@').unwrap();
        payments.entry(order.to_owned()).or_default().push(key.replace("%2F", "/").replace("%3A", ":"));
    }
    let orders: Vec<String> = (0..amount).map(|order| order.to_string()).collect();
    for order in orders {
        assert_eq!(payments.get(&order).map(Vec::len), Some(1), "order {order}: {:?}", payments.get(&order));
        assert_eq!(Some(&payments[&order][0]), receipts.get(&order), "order {order}");
    }
    assert_eq!(payments.len(), amount);
    assert!(kills >= 3, "{kills} kills");
    println!(
        "sdks: {name}: {amount} calls, {kills} kills, {} payments, none lost, none twice",
        payments.len()
    );
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn lines_of(process: &mut Process) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    let output = BufReader::new(process.0.stdout.take().unwrap());
    std::thread::spawn(move || {
        output.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    lines
}
