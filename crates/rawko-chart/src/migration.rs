//! `migrations:` of a chart: how instances of its older versions continue on it. Read after the chart is compiled, from
//! the chart's own text or from the file of `rawko migrate --map`, so that both have the same syntax and findings.

mod read;

pub use read::{migration_of_file, migrations_of_chart};

use std::sync::Arc;

use rawko_core::Migration;

use crate::source::Span;
use crate::version::{ChartVersion, VersionRange};

/// One entry of `migrations:`.
#[derive(Clone, Debug)]
pub struct MigrationEntry {
    /// Versions of the old chart, as written.
    pub from: String,
    range: VersionRange,
    /// Mapping from those versions.
    pub migration: Arc<Migration>,
    /// Its place in the source.
    pub span: Span,
}

impl MigrationEntry {
    /// Returns true if the entry maps instances of this version.
    pub fn covers(&self, version: &str) -> bool {
        ChartVersion::parse(version).is_some_and(|version| self.range.contains(&version))
    }
}

/// Returns true if a version lies in a range such as `^1`, `1.2` or `>=1 <3`; `None` for an invalid range.
pub fn version_in(range: &str, version: &str) -> Option<bool> {
    let range = VersionRange::parse(range)?;
    Some(ChartVersion::parse(version).is_some_and(|version| range.contains(&version)))
}
