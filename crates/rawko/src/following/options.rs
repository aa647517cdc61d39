//! Options of following: duration and output format.

use std::time::Duration;

use clap::ValueEnum;

use crate::durations;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FollowArgs {
    /// Wait this long for timers before parking the instance
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = durations::read)]
    patience: Duration,

    /// Output format: text, json (final result) or stream-json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    output_format: OutputFormat,

    /// Explain every transition and print long values in full
    #[arg(long, short)]
    verbose: bool,
}

/// The selected options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Wait for a timer that is due within this time.
    pub(crate) patience: Duration,
    /// Wait this long for the next attempt of a call, because it belongs to work that has begun.
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

/// Default wait for the next attempt of a call.
const RETRY_PATIENCE: Duration = Duration::from_secs(60);

impl Manner {
    /// Waits for immediate steps only, and for calls until they have succeeded or finally failed.
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
