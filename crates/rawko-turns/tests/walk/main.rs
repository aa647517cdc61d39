//! Walkthroughs: what a channel does, event by event, as goldens that double as documentation.

mod edge_cases;
mod interrupting;
mod order;
mod speaking;
mod steering;
mod support;
mod table;
mod waiting;
