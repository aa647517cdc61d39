//! `rawko trust`: shows what files of a project start and instruct, and records that the person trusts them.

use std::path::{Path, PathBuf};

use rawko_programs::checks::{Custodies, Doubts, HiddenFailures};
use rawko_settings::{Environment, StateDir};
use serde_json::{Value as Json, json};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::hosting::{ProjectContext, StoreArgs};
use crate::project::LoadedProject;
use crate::times;
use crate::trust::{self, AuthorityFiles, TrustRecord, TrustStanding};

const EXAMPLES: &str = "\
Files of a project that carry authority are used only after you trusted their content: `.rawko`,
`.claude`, `.mcp.json`, AGENTS.md, CLAUDE.md, registered charts, programs that settings start, git
hooks, and commands in git's configuration. Without trust, commands that start or send anything
stop with exit code 52; `check`, `simulate`, `test`, `graph`, `show`, `ps` and the like need none.

A change of these files asks again, with a diff. Records are kept in the user's state directory
(RAWKO_STATE_DIR). In CI, set RAWKO_TRUST to the hash that this command prints.

Examples:
  rawko trust
  rawko trust --yes
  rawko trust --list
  rawko trust --revoke";

/// Review and trust the files of a project that start programs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Project directory
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Trust the current content without asking
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,

    /// List trusted projects
    #[arg(long, conflicts_with = "revoke")]
    list: bool,

    /// Stop trusting the project
    #[arg(long)]
    revoke: bool,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    if args.list {
        return list(args.json, console);
    }
    if !args.dir.is_dir() {
        return Err(CommandFailure::Usage(format!("`{}` is not a directory", files::shown(&args.dir))));
    }
    if args.revoke {
        return revoke(args, console);
    }
    if args.yes && trust::is_in_call() {
        let help = "run it in your own shell";
        return Err(CommandFailure::Invalid(format!(
            "a command of an agent or service cannot trust a project; {help}"
        )));
    }
    let place = ProjectContext::in_directory(&args.dir, &StoreArgs::default())?;
    let files = place.authority_files()?;
    let standing = trust::standing(&place.root, files)?;
    if !args.json && !matches!(standing, TrustStanding::Differs(_)) {
        trust::grants(files, console);
    }
    let verdict = match &standing {
        TrustStanding::Empty | TrustStanding::Trusted if !args.yes => CommandVerdict::Done,
        TrustStanding::Empty => CommandVerdict::Done,
        // Recorded also if only the environment trusts it.
        TrustStanding::Trusted => save(&place.root, files)?,
        TrustStanding::Differs(differences) => {
            if !args.json {
                trust::review(&place.root, files, differences, console)?;
            }
            let is_agreed = args.yes || (!args.json && trust::is_interactive() && trust::ask(console)?);
            match is_agreed {
                true => save(&place.root, files)?,
                false if args.json => CommandVerdict::Invalid,
                false => return Err(trust::untrusted(differences, files)),
            }
        }
    };
    tell(&place.root, files, &standing, verdict, args.json, console)?;
    if !args.json {
        settle_doubts(&place.root, args.yes, console)?;
    }
    Ok(verdict)
}

/// Names what agents left changed of the project's checks, and accepts it with `--yes`.
fn settle_doubts(root: &Path, is_accepted: bool, console: &mut Console) -> Result<(), CommandFailure> {
    let Ok(state) = StateDir::of(&Environment::of_process()) else { return Ok(()) };
    let folder = state.project(root);
    let doubts = Doubts::read(&folder);
    let unfixed = HiddenFailures::read(&folder, root);
    let mut names: Vec<&str> = doubts.names().chain(unfixed.iter().flat_map(HiddenFailures::names)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Ok(());
    }
    if is_accepted {
        let kept = Custodies::new(&folder).accept(root).and_then(|()| Doubts::default().keep(&folder));
        let kept = kept.and_then(|()| HiddenFailures::remove(&folder));
        kept.map_err(|error| CommandFailure::Failed(format!("{}: {error}", files::shown(&folder))))?;
        return console.line(&format!("accepted: {}", names.join(", ")));
    }
    let text = format!(
        "agents changed what checks depend on: {}; accept it with `rawko trust --yes`",
        names.join(", ")
    );
    console.note(TextStyle::Notice, "note", &text);
    Ok(())
}

fn save(root: &Path, files: &AuthorityFiles) -> Result<CommandVerdict, CommandFailure> {
    trust::trust(root, files)?;
    Ok(CommandVerdict::Done)
}

fn tell(
    root: &Path,
    files: &AuthorityFiles,
    standing: &TrustStanding,
    verdict: CommandVerdict,
    json: bool,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let count = files.iter().count();
    if !json {
        return match count {
            0 => console.line("nothing to trust: no file of this project starts or instructs anything"),
            1 => console.line(&format!("trusted: 1 file, hash {}", files.hash())),
            _ => console.line(&format!("trusted: {count} files, hash {}", files.hash())),
        };
    }
    let differences = match standing {
        TrustStanding::Differs(differences) => differences.as_slice(),
        TrustStanding::Empty | TrustStanding::Trusted => &[],
    };
    let state = |path: &str| {
        let found = differences.iter().find(|(known, _)| known == path);
        found.map_or("same", |(_, difference)| difference.as_str())
    };
    let current = files.iter().map(|(path, _)| path);
    let removed = differences.iter().map(|(path, _)| path.as_str()).filter(|path| files.get(path).is_none());
    let all: Vec<Json> =
        current.chain(removed).map(|path| json!({"path": path, "state": state(path)})).collect();
    let starts: Vec<Json> = trust::starts(files)
        .iter()
        .map(|start| json!({"kind": start.kind, "name": start.name, "command": start.words}))
        .collect();
    let project = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    console.line(&format!(
        "{:#}",
        json!({
            "v": 1,
            "project": project.display().to_string(),
            "trusted": verdict == CommandVerdict::Done,
            "hash": files.hash(),
            "files": all,
            "starts": starts,
        })
    ))
}

fn revoke(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let root = LoadedProject::home_above(&args.dir).unwrap_or_else(|| args.dir.clone());
    let was_trusted = TrustRecord::remove(&root)?;
    if args.json {
        console.line(&format!("{:#}", json!({"v": 1, "trusted": false, "revoked": was_trusted})))?;
    } else {
        console.line(if was_trusted { "no longer trusted" } else { "this project was not trusted" })?;
    }
    Ok(CommandVerdict::Done)
}

fn list(json: bool, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let all = TrustRecord::all()?;
    if json {
        let all: Vec<Json> = all.iter().map(|record| {
            json!({"project": record.project.display().to_string(), "trusted_ms": record.trusted_ms, "state": state(record)})
        }).collect();
        console.line(&format!("{:#}", json!({"v": 1, "projects": all})))?;
        return Ok(CommandVerdict::Done);
    }
    if all.is_empty() {
        console.note(TextStyle::Dim, "note", "no trusted projects");
    }
    for record in &all {
        let word = console.paint(TextStyle::Dim, &format!("{:<8}", state(record)));
        let moment = times::moment(record.trusted_ms);
        console.line(&format!("{word}  {moment}  {}", record.project.display()))?;
    }
    Ok(CommandVerdict::Done)
}

/// Returns the current relation of a project to its record.
fn state(record: &TrustRecord) -> &'static str {
    if !record.project.is_dir() {
        return "missing";
    }
    let place = ProjectContext::in_directory(&record.project, &StoreArgs::default());
    let differs = place.and_then(|place| Ok(record.differences(place.authority_files()?).is_empty()));
    match differs {
        Ok(true) => "trusted",
        Ok(false) | Err(_) => "changed",
    }
}
