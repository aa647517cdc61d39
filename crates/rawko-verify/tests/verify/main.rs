//! `rawko verify` as a library: charts that break each property, with their traces, and charts that keep it. Every
//! trace is replayed in the simulation.

mod built_in;
mod own;
mod pages;
mod random;
mod support;
