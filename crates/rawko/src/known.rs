//! Finds the instance that a user names, with a helpful error if it does not exist.

use rawko_host::SnapshotReader;
use rawko_store::{Filter, InstanceRow};

use crate::failure::CommandFailure;
use crate::hosting::ProjectContext;

/// Maximum number of instances searched for a similar name.
const CANDIDATES_MAX: usize = 5_000;
const SUGGESTIONS_MAX: usize = 3;
const CLOSE_ENOUGH: f64 = 0.85;

/// Opens the store of a place, and fails if there is none.
pub(crate) fn reader(place: &ProjectContext) -> Result<SnapshotReader, CommandFailure> {
    place.reader()?.ok_or_else(|| {
        let message = format!("store `{}` not found", place.shown());
        CommandFailure::Usage(format!("{message}; start an instance with `rawko run CHART` to create it"))
    })
}

/// Returns the instance with this id, or an error that suggests a similar one.
pub(crate) fn instance(reader: &SnapshotReader, id: &str) -> Result<InstanceRow, CommandFailure> {
    if let Some(row) = reader.store().find(id)? {
        return Ok(row);
    }
    if crate::queue::find(reader, id)?.is_some() {
        let help = "run it with `rawko queue run`, or remove it with";
        return Err(CommandFailure::Usage(format!(
            "task `{id}` is queued and has not started; {help} `rawko queue remove {id}`"
        )));
    }
    let filter = Filter { limit: CANDIDATES_MAX, ..Filter::default() };
    let page = reader.store().list(&filter)?;
    let mut near: Vec<(f64, &str)> = page
        .rows
        .iter()
        .map(|row| (strsim::jaro_winkler(id, &row.new.id), &*row.new.id))
        .filter(|(likeness, _)| *likeness >= CLOSE_ENOUGH)
        .collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let near: Vec<_> = near.iter().take(SUGGESTIONS_MAX).map(|(_, id)| format!("`{id}`")).collect();
    let help = if near.is_empty() {
        "list instances with `rawko ps --all`".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    Err(CommandFailure::Usage(format!("instance `{id}` not found; {help}")))
}
