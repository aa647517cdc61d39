//! One call of a server's tool: attempts, answers of the person, and what the model reads in the end. Separate from the
//! supervision of the server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rawko_core::Value;
use rmcp::model::JsonObject;
use tokio::time::timeout;

use super::asking::{PersonReply, ServerQuestion};
use super::calls::{CallPause, McpCall};
use super::connection::McpConnection;
use super::fault::{McpFault, WasSent, unauthorized};
use super::result::outcome;
use super::server::{McpServerHandle, ParkedCall, RestartPatience};
use super::servers::failure;
use crate::program::in_time;
use rawko_tools::{Occasion, ToolOutcome};

/// Added to the result of a call during which the server could not ask.
const NOT_ASKED: &str = "[The server asked a person for something, and rawko could not tell for which of several calls, or no \
                         person can be asked in this call. Call the tool again, on its own, if this result is incomplete.]";

impl McpServerHandle {
    pub(super) async fn call(&self, full: &str, input: Value, occasion: Occasion<'_>) -> ToolOutcome {
        let mut outcome = self.outcome(full, input, occasion).await;
        outcome.content = self.config.secrets.hide(outcome.content);
        outcome
    }

    async fn outcome(&self, full: &str, input: Value, occasion: Occasion<'_>) -> ToolOutcome {
        let name = &self.config.name;
        let arguments = match input.to_json() {
            serde_json::Value::Object(arguments) => arguments,
            serde_json::Value::Null => JsonObject::new(),
            _ => return failure(format!("the input of `{full}` must be a map")),
        };
        let parked = occasion.reply.and_then(|_| self.parked().remove(occasion.key));
        let first = match parked {
            Some(ParkedCall { connection, call, answer }) => {
                let _watched = connection.watched().await;
                let _ = answer.send(reply(occasion).into_result());
                self.proceed(&connection, call, occasion, None).await
            }
            None => self.attempt(full, arguments.clone(), occasion).await,
        };
        let lost = match first {
            // Repeats only if the first attempt cannot have reached the server.
            Err((WasSent::No, _)) => self.attempt(full, arguments, occasion).await,
            settled => settled,
        };
        lost.unwrap_or_else(|(was_sent, why)| {
            let took_effect = match was_sent {
                WasSent::No => "it has not taken effect",
                WasSent::Perhaps => "whether it took effect is not known",
            };
            failure(format!(
                "the MCP server `{name}` was lost during this call: {took_effect}. The server is started again for the next call ({why})"
            ))
        })
    }

    /// Makes one attempt. An error means that the server was lost.
    async fn attempt(
        &self,
        full: &str,
        arguments: JsonObject,
        occasion: Occasion<'_>,
    ) -> Result<ToolOutcome, (WasSent, String)> {
        let name = &self.config.name;
        let connection = match self.connection(RestartPatience::Wait).await {
            Ok(connection) => connection,
            Err(why) => return Ok(failure(format!("the MCP server `{name}` is not available: {why}"))),
        };
        let tool = match self.original(&connection, full).await {
            Ok(tool) => tool,
            Err(outcome) => return Ok(outcome),
        };
        let _watched = connection.watched().await;
        let call = connection.call(&tool, arguments.clone());
        let turn = Arc::clone(&call.turn);
        // Without the parked call, as after a restart, the answer is for the question that comes again.
        let given = occasion.reply.map(|_| reply(occasion));
        let first = self.proceed(&connection, call, occasion, given.clone()).await;
        if !turn.was_disturbed() {
            return first;
        }
        // It may hold the permit for which the next attempt waits.
        drop(turn);
        self.has_asked.store(true, Ordering::Release);
        let is_parked = self.parked().contains_key(occasion.key);
        if occasion.can_ask && !is_parked && self.is_safe_to_repeat(full) {
            // Calls of this server run one at a time now.
            let again = connection.call(&tool, arguments);
            return self.proceed(&connection, again, occasion, given).await;
        }
        first
    }

    /// Continues a call until it ends or the server asks the person. The time while it waits for its turn does not count.
    async fn proceed(
        &self,
        connection: &Arc<McpConnection>,
        mut call: McpCall,
        occasion: Occasion<'_>,
        mut given: Option<PersonReply>,
    ) -> Result<ToolOutcome, (WasSent, String)> {
        let name = &self.config.name;
        let within = self.config.timeout.unwrap_or(self.settings.call_timeout);
        let mut is_declined = false;
        call.begun().await;
        let reported = |call: &McpCall, outcome: ToolOutcome, is_declined: bool| {
            let outcome = call.sampled.report(outcome);
            if is_declined || call.turn.was_disturbed() { not_asked(outcome) } else { outcome }
        };
        loop {
            let question = match timeout(within, call.proceed()).await {
                Ok(CallPause::Done(Ok(result))) => {
                    self.facts().supervision.answered();
                    return Ok(reported(&call, outcome(result, &self.settings), is_declined));
                }
                Ok(CallPause::Done(Err(error))) => {
                    let failed = self.failed(connection, &error).await;
                    return failed.map(|outcome| reported(&call, outcome, false));
                }
                Ok(CallPause::Asked(question)) => question,
                Err(_) => return Ok(reported(&call, self.timed_out(within), false)),
            };
            self.has_asked.store(true, Ordering::Release);
            match given.take() {
                Some(reply) => drop(question.answer.send(reply.into_result())),
                None if occasion.can_ask => {
                    let asked = asked(name, &question);
                    let parked =
                        ParkedCall { connection: Arc::clone(connection), call, answer: question.answer };
                    self.parked().insert(occasion.key.to_owned(), parked);
                    return Ok(asked);
                }
                None => {
                    is_declined = true;
                    drop(question.answer.send(PersonReply::Declined.into_result()));
                }
            }
        }
    }

    async fn failed(
        &self,
        connection: &Arc<McpConnection>,
        error: &rmcp::ServiceError,
    ) -> Result<ToolOutcome, (WasSent, String)> {
        let name = &self.config.name;
        match connection.fault(error) {
            McpFault::Refused(why) => {
                self.facts().supervision.answered();
                Ok(failure(format!("the MCP server `{name}` answered with an error: {why}")))
            }
            McpFault::TimedOut => Ok(self.timed_out(self.settings.call_timeout)),
            McpFault::Unauthorized { challenge } => {
                let why = unauthorized(&self.config, &self.settings, &challenge);
                if self.config.oauth.is_without_person {
                    // The next connection gets a new token.
                    return Err((WasSent::No, self.lost(connection, &why).await));
                }
                Ok(failure(format!("the MCP server `{name}` refused the call: {why}")))
            }
            McpFault::Lost { was_sent, why } => Err((was_sent, self.lost(connection, &why).await)),
        }
    }

    fn timed_out(&self, within: std::time::Duration) -> ToolOutcome {
        failure(format!(
            "the MCP server `{}` did not answer within {}; rawko cancelled the call, but it may have taken effect",
            self.config.name,
            in_time(within)
        ))
    }
}

fn not_asked(mut outcome: ToolOutcome) -> ToolOutcome {
    outcome.content = format!("{}\n\n{NOT_ASKED}", outcome.content);
    outcome
}

/// Returns the person's reply to a question of an earlier attempt.
fn reply(occasion: Occasion<'_>) -> PersonReply {
    occasion.reply.map_or(PersonReply::Declined, |reply| PersonReply::Accepted(reply.to_json()))
}

/// Returns the outcome that makes an agent's chart ask the person.
fn asked(server: &str, question: &ServerQuestion) -> ToolOutcome {
    let form = question.schema.clone().map_or(Value::Null, Value::from_json);
    let page = question.url.as_deref().map_or(Value::Null, Value::str);
    let question_parts = [
        ("by", Value::str(server)),
        ("message", Value::str(&question.message)),
        ("form", form),
        ("url", page),
    ];
    let content = format!("the MCP server `{server}` asks the person: {}", question.message);
    ToolOutcome::ok(content).with_data(Value::map([("question", Value::map(question_parts))]))
}
