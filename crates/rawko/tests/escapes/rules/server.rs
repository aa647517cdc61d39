//! Settings of a project for `rawko serve`: none of them gives the project the authority of the person.

use super::support::{SETTINGS, Tally, Yard};

pub(super) fn attempt(tally: &mut Tally) {
    tokens(tally);
    links(tally);
}

/// A project defines a token that acts as a person.
fn tokens(tally: &mut Tally) {
    let of = |from: &str| format!("server: {{tokens: [{{name: ci, role: admin, {from}}}]}}\n");
    let serve: &[&str] = &["serve", "--listen", "127.0.0.1:0"];
    for (name, from) in [
        ("a file of the project", "file: ci.token"),
        ("a file that everyone reads", "file: /etc/hostname"),
        ("a short variable", "env: SHORT"),
    ] {
        let files = [("ci.token", "0123456789abcdef0123")];
        let mut project = Yard::with_calls(&[], &files);
        project.env = vec![("SHORT", "1".to_owned())];
        project.write(".rawko/config.yaml", &format!("{SETTINGS}{}", of(from)));
        let held = project.trust().run(serve);
        let mut user = Yard::with_calls(&[], &files);
        user.env = vec![("SHORT", "1".to_owned())];
        user.write_user(&of(from));
        let control = user.trust().run(serve);
        let is_up = control.code.is_none() || !control.says("cannot define");
        tally.row(format!("a token from {name}"), held.code == Some(52) && held.says("cannot define"), is_up);
    }
}

/// A project sends the person's links to answer to an address of its own.
fn links(tally: &mut Tally) {
    let serve: &[&str] = &["serve", "--listen", "127.0.0.1:0"];
    for (name, settings) in [
        ("public_url", "server: {public_url: 'https://evil.example'}\n"),
        ("notify", "server: {notify: [{name: a, url: 'http://127.0.0.1:9/x', links_for: 1h}]}\n"),
    ] {
        let project = Yard::with_calls(&[], &[(".rawko/config.yaml", &format!("{SETTINGS}{settings}"))]);
        let held = project.trust().run(serve);
        let user = Yard::with_calls(&[], &[]);
        user.write_user(settings);
        let control = user.trust().run(serve);
        tally.row(
            format!("a project chooses `{name}`"),
            held.code == Some(52) && held.says("a project cannot choose"),
            control.code.is_none() && control.stdout.starts_with("http://"),
        );
    }
}
