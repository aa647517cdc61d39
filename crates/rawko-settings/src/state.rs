//! `StateDir`: the user's directory for stores, sockets and the operator credential. Outside of every project, because
//! a process that can write there acts as the operator; agents and repositories cannot.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Environment;

/// Names the directory itself.
pub const STATE_DIR_VARIABLE: &str = "RAWKO_STATE_DIR";

const STORE_FILE: &str = "rawko.db";
/// Characters of a project's name that its directory keeps.
const NAME_MAX: usize = 40;

/// The state directory of a user. It need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

/// Neither `RAWKO_STATE_DIR` nor a home directory is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStateDir;

impl fmt::Display for NoStateDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot find the state directory: neither RAWKO_STATE_DIR nor HOME is set")
    }
}

impl StateDir {
    /// Returns `RAWKO_STATE_DIR`, else `$XDG_STATE_HOME/rawko`, else `~/.local/state/rawko`.
    pub fn of(environment: &Environment) -> Result<StateDir, NoStateDir> {
        let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(Path::new);
        if let Some(path) = set(STATE_DIR_VARIABLE) {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            return Ok(StateDir { path });
        }
        let whole = |name: &str| set(name).filter(|path| path.is_absolute());
        let base = whole("XDG_STATE_HOME").map(Path::to_owned);
        let base = base.or_else(|| whole("HOME").map(|home| home.join(".local/state")));
        base.map(|base| StateDir { path: base.join("rawko") }).ok_or(NoStateDir)
    }

    /// Returns the absolute path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path relative to a directory that contains it, with links resolved as far as the path exists.
    pub fn below(&self, folder: &Path) -> Option<PathBuf> {
        let there = self.path.ancestors().find_map(|there| Some((there, there.canonicalize().ok()?)))?;
        let full = there.1.join(self.path.strip_prefix(there.0).ok()?);
        full.strip_prefix(folder).ok().map(Path::to_owned)
    }

    /// Returns the directory of a project: its name for people, and a hash of its path because names repeat.
    pub fn project(&self, root: &Path) -> PathBuf {
        let full = root.canonicalize().or_else(|_| std::path::absolute(root));
        // Without a slash at the end.
        let full: PathBuf = full.as_deref().unwrap_or(root).components().collect();
        let kept = |byte: char| if byte.is_ascii_alphanumeric() || "._-".contains(byte) { byte } else { '_' };
        let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name: String = name.chars().take(NAME_MAX).map(kept).collect();
        let name =
            if name.trim_start_matches('.').is_empty() { "root" } else { name.trim_start_matches('.') };
        self.path.join("projects").join(format!("{name}-{}", short_hash(full.as_os_str().as_encoded_bytes())))
    }

    /// Returns the default store of a project.
    pub fn store(&self, root: &Path) -> PathBuf {
        self.project(root).join(STORE_FILE)
    }

    /// Creates the directory for its owner only. An existing one that others can write to is refused.
    pub fn make(&self) -> io::Result<()> {
        make_private(&self.path)?;
        refuse_shared(&self.path)?;
        // A home directory may be a git repository.
        let ignored = self.path.join(".gitignore");
        if !ignored.exists() {
            write_private(&ignored, "*\n")?;
        }
        Ok(())
    }
}

/// Creates a directory, and those above it, for its owner only. Existing ones are left as they are.
pub fn make_private(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file for its owner only.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Fails if users other than the owner can write to a directory, or if it belongs to another user. An empty one, as
/// `mkdir` makes it with a lax umask, is closed instead.
fn refuse_shared(path: &Path) -> io::Result<()> {
    let metadata = std::fs::metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    if ![own, 0].contains(&metadata.uid()) {
        let why = format!("it belongs to user {}, not to user {own}", metadata.uid());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    if metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    if metadata.uid() == own && std::fs::read_dir(path)?.next().is_none() {
        return std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    }
    let why = "other users can write to it; run `chmod go-w` on it";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Returns 16 hexadecimal digits of a hash, for file names.
pub fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_state_is() {
        let table: [(&[(&str, &str)], &str); 6] = [
            (&[("HOME", "/homes/ada")], "/homes/ada/.local/state/rawko"),
            (&[("HOME", "/homes/ada"), ("XDG_STATE_HOME", "/var/state")], "/var/state/rawko"),
            (&[("HOME", "/homes/ada"), ("XDG_STATE_HOME", "relative")], "/homes/ada/.local/state/rawko"),
            (&[("HOME", "/homes/ada"), ("RAWKO_STATE_DIR", "/srv/rawko")], "/srv/rawko"),
            (&[("HOME", "/homes/ada"), ("RAWKO_STATE_DIR", "")], "/homes/ada/.local/state/rawko"),
            (&[("RAWKO_STATE_DIR", "/srv/rawko")], "/srv/rawko"),
        ];
        for (variables, expected) in table {
            let environment: Environment = variables.iter().copied().collect();
            assert_eq!(StateDir::of(&environment).unwrap().path(), Path::new(expected), "{variables:?}");
        }
        assert_eq!(StateDir::of(Environment::none()), Err(NoStateDir));
    }

    #[test]
    fn projects_of_one_name_have_directories_of_their_own() {
        let state = StateDir { path: "/state".into() };
        let name = |root: &str| state.project(Path::new(root)).display().to_string();
        assert!(name("/none/shop").starts_with("/state/projects/shop-"), "{}", name("/none/shop"));
        assert_ne!(name("/none/shop"), name("/other/shop"));
        assert_eq!(name("/none/shop"), name("/none/shop/"));
        let odd = name("/none/a b\n\u{1b}[2J");
        assert!(odd.starts_with("/state/projects/a_b___2J-"), "{odd}");
        assert!(name("/none/...").starts_with("/state/projects/root-"));
        assert!(name(&format!("/none/{}", "x".repeat(300))).len() < 80);
    }
}
