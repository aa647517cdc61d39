//! Directory walk shared by Glob and Grep. Links are not followed; `.git` and files ignored by git are skipped.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use crate::confine::ProjectRoot;
use crate::ignored::IgnoreRules;
use crate::outcome::ToolFailure;

const FILES_MAX: usize = 200_000;
const TIME_MAX: Duration = Duration::from_secs(30);

/// The files below a path, sorted by path, up to the limits.
pub(super) struct FileSearch {
    pub(super) base: PathBuf,
    pub(super) files: Vec<PathBuf>,
    /// True if the walk stopped at a limit.
    pub(super) is_cut: bool,
    deadline: Instant,
}

impl FileSearch {
    /// Leaves out files that rules hide.
    pub(super) fn below(
        project: &ProjectRoot,
        path: &str,
        is_hidden: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, ToolFailure> {
        let base = project.searched(path)?;
        let mut search = Self { files: Vec::new(), is_cut: false, deadline: Instant::now() + TIME_MAX, base };
        if search.base.is_file() {
            if !is_hidden(&search.base) {
                search.files.push(search.base.clone());
            }
            search.base.pop();
            return Ok(search);
        }
        let (old_state, state) = (project.root().join(".rawko/state"), project.state());
        let mut walk = WalkBuilder::new(&search.base);
        walk.hidden(false).require_git(false).follow_links(false).sort_by_file_path(Path::cmp);
        let rules = IgnoreRules::of_walk(&mut walk, &search.base, true, true);
        walk.filter_entry(move |entry| {
            let path = entry.path();
            !rules.is_ignored(entry)
                && entry.file_name() != ".git"
                && path != old_state
                && state.as_deref() != Some(path)
        });
        for entry in walk.build().filter_map(Result::ok) {
            if search.files.len() >= FILES_MAX || search.is_over() {
                search.is_cut = true;
                break;
            }
            if entry.file_type().is_some_and(|kind| kind.is_file()) && !is_hidden(entry.path()) {
                search.files.push(entry.into_path());
            }
        }
        Ok(search)
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() > self.deadline
    }

    /// Returns the displayed path: relative to the project.
    pub(super) fn shown(project: &ProjectRoot, file: &Path) -> String {
        file.strip_prefix(project.root()).unwrap_or(file).display().to_string()
    }
}

/// Returns paths of files below a folder that a person may want to name, without hidden and ignored ones: at most so many,
/// and those that are found in this time.
pub fn nameable_files(root: &Path, most: usize, within: Duration) -> Vec<String> {
    let until = Instant::now() + within;
    let mut walk = WalkBuilder::new(root);
    walk.require_git(false).follow_links(false).sort_by_file_path(Path::cmp);
    let files = walk.build().filter_map(Result::ok).take_while(|_| Instant::now() < until);
    let files = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let shown = |path: &Path| path.strip_prefix(root).ok()?.to_str().map(str::to_owned);
    files.filter_map(|entry| shown(entry.path())).take(most).collect()
}

/// Parses a path pattern. With `anywhere`, a pattern without a slash matches names at any depth.
pub(super) fn pattern(text: &str, anywhere: bool) -> Result<GlobMatcher, ToolFailure> {
    let text = text.trim_start_matches("./");
    let whole = if anywhere && !text.contains('/') { format!("**/{text}") } else { text.to_owned() };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| ToolFailure::Said(format!("`{text}` is not a pattern: {}", error.kind())))
}
