//! `rawko import`: converts charts of other tools to our format.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use rawko_import::{self as import, ImportOptions, Imported};

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::files;

const EXAMPLES: &str = "\
Constructs without an equivalent are reported on standard error. Nested charts are written to
separate files next to the output file.

Examples:
  rawko import player.scxml -o player.yaml
  rawko import machine.json --from xstate > machine.yaml
  curl -s https://example.org/player.scxml | rawko import - --from scxml";

/// Convert SCXML or XState v5 JSON to a rawko chart
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File to convert, or `-` for standard input
    file: PathBuf,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Input format [default: by file extension and content]
    #[arg(long, value_name = "FORMAT")]
    from: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Scxml,
    Xstate,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let text = files::read_text(&args.file)?;
    let stem = args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let folder = args.file.parent().unwrap_or(Path::new("")).to_owned();
    let beside = |path: &str| file_beside(&folder, path);
    let options = ImportOptions {
        id: stem.as_deref().filter(|_| !files::is_stdin(&args.file)),
        file: Some(&beside),
        exact_events: false,
    };
    let imported = match args.from {
        None => import::import(&text, options),
        Some(Format::Scxml) => import::scxml(&text, options),
        Some(Format::Xstate) => import::xstate(&text, options),
    };
    let imported = imported.map_err(|error| {
        Failure::Invalid(format!("cannot import `{}`: {error}", files::shown(&args.file)))
    })?;
    for note in &imported.notes {
        console.note(Style::Notice, "note", &format!("{}, {note}", files::shown(&args.file)));
    }
    match &args.output {
        Some(output) => write_files(output, &imported, console),
        None => write_stdout(&imported, console),
    }?;
    Ok(Verdict::Done)
}

/// Reads a file that the imported document refers to. Only files beside it or below: the document may be untrusted.
fn file_beside(folder: &Path, path: &str) -> Option<String> {
    let path = Path::new(path.strip_prefix("file:").unwrap_or(path));
    let stays_below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays_below { files::read_text(&folder.join(path)).ok() } else { None }
}

fn write_files(output: &Path, imported: &Imported, console: &mut Console) -> Result<(), Failure> {
    files::write_text(output, &imported.yaml)?;
    console.note(Style::Good, "wrote", &output.display().to_string());
    for chart in &imported.charts {
        let path = output.with_file_name(format!("{}.yaml", file_stem_for(&chart.id)));
        files::write_text(&path, &chart.yaml)?;
        console.note(Style::Good, "wrote", &path.display().to_string());
    }
    Ok(())
}

/// Prints the main chart. Without an output file the other charts cannot be written, so they are named.
fn write_stdout(imported: &Imported, console: &mut Console) -> Result<(), Failure> {
    for chart in &imported.charts {
        let text =
            format!("nested chart `{}` is not written; pass -o FILE to write it next to that file", chart.id);
        console.note(Style::Notice, "note", &text);
    }
    console.document(&imported.yaml)
}

/// Returns an id as a file name that cannot lead into another directory.
fn file_stem_for(id: &str) -> String {
    id.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }).collect()
}
