//! A build without features reports the feature that a command needs. With `full` nothing is left out.

use std::process::Command;

#[test]
fn a_command_that_is_left_out_names_its_feature() {
    let table = [
        ("mcp", "mcp", cfg!(feature = "mcp")),
        ("serve", "server", cfg!(feature = "server")),
        ("worker", "worker", cfg!(feature = "worker")),
    ];
    for (command, feature, is_there) in table {
        // With arguments of the real command, which must not be what the error is about.
        for arguments in [&[command, "--help"][..], &[command, "--listen", "nowhere"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_rawko")).args(arguments).output();
            let output = output.unwrap_or_else(|error| panic!("rawko does not start: {error}"));
            let stderr = String::from_utf8_lossy(&output.stderr);
            let says_so = stderr.contains(&format!("the feature `{feature}` is off"));
            assert_eq!(says_so, !is_there, "{arguments:?}: {stderr}");
            assert!(is_there || output.status.code() == Some(2), "{arguments:?}: {stderr}");
        }
    }
}
