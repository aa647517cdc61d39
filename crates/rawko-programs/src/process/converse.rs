//! One turn over our JSON lines, from the first line to the end of the output.

use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};

use super::child::AgentProcess;
use super::exchange::{ExchangeLimits, StoppedTurn, TurnExchange};
use super::lines::{LineReader, LineWriter};
use crate::program::{ProgramAgent, ProgramHost, TurnError, TurnRequest, TurnResult, in_time};

pub(crate) async fn converse(
    agent: &ProgramAgent,
    line_bytes_max: usize,
    (stdin, stdout): (ChildStdin, ChildStdout),
    request: &TurnRequest,
    host: &dyn ProgramHost,
    child: &AgentProcess,
) -> Result<TurnResult, TurnError> {
    let limits = ExchangeLimits {
        silence: agent.timeout,
        cancel_grace: agent.cancel_grace,
        text_bytes_max: line_bytes_max,
    };
    let (lines, writer) = (LineReader::new(stdout, line_bytes_max), LineWriter::new(stdin));
    let mut exchange = TurnExchange::new(host, lines, writer, limits);
    let ended = exchange.run(request).await;
    // Closing the input asks the command to exit.
    drop(exchange);
    match ended {
        Ok(result) => Ok(result),
        Err(stopped) => Err(in_words(agent.timeout, line_bytes_max, stopped, child).await),
    }
}

async fn in_words(
    timeout: Duration,
    bytes_max: usize,
    stopped: StoppedTurn,
    child: &AgentProcess,
) -> TurnError {
    match stopped {
        StoppedTurn::OutputEnded => {
            // The end of the output arrives before the exit status.
            let _ = tokio::time::timeout(Duration::from_secs(2), child.ended()).await;
            TurnError::Ended(child.ending_in_words().await)
        }
        StoppedTurn::Silent => {
            TurnError::Silent { within: in_time(timeout), detail: child.ending_in_words().await }
        }
        StoppedTurn::Malformed(why) => TurnError::Malformed(why),
        StoppedTurn::LineTooLong => TurnError::TooLong { bytes_max, what: "in one line" },
        StoppedTurn::TextTooLong => TurnError::TooLong { bytes_max, what: "of text in one turn" },
        StoppedTurn::Reported { code, message } => TurnError::Reported { code, message },
        StoppedTurn::Cancelled => TurnError::Cancelled,
    }
}
