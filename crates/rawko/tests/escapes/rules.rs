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

#[test]
fn rules_hold() {
    let mut tally = Tally::default();
    trust::attempt(&mut tally);
    settings::attempt(&mut tally);
    files::attempt(&mut tally);
    agents::attempt(&mut tally);
    terminal::attempt(&mut tally);
    tally.report("rules");
}
