//! `rawko test` on a terminal: the report of `rawko-testing` with colour.

pub(crate) mod report;
