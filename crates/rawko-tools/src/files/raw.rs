//! Raw file text, for external agents with their own presentation.

use std::io::Read;

use crate::confine::{PlaceCheck, ProjectRoot};
use crate::outcome::ToolFailure;

const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// `from` is the first line, counted from 1; `count` is the number of lines.
pub(crate) fn raw(
    project: &ProjectRoot,
    path: &str,
    (from, count): (Option<u32>, Option<u32>),
    check: PlaceCheck<'_>,
) -> Result<String, ToolFailure> {
    let (file, _) = project.open_file(path, check)?;
    let said = |error: std::io::Error| ToolFailure::Said(format!("`{path}` could not be read: {error}"));
    let about = file.metadata().map_err(said)?;
    if !about.is_file() {
        return Err(format!("`{path}` is not a regular file").into());
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("`{path}` has more than {BYTES_MAX} bytes").into());
    }
    let text =
        String::from_utf8(bytes).map_err(|_| ToolFailure::Said(format!("`{path}` is not UTF-8 text")))?;
    Ok(lines(text, from, count))
}

fn lines(text: String, from: Option<u32>, count: Option<u32>) -> String {
    if from.is_none() && count.is_none() {
        return text;
    }
    let whole = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let before = from.map_or(0, |from| whole(from).saturating_sub(1));
    text.split_inclusive('\n').skip(before).take(count.map_or(usize::MAX, whole)).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_are_given_as_they_are() {
        let table = [
            ("all", None, None, "a\r\nb\nc"),
            ("from the second", Some(2), None, "b\nc"),
            ("two", None, Some(2), "a\r\nb\n"),
            ("one in the middle", Some(2), Some(1), "b\n"),
            ("from line 0, as some count", Some(0), Some(1), "a\r\n"),
            ("after the end", Some(9), Some(1), ""),
        ];
        for (case, from, count, expected) in table {
            assert_eq!(lines("a\r\nb\nc".to_owned(), from, count), expected, "{case}");
        }
    }
}
