//! Notifications to a client while one of its calls runs: the steps of the instance as progress, and its log lines.

#![expect(deprecated, reason = "logging is deprecated, and clients of 2025-11-25 use it")]

use rawko_store::Record;
use rawko_view::journal::Player;
use rawko_view::journal::lines::log_lines;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;

use super::{McpServer, logging};

/// Records that are read at once.
const RECORDS_MAX: usize = 1_000;

/// Reports of one call.
pub(super) struct CallReports {
    /// The client wants progress.
    token: Option<ProgressToken>,
    /// Number of the step that was reported last.
    step: Option<u64>,
    /// Least severity of log lines; `None`: the client wants none.
    threshold: Option<u8>,
    /// Records up to here were reported.
    seq: u64,
}

/// One record of the journal, as it is reported.
struct StepReport {
    seq: u64,
    step: u64,
    states: String,
    messages: Vec<LoggingMessageNotificationParam>,
}

impl McpServer {
    /// Returns the reports of a call. Those of an instance that existed before it begin now.
    pub(super) fn reports(&self, context: &RequestContext<RoleServer>, is_new: bool) -> CallReports {
        let last = || self.engine().reader().store().last_seq().unwrap_or_default();
        CallReports {
            token: context.meta.get_progress_token(),
            step: None,
            threshold: self.log_threshold(context),
            seq: if is_new { 0 } else { last() },
        }
    }

    /// Returns the records of an instance after one, the oldest first.
    fn steps_after(&self, id: &str, after: u64, threshold: Option<u8>) -> Result<Vec<StepReport>, ErrorData> {
        let wrong = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let reader = self.engine().reader();
        let row = reader.find(id).map_err(|error| wrong(&error))?;
        let records = reader.store().records(row.key, after, RECORDS_MAX).map_err(|error| wrong(&error))?;
        let mut player = Player::new(reader.clone(), None);
        let report = |record: &Record| -> Result<StepReport, ErrorData> {
            let entry = player.glance(record).map_err(|error| wrong(&error))?;
            let lines = threshold.map(|threshold| (threshold, log_lines(&entry)));
            let messages = lines.into_iter().flat_map(|(threshold, lines)| {
                lines.into_iter().filter_map(move |line| logging::message(&line, threshold))
            });
            Ok(StepReport {
                seq: entry.seq,
                step: entry.step,
                messages: messages.collect(),
                states: entry.configuration.join(", "),
            })
        };
        records.iter().map(report).collect()
    }
}

impl CallReports {
    /// Sends every step since the last time, also those that followed each other quickly. Failures to send are ignored:
    /// the call of a client that is gone ends by itself.
    pub(super) async fn send(&mut self, server: &McpServer, id: &str, context: &RequestContext<RoleServer>) {
        if self.token.is_none() && self.threshold.is_none() {
            return;
        }
        loop {
            let (instance, after, threshold) = (id.to_owned(), self.seq, self.threshold);
            let read = server.blocking(move |server| server.steps_after(&instance, after, threshold)).await;
            let Ok(reports) = read else { return };
            let is_last = reports.len() < RECORDS_MAX;
            for report in reports {
                self.send_step(report, context).await;
            }
            if is_last {
                return;
            }
        }
    }

    async fn send_step(&mut self, report: StepReport, context: &RequestContext<RoleServer>) {
        self.seq = report.seq;
        for message in report.messages {
            let _ = context.peer.notify_logging_message(message).await;
        }
        // A record without a step of its own is not progress.
        let Some(token) = self.token.as_ref().filter(|_| self.step < Some(report.step)) else { return };
        self.step = Some(report.step);
        // Small numbers of steps are exact.
        let progress = u32::try_from(report.step).map_or(f64::MAX, f64::from);
        let note = ProgressNotificationParam::new(token.clone(), progress).with_message(report.states);
        let _ = context.peer.notify_progress(note).await;
    }
}
