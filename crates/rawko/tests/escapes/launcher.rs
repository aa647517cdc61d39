//! Programs that agents can influence: every way to start one, as root and as an unprivileged user, against one table of
//! attempts; and what happens to processes when a call, or rawko itself, ends.

mod calls;
mod classes;
mod endings;
mod scene;
mod table;
mod without;

use scene::{Scene, User};

/// Every kind of program runs the whole table. Users have scenes of their own, so they run together.
#[test]
fn launcher() {
    let parts = std::thread::scope(|scope| {
        let users: Vec<_> = User::all().into_iter().map(|user| scope.spawn(move || attempts(user))).collect();
        users.into_iter().flat_map(|user| user.join().unwrap()).collect::<Vec<_>>()
    });
    let (mut totals, mut wrong) = ((0, 0), Vec::new());
    for (name, (held, tried, problems)) in parts {
        println!("{name}: {held} of {tried} held");
        totals = (totals.0 + held, totals.1 + tried);
        wrong.extend(problems);
    }
    println!("launcher: {} of {} held", totals.0, totals.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Attempts held, attempts made, and problems.
type Tally = (usize, usize, Vec<String>);

fn attempts(user: User) -> [(String, Tally); 3] {
    [
        (format!("launcher as {user:?}"), Scene::new(user).run_table()),
        (format!("endings as {user:?}"), endings::run(user)),
        (format!("without namespaces as {user:?}"), without::run(user)),
    ]
}
