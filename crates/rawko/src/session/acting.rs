//! What the person does in a session: keys, answers, messages and commands become requests to the host.

use rawko_core::Value;
use rawko_host::{Reader, Receipt};

use super::commands::{self, Command};
use super::keys::Key;
use super::prompt::{Pressed, Prompt, Reply};
use super::view::ActivityKind;
use super::{Left, Session};
use crate::commands::answer::allow_always;
use crate::console::{Console, Style};
use crate::costs::Costs;
use crate::failure::Failure;
use crate::hosting::Request;
use crate::journal::task;
use crate::session::diff_line;
use crate::times;

/// A key that was meant for a text does not answer a request that appeared meanwhile.
const TYPING_MS: i64 = 700;

impl Session<'_> {
    /// Handles a key. Returns the reason if the session ends.
    pub(super) async fn press(
        &mut self,
        key: Key,
        reader: &Reader,
        console: &mut Console,
    ) -> Result<Option<Left>, Failure> {
        self.notice = None;
        let now_ms = times::now_ms();
        // Only keys of a text that is not sent yet count as typing.
        let typed_ms = std::mem::take(&mut self.typed_ms);
        if let Some(prompt) = &mut self.prompt {
            let is_typing = typed_ms + TYPING_MS > prompt.shown_ms && prompt.shown_ms + TYPING_MS > now_ms;
            let pressed = match is_typing && typed_ms < prompt.shown_ms {
                true => Pressed::Ignored,
                false => prompt.press(&key, &mut self.editor),
            };
            match pressed {
                Pressed::Ignored => {}
                Pressed::Handled => return Ok(None),
                Pressed::Problem(why) => {
                    self.notice = Some(why);
                    return Ok(None);
                }
                Pressed::Answer(reply) => {
                    let outcome = self.answer(reply, console).await;
                    return self.told(outcome.map(|()| None));
                }
            }
        }
        match key {
            Key::Ctrl('c') => return self.interrupt(console).await,
            Key::Escape => {
                let outcome = self.stop_turn(console).await;
                return self.told(outcome.map(|()| None));
            }
            Key::Tab => self.complete(),
            Key::Enter => {
                let line = self.editor.take();
                let outcome = self.enter(line.trim(), reader, console).await;
                return self.told(outcome);
            }
            Key::Ctrl('l') | Key::Ctrl('d') => {}
            other => {
                if self.editor.press(&other) {
                    self.typed_ms = now_ms;
                }
            }
        }
        Ok(None)
    }

    /// A refused request is a notice, not the end of the session.
    fn told(&mut self, outcome: Result<Option<Left>, Failure>) -> Result<Option<Left>, Failure> {
        match outcome {
            Err(
                Failure::Failed(why) | Failure::Usage(why) | Failure::Invalid(why) | Failure::Transient(why),
            ) => {
                self.notice = Some(why);
                Ok(None)
            }
            other => other,
        }
    }

    async fn ask(&self, request: Request, console: &mut Console) -> Result<Receipt, Failure> {
        self.messenger.ask(self.place, request, console).await
    }

    async fn send(
        &self,
        to: &str,
        event: &str,
        data: Value,
        console: &mut Console,
    ) -> Result<Receipt, Failure> {
        let request = Request::Send { id: to.to_owned(), event: event.to_owned(), data, key: None };
        self.ask(request, console).await
    }

    async fn answer(&mut self, reply: Reply, console: &mut Console) -> Result<(), Failure> {
        let Some(prompt) = &self.prompt else { return Ok(()) };
        if reply.always {
            let added = allow_always(self.place, &prompt.ask)?;
            self.scroll.say("added", &added, Style::Notice, console)?;
        }
        let Some(prompt) = self.prompt.take() else { return Ok(()) };
        let request = Request::Answer {
            id: prompt.ask.instance.to_string(),
            ask: Some(prompt.ask.invoke.clone()),
            approved: reply.approved,
            by: None,
            comment: reply.comment,
            data: reply.data,
        };
        self.ask(request, console).await.map(drop)
    }

    /// Ctrl-C pauses the task, and leaves if it is paused already.
    async fn interrupt(&mut self, console: &mut Console) -> Result<Option<Left>, Failure> {
        if !self.is_own {
            return Ok(Some(Left::Detached));
        }
        if self.view.is_paused {
            return Ok(Some(Left::Paused));
        }
        match self.pause(console).await {
            Ok(()) => self.view.is_paused = true,
            // It ended meanwhile; the session ends by itself.
            Err(Failure::Failed(why)) => self.notice = Some(why),
            Err(failure) => return Err(failure),
        }
        Ok(None)
    }

    pub(super) async fn pause(&mut self, console: &mut Console) -> Result<(), Failure> {
        self.ask(Request::Pause { id: self.id.clone() }, console).await.map(drop)
    }

    async fn resume(&mut self, console: &mut Console) -> Result<(), Failure> {
        self.ask(Request::Resume { id: self.id.clone() }, console).await?;
        self.view.is_paused = false;
        Ok(())
    }

    /// Stops the completion of the agent, which then waits for a message. Other work is paused.
    async fn stop_turn(&mut self, console: &mut Console) -> Result<(), Failure> {
        if self.view.is_paused || self.view.activity.kind == ActivityKind::Held {
            return Ok(());
        }
        if let Some(agent) = &self.view.agent
            && self.view.activity.kind == ActivityKind::Completion
        {
            let agent = agent.instance.to_string();
            if self.send(&agent, "INTERRUPT", Value::Null, console).await.is_ok_and(|receipt| receipt.handled)
            {
                return Ok(());
            }
        }
        self.pause(console).await
    }

    fn complete(&mut self) {
        if self.editor.text().starts_with('/') {
            let several = self.editor.complete(&commands::names());
            self.notice = (!several.is_empty()).then(|| several.join("  "));
            return;
        }
        let asks = &self.view.asks;
        let shown = self.prompt.as_ref().and_then(|prompt| asks.iter().position(|ask| prompt.is(ask)));
        if let Some(place) = shown.filter(|_| asks.len() > 1) {
            self.prompt = asks.get((place + 1) % asks.len()).map(Prompt::of);
        }
    }

    /// Handles the input line: a command, or a message to the agents.
    async fn enter(
        &mut self,
        line: &str,
        reader: &Reader,
        console: &mut Console,
    ) -> Result<Option<Left>, Failure> {
        if line.starts_with('/') {
            return match Command::read(line) {
                Ok(command) => self.obey(command, reader, console).await,
                Err(why) => Err(Failure::Usage(why)),
            };
        }
        if line.is_empty() {
            if self.view.is_paused {
                self.resume(console).await?;
            } else if let Some(agent) = self.view.agent.clone().filter(|_| self.is_held()) {
                self.send(&agent.instance, "CONTINUE", Value::Null, console).await?;
            }
            return Ok(None);
        }
        self.say(line, console).await.map(|()| None)
    }

    fn is_held(&self) -> bool {
        self.view.activity.kind == ActivityKind::Held
    }

    /// Sends a message: to the task, which passes it on, or to the agent if the task's chart takes none.
    async fn say(&mut self, text: &str, console: &mut Console) -> Result<(), Failure> {
        let data = Value::map([("text", Value::str(text))]);
        let is_paused = self.view.is_paused;
        let receipt = self.send(&self.id, "MESSAGE", data.clone(), console).await?;
        if !receipt.handled && !receipt.queued {
            let Some(agent) = self.view.agent.clone() else {
                return Err(Failure::Failed("no agent takes messages now".to_owned()));
            };
            let receipt = self.send(&agent.instance, "MESSAGE", data, console).await?;
            if !receipt.handled && !receipt.queued {
                return Err(Failure::Failed(format!("{} takes no messages now", agent.name)));
            }
        }
        if is_paused {
            self.resume(console).await?;
        }
        Ok(())
    }

    async fn obey(
        &mut self,
        command: Command,
        reader: &Reader,
        console: &mut Console,
    ) -> Result<Option<Left>, Failure> {
        let id = self.id.clone();
        match command {
            Command::Pause => self.pause(console).await?,
            Command::Resume => self.resume(console).await?,
            Command::Skip => self.event("SKIP_STEP", Value::Null, console).await?,
            Command::Retry => self.event("RETRY", Value::Null, console).await?,
            Command::Agent(name) => {
                let data = Value::map([("agentName", Value::str(&name))]);
                self.event("FORCE_AGENT", data, console).await?;
            }
            Command::Model(name) => {
                let (workshop, _) = self.place.workshop();
                workshop.providers.find(&name).map_err(|problem| Failure::Usage(problem.to_string()))?;
                self.event("SET_MODEL", Value::map([("model", Value::str(&name))]), console).await?;
            }
            Command::Cancel => {
                self.ask(Request::Cancel { id, reason: Value::Null }, console).await.map(drop)?
            }
            Command::Plan => self.print_plan(console)?,
            Command::Diff => self.print_diff(console)?,
            Command::Undo => {
                return Err(Failure::Usage(
                    "/undo is not available yet; use git to take changes back".to_owned(),
                ));
            }
            Command::Cost => {
                for line in Costs::read(reader, &id)?.lines() {
                    console.line(&format!("  {line}"))?;
                }
            }
            Command::Help => commands::help(console).iter().try_for_each(|line| console.line(line))?,
            Command::Exit => {
                if !self.is_own {
                    return Ok(Some(Left::Detached));
                }
                if !self.view.is_paused {
                    self.pause(console).await?;
                }
                return Ok(Some(Left::Paused));
            }
        }
        Ok(None)
    }

    async fn event(&mut self, event: &str, data: Value, console: &mut Console) -> Result<(), Failure> {
        let receipt = self.send(&self.id, event, data, console).await?;
        match receipt.handled || receipt.queued {
            true => Ok(()),
            false => Err(Failure::Failed("the task does not accept this now".to_owned())),
        }
    }

    fn print_plan(&mut self, console: &mut Console) -> Result<(), Failure> {
        let steps = self.scroll.plan().get("steps").as_list().unwrap_or_default().to_vec();
        if steps.is_empty() {
            return Err(Failure::Failed("there is no plan yet".to_owned()));
        }
        steps.iter().try_for_each(|step| console.line(&format!("  {}", task::step_words(step))))
    }

    /// Prints the changes that the last round of checks found.
    fn print_diff(&mut self, console: &mut Console) -> Result<(), Failure> {
        let changes = self.view.context.get("evidence").get("changes").as_list().unwrap_or_default().to_vec();
        if changes.is_empty() {
            return Err(Failure::Failed(
                "no changes are recorded yet; they are after each agent run".to_owned(),
            ));
        }
        for change in &changes {
            let path = change.get("path").as_str().unwrap_or_default();
            let path = console.paint(Style::Bold, path);
            console.line(&format!("  {path}"))?;
            for line in change.get("diff").as_str().unwrap_or_default().lines() {
                let line = diff_line(line, console);
                console.line(&format!("    {line}"))?;
            }
        }
        Ok(())
    }
}
