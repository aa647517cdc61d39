//! `LastingWatch`: files of authority beside a program that stays between calls: an MCP server, a language server, an agent
//! of a channel.
//!
//! During a call the program answers for what appears, as any program does for the whole of its life. Between two calls a
//! person may write such a file while the program waits. So what appeared then is refused only if one of its processes ran
//! meanwhile. The kernel counts how often each thread gets a processor, so nothing that the program does is missed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::warning;
use super::watch::AuthorityWatch;
use crate::platform;
use crate::processes::{Processes, RunClock, ThreadRuns};

/// A program works on for a while after its answer: looks follow until it rests, after pauses that double up to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(60));

/// Watches a program until the last clone and the last call are dropped.
#[derive(Clone, Debug)]
pub struct LastingWatch(
    /// `None`: the program cannot write to the project.
    Option<Arc<Mutex<WatchState>>>,
);

#[derive(Debug)]
struct WatchState {
    /// The state at the last look at which the program had not run, or before its call.
    watch: AuthorityWatch,
    clock: RunClock,
    /// What had run at the last look.
    ran: Option<ThreadRuns>,
    /// Calls that run.
    calls: usize,
    /// True from a call that stopped the program to the next one.
    is_stopped: bool,
    /// True while looks follow.
    is_followed: bool,
}

/// A call that runs. Dropped, it puts files of authority right.
#[derive(Debug)]
pub struct WatchedCall(LastingWatch);

impl LastingWatch {
    /// Takes over the state before a program was started. Its start is the first call.
    pub fn start(mut authority: AuthorityWatch, processes: &Processes) -> (Self, WatchedCall) {
        authority.guard();
        let state = (!authority.is_of_nothing()).then(|| {
            let clock = processes.run_clock();
            Arc::new(Mutex::new(WatchState {
                watch: authority,
                clock,
                ran: None,
                calls: 1,
                is_stopped: false,
                is_followed: false,
            }))
        });
        (Self(state.clone()), WatchedCall(Self(state)))
    }

    /// Begins a call: refuses what the program left since the last one.
    pub async fn call(&self) -> WatchedCall {
        self.blocking(WatchState::begin).await;
        WatchedCall(self.clone())
    }

    /// Refuses what the program left since the last look, if no call runs.
    pub async fn look(&self) {
        self.blocking(|state| {
            state.look();
        })
        .await;
        self.follow();
    }

    /// Has looks follow, within a runtime.
    fn follow(&self) {
        let Some(state) = &self.0 else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && !std::mem::replace(&mut locked(state).is_followed, true)
        {
            runtime.spawn(looks(Arc::downgrade(state)));
        }
    }

    async fn blocking(&self, work: fn(&mut WatchState)) {
        if let Some(state) = self.0.clone() {
            let _ = tokio::task::spawn_blocking(move || work(&mut locked(&state))).await;
        }
    }
}

impl WatchedCall {
    /// Ends the call. Where nothing keeps the program from the files, and nothing shows what it does, it is stopped until
    /// the next call: only for programs that have nothing to do before.
    pub async fn end_and_stop(self) {
        self.0.blocking(WatchState::stop).await;
    }
}

impl Drop for WatchedCall {
    fn drop(&mut self) {
        if let Some(state) = &self.0.0 {
            locked(state).end();
        }
        self.0.follow();
    }
}

/// Looks until the program rests, or its next call begins.
async fn looks(state: Weak<Mutex<WatchState>>) {
    let (mut pause, longest) = PAUSES;
    loop {
        tokio::time::sleep(pause).await;
        let Some(state) = state.upgrade() else { return };
        let look = tokio::task::spawn_blocking(move || {
            let mut state = locked(&state);
            state.is_followed = state.look();
            state.is_followed
        });
        if !look.await.unwrap_or(false) {
            return;
        }
        pause = longest.min(pause * 2);
    }
}

fn locked(state: &Mutex<WatchState>) -> MutexGuard<'_, WatchState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WatchState {
    fn begin(&mut self) {
        self.look();
        if self.calls == 0 {
            self.watch.take_copies();
            self.watch.guard();
        }
        self.calls += 1;
        if std::mem::take(&mut self.is_stopped) {
            self.clock.go_on();
        }
    }

    /// Stops the program if this is its only call.
    fn stop(&mut self) {
        if self.calls == 1 {
            self.is_stopped = self.clock.stop();
        }
    }

    /// Returns true if the program ran since the last look, where the system shows that.
    fn look(&mut self) -> bool {
        if self.calls > 0 {
            return false;
        }
        if self.is_stopped {
            self.watch = self.watch.renewed();
            return false;
        }
        let ran = self.clock.now();
        if ran.is_some() && ran == self.ran {
            let renewed = self.watch.renewed();
            // It may have run while the files were looked at.
            if self.clock.now() == ran {
                self.watch = renewed;
                return false;
            }
        }
        self.ran = self.clock.now();
        warning::set_aside(&self.watch.restored_between());
        !platform::is_portable()
    }

    fn end(&mut self) {
        self.calls = self.calls.saturating_sub(1);
        // Before the look: what the program does after it counts as done between calls.
        let ran = self.clock.now();
        if self.calls > 0 {
            warning::set_aside(&self.watch.restored());
            return;
        }
        self.ran = ran;
        warning::set_aside(&self.watch.restore());
        self.watch.forget_copies();
    }
}

impl Drop for WatchState {
    fn drop(&mut self) {
        // The program has ended. Without a call, so that this look is the last between two.
        self.calls = 0;
        self.look();
    }
}
