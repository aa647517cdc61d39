//! Agents that are programs of their own.

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::Workshop;

pub(super) async fn turn(_workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    Err(ServiceError::new(Category::Failed, format!("{} cannot be run", call.name)))
}
