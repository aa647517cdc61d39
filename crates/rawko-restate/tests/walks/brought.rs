//! The origin of charts: those of the client take precedence over those of the worker, and an instance keeps the charts
//! it began with.

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine, Gate, Library};
use rawko_restate::{RestateEngine, Worker, WorkerBuilder};

use crate::site::{Site, eventually};

const PARENT: &str = "
statechart:
  id: parent
  initial: resting
  context: {got: null}
  states:
    resting: {on: {GO: working}}
    working:
      invoke:
        id: kid
        src: statechart:kid
        onDone: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: {target: done, actions: [{type: assign, context_updates: {got: event.data.category}}]}
    done: {type: final, output: context.got}
";

fn kid(says: &str) -> Edition {
    let text = format!(
        "
statechart:
  id: kid
  version: 1.0.0
  initial: done
  states:
    done: {{type: final, output: \"'{says}'\"}}
"
    );
    Edition::read("kid.yaml", &text).unwrap()
}

fn parent(text: &str) -> Edition {
    Edition::read("parent.yaml", text).unwrap()
}

fn worker(charts: &[Edition]) -> WorkerBuilder {
    charts.iter().cloned().fold(Worker::builder().gate(Gate::open()), WorkerBuilder::chart)
}

fn library(charts: &[Edition]) -> Library {
    let library = Library::default();
    charts.iter().cloned().for_each(|edition| library.offer(edition));
    library
}

/// Sends GO and returns the result that the parent got from its child.
async fn heard(engine: &RestateEngine, id: &str) -> String {
    engine.send(id.into(), NamedEvent::new("GO", Value::Null), None).await.unwrap();
    let activity = || async { engine.activity(id).await.unwrap().status.is_over() };
    eventually("the parent ends", activity).await;
    let (reader, id) = (engine.reader().clone(), id.to_owned());
    let look = move || {
        let row = reader.find(&id).unwrap();
        reader.snapshot(&row, None).unwrap().snapshot.output().to_json().to_string()
    };
    tokio::task::spawn_blocking(look).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_keeps_to_the_charts_that_it_began_with() {
    let mut site = Site::start().await;
    site.work(worker(&[kid("of the worker")])).await;
    let bare = site.engine(Library::default());
    let brings = site.engine(library(&[kid("of the client")]));
    let start = async |engine: &RestateEngine, id: &str, text: &str| {
        engine.start(parent(text), Value::Null, Some(id.to_owned()), Value::Null).await.unwrap();
    };
    start(&bare, "a", PARENT).await;
    start(&bare, "b", PARENT).await;
    start(&brings, "c", PARENT).await;
    assert_eq!(heard(&bare, "a").await, r#""of the worker""#);

    // A new worker, with another child and without the parent: the running instance keeps its own parent, and gets the
    // new child.
    site.work(worker(&[kid("of the new worker")])).await;
    assert_eq!(heard(&bare, "b").await, r#""of the new worker""#);
    assert_eq!(heard(&bare, "c").await, r#""of the client""#);

    // The same id and version with another text is another chart; the two are not confused.
    start(&brings, "d", &PARENT.replace("output: context.got", "output: [context.got]")).await;
    assert_eq!(heard(&bare, "d").await, r#"["of the client"]"#);
}
