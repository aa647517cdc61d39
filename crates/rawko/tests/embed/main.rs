//! The façade from outside: what a program that embeds rawko does with it.

mod actors;
mod agents;
mod outside;
