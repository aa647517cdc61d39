//! Programs that agents can influence: every way to start one, as root and as an unprivileged user, against one table of
//! attempts; and what happens to processes when a call, or rawko itself, ends.

mod classes;
mod endings;
mod scene;
mod table;
mod without;

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
        for (name, (held, tried, problems)) in
            [("endings", endings::run(user)), ("without namespaces", without::run(user))]
        {
            println!("{name} as {user:?}: {held} of {tried} held");
            totals = (totals.0 + held, totals.1 + tried);
            wrong.extend(problems);
        }
    }
    println!("launcher: {} of {} held", totals.0, totals.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
