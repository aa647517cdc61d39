//! `rawko import`: charts written for other tools, in our format.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use rawko_import::{self as import, ImportOptions, Imported};

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::files;

const EXAMPLES: &str = "\
What could not be carried over is said on standard error. Charts nested in the file are written
beside the output file, one each.

Examples:
  rawko import player.scxml -o player.yaml
  rawko import machine.json --from xstate > machine.yaml
  curl -s https://example.org/player.scxml | rawko import - --from scxml";

/// Turn SCXML or an XState v5 JSON configuration into a rawko chart
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to read; `-` reads standard input
    file: PathBuf,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What the file is; otherwise by its ending and its content
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

/// A file that the imported document refers to. Only files beside it or below: the document may come from a stranger.
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

/// Without an output file there is nowhere to put the other charts; they are named, not lost in silence.
fn write_stdout(imported: &Imported, console: &mut Console) -> Result<(), Failure> {
    for chart in &imported.charts {
        let text = format!(
            "the chart `{}` inside it is not written; give -o FILE to have it beside that file",
            chart.id
        );
        console.note(Style::Notice, "note", &text);
    }
    console.data(&imported.yaml)
}

/// An id as a file name: nothing in it may lead into another directory.
fn file_stem_for(id: &str) -> String {
    id.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }).collect()
}
