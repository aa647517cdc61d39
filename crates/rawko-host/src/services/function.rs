//! Services that are plain functions. Separate from closures because they never wait, so the host calls them inline.

use std::sync::Arc;

use rawko_core::Value;

use super::{OnRestart, Service, ServiceCall, ServiceError, ServiceFuture};

/// Creates a service from a function. It runs between two commits of the host, so it must be quick and must not block;
/// it must have no effect outside, because it may be run again.
///
/// ```
/// use rawko_core::Value;
/// use rawko_host::{Services, function};
///
/// let double = function(|call| Ok(Value::Int(call.input.as_i64().unwrap_or(0) * 2)));
/// assert!(Services::new().add("double", double).find("double").is_some());
/// ```
pub fn function<F>(run: F) -> Arc<dyn Service>
where
    F: Fn(&ServiceCall) -> Result<Value, ServiceError> + Send + Sync + 'static,
{
    Arc::new(Function { run })
}

struct Function<F> {
    run: F,
}

impl<F> Service for Function<F>
where
    F: Fn(&ServiceCall) -> Result<Value, ServiceError> + Send + Sync + 'static,
{
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        Box::pin(std::future::ready((self.run)(&call)))
    }

    fn at_once(&self, call: &ServiceCall) -> Option<Result<Value, ServiceError>> {
        Some((self.run)(call))
    }

    fn is_function(&self) -> bool {
        true
    }

    fn on_restart(&self) -> OnRestart {
        OnRestart::Retry
    }

    fn provenance(&self) -> Value {
        Value::map([("function", Value::Bool(true))])
    }
}
