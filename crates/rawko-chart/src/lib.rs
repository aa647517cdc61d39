//! Loads text (YAML, JSON, SCXML, XState) into a checked chart with a span for every finding, and draws it.
//!
//! ```
//! use rawko_chart::{Registry, SourceFile, load};
//! use rawko_core::{Event, Value, start, step};
//!
//! let text = "statechart: {id: door, initial: shut, states: {shut: {on: {OPEN: open}}, open: {}}}";
//! let loaded = load(&SourceFile::new("door.yaml", text), &Registry::default());
//! assert!(loaded.findings.is_empty());
//! let chart = loaded.chart.unwrap();
//!
//! let (mut door, _) = start(&chart, Value::Null, 0).unwrap();
//! let step = step(&chart, &mut door, Event::named("OPEN", Value::Null), 0).unwrap();
//! assert!(step.handled);
//! assert_eq!(chart.leaf_paths(door.configuration()).collect::<Vec<_>>(), ["open"]);
//! ```
#![warn(missing_docs)]

mod check;
pub mod codes;
mod def;
mod document;
pub mod draw;
mod finding;
mod interface;
mod load;
mod lower;
mod lowered;
mod migration;
mod printable;
mod property;
mod read;
mod references;
mod registry;
pub mod render;
mod schema;
mod source;
mod suggest;
mod tree;
mod version;

pub use check::analyse;
pub use check::recursion::{ChartStart, ChartStarts, recursive_charts};
pub use codes::FindingCode;
pub use document::{DocumentData, DocumentEntry, SpannedValue};
pub use finding::{Finding, Severity};
pub use load::{Loaded, load, load_bytes, lower_source, source_from_bytes};
pub use lowered::{
    ActionPlaces, InvokePlaces, LoweredChart, MorePlaces, NodePlaces, Places, TransitionPlaces,
};
pub use migration::{MigrationEntry, migration_of_file, migrations_of_chart, version_in};
pub use printable::{is_unprintable, printable};
pub use property::{
    Assumptions, Atom, Property, PropertyExpr, PropertyKind, properties_of_chart, properties_of_file,
};
pub use references::{StateReference, StateReferences};
pub use registry::{KnownTools, Registry, RegistryEntry, RegistryFile, Resolution, read_registry};
pub use schema::schema;
pub use source::{SourceFile, Span};
pub use suggest::nearest;
pub use tree::{DEPTH_MAX, NODES_MAX, SOURCE_BYTES_MAX};
