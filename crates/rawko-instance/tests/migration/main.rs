//! The image of an instance in another chart: a table of pairs with their image or their reasons, and generated pairs
//! in which something that the instance holds has no counterpart.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod generated;
mod pairs;

use rawko_chart::{Registry, SourceFile, load, migration_of_file};
use rawko_core::{Chart, Event, Migration, NamedEvent, Now, Snapshot, Value, World, start, step};
use rawko_instance::image;

/// The time of the migration; instances start at 0.
const NOW_MS: i64 = 1_000;

fn chart(text: &str) -> Chart {
    let loaded = load(&SourceFile::new("chart.yaml", text), &Registry::default());
    loaded.chart.unwrap_or_else(|| panic!("{:?}\n{text}", loaded.findings))
}

/// Returns an instance after these events. `@ID` is the result of an invoke.
fn instance(chart: &Chart, events: &[&str]) -> Snapshot {
    let (mut snapshot, _) = start(chart, Value::Null, 0).unwrap();
    for event in events {
        let event = match event.strip_prefix('@') {
            Some(id) => {
                let mut pending = snapshot.pending();
                let open = pending.find(|open| *chart.invocation_name(open) == *id).unwrap();
                Event::InvokeDone { invocation: open.id, data: Value::Null }
            }
            None => Event::Named(NamedEvent::new(*event, Value::Null)),
        };
        step(chart, &mut snapshot, event, 0).unwrap();
    }
    snapshot
}

/// Returns the image as text: states, context, timers, calls, history; or the reasons.
fn migrated(old: &Chart, new: &Chart, snapshot: &Snapshot, map: &str) -> Result<String, Vec<String>> {
    let (migration, findings) = match map.is_empty() {
        true => (Some(Migration::default()), Vec::new()),
        false => migration_of_file(&SourceFile::new("map.yaml", map), new),
    };
    assert!(findings.is_empty(), "{findings:?}");
    let world = World::default();
    let image = image((old, new), &migration.unwrap(), snapshot, Now::new(NOW_MS, &world))?;
    // The stored form can be read again.
    let text = image.snapshot.to_json(new);
    assert_eq!(Snapshot::from_json(new, &text).unwrap(), image.snapshot);
    assert_eq!(image.snapshot.step_number(), snapshot.step_number() + 1);
    Ok(words(new, &image.snapshot, &image.notes))
}

fn words(chart: &Chart, snapshot: &Snapshot, notes: &[String]) -> String {
    let mut parts = vec![chart.leaf_paths(snapshot.configuration()).collect::<Vec<_>>().join(" ")];
    let context = snapshot.context_map(chart);
    if context.as_map().is_some_and(|map| !map.is_empty()) {
        parts.push(context.to_string());
    }
    for timer in snapshot.timers() {
        parts.push(match &timer.purpose {
            rawko_core::TimerPurpose::After { node, index } => {
                format!("{} at {}", chart.timer_label(*node, *index), timer.due_ms)
            }
            rawko_core::TimerPurpose::Send { event, .. } => format!("{} at {}", event.name, timer.due_ms),
            _ => format!("a timer at {}", timer.due_ms),
        });
    }
    for open in snapshot.pending() {
        parts.push(format!("{}#{} of {}", chart.invocation_name(&open), open.id, open.src));
    }
    for (node, recorded) in snapshot.history() {
        let paths: Vec<&str> = recorded.iter().map(|node| &*chart.node(*node).path).collect();
        parts.push(format!("{} = {}", chart.node(node).path, paths.join(" ")));
    }
    parts.extend(snapshot.deferred().iter().map(|event| format!("deferred {}", event.name)));
    parts.extend(notes.iter().map(|note| format!("({note})")));
    parts.join("; ")
}
