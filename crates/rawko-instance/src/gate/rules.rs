//! Patterns on names, each with the file it stands in, so that a decision can say which one made it.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

/// One pattern.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) pattern: String,
    pub(super) file: Arc<str>,
    matcher: GlobMatcher,
}

impl Rule {
    pub(super) fn new(pattern: &str, file: &Arc<str>) -> Result<Self, globset::Error> {
        Ok(Self { pattern: pattern.to_owned(), file: Arc::clone(file), matcher: matcher(pattern)? })
    }
}

/// The first that matches.
pub(super) fn first<'r>(rules: &'r [Rule], name: &str) -> Option<&'r Rule> {
    rules.iter().find(|rule| rule.matcher.is_match(name))
}

/// Whether a pattern of a chart matches. One that cannot be read matches only itself: it then allows nothing else.
pub(super) fn covers(pattern: &str, name: &str) -> bool {
    pattern == name || matcher(pattern).is_ok_and(|matcher| matcher.is_match(name))
}

/// `*` goes over every character: names are no paths.
fn matcher(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(false).build()?.compile_matcher())
}
