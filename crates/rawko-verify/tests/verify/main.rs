//! `rawko verify` as a library: charts that break each property, with their traces, and charts that keep it. Every
//! trace is replayed in the simulation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests"
)]

mod approvals;
mod authority;
mod built_in;
mod charts;
mod contract;
mod coverage;
mod data;
mod differential;
mod false_proofs;
mod false_proofs_data;
mod machine;
mod manifests;
mod mutants;
mod own;
mod pages;
mod progress;
mod random;
mod runaway;
mod support;
