//! Where authority lives: permissions, what a listing creates, sockets that others offer, and the state of earlier
//! releases that moves.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;

use rawko_store::{Lock, LockHolder};

use super::scene::{Outcome, Scene, Table, ensure, mode, said};

const OLD: &str = ".rawko/state/rawko.db";

pub(crate) fn attempts(table: &mut Table) {
    permissions(table);
    phishing(table);
    moving(table);
    named_by_settings(table);
}

fn permissions(table: &mut Table) {
    let empty = Scene::new(&[]);
    let listed = empty.run(&["ps"]);
    let nothing = ensure(listed.status.success() && !empty.state().exists(), said(&listed));

    let scene = Scene::asking(&["o-1"]);
    let host = scene.serve(|_| {});
    let mut rows = vec![("a listing creates nothing".to_owned(), nothing)];
    let (state, store) = (scene.state(), scene.store());
    for folder in
        [state.clone(), state.join("run"), state.join("projects"), store.parent().unwrap().to_owned()]
    {
        let name = format!("the mode of {}", folder.strip_prefix(&state).unwrap().display());
        rows.push((name, ensure(mode(&folder) == 0o700, format!("{:o}", mode(&folder)))));
    }
    for file in ["rawko.db", "rawko.db-wal", "rawko.db.lock"] {
        let file = store.with_file_name(file);
        rows.push((
            format!("the mode of {}", file.display()),
            ensure(mode(&file) == 0o600, "others can read it"),
        ));
    }
    drop(host);
    let token = state.join("operator.token");
    rows.push(("the mode of the credential".to_owned(), ensure(mode(&token) == 0o600, "others can read it")));
    let in_project = scene.project.path().join(".rawko/state").exists();
    rows.push(("state in the project".to_owned(), ensure(!in_project, "it is there")));

    let refused = |what: &str| {
        let output = scene.run(&["approve", "o-1"]);
        let held = ensure(output.status.code() != Some(0), said(&output));
        (what.to_owned(), held.and(scene.is_asking("o-1")))
    };
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    rows.push(refused("a credential that others can read"));
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let kept = fs::read(&token).unwrap();
    fs::remove_file(&token).unwrap();
    symlink("/etc/hostname", &token).unwrap();
    rows.push(refused("a credential that is a link"));
    fs::remove_file(&token).unwrap();
    fs::write(&token, "short").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    rows.push(refused("a credential that is too short"));
    fs::write(&token, kept).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    rows.push(refused("a state directory that others can write to"));
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    let answered = scene.run(&["approve", "o-1"]);
    table.group("permissions", ensure(answered.status.success(), said(&answered)), rows);
}

/// A lock file in the project that names the socket of an agent: the credential must not go there.
fn phishing(table: &mut Table) {
    let scene = Scene::asking(&[]);
    let long = scene.home.path().join("s".repeat(150));
    let started = scene.run(&["run", "order", "--id", "o-1", "--patience", "0s", "--store", "own.db"]);
    assert_eq!(started.status.code(), Some(55), "{}", said(&started));
    let evil = scene.project.path().join("evil.sock");
    let listener = UnixListener::bind(&evil).unwrap();
    listener.set_nonblocking(true).unwrap();
    let socket = Some(evil.display().to_string());
    let holder = LockHolder { pid: 1, command: "rawko serve".into(), started_ms: 0, socket, drives: None };
    let lock = Lock::take(&scene.project.path().join("own.db"), &holder).unwrap();
    let sent = scene.run(&["send", "o-1", "WITHDRAWN", "--store", "own.db"]);
    std::thread::sleep(Duration::from_millis(50));
    let nobody = ensure(listener.accept().is_err() && sent.status.code() == Some(3), said(&sent));
    drop(lock);
    // Also where the path in the state directory would be too long for a socket.
    let host = scene.serve(|command| {
        command.args(["--store", "own.db"]).env("RAWKO_STATE_DIR", &long);
    });
    let mut send = scene.command(&["send", "o-1", "WITHDRAWN", "--store", "own.db"]);
    let sent = send.env("RAWKO_STATE_DIR", &long).output().unwrap();
    let through = ensure(sent.status.success() && said(&sent).contains("[rejected]"), said(&sent));
    drop(host);
    table.group("a lock that names another socket", through, vec![("the credential".to_owned(), nobody)]);
}

/// Stores that the settings of a project name.
fn named_by_settings(table: &mut Table) {
    let victim = Scene::asking(&["o-1"]);
    let named = |scene: &Scene, path: &str| {
        scene.write(".rawko/config.yaml", &format!("store: {{path: {path}}}\n"));
        let output = scene.run(&["approve", "o-1"]);
        ensure(output.status.code() == Some(52), said(&output))
    };
    let shipped = Scene::new(&[]);
    assert_eq!(
        shipped.run(&["run", "order", "--id", "o-1", "--patience", "0s", "--store", "own.db"]).status.code(),
        Some(55)
    );
    let own = shipped.run(&["approve", "o-1", "--store", "own.db", "--no-wait"]);
    for words in [&["init", "-q"][..], &["add", "-f", "own.db"]] {
        assert!(
            Command::new("git").args(words).current_dir(shipped.project.path()).status().unwrap().success()
        );
    }
    let other = Scene { project: tempfile::tempdir().unwrap(), home: victim.home };
    let store = Scene { project: victim.project, home: tempfile::tempdir().unwrap() };
    let path = other
        .state()
        .join("projects")
        .join(store.store().parent().unwrap().file_name().unwrap())
        .join("rawko.db");
    assert!(path.exists(), "{}", path.display());
    other.write("x", "");
    let rows = vec![
        ("a store that came with the repository".to_owned(), named(&shipped, "own.db")),
        ("the store of another project".to_owned(), named(&other, path.to_str().unwrap())),
    ];
    table.group("a store that settings name", ensure(own.status.success(), said(&own)), rows);
}

/// A scene whose only instance is in the project, as an earlier release left it.
fn old(id: &str) -> Scene {
    let scene = Scene::new(&[]);
    let ran = scene.run(&["run", "order", "--id", id, "--patience", "0s", "--store", OLD]);
    assert_eq!(ran.status.code(), Some(55), "{}", said(&ran));
    scene
}

fn moving(table: &mut Table) {
    let plain = old("o-1");
    // What an attempt left that was killed while it copied.
    fs::create_dir_all(plain.store().parent().unwrap()).unwrap();
    fs::write(plain.store().with_file_name("rawko.db.moving"), "half").unwrap();
    fs::set_permissions(plain.state(), fs::Permissions::from_mode(0o700)).unwrap();
    let moved = plain.run(&["ps"]);
    let text = said(&moved);
    let is_moved =
        text.contains("moved: ") && text.contains("o-1") && !plain.project.path().join(OLD).exists();
    let again = plain.run(&["approve", "o-1"]);
    let control = ensure(is_moved && again.status.success(), format!("{text}{}", said(&again)));

    let refused = |scene: &Scene, expected: i32| -> Outcome {
        let output = scene.run(&["ps"]);
        let is_refused = output.status.code() == Some(expected) && !scene.store().exists();
        ensure(is_refused && scene.project.path().join(OLD).exists(), said(&output))
    };
    let folder = old("o-1");
    let (link, elsewhere) = (folder.project.path().join(".rawko/state"), folder.home.path().join("theirs"));
    fs::rename(&link, &elsewhere).unwrap();
    symlink(&elsewhere, &link).unwrap();

    let file = old("o-1");
    let (link, elsewhere) = (file.project.path().join(OLD), file.home.path().join("theirs.db"));
    fs::rename(&link, &elsewhere).unwrap();
    symlink(&elsewhere, &link).unwrap();

    let tracked = old("evil");
    for words in [&["init", "-q"][..], &["add", "-f", OLD]] {
        assert!(
            Command::new("git").args(words).current_dir(tracked.project.path()).status().unwrap().success()
        );
    }

    let held = old("o-1");
    let holder =
        LockHolder { pid: 1, command: "rawko serve".into(), started_ms: 0, socket: None, drives: None };
    let lock = Lock::take(&held.project.path().join(OLD), &holder).unwrap();
    let in_use = refused(&held, 3);
    drop(lock);

    let both = old("evil");
    let other = tempfile::tempdir().unwrap();
    let aside = other.path().join("state");
    fs::rename(both.project.path().join(".rawko/state"), &aside).unwrap();
    assert_eq!(both.run(&["run", "order", "--id", "mine", "--patience", "0s"]).status.code(), Some(55));
    assert!(
        Command::new("cp")
            .arg("-R")
            .arg(&aside)
            .arg(both.project.path().join(".rawko/state"))
            .status()
            .unwrap()
            .success()
    );
    let listed = said(&both.run(&["ps", "--all"]));
    let ignored = ensure(listed.contains("mine") && !listed.contains("evil"), listed);

    let within = old("o-1");
    let mut call = within.command(&["approve", "o-1"]);
    let _ = call.env("RAWKO_CALL", "3f2a").output().unwrap();
    let rows = vec![
        ("a linked directory".to_owned(), refused(&folder, 52)),
        ("a linked store".to_owned(), refused(&file, 52)),
        ("a store that came with the repository".to_owned(), refused(&tracked, 52)),
        ("a store that a host uses".to_owned(), in_use),
        ("a store beside the operator's".to_owned(), ignored),
        ("a store moved by an agent".to_owned(), ensure(!within.store().exists(), "it was moved")),
    ];
    table.group("state that moves", control, rows);
}
