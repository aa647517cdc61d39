//! `StimulusAnswers`: the invokes that stimuli may answer by name. Separate from stubs, which answer by themselves.

use std::collections::BTreeSet;

use crate::Stimulus;

/// The invokes that stimuli may answer: any, unless all stimuli are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StimulusAnswers {
    /// Ids of invokes; `None` while stimuli are still to come, from a person or a program.
    known: Option<BTreeSet<String>>,
}

impl StimulusAnswers {
    pub(crate) fn of<'s>(stimuli: impl IntoIterator<Item = &'s Stimulus>) -> Self {
        let names = stimuli.into_iter().filter_map(|stimulus| match stimulus {
            Stimulus::Event { name, .. } => {
                name.strip_prefix("done.invoke.").or_else(|| name.strip_prefix("error.invoke."))
            }
            Stimulus::Advance { .. } => None,
        });
        Self { known: Some(names.map(str::to_owned).collect()) }
    }

    pub(crate) fn may_answer(&self, invoke: &str) -> bool {
        self.known.as_ref().is_none_or(|known| known.contains(invoke))
    }
}
