//! The store: whether it is sound, who holds it, how large it is, and how much room is left.

use std::path::Path;

use rawko_store::Lock;

use super::{Check, State};
use crate::hosting::Place;
use crate::times;

const MIB: u64 = 1024 * 1024;
/// Below this much room, better make some.
const LOW_BYTES: u64 = 512 * MIB;
const VERY_LOW_BYTES: u64 = 32 * MIB;

pub(super) fn look(place: &Place) -> Vec<Check> {
    if place.remote.is_some() {
        return vec![remote(place)];
    }
    let mut checks = vec![file(place)];
    checks.extend(holder(place));
    checks.extend(size(place));
    checks.extend(room(place));
    checks
}

fn file(place: &Place) -> Check {
    let name = place.shown();
    let reader = match place.reader() {
        Ok(Some(reader)) => reader,
        Ok(None) => {
            return Check::new("store", State::Ok, format!("{name}: not there yet; `rawko run` makes it"));
        }
        Err(failure) => {
            return Check::new("store", State::Problem, format!("{name}: {}", words(failure)));
        }
    };
    match reader.store().report() {
        Ok(report) if report.problems.is_empty() => {
            let (instances, records) = (report.instances, report.records);
            let text =
                format!("{name}: sound, format {}, {instances} instances, {records} records", report.format);
            Check::new("store", State::Ok, text)
        }
        Ok(report) => {
            let text = format!("{name}: damaged: {}", report.problems.join("; "));
            let help = "stop every rawko that uses it, keep a copy, and bring back the last good one";
            Check::new("store", State::Problem, text).help(help)
        }
        Err(error) => Check::new("store", State::Problem, format!("{name}: {error}")),
    }
}

/// Restate keeps its own house; what can be seen is whether it answers and whether calls get on.
fn remote(place: &Place) -> Check {
    let name = place.shown();
    let report = place.reader().map(|reader| reader.map(|reader| reader.store().report()));
    match report {
        Ok(Some(Ok(report))) if report.problems.is_empty() => {
            let (instances, records) = (report.instances, report.records);
            Check::new("restate", State::Ok, format!("{name}: {instances} instances, {records} records"))
        }
        Ok(Some(Ok(report))) => {
            let text = format!("{name}: calls do not get on: {}", report.problems.join("; "));
            Check::new("restate", State::Problem, text).help("is a `rawko worker` running, and registered?")
        }
        Ok(Some(Err(error))) => Check::new("restate", State::Problem, format!("{name}: {error}")),
        Ok(None) => Check::new("restate", State::Problem, name),
        Err(failure) => Check::new("restate", State::Problem, format!("{name}: {}", words(failure))),
    }
}

fn words(failure: crate::failure::Failure) -> String {
    use crate::failure::Failure;
    match failure {
        Failure::Usage(message)
        | Failure::Invalid(message)
        | Failure::Credentials(message)
        | Failure::Failed(message)
        | Failure::Transient(message)
        | Failure::Findings { message, .. } => message,
        Failure::Interrupted => "interrupted".to_owned(),
        Failure::Output(error) => error.to_string(),
    }
}

fn holder(place: &Place) -> Option<Check> {
    let holder = Lock::holder(&place.store)?;
    let since = times::ago(holder.started_ms, times::now_ms());
    let text = format!("held by `{}` (process {}, started {since})", holder.command, holder.pid);
    Some(match &holder.socket {
        Some(_) => Check::new("store", State::Ok, format!("{text}; other commands go through it")),
        None => Check::new("store", State::Warn, text).help("it does not listen: wait until it ends"),
    })
}

fn size(place: &Place) -> Option<Check> {
    let bytes = std::fs::metadata(&place.store).ok()?.len();
    let shown = size_words(bytes);
    Some(match place.settings.store_size_max() {
        Some(max) if bytes.saturating_mul(10) >= max.saturating_mul(9) => {
            let text = format!("{shown} of the {} it may grow to", size_words(max));
            Check::new("store", State::Warn, text).help("raise `store.size_max` in the settings")
        }
        Some(max) => Check::new("store", State::Ok, format!("{shown} of {}", size_words(max))),
        None => Check::new("store", State::Ok, format!("{shown} large")),
    })
}

fn room(place: &Place) -> Option<Check> {
    let folder = place.store.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let text = format!("{} left on its disk", size_words(free));
    let state = match free {
        0..VERY_LOW_BYTES => State::Problem,
        VERY_LOW_BYTES..LOW_BYTES => State::Warn,
        LOW_BYTES.. => return Some(Check::new("disk", State::Ok, text)),
    };
    Some(Check::new("disk", state, text).help("make room: a full disk stops every instance, but loses none"))
}

fn size_words(bytes: u64) -> String {
    const GIB: u64 = 1024 * MIB;
    match bytes {
        0..MIB => format!("{} KiB", bytes.div_ceil(1024)),
        MIB..GIB => format!("{} MiB", bytes / MIB),
        GIB.. => format!("{} GiB", bytes / GIB),
    }
}
