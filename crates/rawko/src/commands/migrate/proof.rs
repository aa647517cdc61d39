//! The proof: every reachable configuration of the old chart has an image, or the ones without are named.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rawko_chart::{Registry, SourceFile};
use rawko_core::{Chart, Now, World};
use rawko_host::{Migrator, SnapshotReader};
use rawko_verify::{ExplorationLimits, Model, Storage, reachable};
use serde_json::{Value as Json, json};

use crate::failure::CommandFailure;

/// Limits of the exploration: a proof that takes longer is reported as partial.
const STATES_MAX: usize = 50_000;
const TIME: Duration = Duration::from_secs(3);

/// The images of the configurations of one old chart.
pub(super) struct Proof {
    pub(super) chart: Arc<Chart>,
    /// Number of reachable configurations.
    pub(super) configurations: usize,
    /// True if no configuration was left out.
    pub(super) is_whole: bool,
    /// Configurations without an image, with the reasons.
    pub(super) without: Vec<(Vec<String>, Vec<String>)>,
}

type ProofResult = BTreeMap<Vec<String>, Option<Vec<String>>>;

pub(super) fn prove(
    old: &Arc<Chart>,
    reader: &SnapshotReader,
    migrator: &Migrator,
    world: &World,
) -> Result<Proof, CommandFailure> {
    let row = reader.store().chart(&old.hash())?;
    let model = row.and_then(|row| {
        let source = SourceFile::new(row.name, row.text);
        Model::load(&source, &Registry::default()).0
    });
    let found: RefCell<ProofResult> = RefCell::default();
    let migration = migrator.migration(old.id(), old.version());
    let visit = |snapshot: &rawko_core::Snapshot| {
        if snapshot.status().is_over() {
            return;
        }
        let paths: Vec<String> = old.leaf_paths(snapshot.configuration()).map(str::to_owned).collect();
        let reasons =
            rawko_host::image((&**old, &**migrator.chart()), &migration, snapshot, Now::new(0, world)).err();
        let mut found = found.borrow_mut();
        let known = found.entry(paths).or_default();
        *known = known.take().or(reasons);
    };
    let end = Instant::now() + TIME;
    let limits = ExplorationLimits {
        states_max: STATES_MAX,
        stop: &|_| Instant::now() >= end,
        storage: Storage::Exact,
    };
    let reached = model.and_then(|model| reachable(&[model], world, &limits, &visit));
    let found = found.into_inner();
    let configurations = found.len();
    let without = found.into_iter().filter_map(|(paths, reasons)| Some((paths, reasons?))).collect();
    let is_whole = reached.is_some_and(|reached| reached.is_whole);
    Ok(Proof { chart: Arc::clone(old), configurations, is_whole, without })
}

impl Proof {
    pub(super) fn to_json(&self) -> Json {
        let without: Vec<Json> = self
            .without
            .iter()
            .map(|(configuration, reasons)| json!({"configuration": configuration, "reasons": reasons}))
            .collect();
        json!({
            "chart": self.chart.id(),
            "version": self.chart.version(),
            "configurations": self.configurations,
            "complete": self.is_whole,
            "without_image": without,
        })
    }

    /// Returns the summary for people.
    pub(super) fn words(&self) -> String {
        let (id, version) = (self.chart.id(), self.chart.version());
        let all = self.configurations;
        let bound = if self.is_whole { "" } else { " that were explored; there may be more" };
        match self.without.len() {
            0 if self.is_whole => {
                format!("all {all} reachable configurations of {id} {version} have an image")
            }
            0 => format!("the {all} configurations of {id} {version}{bound} have an image"),
            missing => format!("{missing} of {all} configurations of {id} {version}{bound} have no image"),
        }
    }
}
