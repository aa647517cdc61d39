//! `rawko init` on a terminal: asks for a provider and its API key, and tries them with one small request. The key is
//! kept in memory only: no file of the project or the user gets it.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::Path;

use rawko_model::provider::Providers;
use rawko_settings::Environment;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Editor, Helper};

use crate::console::{Console, TextStyle};
use crate::doctor::models::try_model;
use crate::failure::CommandFailure;
use crate::hosting;
use crate::templates::SettingsTemplate;

/// A provider's variable, and the key that was typed for it.
pub(crate) struct ProviderKey {
    pub(crate) variable: &'static str,
    value: String,
}

/// Returns true if a person can be asked.
pub(crate) fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for a provider and a key. `None`: the person skipped it.
pub(crate) fn ask(console: &mut Console) -> Result<Option<ProviderKey>, CommandFailure> {
    let choices = SettingsTemplate::providers();
    console.line("Which provider should agents use? Its API key stays on this machine.")?;
    for (number, (variable, model)) in choices.iter().enumerate() {
        console.line(&format!("  {}  {:<42} {variable}", number + 1, model))?;
    }
    console.flush()?;
    let mut editor = editor()?;
    let chosen = loop {
        let Some(line) = answer(&mut editor, "number, or Enter to skip: ")? else { return Ok(None) };
        match line.trim().parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?)) {
            Some((variable, _)) => break *variable,
            None => console.line(&format!("enter a number from 1 to {}", choices.len()))?,
        }
        console.flush()?;
    };
    editor.set_helper(Some(Mask));
    let value = answer(&mut editor, &format!("{chosen}: "))?;
    Ok(value.map(|value| ProviderKey { variable: chosen, value: value.trim().to_owned() }))
}

/// Asks the default model of a project one small question, with a key that was typed or is set, and prints the result.
pub(crate) fn try_out(
    dir: &Path,
    key: Option<&ProviderKey>,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let mut all = Environment::of_process().all();
    all.extend(key.map(|key| (key.variable.to_owned(), key.value.clone())));
    let environment: Environment = all.into_iter().collect();
    let (settings, _) = rawko_host::Settings::read_in(dir, &environment);
    let (providers, _) = Providers::of_settings(&settings, dir);
    let model = providers.default_model().unwrap_or_default().to_owned();
    console.note(TextStyle::Dim, "trying", &format!("one small request to {model}"));
    let tried = hosting::block_on(async { Ok(try_model(&providers, "default").await) })?;
    match tried {
        Ok(_) => console.note(TextStyle::Good, "ok", &format!("{model} answers")),
        Err(why) => console.note(TextStyle::Bad, "warning", &format!("{model}: {why}")),
    }
    if let Some(key) = key {
        let text = format!("rawko stores no key; set it in your shell: export {}=…", key.variable);
        console.note(TextStyle::Notice, "note", &text);
    }
    Ok(())
}

fn editor() -> Result<Editor<Mask, MemHistory>, CommandFailure> {
    let config = Config::builder().build();
    Editor::with_history(config, MemHistory::new())
        .map_err(|error| CommandFailure::Failed(format!("cannot use the terminal: {error}")))
}

/// Reads a line; `None` if it is empty or the person leaves.
fn answer(editor: &mut Editor<Mask, MemHistory>, prompt: &str) -> Result<Option<String>, CommandFailure> {
    match editor.readline(prompt) {
        Ok(line) => Ok(Some(line).filter(|line| !line.trim().is_empty())),
        Err(ReadlineError::Eof) => Ok(None),
        Err(ReadlineError::Interrupted) => Err(CommandFailure::Interrupted),
        Err(error) => Err(CommandFailure::Failed(format!("cannot read from the terminal: {error}"))),
    }
}

/// Shows a typed key as stars.
struct Mask;

impl Highlighter for Mask {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Completer for Mask {
    type Candidate = String;
}

impl Hinter for Mask {
    type Hint = String;
}

impl Validator for Mask {}
impl Helper for Mask {}
