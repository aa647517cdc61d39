//! The language of charts for editors: suggestions, explanations, and the states of a chart with every place that names
//! them. `rawko lsp` and the page's chart studio are both thin layers over this crate.
//!
//! ```
//! use rawko_language::{ProjectNames, suggest};
//!
//! let text = "statechart: {id: door, initial: shut, states: {shut: {on: {OPEN: o}}, open: {}}}";
//! let at = text.find("o}}").unwrap() + 1;
//! let found = suggest(text, at, &ProjectNames::default());
//! assert_eq!(found.items[0].label, "open");
//! ```
#![warn(missing_docs)]

mod complete;
mod explain;
mod lines;
mod names;
mod outline;
mod rename;
mod scan;
mod schema;
mod states;

pub use complete::{Suggestion, SuggestionKind, SuggestionList, suggest};
pub use explain::{WordExplanation, explain};
pub use lines::{TextLines, TextPosition};
pub use names::ProjectNames;
pub use rename::{RenameError, TextEdit};
pub use states::{ChartStates, StateSymbol};
