//! Agents end to end: real host, real files, real commands, real refusals. Only the models are scripted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod behaviours;
mod budgets;
mod channels;
mod coding;
mod custody;
mod disarmed;
mod disguises;
mod evasions;
mod guarded;
mod hooked;
mod large;
mod liars;
mod looking;
mod loops;
mod mentions;
mod modes;
mod orchestrating;
mod outside;
mod people;
mod phases;
mod prompts;
mod puppet;
mod real_model;
mod reasoning;
mod reported;
mod reports;
mod rounds;
mod seed_fields;
mod task_settings;
mod together;
mod unjudged;
mod words;
mod yard;
