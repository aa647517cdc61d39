//! Peers: the workloads that each supports, and the command that starts it.

use std::process::Command;

use super::tools::Tools;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    Rawko,
    RawkoTrace,
    Table,
    Statig,
    /// Limit of the disk.
    Sqlite,
    XState,
    Scion,
    Sismic,
    Transitions,
    PythonStatemachine,
    LangGraph,
    OpenAiAgents,
    AutoGen,
    Burr,
    Dbos,
    GraphFlow,
    AdkGraph,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    JavaScript,
    Python,
}

impl Peer {
    /// Always measured: rawko without and with its trace, and the limits that targets refer to.
    pub(crate) const OURS: [Peer; 5] =
        [Peer::Rawko, Peer::RawkoTrace, Peer::Table, Peer::Statig, Peer::Sqlite];

    pub(crate) const GUESTS: [Peer; 12] = [
        Peer::XState,
        Peer::Scion,
        Peer::LangGraph,
        Peer::OpenAiAgents,
        Peer::AutoGen,
        Peer::Burr,
        Peer::Dbos,
        Peer::GraphFlow,
        Peer::AdkGraph,
        Peer::Sismic,
        Peer::Transitions,
        Peer::PythonStatemachine,
    ];

    pub(crate) fn guest(name: &str) -> Option<Self> {
        Self::GUESTS.into_iter().find(|peer| peer.name() == name)
    }

    /// Returns the name in arguments and in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Rawko => "rawko",
            Peer::RawkoTrace => "rawko-trace",
            Peer::Table => "table",
            Peer::Statig => "statig",
            Peer::Sqlite => "sqlite",
            Peer::XState => "xstate",
            Peer::Scion => "scion",
            Peer::Sismic => "sismic",
            Peer::Transitions => "transitions",
            Peer::PythonStatemachine => "python-statemachine",
            Peer::LangGraph => "langgraph",
            Peer::OpenAiAgents => "openai-agents",
            Peer::AutoGen => "autogen",
            Peer::Burr => "burr",
            Peer::Dbos => "dbos",
            Peer::GraphFlow => "graph-flow",
            Peer::AdkGraph => "adk-graph",
        }
    }

    /// Returns the name in tables.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Peer::XState => "XState",
            Peer::Scion => "SCION",
            Peer::Sqlite => "SQLite",
            Peer::LangGraph => "LangGraph",
            Peer::OpenAiAgents => "OpenAI Agents",
            Peer::AutoGen => "AutoGen",
            Peer::Burr => "Burr",
            Peer::Dbos => "DBOS",
            Peer::RawkoTrace => "rawko, traced",
            Peer::Rawko
            | Peer::Table
            | Peer::Statig
            | Peer::GraphFlow
            | Peer::AdkGraph
            | Peer::Sismic
            | Peer::Transitions
            | Peer::PythonStatemachine => self.name(),
        }
    }

    pub(crate) fn language(self) -> Language {
        match self {
            Peer::Rawko
            | Peer::RawkoTrace
            | Peer::Table
            | Peer::Statig
            | Peer::Sqlite
            | Peer::GraphFlow
            | Peer::AdkGraph => Language::Rust,
            Peer::XState | Peer::Scion => Language::JavaScript,
            Peer::Sismic
            | Peer::Transitions
            | Peer::PythonStatemachine
            | Peer::LangGraph
            | Peer::OpenAiAgents
            | Peer::AutoGen
            | Peer::Burr
            | Peer::Dbos => Language::Python,
        }
    }

    pub(crate) fn can(self, workload: &str) -> bool {
        let workloads: &[&str] = match self {
            Peer::Rawko => &super::run::WORKLOADS,
            Peer::XState | Peer::Scion => &["w1", "w2", "w3", "w4", "w4b", "w5", "w6", "w7", "st"],
            Peer::Sqlite => &["w8"],
            Peer::LangGraph => &["w8", "w9", "w9d"],
            // None of them persists a run by itself, or only on a server of its own.
            Peer::OpenAiAgents | Peer::AutoGen | Peer::GraphFlow => &["w9"],
            Peer::Burr | Peer::AdkGraph => &["w9", "w9d"],
            // It has nothing but its database.
            Peer::Dbos => &["w9d"],
            Peer::RawkoTrace => &["w1", "w2", "w3", "w4"],
            Peer::Table => &["w1", "w2", "w5"],
            Peer::Statig => &["w1", "w3", "w4", "w4b"],
            // None of the three saves and restores an instance.
            Peer::Sismic | Peer::Transitions | Peer::PythonStatemachine => {
                &["w1", "w2", "w3", "w4", "w4b", "w5", "w7"]
            }
        };
        workloads.contains(&workload)
    }

    /// Returns the command that runs one workload once and prints the protocol's lines.
    pub(crate) fn bench(self, tools: &Tools, workload: &str, n: u64) -> Command {
        let mut command = match self {
            Peer::Rawko if matches!(workload, "w8" | "w9d" | "w10d" | "park") => Command::new(&tools.durable),
            Peer::Rawko | Peer::RawkoTrace => Command::new(&tools.rawko_bench),
            Peer::Table | Peer::Statig | Peer::Sqlite => Command::new(&tools.limits),
            Peer::LangGraph if workload == "w8" => tools.python("langgraph_w8.py"),
            Peer::LangGraph => tools.python("langgraph_w9.py"),
            Peer::OpenAiAgents => tools.python("openai_agents_w9.py"),
            Peer::AutoGen => tools.python("autogen_w9.py"),
            Peer::Burr => tools.python("burr_w9.py"),
            Peer::Dbos => tools.python("dbos_w9.py"),
            Peer::GraphFlow | Peer::AdkGraph => Command::new(&tools.agents),
            Peer::XState | Peer::Scion => tools.node("bench.js"),
            Peer::Sismic | Peer::Transitions | Peer::PythonStatemachine => tools.python("bench.py"),
        };
        match self {
            Peer::Rawko | Peer::LangGraph | Peer::OpenAiAgents | Peer::AutoGen | Peer::Burr | Peer::Dbos => {
                &mut command
            }
            Peer::RawkoTrace => command.arg("--trace"),
            Peer::Table
            | Peer::Statig
            | Peer::Sqlite
            | Peer::GraphFlow
            | Peer::AdkGraph
            | Peer::XState
            | Peer::Scion
            | Peer::Sismic
            | Peer::Transitions
            | Peer::PythonStatemachine => command.arg(self.name()),
        };
        command.args([workload, &n.to_string()]);
        command
    }

    /// Returns the command that starts w1 as a user would, then reads one event per line from stdin.
    pub(crate) fn first(self, tools: &Tools) -> Option<Command> {
        match self {
            Peer::Rawko => {
                let mut command = Command::new(&tools.rawko);
                command.arg("simulate").arg(tools.root.join("benches/charts/w1.json"));
                command.args(["--json", "--events", "-"]);
                Some(command)
            }
            Peer::XState | Peer::Scion => {
                let mut command = tools.node("first.js");
                command.arg(self.name());
                Some(command)
            }
            Peer::RawkoTrace
            | Peer::Table
            | Peer::Statig
            | Peer::Sqlite
            | Peer::Sismic
            | Peer::Transitions
            | Peer::PythonStatemachine
            | Peer::LangGraph
            | Peer::OpenAiAgents
            | Peer::AutoGen
            | Peer::Burr
            | Peer::Dbos
            | Peer::GraphFlow
            | Peer::AdkGraph => None,
        }
    }
}
