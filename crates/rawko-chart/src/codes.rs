//! The register of finding codes: every code there is, how bad it is and what it says in one line. Apart from the
//! analyses so that a page and a broken chart for each can be demanded by one test, and so that tools can list them.

use crate::finding::{Finding, Severity};
use crate::source::Span;

/// One kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `rawko::chart::<slug>`: stable, for tools and for people who search.
    pub name: &'static str,
    pub severity: Severity,
    /// What it means in one line; lower case, no full stop.
    pub summary: &'static str,
}

impl Code {
    /// The last part of the name: the page is `docs/errors/<slug>.md`.
    pub fn slug(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }

    /// A finding of this kind at a place.
    pub fn at(&self, span: Span, message: impl Into<String>) -> Finding {
        Finding::new(self.name, self.severity, span, message)
    }
}

/// The code with this name or slug.
pub fn find(name: &str) -> Option<&'static Code> {
    ALL.iter().find(|code| code.name == name || code.slug() == name)
}

/// Declares the constants and the list of them together, so that none can be left out of the list.
macro_rules! codes {
    ($($constant:ident = $severity:ident $slug:literal: $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: Code = Code {
                name: concat!("rawko::chart::", $slug),
                severity: Severity::$severity,
                summary: $summary,
            };
        )*
        /// Every code, in the order of the register.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    UNREACHABLE_STATE = Error "unreachable_state": "no way leads to a state (rule 3)";
    REGION_WITHOUT_FINAL = Error "region_without_final": "a parallel state can neither complete nor be left (rule 5)";
    EVENTLESS_CYCLE = Error "eventless_cycle": "eventless transitions without a guard go round for ever (rule 9)";
    GUARDED_EVENTLESS_CYCLE = Warning "guarded_eventless_cycle":
        "eventless transitions go round for ever once their guards hold";
    REGIONS_ASSIGN_SAME_KEY = Warning "regions_assign_same_key": "two regions assign the same context key";
    RESETS_SIBLING_REGIONS = Warning "resets_sibling_regions": "a transition starts other regions over";
    EVENT_NEVER_SENT = Warning "event_never_sent": "a transition waits for an event that cannot occur";
    EVENT_NEVER_HANDLED = Warning "event_never_handled": "an event is raised that nothing handles";
    FINAL_WITH_TRANSITIONS = Error "final_with_transitions": "a final state has something that can never happen";
    INVOKE_WITHOUT_ON_ERROR = Warning "invoke_without_on_error": "nothing handles the failure of an invoke";
    DUPLICATE_INVOKE_ID = Error "duplicate_invoke_id": "two invokes that run at the same time share an id";
    GUARD_ALWAYS_FALSE = Warning "guard_always_false": "a guard can never hold";
    UNREACHABLE_TRANSITION = Warning "unreachable_transition": "a transition can never be chosen";
    FAILURE_REPORTS_SUCCESS = Warning "failure_reports_success": "a failure or a limit ends as if it were a success";
    WILDCARD_SWALLOWS_COMPLETION = Warning "wildcard_swallows_completion":
        "a catch-all takes the event that an enclosing state waits for";
    DEAD_END = Warning "dead_end": "a state cannot be left and is not final";
}
