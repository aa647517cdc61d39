//! Selects the host of a command: this machine or Restate, and its URLs. Flags take precedence over the environment,
//! and the environment over the settings.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use rawko_host::{Settings, SettingsReader, SnapshotReader};
use rawko_restate::client::{ADMIN_URL, INGRESS_URL, Restate, RestateError};
use rawko_restate::store::RestateStore;
use rawko_restate::worker_responds;

use crate::console;
use crate::failure::CommandFailure;
use crate::session::has_terminal;

/// Default port of Restate's admin API.
const ADMIN_PORT: &str = "9070";
/// A command that takes longer than this may wait for a worker.
const UNREMARKABLE: Duration = Duration::from_secs(1);
/// Time in which a worker answers a call that does nothing.
pub(crate) const WORKER_ANSWERS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostKind {
    // A store file on this machine. Not a doc comment: that would switch every command to the long help.
    Embedded,
    // A Restate server with workers on many machines.
    Restate,
}

/// The host options, shared by every command that uses instances.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct HostArgs {
    /// Host: embedded or restate [default: embedded] [env: RAWKO_HOST]
    #[arg(
        long,
        value_name = "HOST",
        display_order = 810,
        help_heading = "Store options",
        hide_possible_values = true
    )]
    pub(crate) host: Option<HostKind>,

    /// Restate ingress URL(s), comma-separated; implies --host restate [env: RAWKO_RESTATE]
    #[arg(long, value_name = "URL", display_order = 811, help_heading = "Store options")]
    pub(crate) restate: Option<String>,

    /// Restate admin URL [default: ingress host:9070] [env: RAWKO_RESTATE_ADMIN]
    #[arg(long, value_name = "URL", display_order = 812, help_heading = "Store options")]
    pub(crate) admin: Option<String>,
}

/// Instances on Restate. One reader per command, because new records are counted from its creation.
pub(crate) struct RestateAccess {
    pub(crate) restate: Restate,
    pub(crate) reader: SnapshotReader,
}

impl RestateAccess {
    fn new(restate: Restate) -> Result<RestateAccess, RestateError> {
        let reader = SnapshotReader::new(Arc::new(RestateStore::new(&restate)?));
        Ok(RestateAccess { restate, reader })
    }

    /// Returns the name of the host in messages.
    pub(crate) fn words(&self) -> String {
        format!("Restate at {}", self.restate.ingress().place())
    }
}

/// Reports that no worker answers, so that a command that waits for one does not seem to hang. A session shows its own
/// state of the task.
pub(super) async fn report_missing_worker(restate: Restate) {
    tokio::time::sleep(UNREMARKABLE).await;
    let answer = worker_responds(&restate, WORKER_ANSWERS_WITHIN).await;
    if answer.is_ok_and(|responds| !responds) && !has_terminal() {
        let place = restate.ingress().place();
        let text =
            format!("no worker answers; waiting for one (start it with `rawko worker --restate {place}`)");
        console::announce(&format!("warning: {text}"));
    }
}

/// The host options in the settings.
#[derive(Default)]
struct HostAddresses {
    ingress: Option<String>,
    admin: Option<String>,
}

impl HostArgs {
    /// Returns Restate, if it is the selected host.
    pub(super) fn remote(&self, settings: &Settings) -> Result<Option<RestateAccess>, CommandFailure> {
        match self.kind(settings)? {
            HostKind::Embedded => Ok(None),
            HostKind::Restate => Ok(Some(RestateAccess::new(self.client(settings)?)?)),
        }
    }

    /// Returns true if Restate is the selected host.
    pub(crate) fn is_remote(&self, settings: &Settings) -> Result<bool, CommandFailure> {
        Ok(self.kind(settings)? == HostKind::Restate)
    }

    /// Returns Restate, regardless of the selected host.
    pub(crate) fn client(&self, settings: &Settings) -> Result<Restate, CommandFailure> {
        let said = HostAddresses::read(settings)?;
        let set = |name: &str| settings.environment().get(name).map(str::to_owned);
        let ingress = self.restate.clone().or_else(|| set("RAWKO_RESTATE")).or(said.ingress);
        let ingress = ingress.unwrap_or_else(|| INGRESS_URL.to_owned());
        let admin = self.admin.clone().or_else(|| set("RAWKO_RESTATE_ADMIN")).or(said.admin);
        let admin = admin.unwrap_or_else(|| admin_beside(&ingress));
        Ok(Restate::new(&ingress, &admin)?)
    }

    fn kind(&self, settings: &Settings) -> Result<HostKind, CommandFailure> {
        if let Some(kind) = self.host.or(self.restate.as_ref().map(|_| HostKind::Restate)) {
            return Ok(kind);
        }
        match settings.environment().get("RAWKO_HOST") {
            None | Some("") => Ok(HostKind::Embedded),
            Some(word) => HostKind::from_str(word, true).map_err(|_| {
                CommandFailure::Usage(format!("invalid RAWKO_HOST `{word}`; use `embedded` or `restate`"))
            }),
        }
    }
}

impl HostAddresses {
    fn read(settings: &Settings) -> Result<HostAddresses, CommandFailure> {
        let mut all = HostAddresses::default();
        for section in settings.sections("restate") {
            let mut reader = SettingsReader::new(settings.environment());
            for entry in reader.record(&section.document, "`restate`", &["ingress", "admin"]) {
                let place = if entry.key == "ingress" { &mut all.ingress } else { &mut all.admin };
                let what = format!("`{}` of `restate`", entry.key);
                let text = reader.text(&entry.value, &what).map(str::to_owned);
                *place = place.take().or(text);
            }
            if let Some(finding) = reader.findings.first() {
                return Err(CommandFailure::Invalid(format!("{}: {}", section.file, finding.message)));
            }
        }
        Ok(all)
    }
}

/// Returns the admin URL on the same machine, or machines.
fn admin_beside(ingress: &str) -> String {
    ingress.split(',').map(|node| admin_of(node.trim())).collect::<Vec<_>>().join(",")
}

fn admin_of(ingress: &str) -> String {
    let ingress = ingress.trim_end_matches('/');
    let after_scheme = ingress.find("://").map_or(0, |at| at + 3);
    let authority = &ingress[after_scheme..];
    // The last colon, unless it is part of an address in brackets.
    let host = match authority.rfind(':') {
        Some(at) if !authority[at..].contains(']') => &authority[..at],
        Some(_) | None => authority,
    };
    match host.is_empty() {
        true => ADMIN_URL.to_owned(),
        false => format!("{}{host}:{ADMIN_PORT}", &ingress[..after_scheme]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_admin_side_is_beside_the_ingress() {
        for (ingress, admin) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:9070"),
            ("http://restate.example.test/", "http://restate.example.test:9070"),
            ("https://[::1]:8080", "https://[::1]:9070"),
            ("https://[::1]", "https://[::1]:9070"),
            ("http://one:8080,http://two:8080", "http://one:9070,http://two:9070"),
            ("", ADMIN_URL),
        ] {
            assert_eq!(admin_beside(ingress), admin, "{ingress}");
        }
    }
}
