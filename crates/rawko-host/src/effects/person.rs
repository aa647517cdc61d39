//! `src: human`: an approval or a form. It waits on disk until somebody answers or it expires; nothing runs meanwhile.

use rawko_core::{Invoke, Value, duration};
use rawko_store::OpenEffect;

use super::At;
use super::invoke::open;
use crate::instance::Live;
use crate::instance::plan::{Plan, Work};
use crate::planning::Planner;
use crate::services::{Category, ServiceError};

impl Planner<'_> {
    pub(super) fn plan_person(
        &self,
        live: &mut Live,
        mut effect: OpenEffect,
        invoke: &Invoke,
        at: At,
        plan: &mut Plan,
    ) {
        match expires_in_ms(invoke.input.get("expires")) {
            Ok(None) => open(live, effect, plan),
            Ok(Some(ms)) => {
                let due_ms = at.ms.saturating_add(ms);
                effect.due_ms = Some(due_ms);
                open(live, effect, plan);
                plan.work.push(Work::Expire { effect: (at.key, at.step, at.index), due_ms });
            }
            Err(why) => {
                open(live, effect.clone(), plan);
                let error = ServiceError::new(Category::Unknown, format!("`expires`: {why}"));
                plan.work.push(Work::Fail { effect, error });
            }
        }
    }
}

/// Milliseconds, or a duration as the chart format writes it.
fn expires_in_ms(expires: &Value) -> Result<Option<i64>, String> {
    match expires {
        Value::Null => Ok(None),
        Value::Int(ms) if *ms >= 0 => Ok(Some(*ms)),
        Value::Str(text) => {
            let ms = duration::parse_ms(text).map_err(|error| error.to_string())?;
            Ok(Some(i64::try_from(ms).unwrap_or(i64::MAX)))
        }
        Value::Int(_) | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            Err(format!("{expires} is neither milliseconds nor a duration"))
        }
    }
}
