//! The register of finding codes: every code with its severity and a one-line summary. Separate from the analyses so
//! that one test can require a page and a broken chart for each, and so that tools can list them.

use crate::finding::{Finding, Severity};
use crate::source::Span;

/// One kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `rawko::chart::<slug>`, or with `project`, `settings` or `agents` in its middle: stable, for tools and for
    /// searching.
    pub name: &'static str,
    /// The highest severity it is reported with.
    pub severity: Severity,
    /// One-line summary; lower case, no full stop.
    pub summary: &'static str,
}

impl Code {
    /// Returns the last part of the name: the page is `docs/errors/<slug>.md`, or `docs/errors/settings/<slug>.md` and
    /// so on.
    pub fn slug(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }

    /// Creates a finding of this kind at a location.
    pub fn at(&self, span: Span, message: impl Into<String>) -> Finding {
        Finding::new(self.name, self.severity, span, message)
    }
}

/// Returns the code with this name or slug. A slug shared by several families is the chart's, else the settings'.
pub fn find(name: &str) -> Option<&'static Code> {
    let mut all = ALL.iter().chain(project::ALL).chain(settings::ALL).chain(agents::ALL);
    all.find(|code| code.name == name || code.slug() == name)
}

/// Declares the constants together with their list, so that none can be omitted from it.
macro_rules! codes {
    ($family:literal; $($constant:ident = $severity:ident $slug:literal: $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: Code = Code {
                name: concat!("rawko::", $family, "::", $slug),
                severity: Severity::$severity,
                summary: $summary,
            };
        )*
        /// Every code, in the order of the register.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    "chart";
    INVALID_UTF8 = Fatal "invalid_utf8": "the file is not UTF-8 text";
    TOO_LARGE = Fatal "too_large": "the text, its nesting or what it holds is over a limit";
    YAML_SYNTAX = Fatal "yaml_syntax": "the text is not YAML";
    JSON_SYNTAX = Fatal "json_syntax": "the text is not JSON";
    DUPLICATE_KEY = Fatal "duplicate_key": "a key is written twice";
    NOT_A_CHART = Fatal "not_a_chart": "the document is not a chart";
    NOT_A_REGISTRY = Fatal "not_a_registry": "the document is not a registry of charts";
    DUPLICATE_ENTRY = Error "duplicate_entry": "a registry lists the same version of a chart twice";
    UNKNOWN_KEY = Fatal "unknown_key": "the format has no such key here";
    MISSING_KEY = Fatal "missing_key": "a required key is missing";
    MISPLACED_KEY = Error "misplaced_key": "a key means nothing on this kind of state";
    WRONG_TYPE = Fatal "wrong_type": "a value has the wrong shape";
    UNKNOWN_VALUE = Fatal "unknown_value": "a value is not one of those allowed here";
    MISSING_ID = Warning "missing_id": "the chart has no id";
    INVALID_VERSION = Error "invalid_version": "the chart's version is not a version";
    INVALID_NAME = Fatal "invalid_name": "something cannot be the key of a state";
    DUPLICATE_ID = Fatal "duplicate_id": "two states have the same id";
    TYPE_CONFLICT = Fatal "type_conflict": "a state's type does not go with the states below it";
    NO_STATES = Fatal "no_states": "a compound state has no states";
    MISSING_INITIAL = Fatal "missing_initial": "a state does not say which of its states it starts in (rule 1)";
    UNKNOWN_INITIAL = Fatal "unknown_initial": "the initial state does not exist (rule 1)";
    PARALLEL_NEEDS_REGIONS = Fatal "parallel_needs_regions": "a parallel state has fewer than two regions (rule 4)";
    UNKNOWN_TARGET = Fatal "unknown_target": "a target does not exist (rule 2)";
    AMBIGUOUS_TARGET = Fatal "ambiguous_target": "a target could mean several states";
    CONFLICTING_TARGETS = Fatal "conflicting_targets": "the targets of a transition cannot be active together";
    INVALID_EVENT = Fatal "invalid_event": "something cannot be the name of an event";
    INVALID_SCHEMA = Error "invalid_schema": "a JSON Schema cannot be used, or a part of it is not enforced";
    UNDECLARED_EVENT = Error "undeclared_event": "an event is used that `events` does not declare";
    WRONG_DATA = Error "wrong_data": "data does not fit the schema of what receives it";
    UNKNOWN_FIELD = Error "unknown_field": "an expression reads a key that the data does not have";
    INVALID_DELAY = Fatal "invalid_delay": "something is not a delay";
    GUARD_SYNTAX = Fatal "guard_syntax": "a guard cannot be read (rule 6)";
    UNKNOWN_GUARD = Fatal "unknown_guard": "there is no guard of this name";
    EXPRESSION_SYNTAX = Fatal "expression_syntax": "an expression cannot be read";
    UNKNOWN_NAME = Fatal "unknown_name": "an expression uses a name that does not exist";
    UNKNOWN_STATE = Fatal "unknown_state": "`stateIn` names a state that does not exist";
    WRONG_ARGUMENTS = Fatal "wrong_arguments": "a function is called with the wrong number of arguments";
    TYPE_MISMATCH = Error "type_mismatch": "an expression combines types that do not go together";
    NEVER_EQUAL = Warning "never_equal": "two sides of a comparison are never equal";
    LOOKS_LIKE_EXPRESSION = Warning "looks_like_expression": "a plain text reads like an expression";
    LOOKS_LIKE_LITERAL = Warning "looks_like_literal": "an expression reads like a plain text";
    UNKNOWN_ACTION = Fatal "unknown_action": "there is no such action or type of action (rule 7)";
    RECURSIVE_ACTION = Fatal "recursive_action": "an action contains itself";
    UNKNOWN_CONTEXT_KEY = Error "unknown_context_key": "an expression reads a key that the context does not have";
    UNDECLARED_CONTEXT_KEY = Error "undeclared_context_key": "an assign names a key that the context does not declare (rule 10)";
    CONTEXT_TYPE_MISMATCH = Error "context_type_mismatch": "a context key is given a value of another type (rule 10)";
    UNKNOWN_SERVICE = Error "unknown_service": "an invoke or a handler names something that is not known (rule 8)";
    UNKNOWN_RECIPIENT = Error "unknown_recipient": "a `send` names a target that is not known";
    POLICY_WIDENS = Warning "policy_widens": "a state allows more than the states around it";
    NOT_COMPILED = Fatal "not_compiled": "the chart cannot be made ready to run";
    UNREACHABLE_STATE = Error "unreachable_state": "no way leads to a state (rule 3)";
    REGION_WITHOUT_FINAL = Error "region_without_final": "a parallel state can neither complete nor be left (rule 5)";
    CIRCULAR_HISTORY = Fatal "circular_history": "a history state leads back to itself when nothing was recorded";
    HISTORY_ONLY_FROM_INSIDE = Warning "history_only_from_inside":
        "a history state is entered only from inside its own parent";
    EVENTLESS_CYCLE = Error "eventless_cycle": "eventless transitions without a guard go round for ever (rule 9)";
    GUARDED_EVENTLESS_CYCLE = Warning "guarded_eventless_cycle":
        "eventless transitions go round for ever once their guards hold";
    ZERO_DELAY_CYCLE = Error "zero_delay_cycle": "timers of 0 ms without a guard repeat without end";
    REGIONS_ASSIGN_SAME_KEY = Warning "regions_assign_same_key": "two regions assign the same context key";
    RESETS_SIBLING_REGIONS = Warning "resets_sibling_regions": "a transition starts other regions over";
    EVENT_NEVER_SENT = Warning "event_never_sent": "a transition waits for an event that cannot occur";
    EVENT_NEVER_HANDLED = Warning "event_never_handled": "an event is raised that nothing handles";
    FINAL_WITH_TRANSITIONS = Error "final_with_transitions": "a final state has something that can never happen";
    INVOKE_WITHOUT_ON_ERROR = Warning "invoke_without_on_error": "nothing handles the failure of an invoke";
    INVOKES_ITSELF = Error "invokes_itself": "a chart always invokes itself, directly or through others";
    DUPLICATE_INVOKE_ID = Error "duplicate_invoke_id": "two invokes that run at the same time share an id";
    GUARD_ALWAYS_FALSE = Warning "guard_always_false": "a guard can never hold";
    UNREACHABLE_TRANSITION = Warning "unreachable_transition": "a transition can never be chosen";
    FAILURE_REPORTS_SUCCESS = Warning "failure_reports_success": "a failure or a limit ends as if it were a success";
    WILDCARD_SWALLOWS_COMPLETION = Warning "wildcard_swallows_completion":
        "a catch-all takes the event that an enclosing state waits for";
    DEAD_END = Warning "dead_end": "a state cannot be left and is not final";
}

/// Problems between the files of a project. Defined here and not where they are read, so that there is one register.
pub mod project {
    use super::{Code, Severity};

    codes! {
        "project";
        REGISTRY_FILE_MISSING = Error "registry_file_missing": "a registry names a file that is not there";
        REGISTRY_MISMATCH = Error "registry_mismatch": "a registry calls a chart something else than the chart itself";
        DUPLICATE_CHART = Error "duplicate_chart": "two charts of a project have the same id and version";
    }
}

/// Problems of settings. Here for the same reason.
pub mod settings {
    use super::{Code, Severity};

    codes! {
        "settings";
        UNREADABLE = Error "unreadable": "the file is there but cannot be read";
        UNKNOWN_KEY = Error "unknown_key": "settings have no such key here";
        MISSING_KEY = Error "missing_key": "a required key is missing";
        WRONG_TYPE = Error "wrong_type": "a value has the wrong shape";
        INVALID_VALUE = Error "invalid_value": "a value does not mean anything here";
        CONFLICTING_KEYS = Error "conflicting_keys": "two keys do not go together";
        UNSET_VARIABLE = Warning "unset_variable": "an environment variable that is used is not set";
        NEVER_ALLOWED = Warning "never_allowed": "a service is refused whenever it is called";
    }
}

/// Problems of agent files. Here for the same reason.
pub mod agents {
    use super::{Code, Severity};

    codes! {
        "agents";
        UNREADABLE = Error "unreadable": "the file is there but cannot be read";
        UNKNOWN_ENDING = Warning "unknown_ending": "a file beside the agents is not one by its name";
        UNCLOSED_FRONTMATTER = Error "unclosed_frontmatter": "the frontmatter of a Markdown file has no end";
        UNKNOWN_KEY = Error "unknown_key": "an agent file has no such key here";
        MISSING_KEY = Error "missing_key": "something that this kind of agent needs is missing";
        WRONG_TYPE = Error "wrong_type": "a value has the wrong shape";
        INVALID_VALUE = Error "invalid_value": "a value does not mean anything here";
        CONFLICTING_KEYS = Error "conflicting_keys": "two keys do not go together";
        DUPLICATE_AGENT = Error "duplicate_agent": "two files of one folder are the same agent";
        UNKNOWN_TRANSITION = Error "unknown_transition": "a transition leads to an agent that does not exist";
        NO_DESCRIPTION = Warning "no_description": "nothing says when to choose the agent";
        NEVER_ALLOWED = Warning "never_allowed": "a tool is both allowed and blocked";
        UNKNOWN_TOOL = Warning "unknown_tool": "a rule names a tool or an MCP server that does not exist";
        NOT_ENFORCED = Warning "not_enforced": "a rule about a tool is finer than what can be held to";
    }
}
