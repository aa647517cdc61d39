//! Trust, settings that only narrow, protected files, limits of agent files, and terminal injection.

mod agents;
mod changes;
mod files;
mod server;
mod settings;
mod support;
mod terminal;
mod trust;

use support::Tally;

fn hold(name: &str, least: usize, attempt: fn(&mut Tally)) {
    let mut tally = Tally::default();
    attempt(&mut tally);
    tally.report(name, least);
}

#[test]
fn trust_holds() {
    hold("rules of trust", 90, trust::attempt);
}

#[test]
fn settings_only_narrow() {
    hold("rules of settings", 80, settings::attempt);
}

#[test]
fn protected_files_hold() {
    hold("rules of files", 35, files::attempt);
}

#[test]
fn limits_of_agents_hold() {
    hold("rules of agents", 60, agents::attempt);
}

#[test]
fn nothing_steers_the_terminal() {
    hold("rules of the terminal", 45, terminal::attempt);
}
