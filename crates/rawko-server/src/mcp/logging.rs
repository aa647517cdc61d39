//! Log lines of workflows for clients that want them: `log` actions, emitted events, failed calls and failed expressions.

#![expect(deprecated, reason = "logging is deprecated, and clients of 2025-11-25 use it")]

use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::RoleServer;
use rmcp::model::{ErrorData, LoggingLevel, LoggingMessageNotificationParam, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::McpServer;

/// The least severe lines that are sent in a session of 2025-11-25.
pub(super) struct LogThreshold(AtomicU8);

impl Default for LogThreshold {
    fn default() -> Self {
        Self(AtomicU8::new(severity(LoggingLevel::Info)))
    }
}

impl McpServer {
    pub(super) fn set_log_threshold(
        &self,
        level: LoggingLevel,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(context) {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        self.log_threshold.0.store(severity(level), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the least severity that the client of a request wants; `None` if it wants no log.
    pub(super) fn log_threshold(&self, context: &RequestContext<RoleServer>) -> Option<u8> {
        if is_stateless(context) {
            // Since 2026-07-28 each request carries its level.
            return context.meta.log_level().map(severity);
        }
        Some(self.log_threshold.0.load(Ordering::Relaxed))
    }
}

/// Returns the message for a line of `rawko logs --json`, if it is severe enough.
pub(super) fn message(line: &Value, threshold: u8) -> Option<LoggingMessageNotificationParam> {
    let level = match line["type"].as_str()? {
        "failed" | "refused" => LoggingLevel::Warning,
        "fault" | "stalled" => LoggingLevel::Error,
        _ => LoggingLevel::Info,
    };
    let data = if line["type"] == "log" { line["message"].clone() } else { line.clone() };
    let mut message = LoggingMessageNotificationParam::new(level, data);
    message.logger = line["id"].as_str().map(str::to_owned);
    (severity(level) >= threshold).then_some(message)
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn severity(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
