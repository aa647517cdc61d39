//! Arguments of `cargo xtask bench`.

use anyhow::{Context, Result, bail, ensure};

use super::peers::Peer;
use super::run::WORKLOADS;

pub(crate) const USAGE: &str = "\
cargo xtask bench [--quick] [--only w1,st] [--peers xstate,scion] [--repetitions N] [--profile quick] [--json]

  --quick            a fifth of the events, three repetitions; for looking, not for quoting
  --only LIST        these workloads: w1 w2 w3 w4 w4b w5 w6 w7 w8 w9 w9d w10 w10d verify park agent
                     calls st hook at
  --peers LIST       beside rawko and its limits: xstate, scion, langgraph, openai-agents, autogen, burr, dbos, graph-flow,
                     adk-graph (default), sismic, transitions, python-statemachine, none
  --repetitions N    default 5; the repetitions of all peers are interleaved and the table shows medians
  --profile NAME     of cargo, for our programs; default release; quick builds in a fraction of the time
  --json             everything that was measured, instead of the table
";

const RELEASE: &str = "release";

/// Peers named by the targets and the page.
const BESIDE: [Peer; 9] = [
    Peer::XState,
    Peer::Scion,
    Peer::LangGraph,
    Peer::OpenAiAgents,
    Peer::AutoGen,
    Peer::Burr,
    Peer::Dbos,
    Peer::GraphFlow,
    Peer::AdkGraph,
];

pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) only: Option<Vec<String>>,
    /// In column order, including rawko's own and the limits.
    pub(crate) peers: Vec<Peer>,
    pub(crate) repetitions: usize,
    pub(crate) json: bool,
    /// Cargo's profile of our programs.
    pub(crate) profile: String,
    /// As typed, for the page, which quotes it.
    pub(crate) command: String,
}

impl Options {
    /// Returns `None` if help was requested.
    pub(crate) fn parse(arguments: &[String]) -> Result<Option<Self>> {
        let mut options = Self {
            quick: false,
            only: None,
            peers: BESIDE.to_vec(),
            repetitions: 0,
            json: false,
            profile: RELEASE.to_owned(),
            command: ["cargo xtask bench"]
                .into_iter()
                .chain(arguments.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(" "),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--quick" => options.quick = true,
                "--json" => options.json = true,
                "--profile" => options.profile = value()?.clone(),
                "--only" => options.only = Some(workloads(value()?)?),
                "--peers" => options.peers = peers(value()?)?,
                "--repetitions" => {
                    options.repetitions = value()?.parse().context("--repetitions needs a number")?
                }
                "--help" | "-h" => return Ok(None),
                other => bail!("unknown argument {other}\n{USAGE}"),
            }
        }
        if options.repetitions == 0 {
            options.repetitions = if options.quick { 3 } else { 5 };
        }
        options.peers.splice(0..0, Peer::OURS);
        Ok(Some(options))
    }

    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == workload))
    }

    /// Returns true if the run qualifies for the page: all workloads, enough repetitions, and all peers of the targets.
    pub(crate) fn is_whole(&self) -> bool {
        let has = |peer| self.peers.contains(&peer);
        let beside = BESIDE.into_iter().all(has);
        !self.quick && self.profile == RELEASE && self.only.is_none() && self.repetitions >= 5 && beside
    }
}

fn workloads(list: &str) -> Result<Vec<String>> {
    let names: Vec<String> = list.split(',').map(str::to_lowercase).collect();
    for name in &names {
        ensure!(WORKLOADS.contains(&name.as_str()), "no workload {name}; there are: {}", WORKLOADS.join(" "));
    }
    Ok(names)
}

fn peers(list: &str) -> Result<Vec<Peer>> {
    if list == "none" {
        return Ok(Vec::new());
    }
    list.split(',')
        .map(|name| Peer::guest(name).with_context(|| format!("no peer {name}\n{USAGE}")))
        .collect()
}
