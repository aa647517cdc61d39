//! Charts of one project with the same id and version, which makes references to them ambiguous.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rawko_chart::codes::project::DUPLICATE_CHART;
use rawko_chart::{Finding, SourceFile, SpannedValue};

use crate::files;

/// The charts found so far, by project, id and version.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    met: BTreeMap<(PathBuf, String, String), PathBuf>,
}

impl Twins {
    /// Adds a chart and returns a finding if another chart of its project has the same name. The later one is reported.
    pub(crate) fn meet(&mut self, home: &Path, path: &Path, source: &SourceFile) -> Option<Finding> {
        let (id, version) = super::identity(source.text.as_bytes())?;
        let version = if version.is_empty() { "0.0.0".to_owned() } else { version };
        let called = format!("{id}@{version}");
        let earlier = self.met.entry((home.to_owned(), id, version)).or_insert_with(|| path.to_owned());
        if earlier == path {
            return None;
        }
        let document = SpannedValue::read(&source.text).ok()?;
        let id = document.get("statechart").unwrap_or(&document).get("id")?;
        let message = format!("`{called}` is already the id of the chart in `{}`", files::shown(earlier));
        Some(DUPLICATE_CHART.at(id.span, message).help("give one of them another `id` or `version`"))
    }
}
