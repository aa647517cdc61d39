//! `rawko init`: writes the files that agents need into a project, or a whole small project to try them in.

use std::path::{Path, PathBuf};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::hosting::{ProjectContext, StoreArgs};
use crate::setup;
use crate::templates::{self, CLAUDE_SETTINGS, DEMO_TASK, FileTemplate, SettingsTemplate, TemplateWrite};
use crate::trust;

const EXAMPLES: &str = "\
Writes `.rawko/`: settings (a model whose API key is set, and the checks found in the project), four
agents (planner, developer, tester, reviewer), a chart with scenarios, and a README. Existing files
are kept. On a terminal it asks for a provider and its API key if none is set, and tries the model
with one small request; the key is written to no file.

Examples:
  rawko init
  rawko init path/to/project
  rawko init --claude                          Claude Code plans, you approve, then it may edit
  rawko init --demo /tmp/slugs && cd /tmp/slugs && rawko check . && rawko test";

/// Set up a project for agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Project directory, created if missing
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Create a small demo project with scripted models instead
    #[arg(long)]
    demo: bool,

    /// Set up hooks for Claude Code: plan, approve, edit, test
    #[arg(long, conflicts_with = "demo")]
    claude: bool,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    if args.demo {
        return demo(&args.dir, console);
    }
    if args.claude {
        return claude(&args.dir, console);
    }
    let is_set = |key: &str| std::env::var_os(key).is_some_and(|value| !value.is_empty());
    let mut settings = SettingsTemplate::of(&args.dir, is_set);
    let is_new = !args.dir.join(".rawko/config.yaml").exists();
    let is_attended = is_new && setup::is_attended();
    let key = match is_attended && settings.key.is_none() {
        true => setup::ask(console)?,
        false => None,
    };
    if let Some(key) = &key {
        settings = settings.with_key(key.variable);
    }
    let files = templates::project(&settings);
    let wrote = write(&files, &args.dir, console)?;
    if wrote.is_empty() {
        console.note(TextStyle::Notice, "note", "already set up; nothing was changed");
        return Ok(CommandVerdict::Done);
    }
    trust_written(&args.dir, &wrote, console)?;
    if !settings.checks.iter().any(|check| check.decides) {
        let text = "no test command found; add one under `phases` in .rawko/config.yaml";
        console.note(TextStyle::Notice, "note", text);
    }
    if is_attended && settings.key.is_some() {
        setup::try_out(&args.dir, key.as_ref(), console)?;
    }
    if settings.key.is_none() {
        let text = format!(
            "no API key found; run `export {}=…`, or edit .rawko/config.yaml",
            SettingsTemplate::wanted_key()
        );
        console.note(TextStyle::Notice, "note", &text);
    }
    console.note(
        TextStyle::Good,
        "next",
        &format!("{}rawko doctor, then rawko task \"…\"", change_to(&args.dir)),
    );
    Ok(CommandVerdict::Done)
}

/// Sets up the hooks of Claude Code. They need no model of rawko's own.
fn claude(dir: &Path, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let settings =
        SettingsTemplate::of(dir, |key| std::env::var_os(key).is_some_and(|value| !value.is_empty()));
    let files = templates::claude(&settings);
    let mut wrote = write(&files, dir, console)?;
    let is_new = !dir.join(CLAUDE_SETTINGS).exists();
    let hooks = templates::add_hooks(dir)?;
    tell(hooks, &dir.join(CLAUDE_SETTINGS), console)?;
    // Settings of others are reviewed first: they may start programs.
    if hooks == TemplateWrite::Wrote && is_new {
        wrote.push(CLAUDE_SETTINGS);
    }
    if wrote.is_empty() && hooks == TemplateWrite::Kept {
        console.note(TextStyle::Notice, "note", "already set up; nothing was changed");
        return Ok(CommandVerdict::Done);
    }
    trust_written(dir, &wrote, console)?;
    if !settings.checks.iter().any(|check| check.decides) {
        let text = "no test command found; add one under `phases` in .rawko/config.yaml";
        console.note(TextStyle::Notice, "note", text);
    }
    let text = format!("{}claude, and approve its plan there or with `rawko approve`", change_to(dir));
    console.note(TextStyle::Good, "next", &text);
    Ok(CommandVerdict::Done)
}

fn demo(dir: &Path, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let files = templates::demo(dir)?;
    let wrote = write(&files, dir, console)?;
    trust_written(dir, &wrote, console)?;
    console.note(TextStyle::Good, "next", &format!("{}rawko task \"{DEMO_TASK}\"", change_to(dir)));
    Ok(CommandVerdict::Done)
}

/// Trusts the files that were written. Other files stay untrusted; a note names the next command.
pub(super) fn trust_written(dir: &Path, wrote: &[&str], console: &mut Console) -> Result<(), CommandFailure> {
    if let Err(CommandFailure::Usage(why) | CommandFailure::Invalid(why)) =
        trust::trust_written(dir, wrote.iter().copied())
    {
        let text = format!("the new files are not trusted yet: {why}; run `rawko trust`");
        console.note(TextStyle::Notice, "warning", &text);
        return Ok(());
    }
    if !ProjectContext::in_directory(dir, &StoreArgs::default())?.is_trusted()? {
        let text = "other files of this project are not trusted yet; review them with `rawko trust`";
        console.note(TextStyle::Notice, "note", text);
    }
    Ok(())
}

/// Writes the files, prints each, and returns the paths of the new ones.
fn write<'f>(
    files: &'f [FileTemplate],
    dir: &Path,
    console: &mut Console,
) -> Result<Vec<&'f str>, CommandFailure> {
    let mut wrote = Vec::new();
    for file in files {
        let written = file.write(dir)?;
        if written == TemplateWrite::Wrote {
            wrote.push(file.path);
        }
        tell(written, &dir.join(file.path), console)?;
    }
    Ok(wrote)
}

fn tell(written: TemplateWrite, path: &Path, console: &mut Console) -> Result<(), CommandFailure> {
    let (word, style) = match written {
        TemplateWrite::Wrote => ("wrote", TextStyle::Good),
        TemplateWrite::Kept => ("kept", TextStyle::Dim),
    };
    let word = console.paint(style, &format!("{word:<5}"));
    console.line(&format!("{word}  {}", files::shown(path)))
}

fn change_to(dir: &Path) -> String {
    if dir == Path::new(".") { String::new() } else { format!("cd {} && ", files::shown(dir)) }
}
