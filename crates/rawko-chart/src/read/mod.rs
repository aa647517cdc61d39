//! From the tree to typed definitions. Two walks: `structure` compares the whole tree with the format's description and
//! reports mismatches; the readers then use the valid parts and skip the rest, so that one error does not hide the
//! others.

mod chart;
mod document;
mod state;
mod structure;
mod transition;

pub(crate) use chart::read_chart;
pub(crate) use document::{ReadDocument, classify, registry_instead};
pub(crate) use structure::check_shape;
pub(crate) use transition::{read_delayed, read_event_list, read_invoke, read_transitions};
