//! The register of finding codes: every code with its severity and a one-line summary. Separate from the analyses so
//! that one test can require a page and a broken chart for each, and so that tools can list them.

use crate::finding::{Finding, Severity};
use crate::source::Span;

/// One kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingCode {
    /// `rawko::chart::<slug>`, or with `project`, `settings`, `agents` or `verify` in its middle: stable, for tools and for
    /// searching.
    pub name: &'static str,
    /// The highest severity it is reported with.
    pub severity: Severity,
    /// One-line summary; lower case, no full stop.
    pub summary: &'static str,
}

impl FindingCode {
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
pub fn find(name: &str) -> Option<&'static FindingCode> {
    let mut all = ALL.iter().chain(project::ALL).chain(settings::ALL).chain(agents::ALL).chain(verify::ALL);
    all.find(|code| code.name == name || code.slug() == name)
}

/// Declares the constants together with their list, so that none can be omitted from it.
macro_rules! codes {
    ($family:literal; $($constant:ident = $severity:ident $slug:literal: $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: FindingCode = FindingCode {
                name: concat!("rawko::", $family, "::", $slug),
                severity: Severity::$severity,
                summary: $summary,
            };
        )*
        /// Every code, in the order of the register.
        pub const ALL: &[FindingCode] = &[$($constant),*];
    };
}

codes! {
    "chart";
    INVALID_UTF8 = Fatal "invalid_utf8": "the file is not UTF-8 text";
    TOO_LARGE = Fatal "too_large": "the file is too large or nested too deeply";
    YAML_SYNTAX = Fatal "yaml_syntax": "the text is not YAML";
    JSON_SYNTAX = Fatal "json_syntax": "the text is not JSON";
    DUPLICATE_KEY = Fatal "duplicate_key": "a key is written twice";
    NOT_A_CHART = Fatal "not_a_chart": "the document is not a chart";
    NOT_A_REGISTRY = Fatal "not_a_registry": "the document is not a registry of charts";
    DUPLICATE_ENTRY = Error "duplicate_entry": "a registry lists the same version of a chart twice";
    UNKNOWN_KEY = Fatal "unknown_key": "a key is not part of the format";
    MISSING_KEY = Fatal "missing_key": "a required key is missing";
    MISPLACED_KEY = Error "misplaced_key": "a key does not belong on this kind of state";
    WRONG_TYPE = Fatal "wrong_type": "a value has the wrong type";
    UNKNOWN_VALUE = Fatal "unknown_value": "a value is not one of those allowed here";
    MISSING_ID = Warning "missing_id": "the chart has no id";
    INVALID_VERSION = Error "invalid_version": "the chart's version is invalid";
    INVALID_NAME = Fatal "invalid_name": "the key of a state is invalid";
    DUPLICATE_ID = Fatal "duplicate_id": "two states have the same id";
    TYPE_CONFLICT = Fatal "type_conflict": "a state's type conflicts with the states inside it";
    NO_STATES = Fatal "no_states": "a compound state has no child states";
    MISSING_INITIAL = Fatal "missing_initial": "a state with child states has no `initial` (rule 1)";
    UNKNOWN_INITIAL = Fatal "unknown_initial": "the initial state does not exist (rule 1)";
    PARALLEL_NEEDS_REGIONS = Fatal "parallel_needs_regions": "a parallel state has fewer than two regions (rule 4)";
    UNKNOWN_TARGET = Fatal "unknown_target": "a target does not exist (rule 2)";
    AMBIGUOUS_TARGET = Fatal "ambiguous_target": "a target matches several states";
    CONFLICTING_TARGETS = Fatal "conflicting_targets": "the targets of a transition cannot be active together";
    INVALID_PROPERTY = Error "invalid_property": "a property cannot be checked as written";
    INVALID_MIGRATION = Error "invalid_migration": "a migration cannot be used as written";
    INVALID_EVENT = Fatal "invalid_event": "the name of an event is invalid";
    INVALID_SCHEMA = Error "invalid_schema": "a JSON Schema cannot be used, or a part of it is not enforced";
    UNDECLARED_EVENT = Error "undeclared_event": "an event is used that `events` does not declare";
    WRONG_DATA = Error "wrong_data": "data does not match the schema of its receiver";
    UNKNOWN_FIELD = Error "unknown_field": "an expression reads a key that the data does not have";
    INVALID_DELAY = Fatal "invalid_delay": "a delay is invalid";
    GUARD_SYNTAX = Fatal "guard_syntax": "a guard cannot be parsed (rule 6)";
    UNKNOWN_GUARD = Fatal "unknown_guard": "a guard is not defined";
    EXPRESSION_SYNTAX = Fatal "expression_syntax": "an expression cannot be parsed";
    UNKNOWN_NAME = Fatal "unknown_name": "an expression uses an unknown name";
    UNKNOWN_STATE = Fatal "unknown_state": "`stateIn` names a state that does not exist";
    WRONG_ARGUMENTS = Fatal "wrong_arguments": "a function is called with the wrong number of arguments";
    TYPE_MISMATCH = Error "type_mismatch": "an expression combines incompatible types";
    NEVER_EQUAL = Warning "never_equal": "two sides of a comparison are never equal";
    LOOKS_LIKE_EXPRESSION = Warning "looks_like_expression": "plain text looks like an expression";
    LOOKS_LIKE_LITERAL = Warning "looks_like_literal": "an expression looks like plain text";
    UNKNOWN_ACTION = Fatal "unknown_action": "an action or action type is unknown (rule 7)";
    RECURSIVE_ACTION = Fatal "recursive_action": "an action contains itself";
    UNKNOWN_CONTEXT_KEY = Error "unknown_context_key": "an expression reads a key that the context does not have";
    UNDECLARED_CONTEXT_KEY = Error "undeclared_context_key": "an assign sets a key that the context does not declare (rule 10)";
    CONTEXT_TYPE_MISMATCH = Error "context_type_mismatch": "a context key is assigned a value of another type (rule 10)";
    UNKNOWN_SERVICE = Error "unknown_service": "an invoke or a handler names an unknown service (rule 8)";
    UNKNOWN_RECIPIENT = Error "unknown_recipient": "a `send` has an unknown target";
    POLICY_WIDENS = Warning "policy_widens": "a state allows more than the states around it";
    UNKNOWN_TOOL = Fatal "unknown_tool": "a policy of a state names an unknown tool";
    NOT_COMPILED = Fatal "not_compiled": "the chart cannot be compiled";
    UNREACHABLE_STATE = Error "unreachable_state": "a state is unreachable (rule 3)";
    REGION_WITHOUT_FINAL = Error "region_without_final": "a parallel state can neither complete nor be left (rule 5)";
    CIRCULAR_HISTORY = Fatal "circular_history": "a history state leads back to itself when nothing is recorded";
    HISTORY_ONLY_FROM_INSIDE = Warning "history_only_from_inside":
        "a history state is entered only from inside its own parent";
    EVENTLESS_CYCLE = Error "eventless_cycle": "eventless transitions without a guard loop forever (rule 9)";
    GUARDED_EVENTLESS_CYCLE = Warning "guarded_eventless_cycle":
        "eventless transitions loop forever once their guards hold";
    ZERO_DELAY_CYCLE = Error "zero_delay_cycle": "timers of 0 ms without a guard loop forever";
    REGIONS_ASSIGN_SAME_KEY = Warning "regions_assign_same_key": "two regions assign the same context key";
    RESETS_SIBLING_REGIONS = Warning "resets_sibling_regions": "a transition restarts other regions";
    EVENT_NEVER_SENT = Warning "event_never_sent": "a transition waits for an event that cannot occur";
    EVENT_NEVER_HANDLED = Warning "event_never_handled": "a raised event is never handled";
    FINAL_WITH_TRANSITIONS = Error "final_with_transitions": "a final state has keys that never take effect";
    INVOKE_WITHOUT_ON_ERROR = Warning "invoke_without_on_error": "nothing handles the failure of an invoke";
    INVALID_ITEM_NAME = Fatal "invalid_item_name": "the name of an item hides another name or is not one";
    NEEDS_EACH = Error "needs_each": "a key of `each` is on an invoke without one";
    ON_TIMEOUT_WITH_EACH = Error "on_timeout_with_each": "`onTimeout` is beside `each` and never taken";
    JOIN_IMPOSSIBLE = Error "join_impossible": "a join can never be met by its list";
    UNBOUNDED_FAN_OUT = Warning "unbounded_fan_out": "an `each` has neither `max_concurrent` nor a budget";
    INVOKES_ITSELF = Error "invokes_itself": "a chart always invokes itself, directly or through others";
    DUPLICATE_INVOKE_ID = Error "duplicate_invoke_id": "two invokes that run at the same time share an id";
    GUARD_ALWAYS_FALSE = Warning "guard_always_false": "a guard can never hold";
    UNREACHABLE_TRANSITION = Warning "unreachable_transition": "a transition can never be chosen";
    FAILURE_REPORTS_SUCCESS = Warning "failure_reports_success": "a failure or a limit is reported as success";
    WILDCARD_SWALLOWS_COMPLETION = Warning "wildcard_swallows_completion":
        "a catch-all takes the event that an enclosing state waits for";
    DEAD_END = Warning "dead_end": "a state cannot be left and is not final";
}

/// Problems between the files of a project. Defined here and not where they are read, so that there is one register.
pub mod project {
    use super::{FindingCode, Severity};

    codes! {
        "project";
        REGISTRY_FILE_MISSING = Error "registry_file_missing": "a registry names a file that does not exist";
        REGISTRY_MISMATCH = Error "registry_mismatch": "a registry entry and its chart differ in id or version";
        DUPLICATE_CHART = Error "duplicate_chart": "two charts of a project have the same id and version";
    }
}

/// Problems of settings. Here for the same reason.
pub mod settings {
    use super::{FindingCode, Severity};

    codes! {
        "settings";
        UNREADABLE = Error "unreadable": "the file exists but cannot be read";
        UNKNOWN_KEY = Error "unknown_key": "a settings key is unknown";
        MISSING_KEY = Error "missing_key": "a required key is missing";
        WRONG_TYPE = Error "wrong_type": "a value has the wrong type";
        INVALID_VALUE = Error "invalid_value": "a value is not valid here";
        CONFLICTING_KEYS = Error "conflicting_keys": "two keys conflict";
        UNSET_VARIABLE = Warning "unset_variable": "a referenced environment variable is not set";
        NEVER_ALLOWED = Warning "never_allowed": "every call of a service is refused";
    }
}

/// Built-in properties of `rawko verify`. Here for the same reason.
pub mod verify {
    use super::{FindingCode, Severity};

    codes! {
        "verify";
        NO_TRAP = Error "no_trap": "a state is not final and no end can be reached from it";
        NO_STALL = Error "no_stall": "a state waits only for work that can never answer";
        BOUNDED_EVENTLESS = Error "bounded_eventless": "eventless work does not come to rest";
        FAILURES_HANDLED = Error "failures_handled": "nothing handles a failure of an invoke";
        APPROVAL_RESPECTED = Error "approval_respected": "an effect starts although its approval was denied";
        READ_ONLY_PHASES = Error "read_only_phases": "a read-only state calls a tool that writes";
        BOUNDED_CHILDREN = Error "bounded_children": "a chart invokes itself without end";
        BOUNDED_BY_BUDGET = Error "bounded_by_budget": "an agent, model or tool runs in a loop without a budget";
    }
}

/// Problems of agent files. Here for the same reason.
pub mod agents {
    use super::{FindingCode, Severity};

    codes! {
        "agents";
        UNREADABLE = Error "unreadable": "the file exists but cannot be read";
        UNKNOWN_ENDING = Warning "unknown_ending": "a file in an agents folder has an unsupported extension";
        UNCLOSED_FRONTMATTER = Error "unclosed_frontmatter": "the frontmatter of a Markdown file is not closed";
        UNKNOWN_KEY = Error "unknown_key": "a key of an agent file is unknown";
        MISSING_KEY = Error "missing_key": "a key that this kind of agent requires is missing";
        WRONG_TYPE = Error "wrong_type": "a value has the wrong type";
        INVALID_VALUE = Error "invalid_value": "a value is not valid here";
        CONFLICTING_KEYS = Error "conflicting_keys": "two keys conflict";
        DUPLICATE_AGENT = Error "duplicate_agent": "two files in one folder define the same agent";
        UNKNOWN_TRANSITION = Error "unknown_transition": "a transition leads to an agent that does not exist";
        NO_DESCRIPTION = Warning "no_description": "the agent has neither `whenToUse` nor `description`";
        NEVER_ALLOWED = Warning "never_allowed": "a tool is both allowed and blocked";
        UNKNOWN_TOOL = Error "unknown_tool": "a rule names a tool or an MCP server that does not exist";
        NOT_ENFORCED = Warning "not_enforced": "a tool rule is narrower than rawko can enforce";
        UNSUPPORTED_KEY = Error "unsupported_key": "a key limits the agent in a way that rawko cannot honour";
    }
}
