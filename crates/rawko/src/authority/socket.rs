//! The path of a host's socket. Derived from the store by host and client alike, and never read from a file: a client
//! sends the credential there.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rawko_settings::{StateDir, make_private, short_hash};

/// Maximum length of the path of a Unix socket, with some room.
const PATH_BYTES_MAX: usize = 100;

/// Returns the socket path of a store, in a directory that exists and belongs to this user only: in the state
/// directory, or in the temporary one if that path is too long.
pub(crate) fn socket_path(state: &StateDir, store: &Path) -> io::Result<PathBuf> {
    let store = resolved(store);
    let name = format!("{}.sock", short_hash(store.as_os_str().as_encoded_bytes()));
    let folder = state.path().join("run");
    let path = folder.join(&name);
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        state.make()?;
        make_private(&folder)?;
        return Ok(path);
    }
    // The hash of the state directory, because another one has another credential.
    let user = rustix::process::geteuid().as_raw();
    let folder = PathBuf::from(format!("/tmp/rawko-{user}"));
    make_private(&folder)?;
    // Everybody can write to the directory above, so this one may have been made by another user.
    let metadata = std::fs::symlink_metadata(&folder)?;
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o077 != 0 {
        let why = format!("{} is not a directory of this user only", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(folder.join(format!("{}-{name}", short_hash(state.path().as_os_str().as_encoded_bytes()))))
}

/// Returns the path without links; for a new store, with the links of its directory resolved.
fn resolved(store: &Path) -> PathBuf {
    if let Ok(path) = store.canonicalize() {
        return path;
    }
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), store.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        (Err(_), _) | (_, None) => store.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawko_settings::Environment;

    #[test]
    fn a_socket_has_a_short_path_whatever_the_state_directory() {
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("x".repeat(120));
        for state in [dir.path().join("state"), long] {
            let variables = [("RAWKO_STATE_DIR", state.to_str().unwrap())];
            let environment: Environment = variables.into_iter().collect();
            let state = StateDir::of(&environment).unwrap();
            let path = socket_path(&state, &dir.path().join("rawko.db")).unwrap();
            assert!(path.as_os_str().len() <= PATH_BYTES_MAX, "{}", path.display());
            assert_ne!(path, socket_path(&state, &dir.path().join("other.db")).unwrap());
            let mode = std::fs::metadata(path.parent().unwrap()).unwrap().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }
}
