//! `VerifyReport`: the verdicts on one chart, in the shape that `rawko verify --json` prints. Other tools read it.

use rawko_core::{Map, Value};

use crate::graph::Counterexample;

/// The result for one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyVerdict {
    /// No reachable state violates it.
    Holds,
    /// A run violates it; the report has the shortest one found.
    Violated,
    /// A limit was reached, or the data is too general to decide.
    Unknown,
}

impl PropertyVerdict {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            PropertyVerdict::Holds => "holds",
            PropertyVerdict::Violated => "violated",
            PropertyVerdict::Unknown => "unknown",
        }
    }
}

/// The verdicts on one chart.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// Chart id.
    pub chart: String,
    /// Explored states.
    pub states: usize,
    /// Explored steps between states.
    pub transitions: usize,
    /// Bytes of the stored identities of these states.
    pub bytes: usize,
    /// Built-in properties, then the chart's own.
    pub properties: Vec<PropertyReport>,
}

/// The verdict on one property.
#[derive(Clone, Debug)]
pub struct PropertyReport {
    /// Name of the property.
    pub name: String,
    /// Result of the exploration.
    pub verdict: PropertyVerdict,
    /// The explored part, in words.
    pub bound: String,
    /// A shortest violation.
    pub trace: Option<Counterexample>,
    /// An own property as a formula of linear temporal logic.
    pub ltl: Option<String>,
}

impl VerifyReport {
    /// Returns the worst verdict: violated, then unknown, then holds.
    pub fn verdict(&self) -> PropertyVerdict {
        let has = |verdict| self.properties.iter().any(|property| property.verdict == verdict);
        match (has(PropertyVerdict::Violated), has(PropertyVerdict::Unknown)) {
            (true, _) => PropertyVerdict::Violated,
            (false, true) => PropertyVerdict::Unknown,
            (false, false) => PropertyVerdict::Holds,
        }
    }

    /// Returns the verdict on a property by name.
    pub fn property(&self, name: &str) -> Option<&PropertyReport> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Converts to the form of `rawko verify --json`.
    pub fn to_value(&self) -> Value {
        Value::map([
            ("chart", Value::str(&self.chart)),
            ("states", Value::Int(self.states as i64)),
            ("transitions", Value::Int(self.transitions as i64)),
            ("properties", Value::list(self.properties.iter().map(PropertyReport::to_value).collect())),
        ])
    }
}

impl PropertyReport {
    pub(crate) fn new(
        name: &str,
        verdict: PropertyVerdict,
        bound: String,
        trace: Option<Counterexample>,
    ) -> Self {
        Self { name: name.to_owned(), verdict, bound, trace, ltl: None }
    }

    fn to_value(&self) -> Value {
        let mut map = Map::default();
        map.insert("name".into(), Value::str(&self.name));
        map.insert("verdict".into(), Value::str(self.verdict.as_str()));
        map.insert("bound".into(), Value::str(&self.bound));
        let trace = self.trace.as_ref().map_or(Value::Null, Counterexample::to_value);
        map.insert("trace".into(), trace);
        if let Some(ltl) = &self.ltl {
            map.insert("ltl".into(), Value::str(ltl));
        }
        Value::Map(map.into())
    }
}
