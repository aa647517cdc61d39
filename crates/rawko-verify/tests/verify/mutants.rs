//! Mutants of the charts that rawko ships: each guard flipped or dropped, each edge retargeted or removed, each limit and
//! budget dropped. A mutant is killed by the scenarios of the chart or by a property; those that only the runs kill that
//! `rawko test --generate` would write are counted apart. Those that behave like the chart are listed in `mutants.txt` with
//! the reason.

use std::path::Path;
use std::sync::Arc;

use rawko_chart::{Registry, SourceFile};
use rawko_core::World;
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use rawko_verify::{
    Counterexample, ExplorationLimits, Model, PropertyVerdict, Storage, VerifyReport, cover, verify,
};

/// Mutants of each chart in the ordinary suite; `RAWKO_MUTANTS` sets another number, and `RAWKO_MUTANTS_OF=agent,channel` selects charts.
const EACH: usize = 8;

/// The ordinary suite has small charts only.
const SMALL: [&str; 5] = ["agent_lifecycle", "channel", "dry_run", "speaker", "trigger_log"];
/// The other charts with transitions to change.
const OTHERS: [&str; 12] = [
    "program_agent",
    "parallel",
    "pipeline",
    "sequential",
    "research",
    "review_diff",
    "refactor_files",
    "issue_to_patch",
    "task_queue",
    "plan_build",
    "agent",
    "orchestrator",
];
/// Charts whose proofs are for any input.
const ANY_INPUT: [&str; 4] = ["agent", "orchestrator", "plan_build", "program_agent"];

/// Mutants that behave like the chart: `chart | change | line | reason`.
const EQUIVALENT: &str = include_str!("mutants.txt");

const LIMITS: ExplorationLimits<'static> =
    ExplorationLimits { states_max: 3_000, stop: &|_| false, storage: Storage::Exact };

struct Mutant {
    number: usize,
    what: &'static str,
    /// The line that is changed.
    line: String,
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

/// Targets of events, not of transitions.
const RECEIVERS: [&str; 3] = ["self", "parent", "{expr: move.instance"];

/// Returns the quotation mark of a value and what it encloses; `None` if the value continues on the next line.
fn unquoted(value: &str) -> Option<(char, &str)> {
    match value.chars().next()? {
        '>' | '|' => None,
        quote @ ('"' | '\'') => Some((quote, value.get(1..)?.trim_end().strip_suffix(quote)?)),
        _ => Some(('"', value)),
    }
}

/// Returns the text of a folded value that begins on a line, and the number of lines that it continues on.
fn folded(lines: &[&str], number: usize) -> Option<(String, usize)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[number]);
    let more: Vec<&str> = lines[number + 1..].iter().take_while(|line| indent(line) > own).copied().collect();
    let text = more.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    (!text.is_empty() && !text.contains('"')).then_some((text, more.len()))
}

/// Returns the target of an edge that is written as `EVENT: target`.
fn shorthand<'l>(line: &'l str, states: &[String]) -> Option<(&'l str, &'l str)> {
    let (event, target) = line.trim().split_once(": ")?;
    let is_event = event.starts_with(|first: char| first.is_ascii_uppercase())
        && event.chars().all(|one| one.is_ascii_uppercase() || one == '_');
    (is_event && states.iter().any(|state| state == target)).then_some((event, target))
}

/// Returns the names of all states.
fn states(text: &str) -> Vec<String> {
    let Some(model) = load(text) else { return Vec::new() };
    let paths = model.chart.node_ids().map(|node| model.chart.node(node).path.to_string());
    let mut names: Vec<String> = paths
        .filter_map(|path| Some(path.rsplit('.').next()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn mutants(text: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = text.lines().collect();
    let is_target = |target: &&str| !RECEIVERS.contains(target);
    let mut targets: Vec<&str> = lines
        .iter()
        .filter_map(|line| Some(value_of(line, "target: ")?.1.trim()))
        .filter(is_target)
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let states = states(text);
    let mut mutants = Vec::new();
    let mut add_over = |number: usize, more: usize, what: &'static str, line: String| {
        let mut changed: Vec<&str> = lines.clone();
        changed[number] = &line;
        changed[number + 1..=number + more].fill("");
        let text = changed.join("\n") + "\n";
        mutants.push(Mutant { number: number + 1, what, line: lines[number].trim().to_owned(), text });
    };
    let mut section = "";
    let has_root = text.starts_with("statechart:\n") || text.contains("\nstatechart:\n");
    let charts_indent = if has_root { "  " } else { "" };
    for (number, line) in lines.iter().enumerate() {
        let of_chart = line.strip_prefix(charts_indent).unwrap_or_default();
        if of_chart.starts_with(|first: char| first.is_ascii_alphabetic()) {
            section = of_chart.split(':').next().unwrap_or_default();
        }
        if line.trim_start().starts_with('#') {
            continue;
        }
        // Guards by name stand in a section of their own.
        let is_named = section == "guards" && of_chart.starts_with("  ") && !of_chart.starts_with("   ");
        let is_folded = (is_named || line.contains("guard: ")) && line.ends_with(">-");
        if let Some((text, more)) = folded(&lines, number).filter(|_| is_folded) {
            let before = line.trim_end_matches(">-");
            add_over(number, more, "guard flipped", format!("{before}\"not ({text})\""));
            add_over(number, more, "guard dropped", format!("{before}\"true\""));
            if line.contains("budget") {
                add_over(number, more, "budget dropped", format!("{before}\"false\""));
            }
        }
        let mut add = |number: usize, what: &'static str, line: String| add_over(number, 0, what, line);
        if line.trim_start().starts_with("budget: {") {
            add(number, "budget dropped", String::new());
        }
        if let Some((event, target)) = shorthand(line, &states) {
            let at = states.iter().position(|known| known == target).unwrap_or(0);
            let other = &states[(at + 1) % states.len()];
            add(number, "retargeted", line.replacen(&format!(": {target}"), &format!(": {other}"), 1));
            add(
                number,
                "edge removed",
                line.replacen(&format!("{event}: {target}"), &format!("{event}: []"), 1),
            );
        }
        let named =
            is_named.then(|| line.find(": ").map(|at| (at + 2..line.len(), &line[at + 2..]))).flatten();
        if let Some((range, guard)) = named.or_else(|| value_of(line, "guard: "))
            && let Some((quote, inner)) = unquoted(guard)
        {
            let (before, after) = (&line[..range.start], &line[range.end..]);
            add(number, "guard flipped", format!("{before}{quote}not ({inner}){quote}{after}"));
            add(number, "guard dropped", format!("{before}{quote}true{quote}{after}"));
        }
        let other = |target: &str| {
            let at = targets.iter().position(|known| *known == target.trim()).unwrap_or(0);
            targets[(at + 1) % targets.len()]
        };
        if let Some((range, target)) =
            value_of(line, "target: ").filter(|(_, target)| is_target(&target.trim()))
        {
            add(
                number,
                "retargeted",
                format!("{}{}{}", &line[..range.start], other(target), &line[range.end..]),
            );
            let without = line.replacen(&format!("target: {target}, "), "", 1);
            if without != *line {
                add(number, "without target", without);
            }
        }
        for key in ["onDone: ", "onError: ", "onTimeout: "] {
            let Some((range, target)) = value_of(line, key) else { continue };
            if targets.contains(&target) {
                let retargeted = format!("{}{}{}", &line[..range.start], other(target), &line[range.end..]);
                add(number, "retargeted", retargeted);
                add(number, "edge removed", line.replacen(&format!("{key}{target}"), &format!("{key}[]"), 1));
            }
        }
        for key in ["max_attempts: ", "max_concurrent: "] {
            let Some((range, _)) = value_of(line, key) else { continue };
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

fn judged(chart: &str, text: &str) -> VerifyReport {
    let mut model = load(text).unwrap();
    model.any_input = ANY_INPUT.contains(&chart);
    verify(&[model], &World::default(), &LIMITS).unwrap()
}

fn is_equivalent(chart: &str, mutant: &Mutant) -> bool {
    EQUIVALENT.lines().any(|line| {
        let parts: Vec<&str> = line.split(" | ").collect();
        parts.len() == 4 && parts[..3] == [chart, mutant.what, &mutant.line]
    })
}

/// A copy of the charts, for the scenarios beside a mutant.
struct ChartCopies(std::path::PathBuf);

impl ChartCopies {
    fn new() -> Self {
        let copies = std::env::temp_dir().join(format!("rawko-mutants-{}", std::process::id()));
        std::fs::create_dir_all(&copies).unwrap();
        for file in std::fs::read_dir(charts()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copies.join(file.file_name())).unwrap();
        }
        Self(copies)
    }

    fn passes(&self, chart: &str, text: &str) -> bool {
        std::fs::write(self.0.join(format!("{chart}.yaml")), text).unwrap();
        let suite = rawko_testing::Suite::load(self.0.join(format!("{chart}.scenario.yaml"))).unwrap();
        suite.without_coverage().run().is_success()
    }
}

impl Drop for ChartCopies {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn charts() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts")
}

#[test]
fn mutants_of_our_charts_are_killed() {
    let wanted: Option<usize> = std::env::var("RAWKO_MUTANTS").ok().and_then(|text| text.parse().ok());
    let others = if wanted.is_some() { &OTHERS[..] } else { &[] };
    let copies = ChartCopies::new();
    let (mut by_property, mut by_scenario, mut generated, mut equivalent, mut survivors) =
        (0, 0, Vec::new(), 0, Vec::new());
    let only = std::env::var("RAWKO_MUTANTS_OF").ok();
    let is_wanted = |chart: &&&str| only.as_ref().is_none_or(|only| only.split(',').any(|it| it == **chart));
    for chart in SMALL.iter().chain(others).filter(is_wanted) {
        let text = std::fs::read_to_string(charts().join(format!("{chart}.yaml"))).unwrap();
        assert!(copies.passes(chart, &text), "the scenarios of `{chart}` fail without a change");
        let own = judged(chart, &text);
        let models = [load(&text).unwrap()];
        let runs = cover(&models, &World::default(), &LIMITS).unwrap_or_default().runs;
        let usual: Vec<String> = runs.iter().map(|run| expected(&played(&models[0], run))).collect();
        let all = mutants(&text);
        // Spread over the chart.
        let each = wanted.unwrap_or(EACH);
        let stride = (all.len() / each.max(1)).max(1);
        for mutant in all.iter().step_by(stride).take(each) {
            let Some(changed) = load(&mutant.text) else { continue };
            if is_equivalent(chart, mutant) {
                equivalent += 1;
                continue;
            }
            let differs = || {
                let mut runs = runs.iter().zip(&usual);
                runs.any(|(run, usual)| expected(&played(&changed, run)) != *usual)
            };
            if !copies.passes(chart, &mutant.text) {
                by_scenario += 1;
                continue;
            }
            let shown = || format!("{chart} | {} | {} (line {})", mutant.what, mutant.line, mutant.number);
            let report = judged(chart, &mutant.text);
            let is_broken = own.properties.iter().any(|property| {
                property.verdict == PropertyVerdict::Holds
                    && report
                        .property(&property.name)
                        .is_none_or(|it| it.verdict == PropertyVerdict::Violated)
            });
            if is_broken {
                by_property += 1;
            } else if differs() {
                generated.push(shown());
            } else {
                survivors.push(shown());
            }
        }
        copies.passes(chart, &text);
    }
    let killed = by_property + by_scenario;
    for mutant in &generated {
        println!("generated runs only: {mutant}");
    }
    println!(
        "mutants: {killed} killed ({by_scenario} by scenarios, {by_property} by properties), {} more by generated runs \
         only, {equivalent} equivalent, {} survive",
        generated.len(),
        survivors.len()
    );
    assert!(survivors.is_empty(), "these survive:\n{}", survivors.join("\n"));
    assert!(killed >= 10, "only {killed} mutants were made");
}
