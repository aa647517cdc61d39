//! The first process of the PID namespace. It mounts `/proc`, collects processes that lost their parent, and does nothing
//! else: when it ends, the kernel ends every process of the namespace.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, mount};
use rustix::process::{DumpableBehavior, Signal, WaitOptions, set_dumpable_behavior, wait};

use super::{INIT, WORD, privileges, root};

/// Between two looks for processes to collect.
const COLLECT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const BEGIN: u8 = b'b';
const MOUNT: u8 = b'm';
const DONE: u8 = b'd';

/// The running init, from outside.
pub(super) struct Init {
    child: Child,
    orders: ChildStdin,
    answers: ChildStdout,
}

impl Init {
    /// Starts it as the first process of the PID namespace that this process has just made for its children.
    pub(super) fn start() -> io::Result<Self> {
        privileges::lend_mounting().map_err(io::Error::other)?;
        let mut child = Command::new("/proc/self/exe")
            .args([WORD, INIT])
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(orders), Some(answers)) => Ok(Self { child, orders, answers }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits until it runs: a program that is being loaded still needs the root of the host.
    pub(super) fn is_ready(&mut self) -> io::Result<()> {
        self.order(BEGIN)
    }

    pub(super) fn mount_processes(&mut self) -> io::Result<()> {
        self.order(MOUNT)
    }

    /// Ends its preparation: from here on it only waits.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.order(DONE)
    }

    fn order(&mut self, order: u8) -> io::Result<()> {
        let mut answer = [0; 4];
        let exchanged = self.orders.write_all(&[order]).and_then(|()| self.answers.read_exact(&mut answer));
        if let Err(error) = exchanged {
            let status = self.child.wait()?;
            return Err(io::Error::other(format!(
                "{error}: the first process of the namespace ended with {status}"
            )));
        }
        match i32::from_ne_bytes(answer) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Ends it, and with it every process of the namespace; returns when all have ended. Closing its input does it:
    /// Landlock does not let this process signal one that is not confined.
    pub(super) fn end(self) {
        let Self { mut child, orders, answers } = self;
        drop((orders, answers));
        let _ = child.wait();
    }
}

/// The process itself.
pub(super) fn run() -> io::Result<()> {
    // Its memory and descriptors are nothing for the program beside it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let (mut orders, mut answers) = (io::stdin().lock(), io::stdout().lock());
    loop {
        let mut order = [0];
        orders.read_exact(&mut order)?;
        let is_last = order[0] == DONE;
        let done = match order[0] {
            DONE => settle(),
            MOUNT => mount_processes(),
            _ => Ok(()),
        };
        let code = done.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EPERM));
        answers.write_all(&code.to_ne_bytes())?;
        answers.flush()?;
        if is_last {
            break;
        }
    }
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let mut end = [PollFd::new(&orders, PollFlags::IN)];
        if poll(&mut end, Some(&COLLECT)).is_ok_and(|ready| ready > 0) {
            return Ok(());
        }
    }
}

/// Ends with its parent, also if that is killed.
fn settle() -> io::Result<()> {
    privileges::drop_all().map_err(io::Error::other)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Read-only: the settings of the kernel in it belong to root on the host, and so does a program of rawko as root.
fn mount_processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    Ok(mount("proc", format!("{}/proc", root::NEW), "proc", flags, None)?)
}
