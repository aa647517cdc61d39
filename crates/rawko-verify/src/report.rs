//! `Report`: the verdicts on one chart, in the shape that `rawko verify --json` prints. Other tools read it.

use rawko_core::{Map, Value};

use crate::graph::Counterexample;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    Violated,
    Unknown,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Report {
    pub chart: String,
    pub states: usize,
    pub transitions: usize,
    pub properties: Vec<PropertyReport>,
}

#[derive(Clone, Debug)]
pub struct PropertyReport {
    pub name: String,
    pub verdict: Verdict,
    /// The explored part, in words.
    pub bound: String,
    /// A shortest violation.
    pub trace: Option<Counterexample>,
}

impl Report {
    /// Returns the worst verdict: violated, then unknown, then holds.
    pub fn verdict(&self) -> Verdict {
        let has = |verdict| self.properties.iter().any(|property| property.verdict == verdict);
        match (has(Verdict::Violated), has(Verdict::Unknown)) {
            (true, _) => Verdict::Violated,
            (false, true) => Verdict::Unknown,
            (false, false) => Verdict::Holds,
        }
    }

    pub fn property(&self, name: &str) -> Option<&PropertyReport> {
        self.properties.iter().find(|property| property.name == name)
    }

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
    fn to_value(&self) -> Value {
        let mut map = Map::default();
        map.insert("name".into(), Value::str(&self.name));
        map.insert("verdict".into(), Value::str(self.verdict.as_str()));
        map.insert("bound".into(), Value::str(&self.bound));
        let trace = self.trace.as_ref().map_or(Value::Null, Counterexample::to_value);
        map.insert("trace".into(), trace);
        Value::Map(map.into())
    }
}
