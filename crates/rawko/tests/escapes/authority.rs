//! Attempts to act as the operator without the credential: by command, socket, HTTP, environment and file.

mod commands;
mod files;
mod http;
mod places;
mod scene;
mod socket;

use scene::Table;

#[test]
fn authority() {
    let mut table = Table::default();
    socket::attempts(&mut table);
    http::attempts(&mut table);
    commands::attempts(&mut table);
    places::attempts(&mut table);
    files::attempts(&mut table);
    table.finish("authority");
}
