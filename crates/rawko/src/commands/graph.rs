//! `rawko graph`: draws a chart.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use rawko_chart::draw::{self, SvgOptions, Theme};
use rawko_core::Chart;

use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::loading;

const EXAMPLES: &str = "\
Examples:
  rawko graph order.yaml                       # Mermaid, for a Markdown page
  rawko graph order.yaml -o order.svg          # a picture file
  rawko graph order.yaml -o order.svg --theme dark
  rawko graph order.yaml --format dot | dot -Tpng > order.png";

/// Draw a chart as Mermaid, PlantUML, Graphviz DOT or SVG
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart file, or `-` for standard input
    chart: PathBuf,

    /// Output format [default: by file extension, else mermaid]
    #[arg(long, short, value_name = "FORMAT")]
    format: Option<GraphFormat>,

    /// SVG colours; auto follows the viewer's colour scheme
    #[arg(long, value_name = "THEME", default_value = "auto")]
    theme: ThemeName,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
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

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let format = format_for(args.format, args.output.as_deref())?;
    let loaded = loading::runnable(&args.chart)?;
    loading::warn(&loaded, console);
    let mut drawing = drawing(&loaded.chart, format, args.theme);
    if !drawing.ends_with('\n') {
        drawing.push('\n');
    }
    match args.output.as_deref().filter(|output| !files::is_stdin(output)) {
        Some(output) => files::write_text(output, &drawing)?,
        None => console.document(&drawing)?,
    }
    Ok(CommandVerdict::Done)
}

fn drawing(chart: &Chart, format: GraphFormat, theme: ThemeName) -> String {
    match format {
        GraphFormat::Mermaid => draw::mermaid(chart),
        GraphFormat::Plantuml => draw::plantuml(chart),
        GraphFormat::Dot => draw::dot(chart),
        GraphFormat::Svg => draw::svg(chart, &SvgOptions { theme: theme.into(), ..SvgOptions::default() }),
    }
}

impl From<ThemeName> for Theme {
    fn from(name: ThemeName) -> Theme {
        match name {
            ThemeName::Auto => Theme::Auto,
            ThemeName::Light => Theme::Light,
            ThemeName::Dark => Theme::Dark,
        }
    }
}

/// Returns the requested format, else the one of the file extension, else Mermaid. Other picture formats are refused: the
/// file would have text under the name of a picture.
fn format_for(asked: Option<GraphFormat>, output: Option<&Path>) -> Result<GraphFormat, CommandFailure> {
    if let Some(format) = asked {
        return Ok(format);
    }
    match output.and_then(Path::extension).and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(GraphFormat::Svg),
        Some("dot" | "gv") => Ok(GraphFormat::Dot),
        Some("puml" | "plantuml" | "pu") => Ok(GraphFormat::Plantuml),
        Some(ending @ ("png" | "gif" | "jpg" | "jpeg" | "webp" | "pdf" | "eps")) => {
            let text = format!(
                "cannot draw as {ending}; write an SVG (`-o FILE.svg`), or convert DOT: rawko graph CHART -f dot | dot -T{ending}"
            );
            Err(CommandFailure::Usage(text))
        }
        Some(_) | None => Ok(GraphFormat::Mermaid),
    }
}
