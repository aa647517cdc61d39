//! `Vault`: contents by hash, in a folder of the user's state directory.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder of contents.
#[derive(Clone, Debug)]
pub(super) struct Vault {
    folder: PathBuf,
}

impl Vault {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn put(&self, hash: &str, body: &[u8]) -> io::Result<()> {
        let place = self.place(hash);
        // Contents in use are young, so that no prune removes them.
        if let Ok(file) = fs::File::open(&place) {
            return file.set_modified(SystemTime::now());
        }
        write_whole(&place, body)
    }

    /// Removes contents that are not listed and were last used before a time. Returns their number and size.
    pub(super) fn prune(&self, kept: &HashSet<String>, before: SystemTime) -> io::Result<(usize, u64)> {
        let (mut count, mut bytes) = (0, 0);
        let folders = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, 0)),
            folders => folders?,
        };
        for folder in folders {
            let folder = folder?;
            let Ok(list) = fs::read_dir(folder.path()) else { continue };
            for file in list {
                let file = file?;
                let hash = format!("{}{}", folder.file_name().display(), file.file_name().display());
                let about = file.metadata()?;
                if kept.contains(&hash) || about.modified()? >= before {
                    continue;
                }
                fs::remove_file(file.path())?;
                (count, bytes) = (count + 1, bytes + about.len());
            }
        }
        Ok((count, bytes))
    }

    /// Returns contents with this hash; damaged ones count as missing.
    pub(super) fn get(&self, hash: &str) -> Option<Vec<u8>> {
        fs::read(self.place(hash)).ok().filter(|body| content_hash(body) == hash)
    }

    fn place(&self, hash: &str) -> PathBuf {
        let (folder, name) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.folder.join(folder).join(name)
    }
}

pub(super) fn content_hash(body: &[u8]) -> String {
    blake3::hash(body).to_hex().to_string()
}

/// Writes a file in one step: it is there as a whole, or not at all.
pub(super) fn write_whole(place: &Path, body: &[u8]) -> io::Result<()> {
    static DRAFTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = place.parent().unwrap_or(Path::new("."));
    rawko_settings::make_private(folder)?;
    let draft = folder.join(format!("draft-{}-{number}", std::process::id()));
    let written = fs::write(&draft, body).and_then(|()| fs::rename(&draft, place));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// The same, on disk before it returns.
pub(super) fn write_durable(place: &Path, body: &[u8]) -> io::Result<()> {
    let draft = place.with_extension("draft");
    let mut file = fs::File::create(&draft)?;
    io::Write::write_all(&mut file, body)?;
    file.sync_all()?;
    fs::rename(&draft, place)?;
    fs::File::open(place.parent().unwrap_or(Path::new(".")))?.sync_all()
}
