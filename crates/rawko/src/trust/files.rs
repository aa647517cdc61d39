//! The files of a project that carry authority, with their contents: settings, agents, charts, MCP servers, instructions,
//! git hooks, and programs that settings start. Their hash is what a person trusts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::git;

/// Directories whose files all count, without the parts that rawko writes itself while it works.
const TREES: [(&str, &[&str]); 3] =
    [(".rawko", &["state", "memories", "tapes"]), (".agents", &[]), (".claude", &CLAUDES_OWN)];
/// Written by Claude Code while it works, and not read by rawko.
const CLAUDES_OWN: [&str; 16] = [
    "backups",
    "cache",
    "debug",
    "downloads",
    "file-history",
    "history.jsonl",
    "ide",
    "logs",
    "plans",
    "projects",
    "session-env",
    "shell-snapshots",
    "statsig",
    "telemetry",
    "todos",
    "worktrees",
];
/// Files at the root, in any case.
const NAMES: [&str; 6] =
    [".mcp.json", "agents.md", "agents.override.md", "claude.md", "claude.local.md", ".gitmodules"];

const FILES_MAX: usize = 4_000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;
const DEPTH_MAX: usize = 16;
/// Larger texts are compared by hash, without a diff.
const TEXT_MAX: usize = 256 * 1024;

/// One file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorityFile {
    pub(crate) hash: String,
    /// The content, if it is text of moderate size.
    pub(crate) text: Option<String>,
    stamp: TrustStamp,
}

/// Identity and change time. A file that was changed and changed back has another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TrustStamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

/// All such files of a project by path, relative to its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthorityFiles {
    files: BTreeMap<String, AuthorityFile>,
    /// Further paths that were added, to read the same set again.
    added: Vec<PathBuf>,
    has_git: bool,
    bytes: u64,
}

impl AuthorityFiles {
    /// Reads the files of a project. Those of git count only if agents can work there, because nothing else runs git.
    pub(crate) fn read(root: &Path, has_git: bool) -> io::Result<AuthorityFiles> {
        let mut all = AuthorityFiles { has_git, ..AuthorityFiles::default() };
        for (tree, ours) in TREES {
            all.walk(root, &root.join(tree), ours, 0)?;
        }
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(named(root, &error)),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            if NAMES.contains(&name.as_str()) {
                all.take(root, &entry.path())?;
            }
        }
        if has_git {
            git::read(root, &mut all)?;
        }
        Ok(all)
    }

    /// Adds a file that is named by others: a registered chart, a program.
    pub(crate) fn add(&mut self, root: &Path, path: &Path) -> io::Result<()> {
        if !self.added.iter().any(|known| known == path) {
            self.added.push(path.to_owned());
            self.take(root, path)?;
        }
        Ok(())
    }

    /// Reads the same set again and returns true if nothing was touched since.
    pub(crate) fn is_untouched(&self, root: &Path) -> io::Result<bool> {
        let mut again = AuthorityFiles::read(root, self.has_git)?;
        for path in &self.added {
            again.add(root, path)?;
        }
        Ok(again == *self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &AuthorityFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    pub(crate) fn get(&self, path: &str) -> Option<&AuthorityFile> {
        self.files.get(path)
    }

    /// Returns the hash of one file.
    pub(crate) fn hash_of(&self, root: &Path, path: &Path) -> Option<String> {
        self.files.get(&shown(root, path)).map(|file| file.hash.clone())
    }

    /// Returns the hash of the whole set.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, file) in &self.files {
            for part in [path.as_bytes(), file.hash.as_bytes()] {
                hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Adds a content that is not a whole file.
    pub(super) fn insert(&mut self, root: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
        self.put(root, path, content, TrustStamp::default())
    }

    /// Adds every file below a directory. Links are followed, because readers of these files follow them.
    pub(super) fn walk(
        &mut self,
        root: &Path,
        directory: &Path,
        except: &[&str],
        depth: usize,
    ) -> io::Result<()> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !directory.is_symlink() => return Ok(()),
            // A file or a dangling link in place of the directory is content, too.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
                return self.take(root, directory);
            }
            Err(error) => return Err(named(directory, &error)),
        };
        if depth > DEPTH_MAX {
            return Err(io::Error::other(format!("`{}` is nested too deeply", directory.display())));
        }
        for entry in entries {
            let entry = entry?;
            let is_own = depth == 0 && except.iter().any(|name| entry.file_name() == *name);
            let path = entry.path();
            match path.is_dir() {
                _ if is_own => {}
                true => self.walk(root, &path, &[], depth + 1)?,
                false => self.take(root, &path)?,
            }
        }
        Ok(())
    }

    /// Adds one file. Only regular files are opened: reading a pipe would block.
    pub(super) fn take(&mut self, root: &Path, path: &Path) -> io::Result<()> {
        let (content, stamp) = match fs::metadata(path) {
            Ok(about) if about.is_file() => {
                let content = rawko_process::read_regular(path).map_err(|error| named(path, &error))?;
                (content, stamp(&about))
            }
            Ok(about) => {
                let kind = about.file_type();
                let words = match () {
                    () if kind.is_dir() => "directory",
                    () if kind.is_fifo() => "pipe",
                    () if kind.is_socket() => "socket",
                    () => "device",
                };
                (format!("not a file: {words}").into_bytes(), stamp(&about))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
                (b"link to nothing".to_vec(), TrustStamp::default())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(named(path, &error)),
        };
        self.put(root, path, &content, stamp)
    }

    fn put(&mut self, root: &Path, path: &Path, content: &[u8], stamp: TrustStamp) -> io::Result<()> {
        self.bytes += content.len() as u64;
        if self.files.len() >= FILES_MAX || self.bytes > BYTES_MAX {
            let why = format!("more than {FILES_MAX} files or {} MB", BYTES_MAX / 1024 / 1024);
            return Err(io::Error::other(format!("too many files carry authority: {why}")));
        }
        let mut hasher = blake3::Hasher::new();
        // The target of a link is part of the trusted content.
        if let Ok(target) = fs::read_link(path) {
            hasher.update(b"link ").update(target.as_os_str().as_encoded_bytes()).update(&[0]);
        }
        let hash = hasher.update(content).finalize().to_hex().to_string();
        let text = String::from_utf8(content.to_vec()).ok().filter(|text| text.len() <= TEXT_MAX);
        self.files.insert(shown(root, path), AuthorityFile { hash, text, stamp });
        Ok(())
    }
}

fn stamp(about: &fs::Metadata) -> TrustStamp {
    TrustStamp { device: about.dev(), inode: about.ino(), changed: (about.ctime(), about.ctime_nsec()) }
}

/// Returns the path relative to the root. Names that are not UTF-8 are escaped, so that no two files share a name.
fn shown(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let path = path.strip_prefix(".").unwrap_or(path);
    path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))
}
