//! Reads stimuli from a file or a pipe, one JSON object per line, as they arrive: a program may send one, read the
//! report, and decide the next.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use rawko_sim::Stimulus;
use serde_json::Value as Json;

use crate::failure::CommandFailure;
use crate::files;

/// Maximum length of a line; a stimulus is far smaller.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads stimuli and counts lines.
pub(crate) struct Stimuli {
    reader: Box<dyn BufRead>,
    name: String,
    line: usize,
}

impl Stimuli {
    pub(crate) fn open(path: &Path) -> Result<Self, CommandFailure> {
        let name = files::shown(path);
        let reader: Box<dyn BufRead> = if files::is_stdin(path) {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| files::cannot_read(path, &error))?;
            if path.is_dir() {
                return Err(CommandFailure::Usage(format!(
                    "`{name}` is a directory; expected a file of stimuli"
                )));
            }
            Box::new(BufReader::new(file))
        };
        Ok(Self { reader, name, line: 0 })
    }

    /// Returns the next stimulus, `None` at the end. Blank lines are skipped.
    pub(crate) fn next(&mut self) -> Result<Option<Stimulus>, CommandFailure> {
        loop {
            let Some(text) = self.next_line()? else { return Ok(None) };
            if !text.trim().is_empty() {
                return self.parse(&text).map(Some);
            }
        }
    }

    /// Returns all stimuli up to the first that cannot be read, which is reported when its turn comes.
    pub(crate) fn readable(mut self) -> Vec<Stimulus> {
        std::iter::from_fn(|| self.next().ok().flatten()).collect()
    }

    fn next_line(&mut self) -> Result<Option<String>, CommandFailure> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
        let count =
            limited.read_until(b'\n', &mut bytes).map_err(|error| self.complaint(&error.to_string()))?;
        self.line += 1;
        if count as u64 == LINE_BYTES_MAX {
            return Err(self.complaint("the line is too long"));
        }
        let text = String::from_utf8(bytes).map_err(|_| self.complaint("the line is not UTF-8 text"))?;
        Ok((count > 0).then_some(text))
    }

    fn parse(&self, text: &str) -> Result<Stimulus, CommandFailure> {
        let json = serde_json::from_str(text.trim_start_matches('\u{feff}').trim())
            .map_err(|error| self.complaint(&format!("not JSON: {}", without_line(&error))))?;
        from_json(&json).map_err(|problem| self.complaint(&problem))
    }

    fn complaint(&self, problem: &str) -> CommandFailure {
        CommandFailure::Usage(format!("{}, line {}: {problem}", self.name, self.line))
    }
}

/// Reads a stimulus in the form of the stimuli file.
pub(super) fn from_json(json: &Json) -> Result<Stimulus, String> {
    Stimulus::from_value(&json.clone().into()).map_err(|error| error.to_string())
}

/// Removes the parser's "line 1", which is not the line in the file.
fn without_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}
