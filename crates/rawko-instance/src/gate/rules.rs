//! Name patterns, each with its file, so that a decision can name its source.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

/// One pattern.
#[derive(Clone, Debug)]
pub(super) struct GateRule {
    pub(super) pattern: String,
    pub(super) file: Arc<str>,
    matcher: GlobMatcher,
}

impl GateRule {
    pub(super) fn new(pattern: &str, file: &Arc<str>) -> Result<Self, globset::Error> {
        Ok(Self { pattern: pattern.to_owned(), file: Arc::clone(file), matcher: matcher(pattern)? })
    }
}

/// Returns the first match.
pub(super) fn first<'r>(rules: &'r [GateRule], name: &str) -> Option<&'r GateRule> {
    rules.iter().find(|rule| rule.matcher.is_match(name))
}

/// Returns true if a chart's pattern matches. An invalid pattern matches only itself: it then allows nothing else.
pub(super) fn covers(pattern: &str, name: &str) -> bool {
    pattern == name || matcher(pattern).is_ok_and(|matcher| matcher.is_match(name))
}

/// `*` matches every character: names are not paths.
fn matcher(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(false).build()?.compile_matcher())
}
