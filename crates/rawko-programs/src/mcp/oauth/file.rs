//! The credentials of one server in the user's state directory: readable by the user only, and by no agent.

use std::future::Future;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

/// Distinguishes the temporary files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Debug)]
pub(in crate::mcp) struct CredentialFile {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
pub(in crate::mcp) struct OauthFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) credentials: Option<StoredCredentials>,
    /// The `WWW-Authenticate` header of the server's last refusal, for the next login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) challenge: Option<String>,
}

impl CredentialFile {
    pub(super) fn new(folder: &Path, url: &str) -> Self {
        let digest = blake3::hash(url.as_bytes()).to_hex();
        Self { path: folder.join(format!("{}.json", &digest[..32])) }
    }

    /// Returns the contents; a missing or damaged file is an empty one, which a login replaces.
    pub(in crate::mcp) fn read(&self) -> OauthFile {
        let text = std::fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Remembers what the server requires. A failure only means that the next login asks the server again.
    pub(in crate::mcp) fn note(&self, challenge: &str) {
        let contents = OauthFile { challenge: Some(challenge.to_owned()), ..self.read() };
        let _ = self.write(&contents);
    }

    /// Deletes the credentials; returns false if there were none.
    pub(in crate::mcp) fn remove(&self) -> io::Result<bool> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&self, contents: &OauthFile) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let new = self.path.with_extension(format!("{}-{number}.new", std::process::id()));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(contents)?)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)
    }
}

type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// Written out as `async_trait` would, for which no dependency is needed.
impl CredentialStore for CredentialFile {
    fn load<'a: 'b, 'b>(&'a self) -> StoreFuture<'b, Option<StoredCredentials>>
    where
        Self: 'b,
    {
        Box::pin(async move { Ok(self.read().credentials) })
    }

    fn save<'a: 'b, 'b>(&'a self, credentials: StoredCredentials) -> StoreFuture<'b, ()>
    where
        Self: 'b,
    {
        let contents = OauthFile { credentials: Some(credentials), challenge: None };
        Box::pin(async move {
            self.write(&contents).map_err(|error| AuthError::CredentialStoreError(error.to_string()))
        })
    }

    fn clear<'a: 'b, 'b>(&'a self) -> StoreFuture<'b, ()>
    where
        Self: 'b,
    {
        Box::pin(async move {
            self.remove().map(drop).map_err(|error| AuthError::CredentialStoreError(error.to_string()))
        })
    }
}
