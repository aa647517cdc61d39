//! Scenario files: what a chart's author says it should do, and whether it does.

pub(crate) mod compare;
pub(crate) mod coverage;
pub(crate) mod junit;
pub(crate) mod model;
pub(crate) mod read;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod run;
