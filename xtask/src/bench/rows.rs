//! The rows of the table and the targets, as data. A new workload is a row here and a program that implements the
//! protocol.

use super::peers::Peer;
use super::samples::Clock;

pub(crate) struct Row {
    pub(crate) workload: &'static str,
    pub(crate) metric: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) clock: Clock,
    pub(crate) better: Better,
    /// Peer whose number has to meet the targets.
    pub(crate) subject: Peer,
    /// Limit shown beside it.
    pub(crate) limit: Option<Peer>,
    pub(crate) targets: &'static [Target],
}

/// Direction of improvement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// At least `factor` times the number of a peer.
    AtLeastTimes {
        of: Peer,
        factor: f64,
    },
    /// At most 1/`parts` of the number of a peer.
    Share {
        of: Peer,
        parts: f64,
    },
    /// At most `factor` times the number of a peer.
    Times {
        of: Peer,
        factor: f64,
    },
    /// At most `factor` times the number of the same peer in another workload.
    TimesWorkload {
        workload: &'static str,
        factor: f64,
    },
}

use Target::{AtLeast, AtLeastTimes, AtMost, Share, Times, TimesWorkload};

/// "With the trace on, no more than twice the time."
const TRACED: &[Target] = &[Times { of: Peer::Rawko, factor: 2.0 }];

pub(crate) const ROWS: &[Row] = &[
    events(
        "w1",
        "W1 toggle",
        Some(Peer::Table),
        &[Share { of: Peer::XState, parts: 80.0 }, Times { of: Peer::Table, factor: 12.0 }],
    ),
    traced("w1", "W1 traced"),
    events("w2", "W2 counter", Some(Peer::Table), &[Share { of: Peer::XState, parts: 25.0 }]),
    traced("w2", "W2 traced"),
    events(
        "w3",
        "W3 four regions",
        Some(Peer::Statig),
        &[Share { of: Peer::XState, parts: 60.0 }, Times { of: Peer::Statig, factor: 8.0 }],
    ),
    traced("w3", "W3 traced"),
    events(
        "w4",
        "W4 towers",
        Some(Peer::Statig),
        &[Share { of: Peer::XState, parts: 60.0 }, Times { of: Peer::Statig, factor: 8.0 }],
    ),
    traced("w4", "W4 traced"),
    events("w4b", "W4B outermost", Some(Peer::Statig), &[Share { of: Peer::XState, parts: 60.0 }]),
    cpu("w5", "load_ms", "W5 first load", "ms", Some(Peer::Table), &[AtMost(3.0)]),
    cpu("w5", "load_warm_ms", "W5 load again", "ms", Some(Peer::Table), &[AtMost(3.0)]),
    // "Does not grow with the chart" leaves room for cache effects, but not for a search.
    events(
        "w5",
        "W5 1,000 states",
        Some(Peer::Table),
        // 1.5 is our interpretation of "must not grow with the number of states".
        &[AtMost(60.0), TimesWorkload { workload: "w1", factor: 1.5 }],
    ),
    cpu("w6", "save_us", "W6 save", "µs", None, &[AtMost(1.0)]),
    cpu("w6", "restore_us", "W6 restore", "µs", None, &[AtMost(2.0)]),
    wall("w7", "bytes_each", "W7 memory each", "B", &[AtMost(300.0)]),
    Row { better: Better::More, ..wall("w7", "created_per_s", "W7 created", "1/s", &[]) },
    Row {
        better: Better::More,
        limit: Some(Peer::Sqlite),
        ..wall(
            "w8",
            "events_per_s_1",
            "W8 one instance",
            "1/s",
            &[AtLeastTimes { of: Peer::Sqlite, factor: 0.8 }],
        )
    },
    Row {
        better: Better::More,
        limit: Some(Peer::Sqlite),
        ..wall("w8", "events_per_s_64", "W8 64 instances", "1/s", &[AtLeast(200_000.0)])
    },
    wall("w8", "fsyncs_per_event_64", "W8 fsyncs", "an event", &[AtMost(1.0 / 30.0)]),
    cpu(
        "w9",
        "us_per_iteration",
        "W9 agent loop",
        "µs",
        None,
        &[AtMost(15.0), Share { of: Peer::LangGraph, parts: 10.0 }],
    ),
    cpu("w9d", "us_per_iteration", "W9 on disk", "µs", None, &[Share { of: Peer::LangGraph, parts: 15.0 }]),
    wall("w9d", "commits_per_iteration", "W9 commits", "an iteration", &[AtMost(3.0)]),
    cpu("w10", "us_per_item", "W10 fan-out, an item", "µs", None, &[AtMost(50.0)]),
    cpu("w10d", "us_per_item", "W10 on disk, an item", "µs", None, &[AtMost(50.0)]),
    cpu("w10", "us_per_item_tenth", "W10 with a tenth of the items", "µs", None, &[AtMost(50.0)]),
    // Group commit: many answers share one.
    wall("w10d", "commits_per_item", "W10 commits", "an item", &[AtMost(0.1)]),
    Row {
        better: Better::More,
        ..cpu("verify", "states_per_s", "Verification, states", "1/s", None, &[AtLeast(1_000_000.0)])
    },
    wall("park", "restart_ms", "Restart on 10,000 parked", "ms", &[AtMost(2_000.0)]),
    wall("park", "resident_mb", "10,000 parked", "MB", &[AtMost(100.0)]),
    cpu("agent", "ms_per_call", "Agent loop, 1,000 calls", "ms a call", None, &[AtMost(1.0)]),
    // 1.3 is our interpretation of "linear in calls".
    wall("agent", "growth", "Agent loop, 1,000 calls beside 250", "times", &[AtMost(1.3)]),
    wall("calls", "bash_ms", "Sandboxed Bash call", "ms", &[]),
    wall("calls", "mcp_ms", "MCP call", "ms", &[]),
    wall("calls", "sdk_ms", "SDK service call", "ms", &[]),
    wall("st", "start_ms", "ST first transition", "ms", &[AtMost(3.0)]),
    wall("st", "peak_mb", "ST peak memory", "MB", &[AtMost(12.0)]),
    wall("hook", "median_ms", "Hook decision", "ms", &[]),
    wall("hook", "p99_ms", "Hook decision, p99", "ms", &[AtMost(10.0)]),
    wall("hook", "session_start_median_ms", "Hook SessionStart", "ms", &[]),
    wall("hook", "session_start_max_ms", "Hook SessionStart, longest of 40", "ms", &[]),
    wall("hook", "exit_plan_mode_median_ms", "Hook ExitPlanMode", "ms", &[]),
    wall("hook", "exit_plan_mode_max_ms", "Hook ExitPlanMode, longest of 40", "ms", &[]),
    wall("at", "calls_s", "Three tool calls of 1 s", "s", &[AtMost(1.3)]),
    wall("at", "agents_s", "16 sub-agents of 1 s", "s", &[AtMost(2.5)]),
];

const fn events(
    workload: &'static str,
    title: &'static str,
    limit: Option<Peer>,
    targets: &'static [Target],
) -> Row {
    cpu(workload, "ns_per_event", title, "ns", limit, targets)
}

const fn traced(workload: &'static str, title: &'static str) -> Row {
    Row { subject: Peer::RawkoTrace, ..events(workload, title, Some(Peer::Rawko), TRACED) }
}

const fn cpu(
    workload: &'static str,
    metric: &'static str,
    title: &'static str,
    unit: &'static str,
    limit: Option<Peer>,
    targets: &'static [Target],
) -> Row {
    Row {
        workload,
        metric,
        title,
        unit,
        clock: Clock::Cpu,
        better: Better::Less,
        subject: Peer::Rawko,
        limit,
        targets,
    }
}

const fn wall(
    workload: &'static str,
    metric: &'static str,
    title: &'static str,
    unit: &'static str,
    targets: &'static [Target],
) -> Row {
    Row { clock: Clock::Wall, ..cpu(workload, metric, title, unit, None, targets) }
}
