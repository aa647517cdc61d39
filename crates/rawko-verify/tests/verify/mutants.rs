//! Mutants of the charts that rawko ships: each guard flipped, each edge retargeted or without its target, each limit
//! dropped. A mutant is killed by a property, or by the scenarios that `rawko test --generate` writes for the chart.

use std::path::Path;
use std::sync::Arc;

use rawko_chart::{Registry, SourceFile};
use rawko_core::World;
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use rawko_verify::{
    Counterexample, ExplorationLimits, Model, PropertyVerdict, Storage, VerifyReport, cover, verify,
};

/// Mutants of each chart in the ordinary suite; `RAWKO_MUTANTS` sets another number.
const EACH: usize = 8;

/// Charts whose default input leads through all of their states.
const CHARTS: [&str; 3] = ["agent_lifecycle", "dry_run", "speaker"];

const LIMITS: ExplorationLimits<'static> =
    ExplorationLimits { states_max: 3_000, stop: &|_| false, storage: Storage::Exact };

struct Mutant {
    name: String,
    text: String,
}

/// Returns the value after `key: ` in a line, with its range.
fn value_of<'l>(line: &'l str, key: &str) -> Option<(std::ops::Range<usize>, &'l str)> {
    let start = line.find(key)? + key.len();
    let rest = &line[start..];
    let quote = rest.chars().next().filter(|first| ['"', '\''].contains(first));
    let length = match quote {
        Some(quote) => rest[1..].find(quote)? + 2,
        None => rest.find([',', '}', ']']).unwrap_or(rest.len()),
    };
    Some((start..start + length, &line[start..start + length]))
}

fn mutants(text: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = text.lines().collect();
    let mut targets: Vec<&str> =
        lines.iter().filter_map(|line| Some(value_of(line, "target: ")?.1.trim())).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut mutants = Vec::new();
    let mut add = |number: usize, what: &str, line: String| {
        let mut changed: Vec<&str> = lines.clone();
        changed[number] = &line;
        mutants
            .push(Mutant { name: format!("line {}: {what}", number + 1), text: changed.join("\n") + "\n" });
    };
    for (number, line) in lines.iter().enumerate() {
        if let Some((range, guard)) = value_of(line, "guard: ") {
            let quote = guard.chars().next().filter(|first| ['"', '\''].contains(first));
            let inner = quote.map_or(guard, |_| &guard[1..guard.len() - 1]);
            let quote = quote.unwrap_or('"');
            let flipped =
                format!("{}{quote}not ({inner}){quote}{}", &line[..range.start], &line[range.end..]);
            add(number, "guard flipped", flipped);
            let dropped = format!("{}{quote}true{quote}{}", &line[..range.start], &line[range.end..]);
            add(number, "guard dropped", dropped);
        }
        if let Some((range, target)) = value_of(line, "target: ") {
            let at = targets.iter().position(|known| *known == target.trim()).unwrap_or(0);
            let other = targets[(at + 1) % targets.len()];
            add(number, "retargeted", format!("{}{other}{}", &line[..range.start], &line[range.end..]));
            let without = line.replacen(&format!("target: {target}, "), "", 1);
            if without != *line {
                add(number, "without target", without);
            }
        }
        for key in ["onDone: ", "onError: ", "onTimeout: "] {
            let Some((range, target)) = value_of(line, key) else { continue };
            if targets.contains(&target) {
                let at = targets.iter().position(|known| *known == target).unwrap_or(0);
                let other = targets[(at + 1) % targets.len()];
                add(number, "retargeted", format!("{}{other}{}", &line[..range.start], &line[range.end..]));
                add(number, "edge removed", line.replacen(&format!("{key}{target}"), &format!("{key}[]"), 1));
            }
        }
        if let Some((range, _)) = value_of(line, "max_attempts: ") {
            add(number, "limit dropped", format!("{}99{}", &line[..range.start], &line[range.end..]));
        }
        if line.trim_start().starts_with("timeout: ") {
            add(number, "timeout dropped", String::new());
        }
    }
    mutants
}

fn load(text: &str) -> Option<Model> {
    Model::load(&SourceFile::new("mutant.yaml", text), &Registry::default()).0
}

fn played(model: &Model, run: &Counterexample) -> Vec<ReportLine> {
    let stubs = Stubs::from_value(&run.services).unwrap();
    let mut simulation =
        Simulation::new(Arc::clone(&model.chart), Vec::new(), stubs, World::default(), run.input.clone());
    let mut lines = vec![simulation.start()];
    lines.extend(run.events.iter().map(|event| simulation.apply(&Stimulus::from_value(event).unwrap())));
    lines
}

/// Returns what a scenario could expect of a run.
fn expected(lines: &[ReportLine]) -> String {
    let line = |line: &ReportLine| {
        let invoked: Vec<&str> = line.invoked.iter().map(|invoked| &*invoked.src).collect();
        let emitted: Vec<&str> = line.emitted.iter().map(|emitted| &*emitted.name).collect();
        format!("{:?} {} {} {invoked:?} {emitted:?}", line.configuration, line.status, line.context)
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn judged(model: Model) -> VerifyReport {
    verify(&[model], &World::default(), &LIMITS).unwrap()
}

#[test]
fn mutants_of_our_charts_are_killed() {
    let each = std::env::var("RAWKO_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(EACH);
    let (mut by_property, mut by_scenario, mut survivors) = (0, 0, Vec::new());
    for chart in CHARTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../charts/{chart}.yaml"));
        let text = std::fs::read_to_string(path).unwrap();
        let own = judged(load(&text).unwrap());
        let models = [load(&text).unwrap()];
        let runs = cover(&models, &World::default(), &LIMITS).unwrap_or_default().runs;
        let usual: Vec<String> = runs.iter().map(|run| expected(&played(&models[0], run))).collect();
        let all = mutants(&text);
        // Spread over the chart.
        let stride = (all.len() / each.max(1)).max(1);
        for mutant in all.iter().step_by(stride).take(each) {
            let name = format!("{chart} {}", mutant.name);
            let Some(changed) = load(&mutant.text) else { continue };
            let differs =
                runs.iter().zip(&usual).any(|(run, usual)| expected(&played(&changed, run)) != *usual);
            if differs {
                by_scenario += 1;
                continue;
            }
            let report = judged(changed);
            let is_broken = own.properties.iter().any(|property| {
                property.verdict == PropertyVerdict::Holds
                    && report
                        .property(&property.name)
                        .is_none_or(|it| it.verdict == PropertyVerdict::Violated)
            });
            if is_broken {
                by_property += 1;
            } else {
                survivors.push(name);
            }
        }
    }
    let killed = by_property + by_scenario;
    println!("mutants: {killed} killed ({by_property} by properties only), {} survive", survivors.len());
    assert!(survivors.is_empty(), "these survive:\n{}", survivors.join("\n"));
    assert!(killed >= 10, "only {killed} mutants were made");
}
