//! `rawko demo`: runs the whole loop on a small project of its own, offline. Uses only public commands: it writes the
//! project of `rawko init --demo` and runs `rawko task` in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rawko_host::Environment;
use rawko_process::{Confinement, Launch, Profile, ProgramStdin};

use super::init;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::hosting;
use crate::live_area::wrapped;
use crate::session;
use crate::templates::{self, DEMO_TASK, FileTemplate};
use crate::trust;

const EXAMPLES: &str = "\
Creates a small Python project with a failing test and runs a task in it: a planner, a developer, a
tester and a reviewer work until the tests pass. The models are scripted, so no API key and no
network are needed; the files, tools and test runs are real. Requires python3.

Examples:
  rawko demo
  rawko demo /tmp/slugs
  rawko demo --interactive";

/// Watch agents fix a small project (offline, no API key)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory for the project [default: a temporary directory]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Take part: answer, permit, pause, resume, undo (two minutes)
    #[arg(long)]
    interactive: bool,
}

/// The task's id, fixed so that the follow-up commands can be printed in advance.
const DEMO_ID: &str = "demo";
/// Ids that are tried if the directory had a demo before.
const IDS_MAX: usize = 1000;

/// Variables of the user's environment that would change the demo.
const OTHERS_SETTINGS: [&str; 2] = ["RAWKO_MODEL", "RAWKO_STORE"];

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let empty = temporary()?;
    let python = insist_on_python(&empty);
    if python.is_err() || args.dir.is_some() {
        // An empty directory that stays behind is no reason to fail.
        let _ = fs::remove_dir(&empty);
    }
    python?;
    let dir = args.dir.clone().unwrap_or(empty);
    let mut project = templates::demo(&dir)?;
    if args.interactive {
        insist_on_terminal()?;
        templates::interactive(&mut project);
    }
    for file in &project {
        file.write(&dir)?;
    }
    let paths: Vec<&str> = project.iter().map(|file| file.path).collect();
    init::trust_written(&dir, &paths, console)?;
    let shown = files::shown(&dir);
    console.paragraph(&format!("Created a small Python project with a failing test in {shown}."), 0)?;
    console.line("The models are scripted; the files, tools and test runs are real.")?;
    console.line("")?;
    let id = free_id(&dir)?;
    let command = console.paint(TextStyle::Bold, &format!("$ rawko task \"{DEMO_TASK}\" --id {id}"));
    console.paragraph(&command, 2)?;
    console.flush()?;
    let is_done = if args.interactive { take_part(&dir, &id, console)? } else { work(&dir, &id)? };
    console.line("")?;
    tell(&project, &dir, &id, is_done, console)?;
    Ok(if is_done { CommandVerdict::Done } else { CommandVerdict::Failed })
}

/// Returns an id that no instance has: the store outlives a directory that was removed.
fn free_id(dir: &Path) -> Result<String, CommandFailure> {
    let numbered = (2..IDS_MAX).map(|number| format!("{DEMO_ID}-{number}"));
    for id in std::iter::once(DEMO_ID.to_owned()).chain(numbered) {
        let shown = rawko(dir, &["show", &id])?.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if shown.map_err(cannot_start)?.code() != Some(0) {
            return Ok(id);
        }
    }
    Ok(DEMO_ID.to_owned())
}

fn insist_on_terminal() -> Result<(), CommandFailure> {
    if session::is_on_terminal() {
        return Ok(());
    }
    Err(CommandFailure::Usage("--interactive needs a terminal; run `rawko demo` without it".to_owned()))
}

/// The guide is at most this wide.
const GUIDE_COLUMNS: usize = 100;

/// Mark and text of each paragraph.
const GUIDE: [(&str, &str); 7] = [
    ("1. ", "The planner asks a question. Choose a number, or type an answer of your own, and press Enter."),
    ("2. ", "The developer thinks. Press Ctrl-C twice: the task pauses, and the demo resumes it."),
    (
        "3. ",
        "The developer wants to write a file. You see the diff: y allows it. Without the file these scripted models cannot continue.",
    ),
    ("4. ", "The tester wants to run the tests. `a` always allows this command. Enter confirms each choice."),
    (
        "5. ",
        "The developer corrects the file (y), then wants to commit. Deny that with r and a reason, which the model reads.",
    ),
    ("6. ", "At the end you see all changes, undo them, and restore them."),
    (
        "",
        "At any time: type a message, which the agent reads before its next completion; Ctrl-O prints the last tool \
         call in full; /diff, /undo, /cost and /help are commands.",
    ),
];

/// Prints the guide, wrapped between words.
fn print_guide(console: &mut Console) -> Result<(), CommandFailure> {
    console.line("What happens, and what you can do:")?;
    let columns = console.size().map_or(GUIDE_COLUMNS, |(columns, _)| columns.min(GUIDE_COLUMNS));
    for (mark, text) in GUIDE {
        for (number, line) in wrapped(text, columns.saturating_sub(3 + mark.len())).iter().enumerate() {
            let lead = if number == 0 { mark.to_owned() } else { " ".repeat(mark.len()) };
            console.line(&format!("  {lead}{line}"))?;
        }
    }
    Ok(())
}

/// Runs the task with the person at the terminal. Returns true if it succeeded.
fn take_part(dir: &Path, id: &str, console: &mut Console) -> Result<bool, CommandFailure> {
    console.line("")?;
    print_guide(console)?;
    console.line("")?;
    console.flush()?;
    let mut code = run_task(dir, &["task", DEMO_TASK, "--id", id], Stdio::inherit())?;
    while code == Some(PAUSED) {
        console.line("")?;
        console.line("The task is paused. Everything is stored; a reboot would lose nothing.")?;
        next(&["resume", id], "Press Enter to resume it, Ctrl-C to leave it paused.", console)?;
        code = run_task(dir, &["resume", id], Stdio::inherit())?;
    }
    if code == Some(0) {
        take_back(dir, id, console)?;
    } else {
        console.line("")?;
        console.paragraph(
            "The scripted models follow one path. To see its end, allow the changes of files and the tests.",
            0,
        )?;
    }
    Ok(code == Some(0))
}

/// Shows the changes of the task, undoes them and restores them.
fn take_back(dir: &Path, id: &str, console: &mut Console) -> Result<(), CommandFailure> {
    console.line("")?;
    console.paragraph(
        "Every call that changed files left a checkpoint, so the changes can be shown and undone.",
        0,
    )?;
    let walk: [(&[&str], &str); 3] = [
        (&["diff", id], "Press Enter to see what the task changed."),
        (&["undo", id], "Press Enter to undo it, Ctrl-C to keep it."),
        (&["undo", id, "--redo"], "Press Enter to restore it."),
    ];
    for (args, question) in walk {
        next(args, question, console)?;
        run_task(dir, args, Stdio::null())?;
        console.line("")?;
    }
    Ok(())
}

/// Prints the next command and waits for Enter.
fn next(args: &[&str], question: &str, console: &mut Console) -> Result<(), CommandFailure> {
    let command = console.paint(TextStyle::Bold, &format!("$ rawko {}", args.join(" ")));
    console.line(&command)?;
    console.prompt(question);
    console.flush()?;
    io::stdin().read_line(&mut String::new()).map(drop).map_err(CommandFailure::Output)
}

/// The exit code of a paused task.
const PAUSED: i32 = 130;

/// Fails early if Python is missing: the demo runs real tests, and a tester would report it only later. `project` is an
/// empty directory of its own: a Python inside the project would count as a file of the agents.
fn insist_on_python(project: &Path) -> Result<(), CommandFailure> {
    let launch = Launch {
        args: vec!["--version".to_owned()],
        inherited: Environment::of_process().all(),
        input: ProgramStdin::Null,
        ..Launch::new("python3", Profile::ReadOnly, Confinement::of_project(project.to_owned()))
    };
    let runs = hosting::block_on(async {
        let Ok(mut launched) = launch.start().await else { return Ok(false) };
        Ok(launched.child.wait().await.is_ok_and(|status| status.success()))
    })?;
    if runs {
        Ok(())
    } else {
        Err(CommandFailure::Usage("cannot run `python3`; the demo needs it for its tests".to_owned()))
    }
}

/// Creates a new, empty temporary directory.
fn temporary() -> Result<PathBuf, CommandFailure> {
    let base = std::env::temp_dir();
    let mut number = std::process::id();
    loop {
        let dir = base.join(format!("rawko-demo-{number}"));
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number = number.wrapping_add(1),
            Err(error) => {
                return Err(CommandFailure::Usage(format!(
                    "cannot create directory `{}`: {error}",
                    dir.display()
                )));
            }
        }
    }
}

/// Runs the task, which prints its own progress. Returns true if it succeeded.
fn work(dir: &Path, id: &str) -> Result<bool, CommandFailure> {
    Ok(run_task(dir, &["task", DEMO_TASK, "--id", id], Stdio::null())? == Some(0))
}

/// Runs a command of this binary in the project. Returns its exit code.
fn run_task(dir: &Path, args: &[&str], input: Stdio) -> Result<Option<i32>, CommandFailure> {
    Ok(rawko(dir, args)?.stdin(input).status().map_err(cannot_start)?.code())
}

fn cannot_start(error: io::Error) -> CommandFailure {
    CommandFailure::Failed(format!("cannot start `rawko`: {error}"))
}

/// Returns a command of this binary in the project, with the settings of the demo only.
fn rawko(dir: &Path, args: &[&str]) -> Result<Command, CommandFailure> {
    let mut task = Command::new(std::env::current_exe().map_err(cannot_start)?);
    task.args(args).current_dir(dir).stdin(Stdio::null());
    for name in OTHERS_SETTINGS {
        task.env_remove(name);
    }
    // Also if the state directory cannot be written.
    if let Ok(files) = trust::read(dir, true) {
        task.env("RAWKO_TRUST", files.hash());
    }
    // A directory that does not exist hides the user's own settings and agents from the demo.
    let settings = std::path::absolute(dir).map_err(cannot_start)?.join(".rawko").join("demo-user");
    task.env("XDG_CONFIG_HOME", settings);
    Ok(task)
}

fn tell(
    project: &[FileTemplate],
    dir: &Path,
    id: &str,
    is_done: bool,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let changed: Vec<&str> =
        project.iter().filter(|file| file.is_changed(dir)).map(|file| file.path).collect();
    let changed = if changed.is_empty() { "nothing".to_owned() } else { changed.join(" and ") };
    let ended = if is_done { "The task is complete." } else { "The task failed." };
    console.line(&format!("{ended} The agents changed {changed}."))?;
    console.line("See what they did:")?;
    console.line(&format!("  cd {}", dir.display()))?;
    if let Some(alias) = alias() {
        console.line(&format!("  {alias}"))?;
    }
    let (history, replay) = (format!("rawko history {id}"), format!("rawko replay {id} --decisions"));
    for (command, what) in [
        ("python3 -m unittest", "run the tests"),
        ("rawko ps --all", "list the task and its agent runs"),
        (history.as_str(), "print every step and what it changed"),
        (replay.as_str(), "show why each agent was selected"),
        ("rawko serve", "open everything on a web page"),
        ("rawko agents list", "list the agents; .rawko/README.md explains how to edit them"),
    ] {
        console.paragraph(&format!("  {command:<30} {what}"), 33)?;
    }
    console.line("To start with your own project and model: rawko init")
}

/// Returns the command that makes `rawko` run this binary, unless it already does.
fn alias() -> Option<String> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut named = std::env::split_paths(&paths).map(|folder| folder.join("rawko"));
    let is_own = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == own);
    let first = named.find(|path| path.is_file());
    (!first.is_some_and(|path| is_own(&path))).then(|| format!("alias rawko={}", own.display()))
}
