//! Services registered in Rust, by programs that embed the host.

use std::future::Future;
use std::sync::Arc;

use rawko_core::Value;

use super::{OnRestart, Service, ServiceCall, ServiceError, ServiceFuture};

/// Creates a service from an async function. Use [`Closure`] to set its options.
///
/// ```
/// use rawko_core::Value;
/// use rawko_host::{Services, closure};
///
/// let services = Services::new().add("echo", closure(|call| async move { Ok(call.input) }));
/// assert!(services.find("echo").is_some());
/// # let _: Value = Value::Null;
/// ```
pub fn closure<F, R>(run: F) -> Arc<dyn Service>
where
    F: Fn(ServiceCall) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ServiceError>> + Send + 'static,
{
    Arc::new(Closure::new(run))
}

/// An async function as a service, with options for the host.
pub struct Closure<F> {
    run: F,
    on_restart: OnRestart,
    provenance: Value,
}

impl<F, R> Closure<F>
where
    F: Fn(ServiceCall) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ServiceError>> + Send + 'static,
{
    /// Creates a service that is [`OnRestart::Unknown`].
    pub fn new(run: F) -> Self {
        Self { run, on_restart: OnRestart::Unknown, provenance: Value::map([("closure", Value::Bool(true))]) }
    }

    /// Sets the handling of a call that was running when the host died (default: [`OnRestart::Unknown`]).
    #[must_use]
    pub fn on_restart(mut self, on_restart: OnRestart) -> Self {
        self.on_restart = on_restart;
        self
    }

    /// Sets the provenance recorded in the audit.
    #[must_use]
    pub fn provenance(mut self, provenance: Value) -> Self {
        self.provenance = provenance;
        self
    }

    /// Converts to the form that [`Services`](super::Services) takes.
    pub fn into_service(self) -> Arc<dyn Service> {
        Arc::new(self)
    }
}

impl<F, R> Service for Closure<F>
where
    F: Fn(ServiceCall) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ServiceError>> + Send + 'static,
{
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        Box::pin((self.run)(call))
    }

    fn on_restart(&self) -> OnRestart {
        self.on_restart
    }

    fn provenance(&self) -> Value {
        self.provenance.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::testing::call;

    #[tokio::test]
    async fn a_closure_is_a_service() {
        let double = |call: ServiceCall| async move { Ok(Value::Int(call.input.as_i64().unwrap_or(0) * 2)) };
        let service = Closure::new(double).on_restart(OnRestart::Retry).into_service();
        assert_eq!(service.call(call(Value::Int(21))).await, Ok(Value::Int(42)));
        assert_eq!(service.on_restart(), OnRestart::Retry);
        assert_eq!(closure(double).on_restart(), OnRestart::Unknown);
    }
}
