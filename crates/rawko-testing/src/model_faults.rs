//! `faults:` of a scenario file: expected results of failing calls. Separate from the other keys because only `--faults`
//! reads it.

use rawko_chart::SpannedValue;
use rawko_sim::{CallPoint, InjectedFaultKind};

use crate::model::Expectation;
use crate::read::{BAD_VALUE, ScenarioReader, listed};

/// One entry: an invoke, a kind of fault, and the expected outcome.
#[derive(Clone, Debug)]
pub(crate) struct FaultExpectation {
    pub(crate) line: usize,
    /// An invoke's id or its `src`; `*` for every invoke.
    pub(crate) invoke: String,
    /// `None`: any kind.
    pub(crate) kind: Option<InjectedFaultKind>,
    pub(crate) outcome: FaultOutcome,
}

/// The expected end of a run with a fault.
#[derive(Clone, Debug)]
pub(crate) enum FaultOutcome {
    /// These expectations hold at the end.
    Expect(Vec<Expectation>),
    /// Every step reports the same as without the fault.
    Same,
    /// The fault is not tried.
    Skip,
}

const EVERY_INVOKE: &str = "*";
const ANY_KIND: &str = "any";

impl FaultExpectation {
    pub(crate) fn names(&self, call: &CallPoint) -> bool {
        self.invoke == EVERY_INVOKE || *self.invoke == *call.id || *self.invoke == *call.src
    }

    /// The more specific entry wins: a named invoke before `*`, then a named kind before `any`.
    fn rank(&self) -> (bool, bool) {
        (self.invoke != EVERY_INVOKE, self.kind.is_some())
    }
}

/// The entry that applies to a fault at a call: one of the scenario, otherwise one of the file.
pub(crate) fn expectation_for<'a>(
    scenario: &'a [FaultExpectation],
    file: &'a [FaultExpectation],
    call: &CallPoint,
    kind: InjectedFaultKind,
) -> Option<&'a FaultExpectation> {
    let best = |entries: &'a [FaultExpectation]| {
        let fits =
            |entry: &&FaultExpectation| entry.names(call) && entry.kind.is_none_or(|wanted| wanted == kind);
        entries.iter().filter(fits).max_by_key(|entry| entry.rank())
    };
    best(scenario).or_else(|| best(file))
}

impl ScenarioReader<'_> {
    /// Reads `{INVOKE: {KIND: outcome}}`.
    pub(crate) fn faults(&mut self, document: Option<&SpannedValue>) -> Vec<FaultExpectation> {
        let Some(document) = document else { return Vec::new() };
        let Some(invokes) = document.entries() else {
            self.only_keys(document, &[], "`faults`");
            return Vec::new();
        };
        let mut found = Vec::new();
        for invoke in invokes {
            let kinds = InjectedFaultKind::ALL.map(InjectedFaultKind::as_str);
            let known = [&kinds[..], &[ANY_KIND]].concat();
            self.only_keys(&invoke.value, &known, &format!("`faults` of `{}`", invoke.key));
            for entry in invoke.value.entries().unwrap_or_default() {
                let kind = InjectedFaultKind::ALL.into_iter().find(|kind| kind.as_str() == entry.key);
                if kind.is_none() && entry.key != ANY_KIND {
                    continue;
                }
                let line = self.line(entry.key_span);
                let outcome = self.fault_outcome(&entry.value);
                found.push(FaultExpectation { line, invoke: invoke.key.clone(), kind, outcome });
            }
        }
        found
    }

    fn fault_outcome(&mut self, document: &SpannedValue) -> FaultOutcome {
        match document.text() {
            Some("same") => FaultOutcome::Same,
            Some("skip") => FaultOutcome::Skip,
            Some(_) => {
                let message =
                    format!("expected outcome must be a map or one of {}", listed(&["same", "skip"]));
                self.complain(BAD_VALUE, document.span, message);
                FaultOutcome::Skip
            }
            None => FaultOutcome::Expect(self.expectations(document)),
        }
    }
}
