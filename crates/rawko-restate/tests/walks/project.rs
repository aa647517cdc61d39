//! The project of both hosts: charts, services that respond to their input, an endpoint, and a gate.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_host::{
    AgentBinding, AgentRequest, AgentResolver, Category, Closure, Edition, Gate, HostProject, Library,
    OnRestart, ServiceCall, ServiceError, Services, closure,
};
use rawko_instance::InstanceLimits;
use rawko_store::ChartRow;

use rawko_restate::{Worker, WorkerBuilder};

use crate::charts::CHARTS;

pub(crate) fn editions() -> Vec<Edition> {
    let order = include_str!("../../../../examples/order/order.yaml");
    let order = order.replace("initial_delay: 1s", "initial_delay: 20ms");
    // Shortens the delays of the example.
    let parcel =
        include_str!("../../../../examples/order/parcel.yaml").replace("2h: waiting", "50ms: waiting");
    let charts = CHARTS.iter().map(|text| (*text).to_owned()).chain([order, parcel]);
    charts.map(|text| Edition::read("chart.yaml", &text).unwrap()).collect()
}

pub(crate) fn library() -> Library {
    let library = Library::default();
    editions().into_iter().for_each(|edition| library.offer(edition));
    library
}

/// Returns the whole project for the simulation.
pub(crate) fn whole() -> HostProject {
    HostProject {
        library: Arc::new(library()),
        services: services(),
        endpoints: endpoints(),
        gate: gate(),
        agents: Some(Arc::new(Office)),
        limits: limits(),
        ..HostProject::default()
    }
}

/// Returns a chart as a store keeps it.
pub(crate) fn row(edition: &Edition) -> ChartRow {
    ChartRow {
        hash: edition.chart.hash(),
        id: edition.chart.id().to_owned(),
        version: edition.chart.version().to_owned(),
        name: edition.name.to_string(),
        text: edition.text.to_string(),
        added_ms: 0,
    }
}

/// Returns a worker with the whole project.
pub(crate) fn worker() -> WorkerBuilder {
    let worker =
        Worker::builder().services(services()).endpoints(endpoints()).gate(gate()).agents(Arc::new(Office));
    let worker = worker.limits(limits());
    editions().into_iter().fold(worker, WorkerBuilder::chart)
}

/// Few failed calls, so that the loop of a walk ends soon.
pub(crate) fn limits() -> InstanceLimits {
    InstanceLimits { failed_calls_max: 12, ..InstanceLimits::default() }
}

pub(crate) fn gate() -> Gate {
    Gate::new(&["*"], &["forbidden"], Some(40)).unwrap()
}

pub(crate) fn services() -> Services {
    Services::new()
        .add("charge_card", closure(|call| async move { charge(&call) }))
        .add("book_carrier", closure(|_| async { Ok(Value::map([("tracking", Value::str("t-1"))])) }))
        .add(
            "echo",
            Closure::new(|call: ServiceCall| async move { Ok(call.input) })
                .on_restart(OnRestart::Retry)
                .into_service(),
        )
        .add("flaky", closure(|call| async move { flaky(&call) }))
        .add("forbidden", closure(|_| async { Ok(Value::Null) }))
        .add("crashes", closure(|_| async { crash() }))
        .add("never", closure(|_| async { never().await }))
        .add_scheme("agent", closure(|call| async move { Ok(call.input) }))
        .add("model:m", closure(|call| async move { Ok(spent(&call)) }))
}

/// One agent is a chart, one is a person, the others are services; one fails to resolve.
pub(crate) struct Office;

impl AgentResolver for Office {
    fn resolve(&self, casting: &AgentRequest<'_>) -> Result<AgentBinding, ServiceError> {
        match casting.agent {
            "clerk" => {
                Ok(AgentBinding::Chart { chart: "kid".into(), input: Value::map([("n", Value::Int(4))]) })
            }
            "boss" => Ok(AgentBinding::Person { input: Value::map([("question", Value::str("well?"))]) }),
            "thief" => Err(ServiceError::new(Category::Unknown, "there is no such agent")),
            _ => Ok(AgentBinding::Service),
        }
    }

    fn result(&self, output: Value) -> Result<Value, Value> {
        Ok(Value::map([("said", output)]))
    }
}

pub(crate) fn endpoints() -> Services {
    Services::new()
        .add("channel:approvals", closure(|_| async { Ok(Value::Null) }))
        .add("printer", closure(|call| async move { printed(&call) }))
}

fn charge(call: &ServiceCall) -> Result<Value, ServiceError> {
    match call.input.get("amount").as_i64() {
        Some(13) => Err(ServiceError::new(Category::Network, "the line is cut")),
        Some(14) => Err(ServiceError::new(Category::Failed, "no such card")),
        _ => Ok(Value::map([("receipt", Value::str("r-4711"))])),
    }
}

/// Fails until the third attempt.
fn flaky(call: &ServiceCall) -> Result<Value, ServiceError> {
    match call.attempt {
        3 => Ok(Value::Str(Arc::clone(&call.idempotency))),
        _ => Err(ServiceError::new(Category::Timeout, format!("attempt {}", call.attempt))),
    }
}

fn crash() -> Result<Value, ServiceError> {
    panic!("a service of the tests crashes")
}

async fn never() -> Result<Value, ServiceError> {
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    Ok(Value::Null)
}

/// Reports the usage that its input requests.
fn spent(call: &ServiceCall) -> Value {
    Value::map([("usage", Value::map([("tokens", call.input.get("tokens").clone())]))])
}

fn printed(call: &ServiceCall) -> Result<Value, ServiceError> {
    match call.input.get("type").as_str() {
        Some("JAM") => Err(ServiceError::new(Category::Failed, "the paper is stuck")),
        _ => Ok(Value::Null),
    }
}
