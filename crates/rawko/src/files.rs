//! Reads and writes the files that a user names, with errors that name the file and the reason.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use rawko_chart::SourceFile;

use crate::failure::CommandFailure;

/// Maximum size of an input file: a chart, scenario or list of stubs is never larger, and reading on would only fill
/// the memory.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Returns true if a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of a path in messages.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) {
        return "<stdin>".to_owned();
    }
    let short = path.strip_prefix(".").ok().filter(|short| !short.as_os_str().is_empty());
    short.unwrap_or(path).display().to_string()
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let bytes = read_bytes(path).map_err(|error| cannot_read(path, &error))?;
    if bytes.len() as u64 > BYTES_MAX {
        let problem = format!("`{}` is larger than {} MB", shown(path), BYTES_MAX / 1024 / 1024);
        return Err(CommandFailure::Invalid(problem));
    }
    Ok(bytes)
}

/// Reads a file as text, or standard input for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String, CommandFailure> {
    String::from_utf8(read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandFailure::Invalid(format!("`{}` is not UTF-8 text (first invalid byte: {at})", shown(path)))
    })
}

pub(crate) fn read_source(path: &Path) -> Result<SourceFile, CommandFailure> {
    Ok(SourceFile::new(shown(path), read_text(path)?))
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), CommandFailure> {
    fs::write(path, text)
        .map_err(|error| CommandFailure::Usage(format!("cannot write `{}`: {error}", path.display())))
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if is_stdin(path) {
        io::stdin().lock().take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    } else {
        fs::File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Converts a read error to a message.
pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> CommandFailure {
    let name = shown(path);
    CommandFailure::Usage(match error.kind() {
        io::ErrorKind::NotFound => format!("file `{name}` not found"),
        _ if path.is_dir() => format!("`{name}` is a directory, not a file"),
        _ => format!("cannot read `{name}`: {error}"),
    })
}
