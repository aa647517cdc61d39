//! The store: its integrity, its holder, its size, and the free space.

use std::path::Path;

use rawko_host::SnapshotReader;
use rawko_restate::client::RestateError;
use rawko_restate::worker_responds;
use rawko_store::{Lock, StoreError, StoreReport};

use super::{CheckState, DoctorResult, contradictions};
use crate::authority::{credential_problem, leftover};
use crate::files::shown;
use crate::hosting::{self, ProjectContext, WORKER_ANSWERS_WITHIN};
use crate::scenario::report::count;
use crate::{sizes, times};

const MIB: u64 = 1024 * 1024;
/// Free space below this is a warning.
const LOW_BYTES: u64 = 512 * MIB;
const VERY_LOW_BYTES: u64 = 32 * MIB;
/// A disk that fills up in fewer days is a warning.
const LOW_DAYS: u64 = 7;

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    if place.remote.is_some() {
        return [Some(remote(place)), worker(place)].into_iter().flatten().collect();
    }
    let (check, report) = file(place);
    let mut checks = vec![check];
    checks.extend(location(place));
    checks.extend(holder(place));
    checks.extend(size(place));
    checks.extend(report.map(|report| growth(place, &report)));
    checks.extend(room(place));
    checks
}

fn file(place: &ProjectContext) -> (DoctorResult, Option<StoreReport>) {
    let name = place.shown();
    let report = match place.reader() {
        Ok(Some(reader)) => report(&reader),
        Ok(None) => {
            let text = format!("{name}: not created yet; `rawko run` creates it");
            return (DoctorResult::new("store", CheckState::Ok, text), None);
        }
        Err(failure) => {
            return (
                DoctorResult::new("store", CheckState::Problem, format!("{name}: {}", words(failure))),
                None,
            );
        }
    };
    let known = report.as_ref().ok().cloned();
    (judged(&name, report), known)
}

/// Returns the store's own report; if it finds nothing, contradictions between its tables.
fn report(reader: &SnapshotReader) -> Result<StoreReport, StoreError> {
    let mut report = reader.store().report()?;
    if report.problems.is_empty() {
        report.problems = contradictions::find(reader)?;
    }
    Ok(report)
}

/// Warns about a store that agents may reach, and about one that is not used.
fn location(place: &ProjectContext) -> Vec<DoctorResult> {
    let mut checks = Vec::new();
    let inside = place.root.canonicalize().ok().zip(place.store.canonicalize().ok());
    let state = place.state().ok().and_then(|state| state.path().canonicalize().ok());
    let in_state_dir = |store: &Path| state.as_ref().is_some_and(|state| store.starts_with(state));
    if inside.is_some_and(|(root, store)| store.starts_with(root) && !in_state_dir(&store)) {
        let text = format!("{} is in the project, where agents can write", place.shown());
        let help = "remove `store.path` from the settings, or `--store`, to keep it in the state directory";
        checks.push(DoctorResult::new("store", CheckState::Warn, text).help(help));
    }
    if let Some(problem) = place.state().ok().and_then(credential_problem) {
        let text = format!("operator credential {problem}");
        checks.push(
            DoctorResult::new("operator", CheckState::Problem, text)
                .help("commands that act on instances fail"),
        );
    }
    if let Some(old) = leftover(&place.root, &place.store) {
        let text = format!("{} is not used: the project has a store in the state directory", shown(&old));
        let help = format!("look at it with `--store {}`, or remove it", shown(&old));
        checks.push(DoctorResult::new("store", CheckState::Warn, text).help(help));
    }
    checks
}

fn judged(name: &str, report: Result<StoreReport, StoreError>) -> DoctorResult {
    match report {
        Ok(report) if report.problems.is_empty() => {
            let text = format!("{name}: intact, format {}, {}", report.format, contents(&report));
            DoctorResult::new("store", CheckState::Ok, text)
        }
        Ok(report) => {
            let text = format!("{name}: damaged: {}", report.problems.join("; "));
            let help = "all other instances are intact; stop every rawko process that uses the store, keep a copy, \
                        and restore the last good backup with `rawko restore`";
            DoctorResult::new("store", CheckState::Problem, text).help(help)
        }
        Err(error) => DoctorResult::new("store", CheckState::Problem, format!("{name}: {error}")),
    }
}

/// Checks Restate. It manages its own storage, so only reachability and stuck invocations are visible.
fn remote(place: &ProjectContext) -> DoctorResult {
    let name = place.shown();
    let report = place.reader().map(|reader| reader.map(|reader| reader.store().report()));
    match report {
        Ok(Some(Ok(report))) if report.problems.is_empty() => {
            DoctorResult::new("restate", CheckState::Ok, format!("{name}: {}", contents(&report)))
        }
        Ok(Some(Ok(report))) => {
            let text = format!("{name}: stuck invocations: {}", report.problems.join("; "));
            DoctorResult::new("restate", CheckState::Problem, text)
                .help("check that a `rawko worker` is running and registered")
        }
        Ok(Some(Err(error))) => DoctorResult::new("restate", CheckState::Problem, format!("{name}: {error}")),
        Ok(None) => DoctorResult::new("restate", CheckState::Problem, name),
        Err(failure) => {
            DoctorResult::new("restate", CheckState::Problem, format!("{name}: {}", words(failure)))
        }
    }
}

/// Calls a worker. An unreachable server is reported by [`remote`].
fn worker(place: &ProjectContext) -> Option<DoctorResult> {
    let restate = &place.remote.as_ref()?.restate;
    let called = hosting::block_on(async { Ok(worker_responds(restate, WORKER_ANSWERS_WITHIN).await) });
    match called {
        Ok(Ok(true)) => Some(DoctorResult::new("worker", CheckState::Ok, "a worker answers")),
        Ok(Ok(false)) => {
            let text = "no worker answers; instances do not move and commands wait";
            let help = format!("start one: rawko worker --restate {}", restate.ingress().place());
            Some(DoctorResult::new("worker", CheckState::Problem, text).help(help))
        }
        Ok(Err(RestateError::Unreachable { .. })) => None,
        Ok(Err(error)) => Some(DoctorResult::new("worker", CheckState::Problem, error.to_string())),
        Err(failure) => Some(DoctorResult::new("worker", CheckState::Problem, words(failure))),
    }
}

fn contents(report: &StoreReport) -> String {
    format!("{}, {}", count(report.instances, "instance"), count(report.records, "record"))
}

fn words(failure: crate::failure::CommandFailure) -> String {
    use crate::failure::CommandFailure;
    match failure {
        CommandFailure::Usage(message)
        | CommandFailure::Invalid(message)
        | CommandFailure::Credentials(message)
        | CommandFailure::Failed(message)
        | CommandFailure::Transient(message)
        | CommandFailure::Findings { message, .. } => message,
        CommandFailure::Interrupted => "interrupted".to_owned(),
        CommandFailure::Output(error) => error.to_string(),
    }
}

fn holder(place: &ProjectContext) -> Option<DoctorResult> {
    let holder = Lock::holder(&place.store)?;
    let since = times::ago(holder.started_ms, times::now_ms());
    let text = format!("in use by `{}` (process {}, started {since})", holder.command, holder.pid);
    Some(match &holder.socket {
        Some(_) => {
            DoctorResult::new("store", CheckState::Ok, format!("{text}; other commands use it as their host"))
        }
        None => DoctorResult::new("store", CheckState::Warn, text)
            .help("it accepts no requests; wait until it ends"),
    })
}

fn size(place: &ProjectContext) -> Option<DoctorResult> {
    let bytes = std::fs::metadata(&place.store).ok()?.len();
    let shown = sizes::shown(bytes);
    Some(match place.settings.store_size_max() {
        Some(max) if bytes.saturating_mul(10) >= max.saturating_mul(9) => {
            let text = format!("size {shown} of at most {}", sizes::shown(max));
            DoctorResult::new("store", CheckState::Warn, text)
                .help("raise `store.size_max` in the settings, or remove old instances with `rawko prune`")
        }
        Some(max) => DoctorResult::new(
            "store",
            CheckState::Ok,
            format!("size {shown} of at most {}", sizes::shown(max)),
        ),
        None => DoctorResult::new("store", CheckState::Ok, format!("size {shown}")),
    })
}

/// Estimates the growth of the last 24 hours from the share of records written in that time.
fn growth(place: &ProjectContext, report: &StoreReport) -> DoctorResult {
    let used = report.bytes.saturating_sub(report.free_bytes);
    let recent = report.recent_records;
    let part = u128::from(used) * u128::from(recent) / u128::from(report.records.max(1));
    let a_day = u64::try_from(part).unwrap_or(u64::MAX);
    let mut text = format!("{} in the last 24h", count(recent, "record"));
    // A small store consists mostly of empty tables.
    if used >= MIB {
        text += &format!(", about {}", sizes::shown(a_day));
    }
    if report.free_bytes >= MIB {
        text += &format!("; {} free within the file", sizes::shown(report.free_bytes));
    }
    let max = place.settings.store_size_max();
    let days = max.and_then(|max| max.saturating_sub(used).checked_div(a_day));
    match days {
        Some(days) if days < LOW_DAYS && used >= MIB => {
            let text = format!("{text}; full in {days} days at this rate");
            DoctorResult::new("store", CheckState::Warn, text)
                .help("remove old instances: `rawko prune --older-than 30d`")
        }
        Some(_) | None => DoctorResult::new("store", CheckState::Ok, text),
    }
}

fn room(place: &ProjectContext) -> Option<DoctorResult> {
    let folder = place.store.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let text = format!("{} free on the disk", sizes::shown(free));
    let state = match free {
        0..VERY_LOW_BYTES => CheckState::Problem,
        VERY_LOW_BYTES..LOW_BYTES => CheckState::Warn,
        LOW_BYTES.. => return Some(DoctorResult::new("disk", CheckState::Ok, text)),
    };
    Some(
        DoctorResult::new("disk", state, text)
            .help("free some space; a full disk stops all instances but loses nothing"),
    )
}
