//! Read: lines of a text with their numbers, or an image.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};

use base64::Engine;
use rawko_core::Value;

use super::media::{IMAGE_BYTES_MAX, LOOKED_AT, image_type, is_binary};
use crate::confine::{PlaceCheck, ProjectRoot};
use crate::input::{text, whole};
use crate::outcome::{ToolFailure, ToolOutcome};
use rawko_model::MessagePart;

const LINES_MAX: u64 = 2000;
const LINE_CHARS_MAX: usize = 2000;
const TEXT_BYTES_MAX: usize = 200_000;
/// Reading stops at this offset.
const SCANNED_BYTES_MAX: u64 = 512 * 1024 * 1024;

pub(crate) fn read(
    project: &ProjectRoot,
    input: &Value,
    check: PlaceCheck<'_>,
) -> Result<ToolOutcome, ToolFailure> {
    let path = text(input, "path");
    let (mut file, place) = project.open_file(path, check)?;
    let said = |error: std::io::Error| ToolFailure::Said(format!("`{path}` could not be read: {error}"));
    let about = file.metadata().map_err(said)?;
    if about.is_dir() {
        return Err(format!("`{path}` is a directory: list it with Glob").into());
    }
    if !about.is_file() {
        return Err(format!("`{path}` is not a regular file").into());
    }
    let mut head = Vec::new();
    (&mut file).take(LOOKED_AT as u64).read_to_end(&mut head).map_err(said)?;
    let data = Value::map([
        ("path", Value::from(place.display().to_string())),
        ("bytes", Value::Int(i64::try_from(about.len()).unwrap_or(i64::MAX))),
    ]);
    if let Some(media_type) = image_type(&head) {
        return image(path, file, about.len(), media_type).map(|outcome| outcome.with_data(data));
    }
    if is_binary(&head) {
        return Err(format!("`{path}` is a binary file of {} bytes, not text", about.len()).into());
    }
    file.rewind().map_err(said)?;
    let from = whole(input, "offset").unwrap_or(1);
    let count = whole(input, "limit").unwrap_or(LINES_MAX).min(LINES_MAX);
    let lines = lines(BufReader::new(file.take(SCANNED_BYTES_MAX)), from, count).map_err(said)?;
    Ok(lines.outcome(path, from).with_data(data))
}

fn image(path: &str, mut file: File, bytes: u64, media_type: &str) -> Result<ToolOutcome, ToolFailure> {
    if bytes > IMAGE_BYTES_MAX {
        return Err(
            format!("`{path}` is an image of {bytes} bytes; at most {IMAGE_BYTES_MAX} are shown").into()
        );
    }
    let mut content = Vec::new();
    let whole = file.rewind().and_then(|()| file.take(IMAGE_BYTES_MAX).read_to_end(&mut content));
    whole.map_err(|error| format!("`{path}` could not be read: {error}"))?;
    let data = base64::engine::general_purpose::STANDARD.encode(&content);
    Ok(ToolOutcome {
        content: format!("`{path}` is an image ({media_type}, {bytes} bytes), shown with this result."),
        images: vec![MessagePart::Image { media_type: media_type.to_owned(), data }],
        ..ToolOutcome::default()
    })
}

struct NumberedLines {
    text: String,
    /// Number of the last line read, shown or not.
    last: u64,
    shown: u64,
    has_more: bool,
}

/// Returns numbered lines starting at `from`. Streams the file, so its size does not matter.
fn lines(mut reader: impl BufRead, from: u64, count: u64) -> std::io::Result<NumberedLines> {
    let mut lines = NumberedLines { text: String::new(), last: 0, shown: 0, has_more: false };
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(lines);
        }
        lines.last += 1;
        if lines.last < from {
            continue;
        }
        if lines.shown == count || lines.text.len() > TEXT_BYTES_MAX {
            lines.has_more = true;
            return Ok(lines);
        }
        lines.shown += 1;
        let text = String::from_utf8_lossy(&line);
        lines.text.push_str(&format!("{:>6}\t{}\n", lines.last, cut(text.trim_end_matches(['\n', '\r']))));
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => format!("{}… [{} more bytes in this line]", &line[..at], line.len() - at),
        None => line.to_owned(),
    }
}

impl NumberedLines {
    fn outcome(self, path: &str, from: u64) -> ToolOutcome {
        if self.shown == 0 {
            let content = match self.last {
                0 => format!("`{path}` is empty."),
                last => format!("`{path}` has only {last} lines; there is none at {from}."),
            };
            return ToolOutcome::ok(content);
        }
        let mut content = self.text;
        if self.has_more {
            content.push_str(&format!("[more lines follow: continue with offset {}]\n", self.last));
        }
        ToolOutcome::ok(content)
    }
}
