//! `rawko graph`: a chart as a drawing.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::console::Console;
use crate::failure::{Failure, Verdict};

const EXAMPLES: &str = "\
Examples:
  rawko graph order.yaml                       # Mermaid, for a Markdown page
  rawko graph order.yaml -o order.svg          # a picture
  rawko graph order.yaml -o order.svg --theme dark
  rawko graph order.yaml --format dot | dot -Tpng > order.png";

/// Draw a chart as Mermaid, PlantUML, Graphviz DOT or SVG
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The chart; `-` reads standard input
    chart: PathBuf,

    /// The form of the drawing; otherwise by the ending of the output file, else mermaid
    #[arg(long, short, value_name = "FORMAT")]
    format: Option<Format>,

    /// The colours of an SVG; auto follows the reader's own setting
    #[arg(long, value_name = "THEME", default_value = "auto")]
    theme: ThemeName,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Mermaid,
    Plantuml,
    Dot,
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ThemeName {
    Auto,
    Light,
    Dark,
}

/// The format asked for, else the one a file's ending suggests, else Mermaid.
fn format_for(asked: Option<Format>, output: Option<&Path>) -> Format {
    let by_ending = || match output.and_then(Path::extension).and_then(|ending| ending.to_str()) {
        Some("svg") => Format::Svg,
        Some("dot" | "gv") => Format::Dot,
        Some("puml" | "plantuml" | "pu") => Format::Plantuml,
        _ => Format::Mermaid,
    };
    asked.unwrap_or_else(by_ending)
}
