//! Readers that go away and signals, while the binary writes.

use crate::exit_codes::GOOD;
use crate::support::{RAWKO, command, directory};

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = directory(&[("good.yaml", GOOD)]);
    // `head` reads one line and exits, while the binary has megabytes to write.
    let script = format!(
        "yes '{{\"type\":\"OPENED\"}}' | head -n 20000 | '{RAWKO}' simulate good.yaml --json 2>err | head -n 1 >out; \
         echo ${{PIPESTATUS[2]}} >code"
    );
    let status =
        std::process::Command::new("bash").arg("-c").arg(script).current_dir(dir.path()).status().unwrap();
    assert!(status.success());
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("err"), "");
    assert_eq!(read("code"), "0\n");
    assert!(read("out").starts_with("{\"step\":0,"));
}

#[test]
fn an_interrupt_ends_it_by_the_signal_which_a_shell_shows_as_130() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    let dir = directory(&[("good.yaml", GOOD)]);
    let mut child = command(dir.path(), &["simulate", "good.yaml", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}
