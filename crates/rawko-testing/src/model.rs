//! A scenario file as data: stimuli and expectations. Places are line numbers, as reports show them.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::model_faults::FaultExpectation;

/// One `*.scenario.yaml`.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioFile {
    pub(crate) path: PathBuf,
    /// The chart under test, relative to the file; without it the file of the same stem beside it.
    pub(crate) chart: Option<String>,
    /// Charts that may be invoked as children, relative to the file.
    pub(crate) with: Vec<String>,
    pub(crate) setup: ScenarioSetup,
    /// Expectations under faults, for every scenario.
    pub(crate) faults: Vec<FaultExpectation>,
    pub(crate) scenarios: Vec<Scenario>,
}

/// Initial setup of a simulation. A scenario's own setup overrides the file's, key by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScenarioSetup {
    pub(crate) services: serde_json::Map<String, Json>,
    pub(crate) agents: Option<Json>,
    pub(crate) env: serde_json::Map<String, Json>,
    pub(crate) input: serde_json::Map<String, Json>,
    /// Allows calls that the project's `governance` refuses.
    pub(crate) open_gate: bool,
}

impl ScenarioSetup {
    pub(crate) fn overridden_by(&self, other: &ScenarioSetup) -> ScenarioSetup {
        let mut all = self.clone();
        all.services.extend(other.services.clone());
        all.env.extend(other.env.clone());
        all.input.extend(other.input.clone());
        all.open_gate |= other.open_gate;
        if other.agents.is_some() {
            all.agents = other.agents.clone();
        }
        all
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) setup: ScenarioSetup,
    /// Expectations under faults; they go before those of the file.
    pub(crate) faults: Vec<FaultExpectation>,
    pub(crate) steps: Vec<ScenarioStep>,
}

/// A stimulus and what should be seen after it. Without a stimulus it looks at where things stand.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioStep {
    pub(crate) line: usize,
    /// In the form `simulate` reads: `{"type": …, "data": …}` or `{"advance": …}`.
    pub(crate) stimulus: Option<Json>,
    pub(crate) expectations: Vec<Expectation>,
}

impl ScenarioStep {
    /// `send APPROVE`, `advance 15m`, or `no stimulus` for a look.
    pub(crate) fn label(&self) -> String {
        let Some(stimulus) = &self.stimulus else { return "no stimulus".to_owned() };
        match (stimulus.get("type"), stimulus.get("advance")) {
            (Some(Json::String(name)), _) => format!("send {name}"),
            (_, Some(Json::String(duration))) => format!("advance {duration}"),
            (_, Some(ms)) => format!("advance {ms}"),
            _ => stimulus.to_string(),
        }
    }
}

/// One key below `expect:`.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) line: usize,
    pub(crate) field: LineField,
    pub(crate) wanted: Matcher,
}

impl Expectation {
    /// The states it names: one that does not exist would never be missed under `excludes`.
    pub(crate) fn states(&self) -> impl Iterator<Item = &str> {
        let items: Vec<&Json> = match &self.wanted {
            Matcher::Like(_) => Vec::new(),
            Matcher::Exactly(items) => items.iter().collect(),
            Matcher::Among { contains, excludes } => contains.iter().chain(excludes).collect(),
        };
        let names_states = self.field == LineField::Configuration;
        items.into_iter().filter(move |_| names_states).filter_map(Json::as_str)
    }
}

/// The keys of a report line that can be expected, by the names they have there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineField {
    Configuration,
    Context,
    Status,
    Log,
    Emitted,
    Sent,
    Invoked,
    /// Items of an `each`.
    Stopped,
    Output,
}

impl LineField {
    pub(crate) const ALL: [LineField; 9] = [
        LineField::Configuration,
        LineField::Context,
        LineField::Status,
        LineField::Log,
        LineField::Emitted,
        LineField::Sent,
        LineField::Invoked,
        LineField::Stopped,
        LineField::Output,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            LineField::Configuration => "configuration",
            LineField::Context => "context",
            LineField::Status => "status",
            LineField::Log => "log",
            LineField::Emitted => "emitted",
            LineField::Sent => "sent",
            LineField::Invoked => "invoked",
            LineField::Stopped => "stopped",
            LineField::Output => "output",
        }
    }

    /// Returns true if entries are plain texts, so that a map can only mean `{contains, excludes}`.
    pub(crate) fn has_plain_entries(self) -> bool {
        matches!(self, LineField::Configuration | LineField::Log | LineField::Stopped)
    }

    /// Returns true for a list, which may also be expected as `{contains: […]}`.
    pub(crate) fn is_list(self) -> bool {
        match self {
            LineField::Configuration
            | LineField::Log
            | LineField::Emitted
            | LineField::Sent
            | LineField::Invoked
            | LineField::Stopped => true,
            LineField::Context | LineField::Status | LineField::Output => false,
        }
    }
}

/// Expected value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matcher {
    /// A value; maps match when every wanted key does.
    Like(Json),
    /// A list with exactly these items in this order.
    Exactly(Vec<Json>),
    /// A list with these items among others, and none of those.
    Among { contains: Vec<Json>, excludes: Vec<Json> },
}
