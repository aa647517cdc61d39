//! A conformance kit for authors of stores: the guarantees that a host relies on, as named cases that run against any
//! `Store`. Part of the library instead of its tests, so that other crates can run it.
//!
//! ```
//! use rawko_store::{MemoryStore, conformance};
//!
//! conformance::check(&|| Box::new(MemoryStore::new()));
//! ```

mod commits;
mod instances;
mod journal;
mod sample;

use std::fmt;

use crate::StoreError;
use crate::store::Store;

/// One guarantee of a store.
#[derive(Clone, Copy)]
pub struct ConformanceCase {
    /// The guarantee as a sentence, printed with a failure.
    pub name: &'static str,
    /// Runs against an empty store.
    pub run: fn(&dyn Store) -> Result<(), Nonconformance>,
}

/// A description of the violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonconformance(pub String);

/// Returns all cases.
pub fn cases() -> Vec<ConformanceCase> {
    [instances::CASES, journal::CASES, commits::CASES].concat()
}

/// Runs every case against an empty store of its own.
///
/// # Panics
///
/// If any case fails, with all failures.
pub fn check(make: &dyn Fn() -> Box<dyn Store>) {
    let fails = |case: &ConformanceCase| {
        let broken = (case.run)(&*make()).err()?;
        Some(format!("{}: {broken}", case.name))
    };
    let broken: Vec<String> = cases().iter().filter_map(fails).collect();
    assert!(broken.is_empty(), "this is no store yet:\n{}", broken.join("\n"));
}

impl fmt::Display for Nonconformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for Nonconformance {
    fn from(error: StoreError) -> Self {
        Nonconformance(format!("an error where none was due: {error}"))
    }
}

fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), Nonconformance> {
    if found == wanted {
        Ok(())
    } else {
        Err(Nonconformance(format!("{what}: found {found:?}, wanted {wanted:?}")))
    }
}

fn refused(what: &str, outcome: Result<(), StoreError>) -> Result<(), Nonconformance> {
    match outcome {
        Err(StoreError::Refused(_)) => Ok(()),
        other => Err(Nonconformance(format!("{what}: found {other:?}, wanted it refused"))),
    }
}
