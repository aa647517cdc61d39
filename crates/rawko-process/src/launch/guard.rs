//! A process that restores files of authority if rawko does not: it was killed, or gave up a call. It waits for the end of its
//! input, which the kernel brings about however rawko ends.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::helper_file::own_program;
use super::watch::AuthorityWatch;
use crate::helper::{GUARD, WORD};

/// The order to do nothing: the call has ended as it should.
const RELEASE: u8 = b'r';
/// Processes of a call end shortly after rawko. Looked at twice, because the last of them may have written late.
const LOOKS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(900)];

/// The process, from outside. Dropped, it restores.
#[derive(Debug)]
pub(super) struct RestoreGuard(Option<Child>);

impl RestoreGuard {
    /// `None` if it cannot be started: then only rawko itself restores.
    pub(super) fn start(watch: &AuthorityWatch) -> Option<Self> {
        let text = serde_json::to_vec(watch).ok()?;
        let mut child = Command::new(own_program()?)
            .args([WORD, GUARD])
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let input = child.stdin.as_mut()?;
        let sent = input.write_all(&text.len().to_ne_bytes()).and_then(|()| input.write_all(&text));
        let guard = Self(Some(child));
        sent.is_ok().then_some(guard)
    }

    /// Ends it without effect.
    pub(super) fn release(mut self) {
        if let Some(input) = self.0.as_mut().and_then(|child| child.stdin.as_mut()) {
            // One that is gone needs no order.
            let _ = input.write_all(&[RELEASE]);
        }
    }
}

impl Drop for RestoreGuard {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            // It takes a moment, for which the caller does not wait.
            std::thread::spawn(move || child.wait());
        }
    }
}

/// The process itself.
pub(crate) fn run() -> io::Result<()> {
    // A signal to the group of rawko is not for it.
    rustix::process::setsid()?;
    let mut input = io::stdin().lock();
    let mut length = [0; size_of::<usize>()];
    input.read_exact(&mut length)?;
    let mut text = vec![0; usize::from_ne_bytes(length)];
    input.read_exact(&mut text)?;
    let mut watch: AuthorityWatch = serde_json::from_slice(&text)?;
    let mut order = [0];
    if input.read(&mut order)? == 1 && order[0] == RELEASE {
        return Ok(());
    }
    for pause in LOOKS {
        std::thread::sleep(pause);
        watch.restored();
    }
    Ok(())
}
