//! `Operator`: the person on whose authority this process acts. Proven by a token that only the person can read: a file
//! in the state directory, or RAWKO_TOKEN.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rawko_settings::{Redactor, StateDir, TOKEN_VARIABLE};

use super::nested;
use super::person::user_name;
use crate::failure::CommandFailure;

const FILE: &str = "operator.token";
const TOKEN_BYTES: usize = 32;
/// A shorter text in the file was not written by rawko.
const TEXT_LEN_MIN: usize = 32;
const TEXT_LEN_MAX: u64 = 4096;

/// The operator: a name, and the token that proves it. Never printed.
#[derive(Clone)]
pub(crate) struct Operator {
    name: String,
    token: String,
}

impl Operator {
    /// Reads the credential, and creates it on first need. Fails within a call of another rawko.
    pub(crate) fn load(state: Result<&StateDir, CommandFailure>) -> Result<Operator, CommandFailure> {
        nested::refuse()?;
        let token = match token_of_environment() {
            Some(token) => token,
            None => {
                let state = state?;
                let cannot = |error: io::Error| {
                    let path = state.path().join(FILE);
                    CommandFailure::Credentials(format!(
                        "cannot use the operator credential {}: {error}; it is needed to act on instances: set \
                         RAWKO_STATE_DIR to a directory that only you can write to, or RAWKO_TOKEN",
                        path.display()
                    ))
                };
                kept(state).map_err(cannot)?
            }
        };
        Redactor::hide_everywhere(&token);
        Ok(Operator { name: user_name(), token })
    }

    /// Returns the operator without a token, for hosts that have their own access control. Fails within a call of
    /// another rawko.
    pub(crate) fn without_token() -> Result<Operator, CommandFailure> {
        nested::refuse()?;
        Ok(Operator { name: user_name(), token: String::new() })
    }

    /// The name of the operating system's user.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns true if a text is the token. Hashes are compared, in constant time.
    pub(crate) fn is_proven_by(&self, given: &str) -> bool {
        !self.token.is_empty() && blake3::hash(given.as_bytes()) == blake3::hash(self.token.as_bytes())
    }
}

/// Hides the credential in all output of this process, without creating it: agents may have printed it.
pub(crate) fn hide_credential(state: Option<&StateDir>) {
    let kept = state.and_then(|state| read(&state.path().join(FILE)).ok());
    for token in kept.into_iter().chain(token_of_environment()) {
        Redactor::hide_everywhere(&token);
    }
}

/// Returns the reason that the credential cannot be used, for `doctor`. One that does not exist yet is created when it
/// is needed.
pub(crate) fn credential_problem(state: &StateDir) -> Option<String> {
    let path = state.path().join(FILE);
    match read(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Some(format!("{}: {error}", path.display())),
        Ok(_) | Err(_) => None,
    }
}

/// Returns RAWKO_TOKEN, which replaces the file.
pub(crate) fn token_of_environment() -> Option<String> {
    let text = std::env::var(TOKEN_VARIABLE).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Reads the file, or creates it.
fn kept(state: &StateDir) -> io::Result<String> {
    let path = state.path().join(FILE);
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    state.make()?;
    create(&path)?;
    read(&path)
}

fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::symlink_metadata(path)?;
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()));
    if !metadata.is_file() {
        return refused("it is not a regular file");
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    if metadata.mode() & 0o077 != 0 {
        return refused("other users can read it; remove it to get a new one");
    }
    let mut text = String::new();
    fs::File::open(path)?.take(TEXT_LEN_MAX).read_to_string(&mut text)?;
    let text = text.trim();
    if text.len() < TEXT_LEN_MIN {
        let why = "it is too short; remove it to get a new one";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(text.to_owned())
}

/// Writes a new token under another name first, so that no reader sees half of it. If two processes do so at once, the
/// first wins.
fn create(path: &Path) -> io::Result<()> {
    let partial = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let _ = fs::remove_file(&partial);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    let written = file.write_all(format!("{}\n", random_text()?).as_bytes()).and_then(|()| file.sync_all());
    let put = written.and_then(|()| match fs::hard_link(&partial, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no hard links.
        Err(_) => fs::rename(&partial, path),
        Ok(()) => Ok(()),
    });
    let _ = fs::remove_file(&partial);
    put
}

/// Returns 256 random bits as hexadecimal digits.
pub(crate) fn random_text() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use rawko_settings::Environment;

    fn state(dir: &Path) -> StateDir {
        let variables = [("RAWKO_STATE_DIR", dir.to_str().unwrap())];
        StateDir::of(&variables.into_iter().collect::<Environment>()).unwrap()
    }

    #[test]
    fn a_credential_is_created_once_and_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(&dir.path().join("state"));
        let token = kept(&state).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(kept(&state).unwrap(), token);
        let file = state.path().join(FILE);
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(state.path()).unwrap().mode() & 0o777, 0o700);
        create(&file).unwrap();
        assert_eq!(kept(&state).unwrap(), token, "the first one stays");
    }

    #[test]
    fn a_credential_that_others_can_read_or_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(&dir.path().join("state"));
        let token = kept(&state).unwrap();
        let file = state.path().join(FILE);
        let refused = |what: &str| {
            let error = kept(&state).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        refused("other users can read it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        refused("too short");
        fs::remove_file(&file).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, &token).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        refused("not a regular file");
    }

    #[test]
    fn a_token_proves_only_itself() {
        let operator = Operator { name: "ada".to_owned(), token: "a".repeat(64) };
        assert!(operator.is_proven_by(&"a".repeat(64)));
        for wrong in ["", "a", &"a".repeat(63), &"a".repeat(65), &"b".repeat(64)] {
            assert!(!operator.is_proven_by(wrong), "{wrong}");
        }
        assert!(
            !Operator { token: String::new(), ..operator }.is_proven_by(""),
            "without a token nothing proves it"
        );
    }
}
