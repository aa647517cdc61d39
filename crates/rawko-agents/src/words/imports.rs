//! Imports: a line `@path` in an instruction file stands for the text of that file. Only files of the project are read,
//! wherever links lead, and only a few levels deep.

use std::path::{Path, PathBuf};

use super::read_text;

const DEPTH_MAX: usize = 5;

/// Returns the text with its imports in place. An import that is not read leaves a note.
pub(super) fn resolved(root: &Path, file: &Path, text: &str) -> String {
    expand(root, file, text, &mut vec![file.to_owned()], &mut |_| {})
}

/// Returns the imported files.
pub(super) fn files(root: &Path, file: &Path, text: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    expand(root, file, text, &mut vec![file.to_owned()], &mut |path| all.push(path.to_owned()));
    all
}

fn expand(
    root: &Path,
    file: &Path,
    text: &str,
    open: &mut Vec<PathBuf>,
    visit: &mut dyn FnMut(&Path),
) -> String {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let Some(target) = target(line).filter(|_| !is_code) else {
            lines.push(line.to_owned());
            continue;
        };
        match located(root, file, target) {
            _ if open.len() > DEPTH_MAX => lines.push(format!("[@{target} is not read: nested too deeply]")),
            Ok(path) if open.contains(&path) => {
                lines.push(format!("[@{target} is not read: it imports itself]"))
            }
            Ok(path) => match read_text(&path) {
                Some(text) => {
                    visit(&path);
                    open.push(path.clone());
                    lines.push(expand(root, &path, &text, open, visit));
                    open.pop();
                }
                None => lines.push(format!("[@{target} is not read: it is not a text file]")),
            },
            Err(why) => lines.push(format!("[@{target} is not read: {why}]")),
        }
    }
    lines.join("\n")
}

/// Returns the path of a line that is an import and nothing else. `@alice` without a dot or slash is a person.
fn target(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim();
    let path = line.strip_prefix('@')?;
    let is_path = !path.contains(char::is_whitespace) && path.contains(['.', '/']);
    is_path.then_some(path)
}

/// Returns the real path of an import, if it is within the project and not hidden from the trust of it.
fn located(root: &Path, file: &Path, target: &str) -> Result<PathBuf, &'static str> {
    if target.starts_with('~') || Path::new(target).is_absolute() {
        return Err("it is outside the project");
    }
    let base = file.parent().unwrap_or(root);
    let real = base.join(target).canonicalize().map_err(|_| "there is no such file")?;
    let root = root.canonicalize().map_err(|_| "the project cannot be read")?;
    if !real.starts_with(&root) {
        return Err("it is outside the project");
    }
    Ok(real)
}
