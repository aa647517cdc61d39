//! Every scenario of this repository in the simulation and on the host with its SQLite file, with the same answers of
//! services and the same clock: the journals must be the same, times included.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod journal;
mod stub_host;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect_file;
use rawko_core::{Chart, is_fact};
use rawko_host::Edition;
use rawko_sim::Stimulus;
use rawko_testing::{ProjectContent, ScenarioPlan, Suite, find};

use stub_host::StubHost;
use tokio::task::{JoinError, JoinSet};

/// Hosts at a time: they wait for their disk most of the time.
const SIDE_BY_SIDE: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The charts that come with rawko, which projects invoke by name.
fn built_in() -> Vec<Arc<Chart>> {
    let is_chart = |name: &str| name.ends_with(".yaml") && !find::is_scenario(name);
    let files = find::files_below(&root().join("charts"), &is_chart).unwrap();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        Edition::read(&path.display().to_string(), &text).unwrap().chart
    };
    files.iter().map(read).collect()
}

fn plans() -> Vec<ScenarioPlan> {
    let charts = built_in();
    let load = |folder: &str| {
        let charts = charts.clone();
        let content = move |_: &Path| ProjectContent { charts: charts.clone(), ..ProjectContent::default() };
        Suite::load(root().join(folder)).unwrap().with_project(content).plans().unwrap()
    };
    let mut plans: Vec<ScenarioPlan> =
        ["charts", "examples", "crates/rawko-testing/tests/children"].into_iter().flat_map(load).collect();
    plans.iter_mut().for_each(|plan| plan.stubs = stub_host::as_services_fail(&plan.stubs));
    plans
}

/// The journal of a scenario in the simulation, or why a host cannot play it.
fn simulated(plan: &ScenarioPlan) -> Result<String, &'static str> {
    let is_fact = |stimulus: &Stimulus| matches!(stimulus, Stimulus::Event { name, .. } if is_fact(name));
    if plan.stimuli.iter().any(is_fact) {
        return Err("a stimulus reports a result by name, which a host refuses");
    }
    let mut simulation = plan.simulation().unwrap();
    let mut errors = Vec::from_iter(simulation.start().error);
    for stimulus in &plan.stimuli {
        errors.extend(simulation.apply(stimulus).error);
    }
    let store = simulation.store().unwrap();
    let stubbed = |name: &str| name == "human" || name.starts_with("statechart:");
    let audit = store.audit(None, usize::MAX).unwrap();
    if audit.iter().any(|line| stubbed(&line.service) && &*line.decision == "allowed") {
        return Err("a stub stands for a person or a chart");
    }
    if !errors.is_empty() {
        return Err("a step of it cannot be taken");
    }
    Ok(journal::of(&**store))
}

async fn hosted(plan: &ScenarioPlan) -> String {
    let mut host = StubHost::start(plan).await;
    for stimulus in &plan.stimuli {
        match stimulus {
            Stimulus::Event { name, data } => host.send(name, data.clone()).await,
            Stimulus::Advance { ms, .. } => host.advance(*ms).await,
        }
    }
    host.journal()
}

/// The name of a scenario, and its journals.
type Played = (String, String, String);

fn compare(host: Option<Result<Played, JoinError>>, played: &mut usize, wrong: &mut Vec<String>) {
    let (name, expected, found) = host.unwrap().unwrap();
    *played += 1;
    wrong.extend(journal::difference(&expected, &found).map(|difference| format!("# {name}\n{difference}")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_have_the_same_journals_in_the_simulation_and_on_the_host() {
    let (mut played, mut left_out, mut wrong) = (0, Vec::new(), Vec::new());
    let mut hosts = JoinSet::new();
    for plan in plans() {
        let name = format!("{} `{}`", plan.file.file_name().unwrap().display(), plan.name);
        match simulated(&plan) {
            Ok(expected) => drop(hosts.spawn(async move { (name, expected, hosted(&plan).await) })),
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
        if hosts.len() == SIDE_BY_SIDE {
            compare(hosts.join_next().await, &mut played, &mut wrong);
        }
    }
    while let Some(host) = hosts.join_next().await {
        compare(Some(host), &mut played, &mut wrong);
    }
    println!("{played} scenarios are the same on both, {} left out", left_out.len());
    assert!(wrong.is_empty(), "{} of {played} scenarios differ:\n{}", wrong.len(), wrong.join("\n"));
    // Each by its name and the reason: a scenario is not left out unnoticed.
    expect_file!["left_out.txt"].assert_eq(&(left_out.join("\n") + "\n"));
}
