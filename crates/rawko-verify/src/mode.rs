//! `Mode`: the ways to explore data that is not known, from exact to general.

/// The treatment of unknown data and of time in one exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Representative values only, so that every violation is real and replays.
    Concrete,
    /// The same, with both outcomes of guards that representative values do not cover.
    Decided,
    /// Unknown data stays unknown and timers fire in any order: what holds does so for all data and all times.
    General(ExplorationDetail),
}

/// The distinctions that a general exploration makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExplorationDetail {
    /// Only truth values, beside states and pending work.
    Control,
    /// One value of each context key, besides null, true and false.
    Coarse,
    Medium,
    /// Fields that the chart only compares with constants have representative values.
    Fine,
}

impl Mode {
    pub(crate) fn is_general(self) -> bool {
        matches!(self, Mode::General(_))
    }

    pub(crate) fn is_fine(self) -> bool {
        self == Mode::General(ExplorationDetail::Fine)
    }

    /// Returns the number of values of one context key, beyond which all of them count as unknown.
    pub(crate) fn values_max(self) -> usize {
        match self {
            Mode::General(ExplorationDetail::Control) => 0,
            Mode::General(ExplorationDetail::Coarse) => 1,
            Mode::General(ExplorationDetail::Medium) => 4,
            Mode::General(ExplorationDetail::Fine) | Mode::Concrete | Mode::Decided => 12,
        }
    }
}
