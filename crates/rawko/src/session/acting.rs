//! What the person does in a session: keys, answers, messages and commands become requests to the host.

use rawko_core::Value;
use rawko_host::{Reader, Receipt};

use super::commands::Command;
use super::completion;
use super::keys::Key;
use super::prompt::{Pressed, Prompt, Reply};
use super::view::ActivityKind;
use super::{Left, Session};
use crate::commands::answer::allow_always;
use crate::console::{Console, Style};
use crate::failure::Failure;
use crate::hosting::Request;
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
        if key != Key::Ctrl('o') {
            self.scroll.forget_opened();
        }
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
            Key::Ctrl('o') => {
                let outcome = self.open(None, console);
                return self.told(outcome.map(|()| None));
            }
            Key::Ctrl('z') => self.suspend(console).await?,
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

    pub(super) async fn ask(&self, request: Request, console: &mut Console) -> Result<Receipt, Failure> {
        self.messenger.ask(self.place, request, console).await
    }

    pub(super) async fn send(
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

    pub(super) async fn resume(&mut self, console: &mut Console) -> Result<(), Failure> {
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
        if let Some(candidates) = completion::candidates(self.editor.before_cursor(), self.place) {
            let several = self.editor.complete(&candidates);
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
                Ok(command) => self.execute(command, reader, console).await,
                Err(why) => Err(Failure::Usage(why)),
            };
        }
        if line.is_empty() {
            if self.view.is_paused {
                self.resume(console).await?;
            } else if let Some(agent) = self.view.agent.clone().filter(|_| self.is_held()) {
                self.send(&agent.instance, "CONTINUE", Value::Null, console).await?;
            } else if self.view.activity.kind == ActivityKind::BackOff {
                self.retry(console).await?;
            }
            return Ok(None);
        }
        self.say(line, console).await.map(|()| None)
    }

    fn is_held(&self) -> bool {
        self.view.activity.kind == ActivityKind::Held
    }

    /// Sends a message: to the task, which passes it on, or to the agent if the task's chart takes none.
    pub(super) async fn say(&mut self, text: &str, console: &mut Console) -> Result<(), Failure> {
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
}
