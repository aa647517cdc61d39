//! Reads `remote:` of a service.

use rawko_chart::Document;

use super::reader::Reader;
use crate::services::remote::{RECONNECT, RemoteForm, WAIT};

/// Reads how long calls wait for a program; `remote: {}` has the defaults.
pub(super) fn read(reader: &mut Reader<'_>, at: &Document, what: &str) -> RemoteForm {
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
