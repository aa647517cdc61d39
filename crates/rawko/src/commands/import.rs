//! `rawko import`: converts charts of other tools to our format, exactly or not at all.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use rawko_chart::{Registry, Severity, SourceFile};
use rawko_import::{self as import, ImportOptions, ImportResult, NoteKind, SourceLanguage};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;

const EXAMPLES: &str = "\
Formats: scxml (SCXML), xstate (JSON of a machine's config), langgraph (JSON of
`graph.get_graph().to_json()`), dot (Graphviz DOT of agent pipelines). A construct without an exact
equivalent is refused with its line; --partial writes the chart without it. Nested charts are
written to separate files next to the output file.

Examples:
  rawko import player.scxml -o player.yaml
  rawko import machine.json --from xstate > machine.yaml
  rawko import pipeline.dot -o pipeline.yaml
  python -c 'import app, json; print(json.dumps(app.graph.get_graph().to_json()))' |
    rawko import - --from langgraph -o graph.yaml
  curl -s https://example.org/player.scxml | rawko import - --from scxml";

/// Convert SCXML, XState, LangGraph or DOT to a rawko chart
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File to convert, or `-` for standard input
    file: PathBuf,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Input format [default: by content]
    #[arg(long, value_name = "FORMAT")]
    from: Option<ImportFormat>,

    /// Write the chart even if constructs are not carried over
    #[arg(long)]
    partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ImportFormat {
    Scxml,
    Xstate,
    Langgraph,
    Dot,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let shown = files::shown(&args.file);
    let refused = |reason: String| CommandFailure::Invalid(format!("cannot import `{shown}`: {reason}"));
    let text = import::decode(&files::read(&args.file)?).map_err(|error| refused(error.to_string()))?;
    let stem = args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let folder = args.file.parent().unwrap_or(Path::new("")).to_owned();
    let beside = |path: &str| file_beside(&folder, path);
    let options = ImportOptions {
        id: stem.as_deref().filter(|_| !files::is_stdin(&args.file)),
        file: Some(&beside),
        exact_events: false,
    };
    let language = args.from.map(|format| match format {
        ImportFormat::Scxml => SourceLanguage::Scxml,
        ImportFormat::Xstate => SourceLanguage::Xstate,
        ImportFormat::Langgraph => SourceLanguage::Langgraph,
        ImportFormat::Dot => SourceLanguage::Dot,
    });
    let imported = match language {
        None => import::import(&text, options),
        Some(language) => import::import_as(language, &text, options),
    };
    let imported = imported.map_err(|error| refused(error.to_string()))?;
    for note in &imported.notes {
        console.note(TextStyle::Notice, "note", &format!("{shown}, {note}"));
    }
    let lost = imported.notes.iter().filter(|note| note.kind == NoteKind::Lost).count();
    if lost > 0 && !args.partial {
        let constructs = if lost == 1 { "1 construct has" } else { &format!("{lost} constructs have") };
        return Err(refused(format!(
            "{constructs} no exact equivalent (see the notes); pass --partial to write the chart without"
        )));
    }
    check_loads(&imported).map_err(refused)?;
    match &args.output {
        Some(output) => write_files(output, &imported, console),
        None => write_stdout(&imported, console),
    }?;
    Ok(CommandVerdict::Done)
}

/// No import writes a chart that does not load.
fn check_loads(imported: &ImportResult) -> Result<(), String> {
    let main = (&imported.id, &imported.yaml);
    let nested = imported.charts.iter().map(|chart| (&chart.id, &chart.yaml));
    for (id, yaml) in std::iter::once(main).chain(nested) {
        let loaded = rawko_chart::load(&SourceFile::new(id.as_str(), yaml.as_str()), &Registry::default());
        if loaded.chart.is_none() {
            let fatal = loaded.findings.iter().find(|finding| finding.severity == Severity::Fatal);
            let reason = fatal.map_or("it cannot be compiled", |finding| finding.message.as_str());
            return Err(format!("the chart `{id}` would not load: {reason}"));
        }
    }
    Ok(())
}

/// Reads a file that the imported document refers to. Only files beside it or below: the document may be untrusted.
fn file_beside(folder: &Path, path: &str) -> Option<String> {
    let path = Path::new(path.strip_prefix("file:").unwrap_or(path));
    let stays_below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays_below {
        return None;
    }
    import::decode(&files::read(&folder.join(path)).ok()?).ok()
}

fn write_files(output: &Path, imported: &ImportResult, console: &mut Console) -> Result<(), CommandFailure> {
    files::write_text(output, &imported.yaml)?;
    console.note(TextStyle::Good, "wrote", &output.display().to_string());
    for chart in &imported.charts {
        let path = output.with_file_name(format!("{}.yaml", file_stem_for(&chart.id)));
        files::write_text(&path, &chart.yaml)?;
        console.note(TextStyle::Good, "wrote", &path.display().to_string());
    }
    Ok(())
}

/// Prints the main chart. Without an output file the other charts cannot be written, so they are named.
fn write_stdout(imported: &ImportResult, console: &mut Console) -> Result<(), CommandFailure> {
    for chart in &imported.charts {
        let text =
            format!("nested chart `{}` is not written; pass -o FILE to write it next to that file", chart.id);
        console.note(TextStyle::Notice, "note", &text);
    }
    console.document(&imported.yaml)
}

/// Returns an id as a file name that cannot lead into another directory.
fn file_stem_for(id: &str) -> String {
    id.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }).collect()
}
