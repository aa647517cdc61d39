//! Executes the slash commands of a session.

use rawko_core::Value;
use rawko_host::SnapshotReader;
use rawko_programs::checkpoints::net_changes;

use super::commands::{self, SlashCommand};
use super::shell::{SUCCEEDED, ShellCommand, ShellEvent};
use super::view::ActivityKind;
use super::{SessionEnd, TerminalSession};
use crate::checkpoints::InstanceChanges;
use crate::checkpoints::reverting::RevertScope;
use crate::commands::diff;
use crate::console::{Console, TextStyle};
use crate::costs::Costs;
use crate::failure::CommandFailure;
use crate::hosting::SocketRequest;
use crate::journal::task;
use crate::known;
use crate::session::diff_line;

/// Lines of a diff that `/diff` prints for each file.
const DIFF_LINES_MAX: usize = 400;

impl TerminalSession<'_> {
    pub(super) async fn execute(
        &mut self,
        command: SlashCommand,
        reader: &SnapshotReader,
        console: &mut Console,
    ) -> Result<Option<SessionEnd>, CommandFailure> {
        let id = self.id.clone();
        match command {
            SlashCommand::Pause => self.pause(console).await?,
            SlashCommand::Resume => self.resume(console).await?,
            SlashCommand::Skip => self.event("SKIP_STEP", Value::Null, console).await?,
            SlashCommand::Retry => self.retry(console).await?,
            SlashCommand::Agent(name) => {
                self.insist_on_agent(&name)?;
                let data = Value::map([("agentName", Value::str(&name))]);
                self.event("FORCE_AGENT", data, console).await?;
            }
            SlashCommand::Model(name) => {
                let (agent_services, _) = self.place.agent_services();
                agent_services
                    .providers
                    .find(&name)
                    .map_err(|problem| CommandFailure::Usage(problem.to_string()))?;
                self.event("SET_MODEL", Value::map([("model", Value::str(&name))]), console).await?;
            }
            SlashCommand::Cancel => {
                self.ask(SocketRequest::Cancel { id, reason: Value::Null }, console).await.map(drop)?
            }
            SlashCommand::Plan => self.print_plan(console)?,
            SlashCommand::Diff => self.print_changes(reader, console).await?,
            SlashCommand::Undo { all } => {
                let scope = if all { RevertScope::All } else { RevertScope::LastCall };
                self.undo(scope, reader, console).await?;
            }
            SlashCommand::Redo => self.undo(RevertScope::Redo, reader, console).await?,
            SlashCommand::Open(number) => self.open(number, console)?,
            SlashCommand::Cost => {
                for line in Costs::read(reader, &id)?.lines() {
                    console.line(&format!("  {line}"))?;
                }
            }
            SlashCommand::Help => {
                commands::help(self.size.0, console).iter().try_for_each(|line| console.line(line))?
            }
            SlashCommand::Exit => {
                if !self.is_own {
                    return Ok(Some(SessionEnd::Detached));
                }
                if !self.view.is_paused {
                    self.pause(console).await?;
                }
                return Ok(Some(SessionEnd::Paused));
            }
        }
        Ok(None)
    }

    fn insist_on_agent(&self, name: &str) -> Result<(), CommandFailure> {
        let (agent_services, _) = self.place.agent_services();
        let names: Vec<&str> = agent_services.agents.all().iter().map(|agent| agent.name.as_str()).collect();
        match names.contains(&name) {
            true => Ok(()),
            false => Err(CommandFailure::Usage(format!(
                "there is no agent `{name}`; agents: {}",
                names.join(", ")
            ))),
        }
    }

    /// Starts a command of the person.
    pub(super) fn start_shell(&mut self, line: &str, console: &mut Console) -> Result<(), CommandFailure> {
        if let Some(running) = &self.shell {
            return Err(CommandFailure::Usage(format!("`{}` is still running; Esc stops it", running.line)));
        }
        self.scroll.tell_command(&format!("!{line}"), console)?;
        self.shell = Some(ShellCommand::start(line, &self.place.root));
        Ok(())
    }

    /// Prints the output of the command; once it has ended, the agents get it as a message.
    pub(super) async fn hear_shell(
        &mut self,
        event: ShellEvent,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        match event {
            ShellEvent::Line(line) => match self.shell.as_mut().is_some_and(|shell| shell.add(&line)) {
                true => self.scroll.tell_output(&line, console),
                false => Ok(()),
            },
            ShellEvent::Ended(how) => self.end_shell(&how, console).await,
        }
    }

    async fn end_shell(&mut self, how: &str, console: &mut Console) -> Result<(), CommandFailure> {
        let Some(shell) = self.shell.take() else { return Ok(()) };
        if shell.hidden() > 0 {
            self.scroll.tell_output(&format!("… {} more lines", shell.hidden()), console)?;
        }
        if how != SUCCEEDED {
            self.scroll.say("", how, TextStyle::Notice, console)?;
        }
        // A paused task stays paused.
        let message = shell.message(how);
        self.scroll.note_printed(&message);
        let data = Value::map([("text", Value::str(&message))]);
        let receipt = self.send(&self.id, "MESSAGE", data, console).await;
        if !receipt.is_ok_and(|receipt| receipt.handled || receipt.queued) {
            self.notice = Some("the agents did not get the output".to_owned());
        }
        Ok(())
    }

    /// Stops the command; the agents do not get its output.
    pub(super) fn stop_shell(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        match self.shell.take() {
            Some(_) => {
                let words = "your command; the agents do not get its output";
                self.scroll.say("stopped", words, TextStyle::Notice, console)
            }
            None => Ok(()),
        }
    }

    async fn event(&mut self, event: &str, data: Value, console: &mut Console) -> Result<(), CommandFailure> {
        let receipt = self.send(&self.id, event, data, console).await?;
        match receipt.handled || receipt.queued {
            true => Ok(()),
            false => Err(CommandFailure::Failed("the task does not accept this now".to_owned())),
        }
    }

    /// Ends a wait for the model at once. Otherwise the agent starts again.
    pub(super) async fn retry(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        if let Some(agent) = self.view.agent.clone()
            && self.view.activity.kind == ActivityKind::BackOff
            && self.send(&agent.instance, "RETRY", Value::Null, console).await.is_ok_and(|it| it.handled)
        {
            return Ok(());
        }
        self.event("RETRY", Value::Null, console).await
    }

    /// Prints a tool call in full.
    pub(super) fn open(
        &mut self,
        number: Option<usize>,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        match self.scroll.open(number, console)? {
            true => Ok(()),
            false => Err(CommandFailure::Failed(match number {
                Some(number) => format!("there is no tool call {number} on this terminal"),
                None => "there is no further tool call on this terminal".to_owned(),
            })),
        }
    }

    fn print_plan(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        let steps = self.scroll.plan().get("steps").as_list().unwrap_or_default().to_vec();
        if steps.is_empty() {
            return Err(CommandFailure::Failed("there is no plan yet".to_owned()));
        }
        steps.iter().try_for_each(|step| console.line(&format!("  {}", task::step_words(step))))
    }

    /// Prints the net changes of the task until now.
    async fn print_changes(
        &mut self,
        reader: &SnapshotReader,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let changes = InstanceChanges::of(self.place, reader, &known::instance(reader, &self.id)?, None)?;
        let entries = changes.entries()?;
        let net = net_changes(&entries, |entry| changes.is_own(entry));
        let files = changes.diffs(&net).await?;
        if files.is_empty() {
            return Err(CommandFailure::Failed("the task has changed no files".to_owned()));
        }
        for file in &files {
            let line = diff::stat(file, console);
            console.line(&format!("  {line}"))?;
            let lines: Vec<&str> = file.diff.lines().skip_while(|line| !line.starts_with("@@")).collect();
            for line in lines.iter().take(DIFF_LINES_MAX) {
                let line = diff_line(line, console);
                console.line(&format!("    {line}"))?;
            }
            if lines.len() > DIFF_LINES_MAX {
                let more =
                    format!("    … {} more lines: rawko diff {}", lines.len() - DIFF_LINES_MAX, self.id);
                console.line(&console.paint(TextStyle::Dim, &more))?;
            }
        }
        Ok(())
    }

    /// Takes changes back while the task is paused, and sends the agents a message about it.
    async fn undo(
        &mut self,
        scope: RevertScope,
        reader: &SnapshotReader,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        if self.view.activity.kind == ActivityKind::Tool && !self.view.is_paused && self.prompt.is_none() {
            return Err(CommandFailure::Failed(
                "a tool is running and may change files; press Esc to pause first".to_owned(),
            ));
        }
        let changes = InstanceChanges::of(self.place, reader, &known::instance(reader, &self.id)?, None)?;
        let net = changes.preview(&self.id, scope).await?.net;
        if net.changes.is_empty() && net.ignored.is_empty() {
            return Err(CommandFailure::Failed("there is nothing to undo".to_owned()));
        }
        let was_paused = self.view.is_paused;
        if !was_paused {
            self.pause(console).await?;
        }
        let outcome = changes.revert(&self.id, scope, false).await.map_err(CommandFailure::from);
        let message = match &outcome {
            Ok(reverted) => {
                let paths: Vec<&str> = reverted.files.iter().map(|file| file.path.as_str()).collect();
                let paths = paths.join(", ");
                for file in &reverted.files {
                    // The diff is that of the change, so the undo removes what it added.
                    let (added, removed) = (file.removed, file.added);
                    let line = format!("{} (+{added} -{removed})", file.path);
                    let title = if scope == RevertScope::Redo { "redone" } else { "undone" };
                    self.scroll.say(title, &line, TextStyle::Notice, console)?;
                }
                Some(match scope {
                    RevertScope::Redo => format!("I restored the change that I had undone: {paths}."),
                    RevertScope::All => format!("I undid all changes of this task: {paths}."),
                    RevertScope::LastCall => format!("I undid the last change of files: {paths}."),
                })
            }
            Err(_) => None,
        };
        if let Some(message) = message {
            let data = Value::map([("text", Value::str(&message))]);
            self.send(&self.id, "MESSAGE", data, console).await?;
        }
        if !was_paused {
            self.resume(console).await?;
        }
        outcome.map(drop)
    }
}
