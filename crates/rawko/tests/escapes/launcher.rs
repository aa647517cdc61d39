//! Programs that agents can influence: every way to start one, as root and as an unprivileged user, against one table of
//! attempts; and what happens to processes when a call, or rawko itself, ends.

mod endings;
mod scene;
mod table;

use scene::{Scene, User};

/// Every kind of program runs the whole table.
#[test]
fn launcher() {
    let mut totals = (0, 0);
    let mut wrong = Vec::new();
    for user in User::all() {
        let scene = Scene::new(user);
        let (held, tried, problems) = scene.run_table();
        println!("launcher as {user:?}: {held} of {tried} held");
        totals = (totals.0 + held, totals.1 + tried);
        wrong.extend(problems);
        let (held, tried, problems) = endings::run(user);
        println!("endings as {user:?}: {held} of {tried} held");
        totals = (totals.0 + held, totals.1 + tried);
        wrong.extend(problems);
    }
    println!("launcher: {} of {} held", totals.0, totals.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
