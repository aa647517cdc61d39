//! From text to a checked chart: read, lower, check, compile. Every step adds its findings; none hides another's.

use rawko_core::{Blueprint, Chart};

use crate::check;
use crate::check::recursion::{self, ChartStart};
use crate::check::region_cycles;
use crate::finding::{Finding, Severity};
use crate::lower::lower;
use crate::lowered::{LoweredChart, Places};
use crate::migration::{MigrationEntry, migrations_of_chart};
use crate::property::{Property, properties_of_chart};
use crate::read::{ReadDocument, classify, read_chart, registry_instead};
use crate::registry::Registry;
use crate::source::{SourceFile, Span};
use crate::tree::{SOURCE_BYTES_MAX, TextTree, too_large};

const NOT_COMPILED: &str = crate::codes::NOT_COMPILED.name;
const INVALID_UTF8: &str = crate::codes::INVALID_UTF8.name;
/// Size of the excerpt kept from an unreadable text.
const SHOWN_BYTES_MAX: usize = 4096;

/// The result of loading a text.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The chart, unless a finding is fatal.
    pub chart: Option<Chart>,
    /// The locations of its parts, as far as it could be read; also if a finding is fatal.
    pub places: Option<Places>,
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// The charts that every instance of it invokes. Empty if there is no chart.
    pub starts: Vec<ChartStart>,
    /// The valid ones of its `properties:`.
    pub properties: Vec<Property>,
    /// The valid ones of its `migrations:`.
    pub migrations: Vec<MigrationEntry>,
}

impl Loaded {
    /// Returns the highest severity of the findings.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Reads, checks and compiles the chart in a text.
pub fn load(source: &SourceFile, registry: &Registry) -> Loaded {
    let (lowered, mut findings) = lower_source(source, registry);
    let Some(lowered) = lowered else {
        return Loaded { findings, ..Loaded::default() };
    };
    let references = recursion::references(&lowered);
    let suspects = region_cycles::suspects(&lowered);
    let LoweredChart { blueprint, places } = lowered;
    let fatal = findings.iter().any(|finding| finding.severity == Severity::Fatal);
    let chart = if fatal { None } else { compile(blueprint, &places, &mut findings) };
    let starts = chart.as_ref().map(|chart| recursion::starts(chart, references)).unwrap_or_default();
    let (mut properties, mut migrations) = (Vec::new(), Vec::new());
    if let Some(chart) = &chart {
        let found = findings.len();
        let (read, problems) = properties_of_chart(source, chart);
        properties = read;
        findings.extend(problems);
        let (read, problems) = migrations_of_chart(source, chart);
        migrations = read;
        findings.extend(problems);
        findings.extend(recursion::invokes_itself(chart, &starts, registry));
        findings.extend(region_cycles::analyse(chart, &suspects, &findings));
        if findings.len() > found {
            tidy(&mut findings);
        }
    }
    Loaded { chart, places: Some(places), findings, starts, properties, migrations }
}

/// Reads and checks the chart in a text without compiling it: returns the blueprint with locations, also if a finding
/// is fatal, and all findings in the order of the text.
pub fn lower_source(source: &SourceFile, registry: &Registry) -> (Option<LoweredChart>, Vec<Finding>) {
    let mut findings = Vec::new();
    let lowered = read(source, registry, &mut findings);
    if let Some(lowered) = &lowered {
        let further = check::analyse_beside(lowered, &source.text, &findings);
        findings.extend(further);
    }
    tidy(&mut findings);
    (lowered, findings)
}

/// Compile errors should have been reported before; if not, they are still reported with a location.
fn compile(blueprint: Blueprint, places: &Places, findings: &mut Vec<Finding>) -> Option<Chart> {
    match Chart::compile(blueprint) {
        Ok(chart) => Some(chart),
        Err(error) => {
            let span = places.nodes.first().map_or(Span::default(), |root| root.key);
            findings.push(Finding::new(NOT_COMPILED, Severity::Fatal, span, error.to_string()));
            None
        }
    }
}

/// Like [`load`], for bytes that may not be text. The source is the decoded part, for showing findings.
pub fn load_bytes(name: &str, bytes: &[u8], registry: &Registry) -> (SourceFile, Loaded) {
    match source_from_bytes(name, bytes) {
        Ok(source) => {
            let loaded = load(&source, registry);
            (source, loaded)
        }
        Err(unread) => {
            let (source, finding) = *unread;
            (source, Loaded { findings: vec![finding], ..Loaded::default() })
        }
    }
}

/// Decodes bytes to text, or returns the finding.
pub fn source_from_bytes(name: &str, bytes: &[u8]) -> Result<SourceFile, Box<(SourceFile, Finding)>> {
    if bytes.len() > SOURCE_BYTES_MAX {
        return Err(Box::new((SourceFile::new(name, ""), too_large(bytes.len()))));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(SourceFile::new(name, text)),
        Err(error) => Err(Box::new(invalid_utf8(name, bytes, error.valid_up_to()))),
    }
}

/// Shows the affected line, with invalid bytes replaced.
fn invalid_utf8(name: &str, bytes: &[u8], offset: usize) -> (SourceFile, Finding) {
    let end = bytes.len().min(offset + SHOWN_BYTES_MAX);
    let rest = String::from_utf8_lossy(&bytes[offset..end]);
    let rest = rest.split('\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..offset]).into_owned() + rest;
    let span = Span::new(offset, offset + rest.chars().next().map_or(0, char::len_utf8));
    let message = format!("the text is not UTF-8: byte {offset} (0x{:02x}) is invalid", bytes[offset]);
    let finding = Finding::new(INVALID_UTF8, Severity::Fatal, span, message).help("save the file as UTF-8");
    (SourceFile::new(name, text), finding)
}

fn read(source: &SourceFile, registry: &Registry, findings: &mut Vec<Finding>) -> Option<LoweredChart> {
    let tree = match TextTree::read(&source.text) {
        Ok(tree) => tree,
        Err(problems) => {
            findings.extend(problems);
            return None;
        }
    };
    match classify(tree.root(), findings) {
        ReadDocument::Chart(body) => {
            let chart = read_chart(body, findings);
            Some(lower(&source.text, &chart, file_stem(&source.name), registry, findings, None))
        }
        ReadDocument::Registry(list) => {
            findings.push(registry_instead(list));
            None
        }
        ReadDocument::Neither => None,
    }
}

pub(crate) fn file_stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.split('.').next().unwrap_or(file)
}

/// Sorts by position and removes duplicates: an action used twice is reported twice.
fn tidy(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| (a.span, a.code, &a.message).cmp(&(b.span, b.code, &b.message)));
    findings.dedup();
}
