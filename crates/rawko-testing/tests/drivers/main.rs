//! Every scenario of this repository on the three drivers, with the same answers of services and people and the same clock:
//! the journals of the simulation, of the host with its SQLite file and of Restate must be the same, times included.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod desk;
mod features;
mod host;
mod journal;
mod player;
mod restate;
mod script;
mod simulation;
#[path = "../../../rawko-restate/tests/walks/site.rs"]
#[allow(dead_code, reason = "the walks wait, too")]
mod site;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect_file;
use rawko_core::Chart;
use rawko_host::Edition;
use rawko_testing::{ProjectContent, ScenarioPlan, Suite, find};

use host::HostStage;
use player::Player;
use restate::RestateStage;
use script::{ChartTexts, Script};
use simulation::SimStage;
use site::Site;
use tokio::task::{JoinError, JoinSet};

/// Hosts at a time: they wait for their disk most of the time.
const SIDE_BY_SIDE: usize = 8;
/// Scenarios on one Restate server: queries read the state of all instances.
const PER_SERVER: usize = 60;
/// Folders with scenarios.
const FOLDERS: [&str; 3] = ["charts", "examples", "crates/rawko-testing/tests/children"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_chart(name: &str) -> bool {
    name.ends_with(".yaml") && !find::is_scenario(name)
}

/// The charts below a folder. Other files may be there, too.
fn charts_below(folder: &str) -> Vec<Edition> {
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        Edition::read(&path.display().to_string(), &text).ok()
    };
    find::files_below(&root().join(folder), &is_chart).unwrap().iter().filter_map(read).collect()
}

fn plans() -> Vec<ScenarioPlan> {
    // The charts that come with rawko, which projects invoke by name.
    let charts: Vec<Arc<Chart>> = charts_below("charts").into_iter().map(|edition| edition.chart).collect();
    let load = |folder: &str| {
        let charts = charts.clone();
        let content = move |_: &Path| ProjectContent { charts: charts.clone(), ..ProjectContent::default() };
        Suite::load(root().join(folder)).unwrap().with_project(content).plans().unwrap()
    };
    let mut plans: Vec<ScenarioPlan> = FOLDERS.into_iter().flat_map(load).collect();
    plans.iter_mut().for_each(|plan| plan.stubs = desk::as_services_fail(&plan.stubs));
    plans
}

/// A scenario that any driver can play, and its journal in the simulation.
struct Played {
    name: String,
    script: Script,
    journal: String,
}

/// Plays a scenario in the simulation; an error is the reason why no driver can.
async fn simulated(plan: &ScenarioPlan, texts: &ChartTexts) -> Result<(Script, String), &'static str> {
    let mut simulation = plan.simulation().unwrap();
    let mut last = simulation.start();
    let mut errors = Vec::from_iter(last.error.take());
    for stimulus in &plan.stimuli {
        last = simulation.apply(stimulus);
        errors.extend(last.error.take());
    }
    let calls = simulation.call_points();
    let script = Script::of(plan, &calls, texts)?;
    if !errors.is_empty() {
        return Err("a step of it cannot be taken");
    }
    if !Script::is_translation(plan, &calls) {
        let store = simulation.store().unwrap();
        return Ok((script, journal::of(&**store, player::ID)));
    }
    for budget in Script::budgets(plan) {
        let script = Script { budget, ..script.clone() };
        let mut player = Player::new(SimStage::new(&script));
        let journal = player.play(&script).await?;
        // Otherwise the journals would be about something else.
        if player.stage.configuration() == last.configuration {
            return Ok((script, journal));
        }
        assert!(!script.budget.is_null(), "{}: {:?}", plan.name, player.stage.configuration());
    }
    Err("no budget makes a list fail as the stimulus does")
}

/// All scenarios that drivers can play, and the others with the reason.
async fn scenarios() -> (Vec<Played>, Vec<String>) {
    let editions = FOLDERS.into_iter().flat_map(charts_below);
    let texts: ChartTexts = editions.map(|edition| (edition.chart.hash(), edition)).collect();
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for plan in plans() {
        let name = format!("{} `{}`", plan.file.file_name().unwrap().display(), plan.name);
        match simulated(&plan, &texts).await {
            Ok((mut script, journal)) => {
                script.has_only_timers = journal::has_only_timers(&journal);
                all.push(Played { name, script, journal });
            }
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
    }
    (all, left_out)
}

fn compare(played: &Played, found: &str, wrong: &mut Vec<String>) {
    assert!(found.lines().count() > 1, "{}: an empty journal shows nothing", played.name);
    let difference = journal::difference(&played.journal, found);
    wrong.extend(difference.map(|difference| format!("# {}\n{difference}", played.name)));
}

async fn hosted(played: Played) -> (Played, String) {
    let mut player = Player::new(HostStage::new(&played.script).await);
    let journal = player.play(&played.script).await.unwrap();
    (played, journal)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_have_the_same_journals_in_the_simulation_and_on_the_host() {
    let (all, left_out) = scenarios().await;
    let (count, mut wrong) = (all.len(), Vec::new());
    let mut hosts = JoinSet::new();
    let take = |host: Option<Result<(Played, String), JoinError>>, wrong: &mut Vec<String>| {
        let (played, found) = host.unwrap().unwrap();
        compare(&played, &found, wrong);
    };
    for played in all {
        hosts.spawn(hosted(played));
        if hosts.len() == SIDE_BY_SIDE {
            take(hosts.join_next().await, &mut wrong);
        }
    }
    while !hosts.is_empty() {
        take(hosts.join_next().await, &mut wrong);
    }
    println!("{count} scenarios are the same on both, {} left out", left_out.len());
    assert!(wrong.is_empty(), "{} of {count} scenarios differ:\n{}", wrong.len(), wrong.join("\n"));
    // Each by its name and the reason: a scenario is not left out unnoticed.
    expect_file!["left_out.txt"].assert_eq(&(left_out.join("\n") + "\n"));
}

/// A few scenarios that show every feature; with RAWKO_SCENARIOS that many, those of all features first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_have_the_same_journals_on_restate() {
    let amount = std::env::var("RAWKO_SCENARIOS").ok().map(|amount| amount.parse::<usize>().unwrap());
    let only = std::env::var("RAWKO_SCENARIO").ok();
    let (all, _) = scenarios().await;
    let is_chosen = features::choose(all.iter().map(|played| played.journal.as_str()));
    let (mut chosen, rest): (Vec<_>, Vec<_>) = all.into_iter().zip(is_chosen).partition(|(_, is)| *is);
    let features = chosen.len();
    chosen.extend(rest);
    chosen.truncate(amount.unwrap_or(features));
    let chosen: Vec<Played> = chosen.into_iter().map(|(played, _)| played).collect();
    let is_wanted = |played: &&Played| only.as_ref().is_none_or(|only| played.name.contains(only.as_str()));
    let chosen: Vec<&Played> = chosen.iter().filter(is_wanted).collect();
    let (mut wrong, mut number) = (Vec::new(), 0);
    for part in chosen.chunks(PER_SERVER) {
        let mut site = Site::start().await;
        for played in part {
            number += 1;
            let mut player = Player::new(RestateStage::new(&mut site, &played.script, number).await);
            let found = player.play(&played.script).await.unwrap();
            compare(played, &found, &mut wrong);
            player.stage.end().await;
        }
        println!("scenarios on Restate: {number} of {}, {} differ", chosen.len(), wrong.len());
    }
    assert!(wrong.is_empty(), "{} of {number} scenarios differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(number > 0, "no scenario was played");
}
