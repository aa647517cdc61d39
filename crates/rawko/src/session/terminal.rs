//! The terminal of a session: its mode while keys are read one by one, its size, and the thread that reads them.

use std::io::{self, Read};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::keys::{KeyPress, KeyReader};

/// The mode before the session, until it is restored.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Time in which the bytes of one key arrive.
const KEY_NS: i64 = 40_000_000;

/// Switches the terminal to single keys without echo. Output stays as it is, so that lines end as usual.
pub(crate) fn enter() -> io::Result<()> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut mode = before.clone();
    mode.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    mode.input_modes -= InputModes::IXON | InputModes::ICRNL | InputModes::INLCR | InputModes::ISTRIP;
    mode.special_codes[SpecialCodeIndex::VMIN] = 1;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
    if let Ok(mut saved) = BEFORE.lock() {
        saved.get_or_insert(before);
    }
    tcsetattr(&stdin, OptionalActions::Now, &mode)?;
    Ok(())
}

/// Restores the mode. Returns false if there is no session.
pub(crate) fn leave() -> bool {
    let before = BEFORE.lock().ok().and_then(|mut saved| saved.take());
    let Some(before) = before else { return false };
    // A terminal that is gone needs no mode.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    true
}

/// Returns true while a session has the terminal.
pub(crate) fn is_entered() -> bool {
    BEFORE.lock().is_ok_and(|saved| saved.is_some())
}

/// A process group without a shell to continue it is not stopped.
const STOPPED_WITHIN: Duration = Duration::from_millis(300);

/// Stops the process group and returns once it is continued.
pub(crate) async fn suspend() -> io::Result<()> {
    let mut continued = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
    rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
    // The stop may take effect a moment later.
    let _ = tokio::time::timeout(STOPPED_WITHIN, continued.recv()).await;
    Ok(())
}

/// The keys of the one thread that reads them, while they are not in use.
static KEYS: Mutex<Option<mpsc::UnboundedReceiver<KeyPress>>> = Mutex::new(None);

/// Returns the keys of the terminal. The channel closes when the terminal is gone.
pub(crate) fn keys() -> mpsc::UnboundedReceiver<KeyPress> {
    if let Some(keys) = KEYS.lock().ok().and_then(|mut keys| keys.take()) {
        return keys;
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || read(&sender));
    receiver
}

/// Gives the keys back for the next reader: a second thread would take every other key.
pub(crate) fn keep(keys: mpsc::UnboundedReceiver<KeyPress>) {
    if let Ok(mut kept) = KEYS.lock() {
        *kept = Some(keys);
    }
}

fn read(sender: &mpsc::UnboundedSender<KeyPress>) {
    let (mut reader, mut bytes) = (KeyReader::default(), [0; 4096]);
    let mut stdin = io::stdin();
    loop {
        let is_ready = !reader.is_pending() || {
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            let within = Timespec { tv_sec: 0, tv_nsec: KEY_NS };
            poll(&mut ready, Some(&within)).unwrap_or(0) > 0
        };
        let keys: Vec<_> = match is_ready {
            false => reader.settle().into_iter().collect(),
            true => match stdin.read(&mut bytes) {
                Ok(0) => return,
                Ok(length) => reader.add(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            },
        };
        let at = Instant::now();
        for key in keys {
            if sender.send(KeyPress { key, at }).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    use super::*;

    const CHILD: &str = "RAWKO_TEST_PANIC";
    const KEYS: LocalModes = LocalModes::ECHO.union(LocalModes::ICANON).union(LocalModes::ISIG);

    /// Runs itself on a pseudo-terminal: the child enters the mode of a session and panics.
    #[test]
    fn a_panic_restores_the_terminal() -> io::Result<()> {
        if std::env::var_os(CHILD).is_some() {
            crate::session::restore_on_panic();
            enter()?;
            let modes = tcgetattr(io::stdin())?.local_modes;
            panic!("entered: {}", !modes.intersects(KEYS));
        }
        let ends = nix::pty::openpty(None, None)?;
        let stdio = |end: &OwnedFd| end.try_clone().map(Stdio::from);
        let name = "session::terminal::tests::a_panic_restores_the_terminal";
        let status = Command::new(std::env::current_exe()?)
            .args(["--exact", name, "--nocapture", "--test-threads", "1"])
            .env(CHILD, "1")
            .stdin(stdio(&ends.slave)?)
            .stdout(stdio(&ends.slave)?)
            .stderr(stdio(&ends.slave)?)
            .status()?;
        assert!(!status.success());
        let mut bytes = [0; 65536];
        let length = File::from(ends.master.try_clone()?).read(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        assert!(text.contains("entered: true"), "{text}");
        assert!(tcgetattr(&ends.master)?.local_modes.contains(KEYS), "{text}");
        Ok(())
    }
}
