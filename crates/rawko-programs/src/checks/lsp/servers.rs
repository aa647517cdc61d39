//! `LanguageServers`: the servers that run, for the next pass. One that has not been used for a while is ended; all end
//! when this is dropped.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rawko_process::Launch;
use serde_json::Value;

use super::files::OpenFile;
use super::session::LspSession;

/// An unused server is ended after this time: some hold gigabytes.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Language servers that keep running between checks.
#[derive(Clone, Debug, Default)]
pub struct LanguageServers {
    kept: Arc<Mutex<KeptServer>>,
}

#[derive(Debug, Default)]
struct KeptServer {
    sessions: Vec<(ServerKey, LspSession)>,
    /// Number of uses so far; marks the last use of a session.
    uses: u64,
}

/// A server is used again only for the same command, directory and confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerKey {
    root: PathBuf,
    /// The launch as text: program, arguments, environment and confinement.
    launch: String,
}

impl LanguageServers {
    /// Returns the number of servers that wait for the next check.
    pub fn len(&self) -> usize {
        self.kept().sessions.len()
    }

    /// Returns true if no server waits for the next check.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the diagnostics of each file, in order.
    pub(super) async fn diagnostics(
        &self,
        launch: Launch,
        root: &Path,
        opened: &[OpenFile],
        time: Duration,
    ) -> Result<Vec<Vec<Value>>, String> {
        let key = ServerKey { root: root.to_owned(), launch: format!("{launch:?}") };
        if let Some(mut session) = self.take(&key) {
            // It may have ended or lost its way meanwhile; then a new one answers.
            if let Ok(diagnostics) = session.diagnostics(opened, time).await {
                self.keep(key, session);
                return Ok(diagnostics);
            }
            session.end().await;
        }
        let mut session = LspSession::start(launch, root).await?;
        match session.diagnostics(opened, time).await {
            Ok(diagnostics) => {
                self.keep(key, session);
                Ok(diagnostics)
            }
            Err(why) => Err(session.end_because(why).await),
        }
    }

    fn take(&self, key: &ServerKey) -> Option<LspSession> {
        let mut kept = self.kept();
        let at = kept.sessions.iter().position(|(of, _)| of == key)?;
        Some(kept.sessions.swap_remove(at).1)
    }

    fn keep(&self, key: ServerKey, mut session: LspSession) {
        let mut kept = self.kept();
        kept.uses += 1;
        let used = kept.uses;
        session.used = used;
        kept.sessions.push((key, session));
        drop(kept);
        tokio::spawn(end_later(Arc::downgrade(&self.kept), used));
    }

    fn kept(&self) -> MutexGuard<'_, KeptServer> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the session with this use if nothing used it since.
async fn end_later(kept: Weak<Mutex<KeptServer>>, used: u64) {
    tokio::time::sleep(IDLE).await;
    let Some(kept) = kept.upgrade() else { return };
    let idle: Vec<LspSession> = {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.sessions
            .extract_if(.., |(_, session)| session.used == used)
            .map(|(_, session)| session)
            .collect()
    };
    for session in idle {
        session.end().await;
    }
}
