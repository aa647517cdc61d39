//! What the person does in a session: keys, answers, messages and commands become requests to the host.

use std::time::Instant;

use rawko_core::Value;
use rawko_host::{Receipt, SnapshotReader};

use super::commands::SlashCommand;
use super::external_editor;
use super::keys::{KeyPress, TerminalKey};
use super::prompt::{KeyResult, PromptReply, RequestPrompt};
use super::terminal::{self, HeldKeys};
use super::typing::InputKey;
use super::view::ActivityKind;
use super::{SessionEnd, TerminalSession};
use crate::commands::answer::allow_always;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::hosting::SocketRequest;

impl TerminalSession<'_> {
    /// Handles a key. Returns the reason if the session ends.
    pub(super) async fn press(
        &mut self,
        KeyPress { key, at }: KeyPress,
        reader: &SnapshotReader,
        console: &mut Console,
    ) -> Result<Option<SessionEnd>, CommandFailure> {
        self.notice = None;
        self.bell.typed = at;
        if key != TerminalKey::Ctrl('o') {
            self.scroll.forget_opened();
        }
        let stops = matches!(key, TerminalKey::Escape | TerminalKey::Ctrl('c'));
        if self.shell.is_some() && stops && !self.input.menu.is_open() {
            self.stop_shell(console)?;
            return Ok(None);
        }
        if self.input.press(&key, self.place) == InputKey::Handled {
            self.note_draft(self.is_draft, at);
            return Ok(None);
        }
        match self.press_prompt(&key, at) {
            KeyResult::Ignored => {}
            KeyResult::Handled => return Ok(None),
            KeyResult::Problem(why) => {
                self.notice = Some(why);
                return Ok(None);
            }
            KeyResult::Answer(reply) => {
                let outcome = self.answer(reply, console).await;
                return self.told(outcome.map(|()| None));
            }
        }
        match key {
            TerminalKey::Ctrl('c') => return self.interrupt(console).await,
            TerminalKey::Escape => {
                let outcome = self.stop_turn(console).await;
                return self.told(outcome.map(|()| None));
            }
            TerminalKey::Tab => self.show_next(),
            TerminalKey::Enter if self.input.breaks_line() => self.note_draft(self.is_draft, at),
            TerminalKey::Enter => {
                self.input.offer_nothing();
                let line = self.input.editor.take();
                if std::mem::take(&mut self.is_draft) {
                    self.typed = Some(at);
                }
                let outcome = self.enter(line.trim(), reader, console).await;
                return self.told(outcome);
            }
            TerminalKey::Ctrl('o') if let Some(prompt) = &self.prompt => {
                let lines = prompt.whole(self.size.0, console);
                self.scroll.print_request(&lines, console)?;
            }
            TerminalKey::Ctrl('o') => {
                let outcome = self.open(None, console);
                return self.told(outcome.map(|()| None));
            }
            TerminalKey::Ctrl('z') => self.suspend(console).await?,
            TerminalKey::Ctrl('l') => console.clear_screen()?,
            TerminalKey::Ctrl('d') if self.input.editor.is_empty() => {
                let outcome = self.execute(SlashCommand::Exit, reader, console).await;
                return self.told(outcome);
            }
            TerminalKey::Ctrl('g') => {
                self.edit_text(console).await?;
                self.note_draft(self.is_draft, at);
            }
            other => {
                let was_draft = self.is_draft;
                self.input.editor.press(&other);
                self.input.offer(self.place);
                self.note_draft(was_draft, at);
            }
        }
        Ok(None)
    }

    /// Notes whether the text is a message, and when it was typed.
    fn note_draft(&mut self, was_draft: bool, at: Instant) {
        self.is_draft = self.is_message();
        if was_draft || self.is_draft {
            self.typed = Some(at);
        }
    }

    /// Lets the person write the text in an editor.
    async fn edit_text(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        let text = self.input.editor.text().to_owned();
        console.end_live();
        let held = HeldKeys::new();
        terminal::leave();
        let edited = tokio::task::spawn_blocking(move || external_editor::edit(&text)).await;
        drop(held);
        self.return_to_terminal(console)?;
        match edited {
            Ok(Ok(text)) => self.input.editor.set(text),
            Ok(Err(error)) => self.notice = Some(error.to_string()),
            Err(error) => self.notice = Some(error.to_string()),
        }
        Ok(())
    }

    /// Hands a key to the shown request, if the person can have meant it.
    fn press_prompt(&mut self, key: &TerminalKey, at: Instant) -> KeyResult {
        // A command answers nothing, also where text would be the answer.
        if *key == TerminalKey::Enter && self.is_command() {
            return KeyResult::Ignored;
        }
        let Some(prompt) = &mut self.prompt else { return KeyResult::Ignored };
        let is_text = !self.input.editor.is_empty();
        let is_begun = prompt.is_engaged() || (is_text && prompt.takes_text());
        if !self.is_draft && (is_begun || prompt.is_ready(at, self.typed)) {
            let pressed = prompt.press(key, &mut self.input.editor);
            if pressed != KeyResult::Ignored {
                return pressed;
            }
        } else if !is_text && prompt.has_list() && matches!(key, TerminalKey::Up | TerminalKey::Down) {
            return KeyResult::Handled;
        } else if !is_text
            && matches!(key, TerminalKey::Char(_) | TerminalKey::Paste(_) | TerminalKey::Newline)
        {
            // Begun before the request could be read.
            self.is_draft = true;
        }
        if *key != TerminalKey::Enter {
            return KeyResult::Ignored;
        }
        if is_text && prompt.is_choice(self.input.editor.text().trim()) {
            let text = self.input.editor.text().trim().to_owned();
            self.input.editor.clear();
            self.is_draft = false;
            self.typed = Some(at);
            let why = format!("`{text}` was not typed as an answer; press it again to choose it");
            return KeyResult::Problem(why);
        }
        if !is_text && !self.view.is_paused {
            return KeyResult::Problem("choose or type an answer, then press Enter".to_owned());
        }
        KeyResult::Ignored
    }

    /// Returns true if the input line holds a message to the agents: Enter sends it, and answers nothing.
    pub(super) fn is_message(&self) -> bool {
        let is_reply = |prompt: &RequestPrompt| !self.is_draft && prompt.takes_text();
        !self.input.editor.is_empty() && !self.prompt.as_ref().is_some_and(is_reply)
    }

    /// Returns true if the input line holds a command of the session, or one for the shell.
    pub(super) fn is_command(&self) -> bool {
        let text = self.input.editor.text();
        SlashCommand::is_known(text) || shell_command(text).is_some()
    }

    /// Shows another request, or none. A text that was begun for the one before answers no other.
    pub(super) fn show(&mut self, prompt: Option<RequestPrompt>) {
        if prompt.is_some() {
            self.bell.need();
        }
        let before = std::mem::replace(&mut self.prompt, prompt);
        if before.is_some_and(|before| before.is_choice(self.input.editor.text())) {
            self.input.editor.clear();
        }
        self.is_draft = !self.input.editor.is_empty();
    }

    /// A refused request is a notice, not the end of the session.
    fn told(
        &mut self,
        outcome: Result<Option<SessionEnd>, CommandFailure>,
    ) -> Result<Option<SessionEnd>, CommandFailure> {
        match outcome {
            Err(
                CommandFailure::Failed(why)
                | CommandFailure::Usage(why)
                | CommandFailure::Invalid(why)
                | CommandFailure::Transient(why),
            ) => {
                self.notice = Some(why);
                Ok(None)
            }
            other => other,
        }
    }

    pub(super) async fn ask(
        &self,
        request: SocketRequest,
        console: &mut Console,
    ) -> Result<Receipt, CommandFailure> {
        self.messenger.ask(self.place, request, console).await
    }

    pub(super) async fn send(
        &self,
        to: &str,
        event: &str,
        data: Value,
        console: &mut Console,
    ) -> Result<Receipt, CommandFailure> {
        let request = SocketRequest::Send { id: to.to_owned(), event: event.to_owned(), data, key: None };
        self.ask(request, console).await
    }

    async fn answer(&mut self, reply: PromptReply, console: &mut Console) -> Result<(), CommandFailure> {
        let Some(prompt) = &self.prompt else { return Ok(()) };
        if reply.always {
            let added = allow_always(self.place, &prompt.ask)?;
            self.scroll.say("added", &added, TextStyle::Notice, console)?;
        }
        let Some(mut prompt) = self.prompt.take() else { return Ok(()) };
        let request = SocketRequest::Answer {
            id: prompt.ask.instance.to_string(),
            ask: Some(prompt.ask.invoke.clone()),
            asked_ms: Some(prompt.ask.since_ms),
            approved: reply.approved,
            by: None,
            comment: reply.comment,
            data: reply.data,
        };
        let outcome = match self.view.is_paused {
            true => Err(CommandFailure::Usage("the task is paused: /resume, then answer".to_owned())),
            false => self.ask(request, console).await.map(drop),
        };
        if outcome.is_err() {
            // The request is shown again if it is still open.
            self.looked_at = None;
            if prompt.begin_again(&mut self.input.editor) {
                self.prompt = Some(prompt);
            }
        }
        outcome
    }

    /// Ctrl-C pauses the task, and leaves if it is paused already.
    async fn interrupt(&mut self, console: &mut Console) -> Result<Option<SessionEnd>, CommandFailure> {
        if !self.is_own {
            return Ok(Some(SessionEnd::Detached));
        }
        if self.view.is_paused {
            return Ok(Some(SessionEnd::Paused));
        }
        match self.pause(console).await {
            Ok(()) => self.view.is_paused = true,
            // It ended meanwhile; the session ends by itself.
            Err(CommandFailure::Failed(why)) => self.notice = Some(why),
            Err(failure) => return Err(failure),
        }
        Ok(None)
    }

    pub(super) async fn pause(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        self.ask(SocketRequest::Pause { id: self.id.clone() }, console).await.map(drop)
    }

    pub(super) async fn resume(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        self.ask(SocketRequest::Resume { id: self.id.clone() }, console).await?;
        self.view.is_paused = false;
        Ok(())
    }

    /// Stops the completion or the calls of the agent, which then waits for a message. Other work is paused.
    async fn stop_turn(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        if self.view.is_paused || self.view.activity.kind == ActivityKind::Held {
            return Ok(());
        }
        if let Some(agent) = &self.view.agent
            && self.view.can_stop_turn()
        {
            let agent = agent.instance.to_string();
            if self.send(&agent, "INTERRUPT", Value::Null, console).await.is_ok_and(|receipt| receipt.handled)
            {
                return Ok(());
            }
        }
        self.pause(console).await
    }

    /// Shows the next request.
    fn show_next(&mut self) {
        let asks = &self.view.asks;
        let shown = self.prompt.as_ref().and_then(|prompt| asks.iter().position(|ask| prompt.is(ask)));
        if let Some(place) = shown.filter(|_| asks.len() > 1) {
            let next = asks.get((place + 1) % asks.len()).map(RequestPrompt::of);
            self.show(next);
        }
    }

    /// Handles the input line: a command, or a message to the agents.
    async fn enter(
        &mut self,
        line: &str,
        reader: &SnapshotReader,
        console: &mut Console,
    ) -> Result<Option<SessionEnd>, CommandFailure> {
        if let Some(command) = shell_command(line) {
            return self.start_shell(command, console).map(|()| None);
        }
        if SlashCommand::is_meant(line) {
            let command = SlashCommand::read(line).map_err(CommandFailure::Usage)?;
            if command != SlashCommand::Exit {
                self.scroll.tell_command(line, console)?;
            }
            return self.execute(command, reader, console).await;
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
    pub(super) async fn say(&mut self, text: &str, console: &mut Console) -> Result<(), CommandFailure> {
        let data = Value::map([("text", Value::str(text))]);
        let is_paused = self.view.is_paused;
        let receipt = self.send(&self.id, "MESSAGE", data.clone(), console).await?;
        if !receipt.handled && !receipt.queued {
            let Some(agent) = self.view.agent.clone() else {
                return Err(CommandFailure::Failed("no agent takes messages now".to_owned()));
            };
            let receipt = self.send(&agent.instance, "MESSAGE", data, console).await?;
            if !receipt.handled && !receipt.queued {
                return Err(CommandFailure::Failed(format!("{} takes no messages now", agent.name)));
            }
        }
        if is_paused {
            self.resume(console).await?;
        }
        Ok(())
    }
}

/// Returns the command of a line such as `!ls`.
fn shell_command(line: &str) -> Option<&str> {
    line.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty())
}
