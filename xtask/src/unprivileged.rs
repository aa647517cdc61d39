//! Runs a test of cargo as an unprivileged user, if this process is root.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::run;

/// User and group id that own no files.
const USER_ID: &str = "65534";

/// The home of an unprivileged user, removed afterwards.
pub(crate) struct UnprivilegedUser(PathBuf);

impl UnprivilegedUser {
    /// `None` if this process is unprivileged itself.
    pub(crate) fn new() -> Result<Option<Self>> {
        let id = Command::new("id").arg("-u").output().context("cannot start `id`")?;
        if id.stdout.trim_ascii() != b"0" {
            return Ok(None);
        }
        let home = Self(std::env::temp_dir().join(format!("rawko-unprivileged-{}", std::process::id())));
        fs::create_dir_all(home.0.join("tmp"))?;
        let owner = format!("{USER_ID}:{USER_ID}");
        run("chown", &["-R", &owner, &home.0.to_string_lossy()], &[])?;
        Ok(Some(home))
    }

    /// Options of cargo, by which it starts the test as this user.
    pub(crate) fn options(&self) -> [String; 2] {
        let home = self.0.display();
        let words = format!(
            "setpriv --reuid {USER_ID} --regid {USER_ID} --clear-groups env HOME={home} TMPDIR={home}/tmp USER=nobody \
             LOGNAME=nobody"
        );
        ["--config".to_owned(), format!("target.'cfg(unix)'.runner = \"{words}\"")]
    }
}

impl Drop for UnprivilegedUser {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
