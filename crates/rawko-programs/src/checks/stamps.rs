//! Modification times of the project's files. Make, cargo and their like take a product for current if its sources are older,
//! so an agent could build from other sources and date the present ones back.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::tree::walk_files;
use crate::checkpoints::Root;

/// Times of one write differ by less.
const CLOSE: Duration = Duration::from_secs(1);

/// Dates files to now that were touched since then and carry another time. The time of the last touch cannot be set by a
/// program.
pub fn refresh_times(root: &Path, since: SystemTime) {
    let Ok(inside) = Root::open(root) else { return };
    let now = SystemTime::now();
    for path in walk_files(root) {
        let Ok(about) = root.join(&path).symlink_metadata() else { continue };
        let seconds = Duration::from_secs(u64::try_from(about.ctime()).unwrap_or(0));
        let touched = SystemTime::UNIX_EPOCH + seconds;
        let Ok(modified) = about.modified() else { continue };
        let is_other = modified + CLOSE < touched || modified > now + CLOSE;
        if !about.is_file() || touched + CLOSE < since || !is_other {
            continue;
        }
        // A file of another owner keeps its time, and the check decides with it.
        let _ = inside.file(Path::new(&path)).and_then(|file| file.set_modified(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn files_that_are_dated_back_or_ahead_are_dated_to_now() {
        let project = tempfile::tempdir().unwrap();
        let date = |path: &str, time: SystemTime| {
            File::open(project.path().join(path)).and_then(|file| file.set_modified(time)).unwrap();
        };
        let time = |path: &str| fs::metadata(project.path().join(path)).unwrap().modified().unwrap();
        for path in ["back", "ahead", "plain"] {
            fs::write(project.path().join(path), "x").unwrap();
        }
        let (now, day) = (SystemTime::now(), Duration::from_secs(86_400));
        date("back", now - day);
        date("ahead", now + day);
        let plain = time("plain");
        refresh_times(project.path(), now + day);
        assert_eq!(time("back"), now - day, "not touched since then");
        refresh_times(project.path(), now - Duration::from_secs(60));
        assert!(time("back") > now - day && time("ahead") < now + day);
        assert_eq!(time("plain"), plain);
    }
}
