//! Charts to draw, for both test programs: those beside this file, every chart of the walkthroughs, the examples.

use std::fs;
use std::path::{Path, PathBuf};

use rawko_chart::{Registry, Severity, SourceFile, load};
use rawko_core::Chart;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/draw")
}

/// Returns the charts of this folder by name, in order.
pub(crate) fn fixtures() -> Vec<(String, Chart)> {
    let charts: Vec<(String, Chart)> = files(&folder(), "yaml")
        .into_iter()
        .map(|file| (stem(&file), compile(&stem(&file), &fs::read_to_string(&file).unwrap())))
        .collect();
    assert!(charts.len() >= 10, "only {} charts to draw", charts.len());
    charts
}

/// Returns the charts of the walkthroughs: one behaviour of the format each.
pub(crate) fn walkthroughs() -> Vec<(String, Chart)> {
    let mut charts = Vec::new();
    for file in files(&folder().with_file_name("walkthroughs"), "walk") {
        let text = fs::read_to_string(&file).unwrap();
        let (texts, _) = text.rsplit_once("\n---\n").expect("a walkthrough is a chart, `---`, and stimuli");
        for (i, text) in texts.split("\n---\n").enumerate() {
            let name = format!("walk_{}_{i}", stem(&file));
            charts.push((name.clone(), compile(&name, text)));
        }
    }
    assert!(charts.len() >= 15, "only {} charts in the walkthroughs", charts.len());
    charts
}

/// Returns the charts of the examples, ignoring other files.
pub(crate) fn examples() -> Vec<(String, Chart)> {
    let examples = folder().ancestors().nth(4).unwrap().join("examples");
    let chart = |file: &PathBuf| {
        load(&SourceFile::new("", fs::read_to_string(file).unwrap()), &Registry::default()).chart
    };
    // Two examples may have a chart of the same name: the number distinguishes them.
    let charts: Vec<(String, Chart)> = files(&examples, "yaml")
        .iter()
        .enumerate()
        .filter_map(|(number, file)| Some((format!("example_{number}_{}", stem(file)), chart(file)?)))
        .collect();
    assert!(charts.len() >= 4, "only {} charts in the examples", charts.len());
    charts
}

pub(crate) fn compile(name: &str, text: &str) -> Chart {
    let loaded = load(&SourceFile::new(name, text), &Registry::default());
    let fatal: Vec<_> =
        loaded.findings.iter().filter(|f| f.severity == Severity::Fatal).map(|f| &f.message).collect();
    loaded.chart.unwrap_or_else(|| panic!("{name}: {fatal:?}"))
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
