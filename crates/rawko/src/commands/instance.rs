//! `rawko instance`: exports an instance to a file and imports it into another store.

use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use rawko_agents::work::project_worktrees;
use rawko_host::Edition;
use rawko_store::{InstanceFamily, SqliteOptions, SqliteStore, Store};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::scenario::report::count;
use crate::{files, times};

const EXAMPLES: &str = "\
An export is one file of JSON lines (docs/formats/export.md): the instance and its children, with
charts, journals, snapshots, large values, audit log and running calls. Every record has a hash, and
so has the whole file; a modified file is rejected.

An export is a copy: the original instance continues. Cancel it before you continue the copy, or
both run. Import fails while a host uses the store (exit code 3); imported work continues when the
next host starts.

Examples:
  rawko instance export order-17 order-17.jsonl
  rawko instance import order-17.jsonl --store other.db
  rawko instance export order-17 | zstd > order-17.jsonl.zst";

/// Export an instance to a file, or import one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write an instance and its children to a file
    Export {
        /// Instance id
        id: String,
        /// File to write [default: standard output]
        file: Option<PathBuf>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Add an exported instance to the store
    Import {
        /// File to read, or `-` for standard input
        file: PathBuf,
        #[command(flatten)]
        store: StoreArgs,
    },
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    match &args.action {
        Action::Export { id, file, store } => {
            export(&ProjectContext::here(store)?, id, file.as_deref(), console)
        }
        Action::Import { file, store } => import(&ProjectContext::here(store)?, file, console),
    }
}

fn export(
    place: &ProjectContext,
    id: &str,
    file: Option<&Path>,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    place.insist_on_file("instance export")?;
    place.insist_on_store()?;
    let store =
        SqliteStore::open(&place.store, SqliteOptions { read_only: true, ..SqliteOptions::default() })?;
    let family = store.family(id)?.ok_or_else(|| {
        CommandFailure::Usage(format!("instance `{id}` not found; list instances with `rawko ps --all`"))
    })?;
    warn_of_worktrees(place, &family, console);
    let Some(file) = file.filter(|file| !files::is_stdin(file)) else {
        let mut text = Vec::new();
        family.write(&mut text, times::now_ms()).map_err(CommandFailure::Output)?;
        console.document(&String::from_utf8_lossy(&text))?;
        return Ok(CommandVerdict::Done);
    };
    let name = files::shown(file);
    let write = || {
        let mut out = BufWriter::new(File::create_new(file)?);
        family.write(&mut out, times::now_ms())?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    };
    write().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CommandFailure::Usage(format!("`{name}` exists; choose another name"))
        }
        io::ErrorKind::StorageFull => CommandFailure::Transient(format!("cannot write `{name}`: {error}")),
        _ => CommandFailure::Usage(format!("cannot write `{name}`: {error}")),
    })?;
    console.line(&format!("{name}: {}", counted(&family)))?;
    Ok(CommandVerdict::Done)
}

/// Names the worktrees that stay here: where the copy continues, `git:merge` takes a worktree that is not there for merged.
fn warn_of_worktrees(place: &ProjectContext, family: &InstanceFamily, console: &mut Console) {
    let trees = project_worktrees(&place.root, &place.settings).and_then(|worktrees| worktrees.all());
    let ids = family.ids();
    let own =
        trees.unwrap_or_default().into_iter().filter(|tree| ids.iter().any(|id| **id == *tree.instance));
    let names: Vec<String> = own.map(|tree| tree.name).collect();
    if !names.is_empty() {
        let text = format!(
            "files are not exported; merge the worktrees of the instance first: {}",
            names.join(", ")
        );
        console.note(TextStyle::Notice, "warning", &text);
    }
}

fn import(
    place: &ProjectContext,
    file: &Path,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    place.insist_on_file("instance import")?;
    let name = files::shown(file);
    let read = match files::is_stdin(file) {
        true => InstanceFamily::read(io::stdin().lock()),
        false => {
            let cannot = |error| CommandFailure::Usage(format!("cannot read `{name}`: {error}"));
            InstanceFamily::read(BufReader::new(File::open(file).map_err(cannot)?))
        }
    };
    let family = read.map_err(|error| CommandFailure::Invalid(format!("cannot import `{name}`: {error}")))?;
    insist_on_charts(&family, &name)?;
    place.make_state_directory()?;
    let _lock = place.hold_alone("instance import")?;
    let options =
        SqliteOptions { size_max_bytes: place.settings.store_size_max(), ..SqliteOptions::default() };
    let store = SqliteStore::open(&place.store, options)?;
    for id in family.ids() {
        if store.find(&id)?.is_some() {
            return Err(CommandFailure::Usage(format!(
                "instance `{id}` already exists in {}",
                place.shown()
            )));
        }
    }
    let counted = counted(&family);
    store.adopt(family)?;
    console.line(&format!("{}: {counted}", place.shown()))?;
    Ok(CommandVerdict::Done)
}

/// Fails unless each chart's text matches its hash.
fn insist_on_charts(family: &InstanceFamily, name: &str) -> Result<(), CommandFailure> {
    for chart in &family.charts {
        let edition = Edition::read(&chart.name, &chart.text)?;
        if edition.chart.hash() != chart.hash {
            let id = &chart.id;
            return Err(CommandFailure::Invalid(format!(
                "cannot import `{name}`: the text of chart `{id}` does not match its hash"
            )));
        }
    }
    for member in &family.members {
        if !family.charts.iter().any(|chart| chart.hash == member.new.chart) {
            let id = &member.new.id;
            return Err(CommandFailure::Invalid(format!(
                "cannot import `{name}`: the chart of instance `{id}` is missing"
            )));
        }
    }
    Ok(())
}

fn counted(family: &InstanceFamily) -> String {
    let records: usize = family.members.iter().map(|member| member.records.len()).sum();
    let records = count(records, "record");
    let first = family.members.first().map_or("", |root| &root.new.id);
    match family.members.len() {
        0 | 1 => format!("`{first}`, {records}"),
        2 => format!("`{first}` and 1 child, {records}"),
        all => format!("`{first}` and {} children, {records}", all - 1),
    }
}
