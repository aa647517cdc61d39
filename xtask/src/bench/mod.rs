//! `cargo xtask bench`: runs rawko and its peers on the same workloads in the same run, and compares them.

mod calls;
mod hook;
mod machine;
mod options;
mod page;
mod peers;
mod rows;
mod run;
mod samples;
mod startup;
mod table;
mod together;
mod tools;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use options::Options;
use rows::ROWS;

pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments)? else {
        write!(std::io::stdout(), "{}", options::USAGE)?;
        return Ok(());
    };
    let tools = tools::prepare(&root()?, &options)?;
    let samples = run::all(&tools, &options)?;
    let facts = machine::facts(&tools, &options);
    let results: Vec<_> = ROWS.iter().filter_map(|row| table::result(row, &samples)).collect();
    if options.json {
        writeln!(std::io::stdout(), "{:#}", table::json(&results, &samples, &facts, &options))?;
    } else {
        write!(std::io::stdout(), "{}", table::render(&results, &options))?;
    }
    if options.is_whole() {
        page::refresh(&tools.root.join("docs/performance.md"), &results, &facts, &options)?;
        progress("docs/performance.md is refreshed");
    } else {
        progress("not a whole run: docs/performance.md stays as it is");
    }
    Ok(())
}

fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    Ok(root.to_path_buf())
}

/// Prints progress to stderr, so that stdout holds only the result. A closed stderr must not stop the run.
fn progress(message: &str) {
    let _ = writeln!(std::io::stderr(), "bench: {message}");
}
