//! Answers to the hooks of Claude Code from the state of a chart: each session has a run, whose states decide which
//! tools may be used and if Claude may stop. rawko only narrows: it never allows what Claude Code itself would ask about.

mod deliver;
mod message;
mod state;

use std::path::{Path, PathBuf};

use rawko_core::Value;
use rawko_tools::{CallVerdict, UnconfinedCalls};

use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{RequestRefusal, StoreArgs};
use crate::trust;
use message::{HookEvent, HookInput, HookReply};
use state::{HookPlace, RunState, run_id};

/// The directory in which Claude Code was started: its working directory may be another one by now.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// How a hook is answered.
pub(crate) struct HookOptions<'a> {
    /// The chart of new sessions.
    pub(crate) chart: &'a str,
    pub(crate) store: &'a StoreArgs,
}

/// The answer: JSON for standard output, or the reason why there is none. Claude Code blocks a call whose hook exits
/// with 2.
pub(crate) type HookAnswer = Result<String, String>;

/// Answers one hook. A failure of rawko's own refuses the call.
pub(crate) fn answer(text: &str, options: &HookOptions<'_>, console: &mut Console) -> HookAnswer {
    let input = HookInput::read(text)?;
    // Within a call of rawko, its own gate decides, and there is no operator credential.
    let reply = match trust::is_in_call() {
        true => HookReply::Pass,
        false => Hook { input: &input, options }
            .reply(console)
            .unwrap_or_else(|failure| refused(&input, &RequestRefusal::from(failure).message)),
    };
    Ok(reply.json(&input.hook_event_name).to_string())
}

/// Returns the answer if the state of the run is unknown.
fn refused(input: &HookInput, why: &str) -> HookReply {
    let text = format!("rawko cannot decide on this, so it is refused: {why}");
    match input.event() {
        HookEvent::PreToolUse => HookReply::Deny(text),
        // A second refusal would keep Claude from ever stopping.
        HookEvent::Stop if !input.stop_hook_active => {
            HookReply::Continue(format!("rawko cannot tell if the work is done: {why}. Tell the person."))
        }
        HookEvent::PostToolUse | HookEvent::SessionStart => {
            HookReply::Context(format!("rawko: {why}. Until this is fixed, tool calls are refused."))
        }
        HookEvent::Stop | HookEvent::Other => HookReply::Warn(format!("rawko: {why}")),
    }
}

struct Hook<'a> {
    input: &'a HookInput,
    options: &'a HookOptions<'a>,
}

impl Hook<'_> {
    fn reply(&self, console: &mut Console) -> Result<HookReply, CommandFailure> {
        let place = HookPlace::find(&self.directory(), self.options.store)?;
        let id = run_id(&self.input.session_id);
        let run = place.run(&id, self.options.store)?;
        let event = self.input.event();
        let run = match run {
            Some(run) => run,
            // Claude did nothing in this session that a hook was asked about.
            None if matches!(event, HookEvent::Stop | HookEvent::Other) => return Ok(HookReply::Pass),
            None => {
                deliver::start(&place.root, &id, self.options, console)?;
                self.again(&place, &id)?
            }
        };
        match event {
            HookEvent::PreToolUse => self.before(&place, run, console),
            HookEvent::PostToolUse | HookEvent::Other => self.after(&place, run, console),
            HookEvent::Stop => self.stop(&place, run, console),
            HookEvent::SessionStart => {
                let run = self.deliver(&place, run, console)?.0;
                Ok(HookReply::Context(format!(
                    "rawko: this session follows the workflow `{}` (run `{}`). Now: {}",
                    run.chart(),
                    run.id,
                    run.words()
                )))
            }
        }
    }

    /// Decides on a call. A chart that handles the event moves first, if the call passes; then its new state decides, too.
    fn before(
        &self,
        place: &HookPlace,
        run: RunState,
        console: &mut Console,
    ) -> Result<HookReply, CommandFailure> {
        let verdict = self.judge(place, &run);
        if matches!(verdict, CallVerdict::Deny(_)) || !run.handles(&self.input.event_name()) {
            return Ok(self.decided(verdict, &run));
        }
        let (run, _) = self.deliver(place, run, console)?;
        Ok(match self.judge(place, &run) {
            CallVerdict::Pass => self.decided(verdict, &run),
            stricter => self.decided(stricter, &run),
        })
    }

    fn judge(&self, place: &HookPlace, run: &RunState) -> CallVerdict {
        let calls = UnconfinedCalls::new(&place.root);
        let grant = run.grant(place.permissions.iter().cloned().chain([calls.own_rules()]));
        let input = Value::from_json(self.input.tool_input.clone());
        let cwd = match self.input.cwd.is_empty() {
            true => place.root.clone(),
            false => PathBuf::from(&self.input.cwd),
        };
        calls.judge(self.input.tool(), &input, &cwd, &grant)
    }

    fn decided(&self, verdict: CallVerdict, run: &RunState) -> HookReply {
        let words = |why: &str| {
            format!("rawko: {why}. Now: {} (chart `{}`, run `{}`)", run.words(), run.chart(), run.id)
        };
        match verdict {
            CallVerdict::Pass => HookReply::Pass,
            CallVerdict::Ask(why) => HookReply::Ask(words(&why)),
            CallVerdict::Deny(why) => HookReply::Deny(words(&why)),
        }
    }

    /// Reports a call that ran. Claude gets the new state.
    fn after(
        &self,
        place: &HookPlace,
        run: RunState,
        console: &mut Console,
    ) -> Result<HookReply, CommandFailure> {
        let before = run.words();
        let (run, _) = self.deliver(place, run, console)?;
        let words = run.words();
        let is_told = words != before && self.input.event() == HookEvent::PostToolUse;
        Ok(if is_told { HookReply::Context(format!("rawko: now {words}")) } else { HookReply::Pass })
    }

    /// Decides if Claude may stop. A chart that does not handle the event is asked once only, so that nothing runs forever.
    fn stop(
        &self,
        place: &HookPlace,
        run: RunState,
        console: &mut Console,
    ) -> Result<HookReply, CommandFailure> {
        let before = run.words();
        let (run, is_handled) = self.deliver(place, run, console)?;
        let words = run.words();
        if run.keeps_working() && (is_handled || !self.input.stop_hook_active) {
            return Ok(HookReply::Continue(format!("rawko: do not stop yet. Now: {words}")));
        }
        Ok(if words == before { HookReply::Pass } else { HookReply::Warn(format!("rawko: {words}")) })
    }

    /// Delivers the event if the chart handles it. Returns the run afterwards, and true if it was delivered.
    fn deliver(
        &self,
        place: &HookPlace,
        run: RunState,
        console: &mut Console,
    ) -> Result<(RunState, bool), CommandFailure> {
        if !run.handles(&self.input.event_name()) {
            return Ok((run, false));
        }
        deliver::send(&place.root, &run.id, self.input, self.options, console)?;
        Ok((self.again(place, &run.id)?, true))
    }

    fn again(&self, place: &HookPlace, id: &str) -> Result<RunState, CommandFailure> {
        let missing = || CommandFailure::Failed(format!("the run `{id}` is not in the store"));
        place.run(id, self.options.store)?.ok_or_else(missing)
    }

    fn directory(&self) -> PathBuf {
        let started = std::env::var_os(PROJECT_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let given = Some(PathBuf::from(&self.input.cwd)).filter(|path| path.is_absolute());
        started.or(given).unwrap_or_else(|| Path::new(".").to_owned())
    }
}
