//! Typed services: functions from one serde type to another that charts invoke by name. Their types become the schemas
//! that charts are checked against.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use rawko_core::{ServiceSpec, Value};
use rawko_host::{
    AttemptOutcome, Category, Closure, OnRestart, Service, ServiceCall, ServiceError, ServiceFuture,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A service with the types of its input and output. Created by [`service`] and [`service_with_call`].
#[derive(Clone)]
pub struct TypedService {
    spec: ServiceSpec,
    run: Arc<dyn Fn(ServiceCall) -> ServiceFuture + Send + Sync>,
}

/// Creates a service from an async function of one serde type to another.
///
/// The fields of both types are read from their `Deserialize` implementations: a chart that passes a wrong input or reads
/// a field that the output does not have is refused before it runs, with the place in the chart. A type whose fields
/// cannot be found out (`flatten`, `untagged`, its own validation) is not checked before, only when it is used.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> rawko::Result<()> {
/// use rawko::{Error, Project, ServiceError, service};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Order { id: String, amount: u32 }
/// #[derive(Serialize, Deserialize)]
/// struct Receipt { number: String }
///
/// async fn charge(order: Order) -> Result<Receipt, ServiceError> {
///     match order.amount {
///         0 => Err("nothing to pay".into()),
///         amount => Ok(Receipt { number: format!("{}-{amount}", order.id) }),
///     }
/// }
///
/// const CHART: &str = "
/// id: order
/// initial: paying
/// context: {id: '', amount: 0, receipt: null}
/// states:
///   paying:
///     invoke:
///       src: charge
///       input: {id: context.id, amount: context.amount}
///       onDone: {target: paid, actions: [{type: assign, context_updates: {receipt: event.data.number}}]}
///       onError: refused
///   paid: {type: final, output: context.receipt}
///   refused: {type: final}
/// ";
/// let charge = service("charge", charge);
/// let project = Project::options().service(charge.clone()).chart("order.yaml", CHART).start().await?;
/// let order = project.actor_of("order", Order { id: "o1".into(), amount: 250 }).await?;
/// assert_eq!(order.result::<String>().await?, "o1-250");
///
/// // A field that the receipt does not have is found before anything runs.
/// let misspelt = CHART.replace("event.data.number", "event.data.nummer");
/// let refused = Project::options().service(charge).chart("order.yaml", misspelt).start().await;
/// assert!(matches!(refused, Err(Error::Invalid(findings)) if findings.contains("nummer")));
/// # Ok(())
/// # }
/// ```
pub fn service<I, O, E, F, R>(name: impl AsRef<str>, run: F) -> TypedService
where
    I: DeserializeOwned + 'static,
    O: Serialize + DeserializeOwned + 'static,
    E: Into<ServiceError> + 'static,
    F: Fn(I) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
{
    service_with_call(name, move |input, _| run(input))
}

/// Like [`service`], for functions that need the call itself: its idempotency key, the attempt, the instance.
pub fn service_with_call<I, O, E, F, R>(name: impl AsRef<str>, run: F) -> TypedService
where
    I: DeserializeOwned + 'static,
    O: Serialize + DeserializeOwned + 'static,
    E: Into<ServiceError> + 'static,
    F: Fn(I, ServiceCall) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, E>> + Send + 'static,
{
    let name = name.as_ref();
    let spec = ServiceSpec::typed::<I, O>(name);
    let run = move |call: ServiceCall| -> ServiceFuture {
        let input = match serde_json::from_value(call.input.to_json()) {
            Ok(input) => input,
            Err(error) => {
                let error = unfit("input", &call.name, &error);
                return Box::pin(std::future::ready(Err(error)));
            }
        };
        let name = Arc::clone(&call.name);
        let running = run(input, call);
        Box::pin(async move {
            let output = running.await.map_err(Into::into)?;
            // The service did its work, so the same request must not be made as a new one.
            let json = serde_json::to_value(output)
                .map_err(|error| unfit("output", &name, &error).with_outcome(AttemptOutcome::Unknown))?;
            Ok(Value::from_json(json))
        })
    };
    TypedService { spec, run: Arc::new(run) }
}

fn unfit(what: &str, name: &str, error: &serde_json::Error) -> ServiceError {
    let message = format!("the {what} of `{name}` does not have its type: {error}");
    ServiceError::new(Category::Failed, message).with_retryable(false).with_outcome(AttemptOutcome::Definite)
}

impl TypedService {
    /// Sets the handling of a call that was running when the program died: [`OnRestart::Retry`] for services that are
    /// safe to call again with the same idempotency key. By default the chart gets an error of the category
    /// `interrupted`.
    #[must_use]
    pub fn on_restart(mut self, rule: OnRestart) -> Self {
        self.spec = self.spec.restarting(rule);
        self
    }

    pub(super) fn spec(&self) -> &ServiceSpec {
        &self.spec
    }

    pub(super) fn service(&self) -> Arc<dyn Service> {
        let run = Arc::clone(&self.run);
        Closure::new(move |call| run(call)).on_restart(self.spec.on_restart).into_service()
    }
}

impl fmt::Debug for TypedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedService").field("spec", &self.spec).finish_non_exhaustive()
    }
}
