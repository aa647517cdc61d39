//! The arbiter: its input, its possible decisions, and the decision procedure. All of it is pure: the chart's context
//! and the agents come in, a decision or the next prompt for a model goes out, and both are plain data for the journal.
//! The calls to the model are made in another crate.
//!
//! ```
//! use rawko_arbiter::Plan;
//! use rawko_core::Value;
//!
//! let text = r#"{"goal": "Fix it", "steps": [{"id": "a", "title": "Find it", "status": "done"}, {"id": "b", "title": "Fix it"}]}"#;
//! let plan = Plan::of(&Value::from_json(serde_json::from_str(text)?)).ok_or("no plan")?;
//! assert_eq!(plan.current().map(|step| step.id.as_str()), Some("b"));
//! assert!(!plan.is_complete());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod agents;
mod constraints;
mod context;
mod cut;
mod decide;
mod decision;
mod enabled;
mod error;
mod fallback;
mod history;
mod input;
mod inquiry;
pub mod loop_control;
mod parse;
pub mod phases;
mod plan;
pub mod progress;
mod prompt;
mod rules;
mod settings;

pub use agents::{AgentDescription, AgentProfile, AgentTransitions, Performance, ToolNames};
pub use constraints::ConstraintContext;
pub use context::{
    CheckEvidence, ContextError, EntryError, EntryResult, ErrorEntry, ExecutionEntry, Orchestration,
};
pub use decide::{Case, Moment, decide};
pub use decision::{ArbiterDecision, Decision, DecisionKind, DecisionOrigin, DecisionRecord};
pub use enabled::EnabledDecisions;
pub use error::{Circumstances, ErrorCategory, ErrorContext, RecoveryAction, RecoveryOption};
pub use history::{ExecutionSummary, OutputSummary, SummaryError, TokenUsage};
pub use input::{EvaluateProgressInput, SelectAgentInput, evaluate_progress_input, select_agent_input};
pub use inquiry::{Inquiry, InquiryAttempt, InquiryRecord, InquiryStep, PromptTurn};
pub use parse::{AnswerError, parse_answer};
pub use plan::{Plan, PlanOverview, PlanStep, StepOverview, StepStatus};
pub use prompt::{PLACEHOLDERS, PromptTemplate, unknown_placeholders};
pub use settings::{ArbiterSettings, Prompts};
