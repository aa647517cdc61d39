//! `MigrationRequest`: the order to move an instance to another chart or back, and `MigrationRecord`: its journal entry.

use std::sync::Arc;

use rawko_core::{Chart, Migration, Snapshot, Value};
use serde::{Deserialize, Serialize};

use crate::records::OpenEffect;

/// The order to continue an instance on another chart. The driver keeps the chart's text as long as records name it.
#[derive(Clone, Debug)]
pub struct MigrationRequest {
    /// Chart to continue on.
    pub to: Arc<Chart>,
    /// Mapping of the snapshot to that chart.
    pub move_by: MigrationMove,
    /// The person; null if unknown.
    pub by: Value,
    /// The driver moves the instance: calls that the new chart adds run at once. Otherwise they run when it is resumed.
    pub is_driven: bool,
}

/// The way to the other chart.
#[derive(Clone, Debug)]
pub enum MigrationMove {
    /// By a mapping.
    Mapped(Arc<Migration>),
    /// Back to the snapshot before the last record, which is a migration.
    Back {
        /// The snapshot before the migration.
        snapshot: Box<Snapshot>,
        /// Calls that the migration ended.
        ended: Vec<OpenEffect>,
        /// The step of the migration.
        step: u64,
    },
}

/// Requests are equal if they lead to the same chart in the same way.
impl PartialEq for MigrationRequest {
    fn eq(&self, other: &Self) -> bool {
        let way = |request: &Self| match &request.move_by {
            MigrationMove::Mapped(migration) => (0, migration.source.clone()),
            MigrationMove::Back { step, .. } => (*step, Value::Null),
        };
        (self.to.hash(), &self.by, way(self)) == (other.to.hash(), &other.by, way(other))
    }
}

/// The event of a record of kind [`Migrated`](crate::records::RecordKind::Migrated).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MigrationRecord {
    /// The person or program that migrated it.
    pub by: Value,
    /// Chart before.
    pub from: ChartName,
    /// Chart after.
    pub to: ChartName,
    /// The mapping as written; null if everything was inferred.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub map: Value,
    /// True if this undid the migration before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
    /// Calls that ended, to be opened again on the way back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<OpenEffect>,
}

/// A chart in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartName {
    /// Chart id.
    pub chart: Arc<str>,
    /// Version as the author wrote it.
    pub version: Arc<str>,
    /// Content hash in hex.
    pub hash: String,
}

impl ChartName {
    pub(crate) fn of(chart: &Chart) -> Self {
        let hash = crate::content::hex(&chart.hash());
        Self { chart: chart.id().into(), version: chart.version().into(), hash }
    }
}
