//! The person's editor for the input (Ctrl-G): `$VISUAL`, `$EDITOR` or `vi`, in the foreground of the terminal. It is the
//! person's own program and needs the terminal, so the launcher does not start it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Edits a text. Returns the new one, without its last line ends.
pub(crate) fn edit(text: &str) -> io::Result<String> {
    let path = written(text)?;
    let outcome = run(&path);
    let edited = fs::read_to_string(&path);
    // A file that stays behind is in the directory for temporary files.
    let _ = fs::remove_file(&path);
    outcome?;
    Ok(edited?.trim_end_matches('\n').to_owned())
}

fn run(path: &PathBuf) -> io::Result<()> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // The variable may have arguments, such as `code --wait`.
    let script = format!("{editor} \"$1\"");
    let status = Command::new("sh").args(["-c", &script, "sh"]).arg(path).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("`{editor}` failed: {status}"))),
    }
}

/// Writes the text to a new file that only this user can read.
fn written(text: &str) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let path = std::env::temp_dir().join(format!("rawko-input-{}-{number}.md", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1_000 => number += 1,
            Err(error) => return Err(error),
        }
    }
}
