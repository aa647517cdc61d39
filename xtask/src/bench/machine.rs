//! Facts about the machine and the programs, so that a table can be interpreted later. Contains no paths.

use std::process::Command;

use super::options::Options;
use super::peers::{Language, Peer};
use super::tools::Tools;

pub(crate) fn facts(tools: &Tools, options: &Options) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("cpu", cpu_model()),
        ("cores", std::thread::available_parallelism().map_or(0, usize::from).to_string()),
        ("memory", memory()),
        ("kernel", first_line("uname", &["-sr"])),
        ("rust", first_line("rustc", &["--version"])),
    ];
    if options.peers.iter().any(|peer| peer.language() == Language::JavaScript) {
        facts.push(("node", first_line("node", &["--version"])));
    }
    for (peer, package) in [(Peer::XState, "xstate"), (Peer::Scion, "@scion-scxml/core")] {
        if options.peers.contains(&peer) {
            facts.push((package, tools.js_version(package).unwrap_or_else(unknown)));
        }
    }
    facts
}

fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    model.map_or_else(unknown, |(_, model)| model.trim().to_owned())
}

fn memory() -> String {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.map_or_else(unknown, |kib| format!("{:.0} GiB", kib / 1024.0 / 1024.0))
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    text.and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_else(unknown)
}

fn unknown() -> String {
    "unknown".to_owned()
}
