//! `Script`: a scenario as any driver can play it. A stub that stands for a person becomes an answer through the host, one
//! that stands for a chart becomes a chart that calls a service in its place, and so does a result that a stimulus
//! reports by name.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::{Chart, ServiceClass, ServiceName, Value, World, is_fact};
use rawko_host::{Edition, PersonAnswer};
use rawko_sim::{CallPoint, Stimulus};
use rawko_store::ChartHash;
use rawko_testing::ScenarioPlan;

/// The scheme of the service that answers for a chart; the `src` of the chart follows.
pub(crate) const CHART_STUB: &str = "stub:";

#[derive(Clone)]
pub(crate) struct Script {
    /// The chart under test first.
    pub(crate) charts: Vec<Edition>,
    pub(crate) stubs: Value,
    pub(crate) world: World,
    pub(crate) input: Value,
    /// The budget of the root; null for none.
    pub(crate) budget: Value,
    pub(crate) acts: Vec<ScriptAct>,
    /// One instance without calls and messages: its timers fire at their own times, however late.
    pub(crate) has_only_timers: bool,
}

#[derive(Clone)]
pub(crate) enum ScriptAct {
    Send {
        name: Arc<str>,
        data: Value,
    },
    Advance {
        ms: u64,
    },
    /// A person answers a request of the root; without an answer it expires.
    Answer {
        invoke: String,
        answer: Option<PersonAnswer>,
    },
}

/// The charts of the repository with their texts, by hash.
pub(crate) type ChartTexts = HashMap<ChartHash, Edition>;

impl Script {
    /// The script of a scenario, or the reason why a driver cannot play it. `calls` are those of its simulation.
    pub(crate) fn of(
        plan: &ScenarioPlan,
        calls: &[CallPoint],
        texts: &ChartTexts,
    ) -> Result<Script, &'static str> {
        let edition = |chart: &Arc<Chart>| texts.get(&chart.hash()).cloned().ok_or("a chart has no text");
        let mut charts = plan.charts.iter().map(edition).collect::<Result<Vec<_>, _>>()?;
        for call in calls.iter().filter(|call| is_stubbed(plan, call)) {
            match ServiceName::of(&call.src).class {
                ServiceClass::Chart => stand_in(&mut charts, &call.src),
                ServiceClass::Human => insist_on_answers(plan, call)?,
                _ => {}
            }
        }
        let stimuli = plan.stimuli.iter().filter(|stimulus| !lacks_budget(stimulus));
        Ok(Script {
            charts,
            stubs: plan.stubs.clone(),
            world: plan.world.clone(),
            input: plan.input.clone(),
            budget: Value::Null,
            has_only_timers: false,
            acts: stimuli.map(|stimulus| act(stimulus, calls)).collect::<Result<_, _>>()?,
        })
    }

    /// Budgets to try, of which one makes a list fail as a stimulus does; without such a stimulus, no budget.
    pub(crate) fn budgets(plan: &ScenarioPlan) -> Vec<Value> {
        if !plan.stimuli.iter().any(lacks_budget) {
            return vec![Value::Null];
        }
        [("tokens", 1), ("tool_calls", 1), ("tool_calls", 2)]
            .map(|(key, limit)| Value::map([(key, Value::Int(limit))]))
            .to_vec()
    }

    /// Returns true if the simulation of the scenario plays it in another way: with stubs for people or charts, or with
    /// results by name.
    pub(crate) fn is_translation(plan: &ScenarioPlan, calls: &[CallPoint]) -> bool {
        let stands_in = |call: &CallPoint| {
            let class = ServiceName::of(&call.src).class;
            matches!(class, ServiceClass::Chart | ServiceClass::Human) && is_stubbed(plan, call)
        };
        let is_fact = |stimulus: &Stimulus| matches!(stimulus, Stimulus::Event { name, .. } if is_fact(name));
        calls.iter().any(stands_in) || plan.stimuli.iter().any(is_fact)
    }
}

/// Returns the stubs that an invoke may be answered by: those of its id, of its list and of its `src`.
fn stubs_of<'p>(plan: &'p ScenarioPlan, call: &CallPoint) -> Option<&'p Value> {
    let whole = call.id.split_once('[').map_or(&*call.id, |(whole, _)| whole);
    let stubs = plan.stubs.as_map()?;
    [&*call.id, whole, &*call.src].into_iter().find_map(|name| stubs.get(name))
}

fn is_stubbed(plan: &ScenarioPlan, call: &CallPoint) -> bool {
    stubs_of(plan, call).is_some()
}

/// Fails unless a person can give the stubbed answers.
fn insist_on_answers(plan: &ScenarioPlan, call: &CallPoint) -> Result<(), &'static str> {
    let one = |stub: &Value| match stub.get("error") {
        Value::Null => person_answer(stub.get("done")).map(drop),
        error if error.get("category").as_str() == Some("expired") => Ok(()),
        _ => Err("a person fails otherwise than by not answering"),
    };
    match stubs_of(plan, call) {
        Some(Value::List(stubs)) => stubs.iter().try_for_each(one),
        Some(stub) => one(stub),
        None => Ok(()),
    }
}

/// Returns the answer of a person with this result.
pub(crate) fn person_answer(result: &Value) -> Result<PersonAnswer, &'static str> {
    let known = ["approved", "by", "comment", "data"];
    let is_known = result.as_map().is_some_and(|map| map.keys().all(|key| known.contains(&&**key)));
    let (true, Value::Bool(approved)) = (is_known, result.get("approved")) else {
        return Err("a person answers what no person can");
    };
    let text = |key: &str| result.get(key).as_str().map(str::to_owned);
    Ok(PersonAnswer {
        approved: *approved,
        by: text("by"),
        claimed: None,
        asked_ms: None,
        comment: text("comment"),
        data: result.get("data").clone(),
    })
}

/// Replaces the chart of an invoke by one that calls a service and ends with its result.
fn stand_in(charts: &mut Vec<Edition>, src: &str) {
    let reference = ServiceName::of(src).member;
    let (id, range) = reference.split_once('@').unwrap_or((reference, ""));
    let major = range.trim_start_matches(|first: char| !first.is_ascii_digit());
    let major = major.split('.').next().filter(|major| !major.is_empty()).unwrap_or("1");
    let known = charts.iter().find(|edition| edition.chart.id() == id);
    let version = known.map_or_else(|| format!("{major}.0.0"), |edition| edition.chart.version().to_owned());
    let text = format!(
        "
statechart:
  id: {id}
  version: {version}
  initial: working
  context: {{result: null}}
  states:
    working:
      invoke:
        id: stub
        src: \"{CHART_STUB}{src}\"
        onDone: {{target: done, actions: [{{type: assign, context_updates: {{result: event.data}}}}]}}
    done: {{type: final, output: context.result}}
"
    );
    charts.retain(|edition| edition.chart.id() != id);
    charts.push(Edition::read("stub.yaml", &text).unwrap());
}

/// Returns true if a stimulus reports that a budget cannot pay for a list.
fn lacks_budget(stimulus: &Stimulus) -> bool {
    match stimulus {
        Stimulus::Event { name, data } => {
            name.starts_with("error.invoke.") && data.get("code").as_str() == Some("budget")
        }
        Stimulus::Advance { .. } => false,
    }
}

fn act(stimulus: &Stimulus, calls: &[CallPoint]) -> Result<ScriptAct, &'static str> {
    let (name, data) = match stimulus {
        Stimulus::Advance { ms, .. } => return Ok(ScriptAct::Advance { ms: *ms }),
        Stimulus::Event { name, data } if !is_fact(name) => {
            return Ok(ScriptAct::Send { name: Arc::clone(name), data: data.clone() });
        }
        Stimulus::Event { name, data } => (name, data),
    };
    let is_person = |invoke: &str| {
        let is_it =
            |call: &CallPoint| *call.id == *invoke && ServiceName::of(&call.src).class == ServiceClass::Human;
        calls.iter().any(is_it)
    };
    let answer = match (name.strip_prefix("done.invoke."), name.strip_prefix("error.invoke.")) {
        (Some(invoke), _) if is_person(invoke) => (invoke, Some(person_answer(data)?)),
        (_, Some(invoke)) if is_person(invoke) => (invoke, None),
        (_, Some(_)) => return Err("a stimulus fails a list for a reason that the chart excludes"),
        _ => return Err("a stimulus reports a result that no person gives"),
    };
    Ok(ScriptAct::Answer { invoke: answer.0.to_owned(), answer: answer.1 })
}
