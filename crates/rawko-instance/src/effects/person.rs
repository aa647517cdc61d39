//! `src: human`: an approval or a form. It is pending in the store until a person answers or it expires; nothing runs
//! meanwhile.

use rawko_core::{Invoke, Value, duration};

use super::EffectPosition;
use crate::failure::{Category, ServiceError};
use crate::instance::Instance;
use crate::records::OpenEffect;
use crate::transaction::Transaction;

impl Instance {
    pub(super) fn plan_person(
        &mut self,
        mut effect: OpenEffect,
        invoke: &Invoke,
        at: EffectPosition,
        tx: &mut Transaction,
    ) {
        match expires_in_ms(invoke.input.get("expires")) {
            Ok(ms) => {
                effect.due_ms = ms.map(|ms| at.ms.saturating_add(ms));
                self.open(effect, tx);
            }
            Err(why) => {
                self.refuse(effect, ServiceError::new(Category::Unknown, format!("`expires`: {why}")), tx);
            }
        }
    }
}

/// Parses milliseconds, or a duration in the chart format.
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
