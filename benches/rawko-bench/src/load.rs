//! Loads a chart from text with every check and every finding, as `rawko check` does.

use anyhow::{Result, anyhow};
use rawko_chart::{Registry, SourceFile};
use rawko_core::Chart;

pub(crate) fn load(text: &str) -> Result<Chart> {
    let loaded = rawko_chart::load(&SourceFile::new("bench.json", text), &Registry::default());
    let findings: Vec<&str> = loaded.findings.iter().map(|finding| finding.message.as_str()).collect();
    loaded.chart.ok_or_else(|| anyhow!("the chart does not load: {}", findings.join("; ")))
}
