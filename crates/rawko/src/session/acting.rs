//! What the person does in a session: keys, answers, messages and commands become requests to the host.

use std::time::Instant;

use rawko_core::Value;
use rawko_host::{Reader, Receipt};

use super::commands::Command;
use super::completion;
use super::keys::{Key, KeyPress};
use super::prompt::{Pressed, Prompt, Reply};
use super::view::ActivityKind;
use super::{Left, Session};
use crate::commands::answer::allow_always;
use crate::console::{Console, Style};
use crate::failure::Failure;
use crate::hosting::Request;

impl Session<'_> {
    /// Handles a key. Returns the reason if the session ends.
    pub(super) async fn press(
        &mut self,
        KeyPress { key, at }: KeyPress,
        reader: &Reader,
        console: &mut Console,
    ) -> Result<Option<Left>, Failure> {
        self.notice = None;
        if key != Key::Ctrl('o') {
            self.scroll.forget_opened();
        }
        match self.press_prompt(&key, at) {
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
        match key {
            Key::Ctrl('c') => return self.interrupt(console).await,
            Key::Escape => {
                let outcome = self.stop_turn(console).await;
                return self.told(outcome.map(|()| None));
            }
            Key::Tab => self.complete(),
            Key::Enter => {
                let line = self.editor.take();
                if std::mem::take(&mut self.is_draft) {
                    self.typed = Some(at);
                }
                let outcome = self.enter(line.trim(), reader, console).await;
                return self.told(outcome);
            }
            Key::Ctrl('o') if let Some(prompt) = &self.prompt => {
                let lines = prompt.whole(self.size.0, console);
                self.scroll.print_request(&lines, console)?;
            }
            Key::Ctrl('o') => {
                let outcome = self.open(None, console);
                return self.told(outcome.map(|()| None));
            }
            Key::Ctrl('z') => self.suspend(console).await?,
            Key::Ctrl('l') | Key::Ctrl('d') => {}
            other => {
                let was_draft = self.is_draft;
                self.editor.press(&other);
                self.is_draft = self.is_message();
                if was_draft || self.is_draft {
                    self.typed = Some(at);
                }
            }
        }
        Ok(None)
    }

    /// Hands a key to the shown request, if the person can have meant it.
    fn press_prompt(&mut self, key: &Key, at: Instant) -> Pressed {
        let Some(prompt) = &mut self.prompt else { return Pressed::Ignored };
        let is_text = !self.editor.is_empty();
        let is_begun = prompt.is_engaged() || (is_text && prompt.takes_text());
        if !self.is_draft && (is_begun || prompt.is_ready(at, self.typed)) {
            let pressed = prompt.press(key, &mut self.editor);
            if pressed != Pressed::Ignored {
                return pressed;
            }
        } else if !is_text && prompt.has_list() && matches!(key, Key::Up | Key::Down) {
            return Pressed::Handled;
        } else if !is_text && matches!(key, Key::Char(_) | Key::Paste(_)) {
            // Begun before the request could be read.
            self.is_draft = true;
        }
        if *key != Key::Enter {
            return Pressed::Ignored;
        }
        if is_text && prompt.is_choice(self.editor.text().trim()) {
            let text = self.editor.text().trim().to_owned();
            self.editor.clear();
            self.is_draft = false;
            self.typed = Some(at);
            let why = format!("`{text}` was not typed as an answer; press it again to choose it");
            return Pressed::Problem(why);
        }
        if !is_text && !self.view.is_paused {
            return Pressed::Problem("choose or type an answer, then press Enter".to_owned());
        }
        Pressed::Ignored
    }

    /// Returns true if the input line holds a message to the agents: Enter sends it, and answers nothing.
    pub(super) fn is_message(&self) -> bool {
        let is_reply = |prompt: &Prompt| !self.is_draft && prompt.takes_text();
        !self.editor.is_empty() && !self.prompt.as_ref().is_some_and(is_reply)
    }

    /// Shows another request, or none. A text that was begun for the one before answers no other.
    pub(super) fn show(&mut self, prompt: Option<Prompt>) {
        let before = std::mem::replace(&mut self.prompt, prompt);
        if before.is_some_and(|before| before.is_choice(self.editor.text())) {
            self.editor.clear();
        }
        self.is_draft = !self.editor.is_empty();
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
            asked_ms: Some(prompt.ask.since_ms),
            approved: reply.approved,
            by: None,
            comment: reply.comment,
            data: reply.data,
        };
        let outcome = self.ask(request, console).await.map(drop);
        if outcome.is_err() {
            // The request is shown again if it is still open.
            self.looked_at = None;
        }
        outcome
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
            let next = asks.get((place + 1) % asks.len()).map(Prompt::of);
            self.show(next);
        }
    }

    /// Handles the input line: a command, or a message to the agents.
    async fn enter(
        &mut self,
        line: &str,
        reader: &Reader,
        console: &mut Console,
    ) -> Result<Option<Left>, Failure> {
        if Command::is_meant(line) {
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
