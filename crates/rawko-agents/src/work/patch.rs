//! `checks:patch`: the changes since the base of a run, as a patch with a proposed branch. It is written to a file in the
//! root of the project, or beside the copy that the run works in, or only returned for reviewers.

use std::fs;
use std::path::{Path, PathBuf};

use rawko_host::{Category, ServiceError};

use super::types::{PatchInput, PatchOutput};
use super::{AgentServices, evidence};
use rawko_programs::changes::{FolderSnapshot, Patch};
use rawko_programs::worktrees::Worktrees;

/// The patch is a value of a chart's context, which is limited.
const TEXT_BYTES_MAX: usize = 900 * 1024;
const SLUG_CHARS: usize = 48;
const TITLE_CHARS: usize = 100;

pub(super) async fn patch(
    agent_services: &AgentServices,
    input: PatchInput,
) -> Result<PatchOutput, ServiceError> {
    let base = input.base;
    let why =
        base.snapshot_problem.clone().unwrap_or_else(|| "no snapshot of the project was taken".to_owned());
    let name = base.snapshot.ok_or_else(|| failed(why))?;
    let all = evidence::snapshots(agent_services).map_err(failed)?;
    let root = agent_services.root.clone();
    let title = first_line(&input.title);
    let branch = branch(input.branch.as_deref(), &title);
    let name_of_file = PathBuf::from(format!("{}.patch", branch.replace('/', "-")));
    let file = input.write.then(|| match agent_services.worktree {
        Some(_) => Worktrees::patches_of(&root).join(name_of_file),
        None => name_of_file,
    });
    let (heading, target) = (heading(&title, &input.body, &branch), file.clone());
    let made = evidence::blocking(move || {
        let snapshot = FolderSnapshot::open(&all, &name).map_err(|error| error.to_string())?;
        let snapshot = snapshot.ok_or("the snapshot of the project is no longer stored")?;
        let mut patch = snapshot.patch(&root);
        if let Some(target) = &target {
            write(&root.join(target), &format!("{heading}{}", patch.text))?;
        }
        if patch.text.len() > TEXT_BYTES_MAX {
            patch.text.truncate(patch.text.floor_char_boundary(TEXT_BYTES_MAX));
            patch.text.push_str("\n[the rest is left out]\n");
        }
        Ok::<Patch, String>(patch)
    });
    let Patch { text, files, left_out } = made.await?.map_err(failed)?;
    let file = file.map(|file| file.display().to_string());
    Ok(PatchOutput { text, files, left_out, branch, file })
}

fn failed(why: String) -> ServiceError {
    ServiceError::new(Category::Failed, format!("there is no patch: {why}"))
}

/// Writes the file, and never follows a link to another place.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let shown = path.display();
    if path.is_symlink() || path.is_dir() {
        return Err(format!("{shown} is not a file"));
    }
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("cannot write {shown}: {error}"))
}

/// Text before the first diff, which `git apply` skips.
fn heading(title: &str, body: &str, branch: &str) -> String {
    // A line of the text must not look like the beginning of a diff.
    let lines = body.lines().map(|line| format!("  {line}\n"));
    format!("Subject: {title}\nBranch: {branch}\n\n{}\n", lines.collect::<String>())
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("change");
    line.trim_start_matches(['#', ' ']).chars().take(TITLE_CHARS).collect()
}

/// Returns a branch name that git accepts, from a name or from the title of the issue.
fn branch(named: Option<&str>, title: &str) -> String {
    let slug = |text: &str| {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let words: String = text.chars().take(SLUG_CHARS).map(word).collect();
        words.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let parts: Vec<String> =
        named.unwrap_or_default().split('/').map(slug).filter(|part| !part.is_empty()).collect();
    match (parts.is_empty(), slug(title)) {
        (false, _) => parts.join("/"),
        (true, title) if title.is_empty() => "rawko/change".to_owned(),
        (true, title) => format!("rawko/{title}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_have_names_that_git_accepts() {
        let table = [
            (None, "# Count to two!", "rawko/count-to-two"),
            (None, "…", "rawko/change"),
            (Some("fix/12"), "x", "fix/12"),
            (Some("../../etc/passwd"), "x", "etc/passwd"),
            (Some("-x y~^:.lock"), "x", "x-y-lock"),
        ];
        for (named, title, expected) in table {
            assert_eq!(branch(named, &first_line(title)), expected, "{named:?} {title}");
        }
    }

    #[test]
    fn no_line_of_the_text_begins_a_diff() {
        let text = heading("t", "diff --git a/x b/x\n--- a/x\n+++ b/x", "b");
        assert!(text.lines().all(|line| !line.starts_with("diff ") && !line.starts_with("---")), "{text}");
    }
}
