//! The binary on a pseudo-terminal: keys in, the screen as text out.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

/// The machine may be slow; a screen that never appears fails the test.
const PATIENCE: Duration = Duration::from_secs(90);
const SCROLLBACK: usize = 2_000;

pub(crate) struct Pty {
    child: Child,
    master: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Pty {
    /// Starts a command on a terminal of this size.
    pub(crate) fn of(mut command: Command, (columns, rows): (u16, u16)) -> Pty {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None).unwrap();
        let stdio = |end: &OwnedFd| Stdio::from(end.try_clone().unwrap());
        command.env("TERM", "xterm-256color").env_remove("CI");
        let command = command.stdin(stdio(&ends.slave)).stdout(stdio(&ends.slave)).stderr(stdio(&ends.slave));
        let child = command.spawn().unwrap();
        drop(ends.slave);
        let master = File::from(ends.master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, SCROLLBACK)));
        let (mut output, shown) = (master.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once the last process with the terminal has ended.
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..length]);
            }
        });
        Pty { child, master, screen }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the shown request takes keys: no key answers a request that has just appeared.
    pub(crate) fn wait_until_ready(&mut self) {
        self.wait_until("a request that takes keys", |pty| {
            let screen = pty.screen();
            ["then Enter", "Enter: send the answer"].iter().any(|hint| screen.contains(hint))
        });
    }

    /// Selects a choice of the shown request by its key, and confirms it.
    pub(crate) fn choose(&mut self, key: &str) {
        self.wait_until_ready();
        self.press(key);
        self.wait_until("a selected choice", |pty| {
            let screen = pty.screen();
            ["Enter: confirm", "Enter: send this answer"].iter().any(|hint| screen.contains(hint))
        });
        self.press("\r");
    }

    /// Answers the shown question with a text.
    pub(crate) fn reply(&mut self, text: &str) {
        self.wait_until_ready();
        self.press(&format!("{text}\r"));
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.master, size).unwrap();
        self.screen.lock().unwrap().screen_mut().set_size(rows, columns);
    }

    /// Returns everything that was printed and is on the screen now.
    pub(crate) fn text(&self) -> String {
        let mut parser = self.screen.lock().unwrap();
        let screen = parser.screen_mut();
        screen.set_scrollback(SCROLLBACK);
        let (above, rows) = (screen.scrollback(), usize::from(screen.size().0));
        let mut lines: Vec<String> = Vec::new();
        let mut left = above;
        while left > 0 {
            screen.set_scrollback(left);
            let columns = screen.size().1;
            lines.extend(screen.rows(0, columns).take(left.min(rows)));
            left = left.saturating_sub(rows);
        }
        screen.set_scrollback(0);
        let shown = screen.contents();
        lines.push(shown);
        lines.join("\n")
    }

    /// Returns the lines on the screen.
    pub(crate) fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Returns the colour of the first letter of a text on the screen.
    pub(crate) fn colour_of(&self, text: &str) -> Option<vt100::Color> {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let lines = screen.rows(0, columns).take(rows.into());
        let (row, column) = lines
            .enumerate()
            .find_map(|(row, line)| Some((row, line[..line.find(text)?].chars().count())))?;
        screen.cell(row.try_into().unwrap(), column.try_into().unwrap()).map(vt100::Cell::fgcolor)
    }

    /// Waits until the screen shows a text.
    pub(crate) fn wait_for(&mut self, wanted: &str) -> String {
        self.wait_until(wanted, |pty| pty.text().contains(wanted));
        self.text()
    }

    /// Waits until the screen shows every text: the live area can be drawn before the lines above it.
    pub(crate) fn wait_for_all(&mut self, wanted: &[&str]) {
        for text in wanted {
            self.wait_for(text);
        }
    }

    /// Waits until the screen does not show a text any more.
    pub(crate) fn wait_while(&mut self, gone: &str) {
        self.wait_until(gone, |pty| !pty.screen().contains(gone));
    }

    pub(crate) fn wait_until(&mut self, about: &str, is_so: impl Fn(&Pty) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            let ended = self.child.try_wait().unwrap();
            // The last output may still be on its way.
            if ended.is_some() && begun.elapsed() > Duration::from_secs(2) || begun.elapsed() > PATIENCE {
                panic!("waiting for `{about}`, ended: {ended:?}, the terminal shows:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the process as a power failure does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns true if the terminal echoes and reads lines, as a shell expects it.
    pub(crate) fn is_restored(&self) -> bool {
        use rustix::termios::{LocalModes, tcgetattr};
        let modes = tcgetattr(&self.master).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    /// Waits for the end, however it comes.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status,
                None if begun.elapsed() > PATIENCE => panic!("it does not end:\n{}", self.text()),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Waits for the end. Returns the exit code and everything on the terminal.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.wait_for_end();
        assert!(self.is_restored(), "the terminal is left in the mode of the session");
        std::thread::sleep(Duration::from_millis(100));
        (status.code(), self.text())
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
