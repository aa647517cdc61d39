//! Reads `remote:` of a service.

use rawko_chart::SpannedValue;

use super::reader::HostSettingsReader;
use crate::services::remote::{RECONNECT, RemoteForm, WAIT};

/// Reads how long calls wait for a program; `remote: {}` has the defaults.
pub(super) fn read(reader: &mut HostSettingsReader<'_>, at: &SpannedValue, what: &str) -> RemoteForm {
    let mut form = RemoteForm { wait: WAIT, reconnect: RECONNECT };
    for entry in reader.record(at, &format!("`remote` of {what}"), &["wait", "reconnect"]) {
        let named = format!("`{}` of {what}", entry.key);
        let Some(time) = reader.duration(&entry.value, &named) else { continue };
        match entry.key.as_str() {
            "wait" => form.wait = time,
            _ => form.reconnect = time,
        }
    }
    form
}
