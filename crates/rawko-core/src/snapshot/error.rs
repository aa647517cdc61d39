//! Errors of reading a snapshot. Separate from the format, because stores and hosts pass them on.

use super::json::SNAPSHOT_FORMAT;

/// A text that is not a valid snapshot of this chart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The text is not JSON, or a field has the wrong type.
    #[error("this is not a snapshot: {0}")]
    Malformed(String),
    /// The format version is not supported.
    #[error("this snapshot has format {found}, and this rawko reads format {SNAPSHOT_FORMAT}")]
    Format {
        /// Format version of the text.
        found: u32,
    },
    /// The snapshot belongs to a chart with another id.
    #[error("this is a snapshot of chart `{found}`, not of `{expected}`")]
    OtherChart {
        /// Chart id in the snapshot.
        found: String,
        /// Id of the chart it is read for.
        expected: String,
    },
    /// The versions differ.
    #[error("this is a snapshot of `{chart}` at version {found}, and the chart here is version {expected}")]
    OtherVersion {
        /// Id of both charts.
        chart: String,
        /// Version in the snapshot.
        found: String,
        /// Version of the chart.
        expected: String,
    },
    /// The content hashes differ under one version.
    #[error("this is a snapshot of a different `{chart}`: the version is the same but the content differs")]
    OtherContent {
        /// Id of both charts.
        chart: String,
    },
    /// A state, context key or invoke does not exist.
    #[error("the snapshot names {what} `{name}`, which chart `{chart}` does not have")]
    UnknownName {
        /// Kind of the name, such as `state`.
        what: &'static str,
        /// The unknown name.
        name: String,
        /// Id of the chart it is read for.
        chart: String,
    },
    /// The active states do not form a legal configuration; holds their paths.
    #[error(
        "the snapshot's configuration [{0}] is not legal: a compound state needs one active child, a parallel state all of them"
    )]
    IllegalConfiguration(String),
}
