//! Grep: lines that match a regular expression.

use std::io::Read;
use std::path::Path;

use rawko_core::Value;
use regex::{Regex, RegexBuilder};

use super::media::{LOOKED_AT, is_binary};
use super::search::{FileSearch, pattern};
use crate::confine::ProjectRoot;
use crate::input::{flag, text, whole};
use crate::outcome::{ToolFailure, ToolOutcome};

const LIMIT: u64 = 250;
const LIMIT_MAX: u64 = 2000;
const CONTEXT_MAX: u64 = 20;
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
const LINE_CHARS_MAX: usize = 400;
const REGEX_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(crate) fn grep(
    project: &ProjectRoot,
    input: &Value,
    is_hidden: &dyn Fn(&Path) -> bool,
) -> Result<ToolOutcome, ToolFailure> {
    let regex = expression(text(input, "pattern"), flag(input, "ignore_case"))?;
    let only = input.get("glob").as_str().map(|text| pattern(text, true)).transpose()?;
    let mut search = FileSearch::below(project, text(input, "path"), is_hidden)?;
    let mut found = GrepOutput::new(input);
    for file in &search.files {
        let is_wanted = only
            .as_ref()
            .is_none_or(|only| file.strip_prefix(&search.base).is_ok_and(|path| only.is_match(path)));
        if is_wanted && let Some(content) = content(project, file) {
            found.file(&FileSearch::shown(project, file), &content, &regex);
        }
        if found.is_full() || search.is_over() {
            search.is_cut |= !found.is_full();
            break;
        }
    }
    Ok(found.outcome(text(input, "pattern"), search.is_cut))
}

fn expression(text: &str, ignores_case: bool) -> Result<Regex, ToolFailure> {
    let built = RegexBuilder::new(text).case_insensitive(ignores_case).size_limit(REGEX_BYTES_MAX).build();
    built.map_err(|error| ToolFailure::Said(format!("`{text}` is not a regular expression: {error}")))
}

/// Returns the text of a file, or `None` if it is not searchable.
fn content(project: &ProjectRoot, file: &Path) -> Option<String> {
    let file = project.open_found(file).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let is_text = !is_binary(&bytes[..bytes.len().min(LOOKED_AT)]);
    is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GrepShape {
    Content,
    Files,
    Count,
}

struct GrepOutput {
    shape: GrepShape,
    context: usize,
    limit: usize,
    lines: Vec<String>,
    matches: usize,
    files: usize,
}

impl GrepOutput {
    fn new(input: &Value) -> Self {
        let shape = match text(input, "output") {
            "files" => GrepShape::Files,
            "count" => GrepShape::Count,
            _ => GrepShape::Content,
        };
        let context = whole(input, "context").unwrap_or(0).min(CONTEXT_MAX) as usize;
        let limit = whole(input, "limit").unwrap_or(LIMIT).min(LIMIT_MAX) as usize;
        Self { shape, context, limit, lines: Vec::new(), matches: 0, files: 0 }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= self.limit
    }

    fn file(&mut self, path: &str, content: &str, regex: &Regex) {
        let lines: Vec<&str> = content.lines().collect();
        let hits: Vec<usize> = (0..lines.len()).filter(|at| regex.is_match(lines[*at])).collect();
        if hits.is_empty() {
            return;
        }
        self.files += 1;
        self.matches += hits.len();
        match self.shape {
            GrepShape::Files => self.lines.push(path.to_owned()),
            GrepShape::Count => self.lines.push(format!("{path}:{}", hits.len())),
            GrepShape::Content => self.content(path, &lines, &hits),
        }
    }

    /// Prints lines as `path:12:text` and context lines with `-`, like grep.
    fn content(&mut self, path: &str, lines: &[&str], hits: &[usize]) {
        let mut next = 0;
        for hit in hits {
            let from = hit.saturating_sub(self.context).max(next);
            let to = (hit + self.context + 1).min(lines.len());
            if self.context > 0 && next > 0 && from > next {
                self.lines.push("--".to_owned());
            }
            for (at, line) in lines.iter().enumerate().take(to).skip(from) {
                let mark = if hits.binary_search(&at).is_ok() { ':' } else { '-' };
                self.lines.push(format!("{path}{mark}{}{mark}{}", at + 1, cut(line)));
            }
            next = next.max(to);
        }
    }

    fn outcome(mut self, pattern: &str, is_cut: bool) -> ToolOutcome {
        let data = Value::map([
            ("matches", Value::Int(self.matches as i64)),
            ("files", Value::Int(self.files as i64)),
        ]);
        if self.lines.is_empty() {
            return ToolOutcome::ok(format!("Nothing matches `{pattern}`.")).with_data(data);
        }
        let is_full = self.is_full();
        self.lines.truncate(self.limit);
        if is_full {
            self.lines.push("[there may be more: narrow the search or raise `limit`]".to_owned());
        }
        if is_cut {
            self.lines.push("[not all files were searched: give a path]".to_owned());
        }
        ToolOutcome::ok(self.lines.join("\n")).with_data(data)
    }
}

fn cut(line: &str) -> &str {
    line.char_indices().nth(LINE_CHARS_MAX).map_or(line, |(at, _)| &line[..at])
}
