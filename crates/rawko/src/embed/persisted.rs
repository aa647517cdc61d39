//! `PersistedSnapshot`: an instance as one JSON document. Its text is an export, verified by hashes when it is read.

use rawko_store::InstanceFamily;
use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use crate::times;

/// An instance with its children, journal, timers and open calls, for [`Actor::restore`](crate::Actor::restore). Write it
/// with `serde_json`, or its [`export`](Self::export) as a file for `rawko instance import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistedSnapshot {
    /// The id of the instance.
    id: String,
    /// The id of its chart.
    chart: String,
    /// JSON lines, as `rawko instance export` writes them.
    export: String,
}

impl PersistedSnapshot {
    pub(super) fn of(family: &InstanceFamily) -> Result<PersistedSnapshot> {
        let mut text = Vec::new();
        let cannot =
            |error: std::io::Error| Error::Usage(format!("the instance cannot be exported: {error}"));
        family.write(&mut text, times::now_ms()).map_err(cannot)?;
        let root = family.members.first().map(|root| &root.new);
        Ok(PersistedSnapshot {
            id: root.map(|new| new.id.to_string()).unwrap_or_default(),
            chart: root.map(|new| new.chart_id.to_string()).unwrap_or_default(),
            export: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    pub(super) fn family(&self) -> Result<InstanceFamily> {
        Ok(InstanceFamily::read(self.export.as_bytes())?)
    }

    /// Returns the id of the instance.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the id of the chart.
    pub fn chart(&self) -> &str {
        &self.chart
    }

    /// Returns the export as text, in the format of `rawko instance export`.
    pub fn export(&self) -> &str {
        &self.export
    }
}
