//! Trust, settings that only narrow, protected files, limits of agent files, and terminal injection.

mod agents;
mod changes;
mod copies;
mod elicitation;
mod files;
mod outside;
mod races;
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

#[test]
fn swapped_links_hold() {
    hold("rules against races", 3, races::attempt);
}

#[test]
fn files_that_a_project_names_hold() {
    hold("rules of named files", 28, outside::attempt);
}

#[test]
fn a_copy_leaves_the_repository_alone() {
    hold("rules of copies", 10, copies::attempt);
}

#[test]
fn questions_of_servers_hold() {
    hold("rules of servers' questions", 7, elicitation::attempt);
}
