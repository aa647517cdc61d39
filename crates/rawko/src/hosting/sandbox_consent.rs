//! Consent to an incomplete sandbox: where the kernel lacks a layer and settings do not require it, the person at the
//! terminal is asked once. Without a terminal the launcher's warning on stderr has to do.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use rawko_process::{Layers, Sandbox};

use super::ProjectContext;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::{doctor, state_directory, trust};

/// Directory below the state directory.
const FOLDER: &str = "consent";
const FILE: &str = "sandbox";

/// Asks if programs may run although layers of the sandbox are missing. Fails if the answer is no.
pub(super) fn insist(place: &ProjectContext, console: &mut Console) -> Result<(), CommandFailure> {
    let confinement = place.settings.confinement(&place.root);
    if confinement.sandbox != Sandbox::Auto || !trust::is_interactive() {
        return Ok(());
    }
    // The caller may be in a runtime already.
    let probe = std::thread::spawn(move || doctor::layers_of(confinement));
    let missing = match probe.join().unwrap_or_else(|_| Err("the sandbox could not be tried".to_owned())) {
        Ok(layers) => lines(&layers),
        Err(why) => vec![why],
    };
    if missing.is_empty() || is_agreed(&missing) {
        return Ok(());
    }
    console.remark(TextStyle::Bold, "The sandbox of programs is not complete on this machine:");
    for line in &missing {
        console.remark(TextStyle::Bad, &format!("  {line}"));
    }
    if !trust::ask_for(console, "Run programs of agents with less? [y/N] ")? {
        let help = "see `rawko doctor`; set `tools.bash.sandbox: require` to be refused without a question";
        return Err(CommandFailure::Invalid(format!(
            "the sandbox is not complete; nothing was started; {help}"
        )));
    }
    agree(&missing)
}

fn lines(layers: &Layers) -> Vec<String> {
    layers.missing().map(|(layer, why)| format!("no {layer} ({why}): {}", layer.without_it())).collect()
}

/// Returns true if the person agreed to exactly these gaps before.
fn is_agreed(missing: &[String]) -> bool {
    let path = state_directory::path().map(|state| state.join(FOLDER).join(FILE));
    path.is_ok_and(|path| fs::read_to_string(path).is_ok_and(|text| text == missing.join("\n")))
}

fn agree(missing: &[String]) -> Result<(), CommandFailure> {
    let path = state_directory::create(FOLDER)?.join(FILE);
    let written = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = written.and_then(|mut file| file.write_all(missing.join("\n").as_bytes()));
    written.map_err(|error| CommandFailure::Usage(format!("cannot write `{}`: {error}", path.display())))
}
