//! `Snapshot`: an instance after one step, as plain data.

use rawko_core::Status;
use rawko_host::RestoredSnapshot;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::error::{Error, Result};

/// The status of an instance. Later releases may add others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotStatus {
    /// Takes events.
    Active,
    /// A top-level final state was reached.
    Done,
    /// An invoke failed, and nothing handles it. No state is lost.
    Error,
    /// Ended by a cancel request.
    Cancelled,
}

impl SnapshotStatus {
    /// Returns true if events can no longer change anything.
    pub fn is_over(self) -> bool {
        matches!(self, SnapshotStatus::Done | SnapshotStatus::Cancelled)
    }

    /// Returns the name used in snapshots and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            SnapshotStatus::Active => "active",
            SnapshotStatus::Done => "done",
            SnapshotStatus::Error => "error",
            SnapshotStatus::Cancelled => "cancelled",
        }
    }
}

impl From<Status> for SnapshotStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => SnapshotStatus::Active,
            Status::Done => SnapshotStatus::Done,
            Status::Error => SnapshotStatus::Error,
            Status::Cancelled => SnapshotStatus::Cancelled,
        }
    }
}

/// An instance after one step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The number of the step, from 0.
    pub step: u64,
    /// The status: `Active`, `Done`, `Error` or `Cancelled`.
    pub status: SnapshotStatus,
    /// The active states that have no active child, as paths: `review.checks.running`.
    pub states: Vec<String>,
    /// The context of the chart.
    pub context: Json,
    /// The output of the final state; null before.
    pub output: Json,
    /// The unhandled error of an instance with the status `Error`; null otherwise.
    pub error: Json,
    /// Time of the step, in milliseconds since 1970.
    pub at_ms: i64,
}

impl Snapshot {
    pub(super) fn of(restored: &RestoredSnapshot) -> Snapshot {
        let (chart, snapshot) = (&restored.chart, &restored.snapshot);
        Snapshot {
            step: snapshot.step_number(),
            status: snapshot.status().into(),
            states: chart.leaf_paths(snapshot.configuration()).map(str::to_owned).collect(),
            context: snapshot.context_map(chart).to_json(),
            output: snapshot.output().to_json(),
            error: snapshot.failure().map(|failure| failure.error.to_json()).unwrap_or_default(),
            at_ms: restored.at_ms,
        }
    }

    /// Returns true if a state is active: by its path, or by the last names of it (`running`).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> rawko::Result<()> {
    /// # let chart = "{id: a, initial: b, states: {b: {initial: c, states: {c: {}}}}}";
    /// # let project = rawko::Project::options().chart("a.yaml", chart).start().await?;
    /// let snapshot = project.actor_of("a", ()).await?.snapshot()?;
    /// assert!(snapshot.matches("b.c") && snapshot.matches("b") && !snapshot.matches("d"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn matches(&self, state: &str) -> bool {
        self.states.iter().any(|path| {
            let end = path.strip_suffix(state).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            let start = path.strip_prefix(state).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            end || start || path.contains(&format!(".{state}."))
        })
    }

    /// Returns true if the instance is done or cancelled.
    pub fn is_over(&self) -> bool {
        self.status.is_over()
    }

    /// Returns the context as a type of the program.
    pub fn context_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(self.context.clone())
            .map_err(|source| Error::Json { what: "the context has another type".to_owned(), source })
    }
}
