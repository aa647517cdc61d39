//! The terminal of a session: its mode while keys are read one by one, its size, and the thread that reads them.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::keys::{KeyPress, KeyReader, TerminalKey};

/// The mode before the session, until it is restored.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Time in which the bytes of one key arrive.
const KEY_NS: i64 = 40_000_000;
/// The reader of keys lets another program have the terminal within this time.
const HOLD_NS: i64 = 100_000_000;

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

/// Another program reads the terminal.
static IS_HELD: AtomicBool = AtomicBool::new(false);
/// Held while keys are read.
static READING: Mutex<()> = Mutex::new(());

/// Keeps the terminal from being read here until it is dropped, so that an editor gets all keys.
pub(crate) struct HeldKeys;

impl HeldKeys {
    pub(crate) fn new() -> HeldKeys {
        IS_HELD.store(true, Ordering::SeqCst);
        drop(READING.lock());
        HeldKeys
    }
}

impl Drop for HeldKeys {
    fn drop(&mut self) {
        IS_HELD.store(false, Ordering::SeqCst);
    }
}

/// Returns the keys that were pressed before the session. The terminal had turned Enter into a line end.
fn typed_before(reader: &mut KeyReader) -> Vec<TerminalKey> {
    let (stdin, mut bytes) = (io::stdin(), [0; 4096]);
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    if poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap_or(0) == 0 {
        return Vec::new();
    }
    let length = rustix::io::read(&stdin, &mut bytes).unwrap_or(0);
    bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r');
    reader.add(&bytes[..length])
}

fn read(sender: &mpsc::UnboundedSender<KeyPress>) {
    let (mut reader, mut bytes) = (KeyReader::default(), [0; 4096]);
    let stdin = io::stdin();
    for key in typed_before(&mut reader) {
        let press = KeyPress { key, at: Instant::now() };
        if sender.send(press).is_err() {
            return;
        }
    }
    loop {
        if IS_HELD.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let reading = READING.lock();
        if IS_HELD.load(Ordering::SeqCst) {
            continue;
        }
        let is_ready = {
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            let tv_nsec = if reader.is_pending() { KEY_NS } else { HOLD_NS };
            poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec })).unwrap_or(0) > 0
        };
        let keys: Vec<_> = match is_ready {
            false => reader.settle().into_iter().collect(),
            // Unbuffered: what a buffer holds would not be seen by `poll`.
            true => match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return,
                Ok(length) => reader.add(&bytes[..length]),
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
            },
        };
        drop(reading);
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
    use std::io::Read;
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
