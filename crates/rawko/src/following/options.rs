//! How to follow: for how long, and in which form.

use std::time::Duration;

use clap::ValueEnum;
use rawko_core::duration;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FollowArgs {
    /// Wait for timers that are due within this time; what takes longer is parked
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = read_duration)]
    patience: Duration,

    /// Progress to read, one JSON object at the end, or one a line as things happen
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output_format: OutputFormat,

    /// Say which transitions were taken, and why the others were not; show long values whole
    #[arg(long, short)]
    verbose: bool,
}

/// The chosen way of following.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// A timer that is due within this time is waited for.
    pub(crate) patience: Duration,
    /// The same for the next attempt of a call: it belongs to work that has begun.
    pub(crate) retry_patience: Duration,
    pub(crate) format: OutputFormat,
    pub(crate) verbose: bool,
}

impl FollowArgs {
    pub(crate) fn manner(&self) -> Manner {
        Manner {
            patience: self.patience,
            retry_patience: self.patience,
            format: self.output_format,
            verbose: self.verbose,
        }
    }
}

/// How long the next attempt of a call is waited for when nothing else is.
const RETRY_PATIENCE: Duration = Duration::from_secs(60);

impl Manner {
    /// Only what happens at once, and calls until they have answered or failed for good.
    pub(crate) fn brief(format: OutputFormat, verbose: bool) -> Manner {
        Manner { patience: Duration::ZERO, retry_patience: RETRY_PATIENCE, format, verbose }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

fn read_duration(text: &str) -> Result<Duration, String> {
    duration::parse_ms(text).map(Duration::from_millis).map_err(|error| error.to_string())
}
