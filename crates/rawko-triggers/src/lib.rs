//! Triggers as data: when a schedule is due, whether a webhook is genuine, and what a rule makes of it. Pure: the time, the
//! request and the secret are arguments. `rawko serve` drives it; the state of a trigger is an instance of the chart
//! `trigger_log`, so that it lives wherever instances live.
//!
//! ```
//! use rawko_triggers::{MissedPolicy, Schedule};
//!
//! let schedule = Schedule::new("30 2 * * *", "Europe/Zurich", MissedPolicy::Once)?;
//! // 2026-03-29 has no 02:30 there: the run is at 03:30, an hour after midnight UTC and a half.
//! let due = schedule.next_after(1_774_738_800_000).map(|due| due.to_string());
//! assert_eq!(due.as_deref(), Some("2026-03-29T01:30:00Z"));
//! # Ok::<(), rawko_triggers::ScheduleError>(())
//! ```

#![warn(missing_docs)]

mod action;
mod cron;
mod delivery;
mod expression;
mod payload;
mod schedule;
mod settings;
mod signature;
mod state;
mod trigger;

pub use action::{CommandKind, DecideError, DeliveryFacts, RuleAction, TriggerCommand, TriggerRule};
pub use cron::{Cron, CronError};
pub use delivery::WebhookDelivery;
pub use expression::{Expression, RuleTemplate};
pub use payload::{PayloadError, read_payload};
pub use schedule::{DueTime, MissedPolicy, Schedule, ScheduleError, SchedulePlan};
pub use settings::{Triggers, read_section};
pub use signature::{Encoding, HmacOptions, Signature, SignatureError, SignatureSecret};
pub use state::{CHART, TriggerOutcome, TriggerRun, TriggerState, instance_of};
pub use trigger::{Trigger, TriggerSource, Webhook};
