//! Every key of the chart format, once. The most common keys come first, because lookup compares in order.

use super::shape::{FieldShape, RecordShape, TaggedShape, ValueShape, records};
use ValueShape::{
    Any, Bool, Either, List, MapBy, MapOf, Null, Number, Tagged as TaggedBy, Text, TextLike, Whole, Word,
};

/// Valid keys of states: targets use `.` and a leading `#` to find states.
const STATE_KEY: &str = r"^[^.#][^.]*$";
/// Valid event descriptors: `NAME`, `name.*` or `*`.
const EVENT: &str = r"^(\*|[^\s*]+(\.\*)?)$";
/// Pattern of event names.
const EVENT_NAME: &str = r"^[^\s*]+$";
/// Names that expressions can use.
const BINDING: &str = r"^[A-Za-z_][A-Za-z0-9_]*$";
/// Up to three numbers, perhaps a pre-release and a build.
const VERSION: &str = r"^[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z.-]+)?(\+.*)?$";

static ACTION: ValueShape = Either(&[Text, TaggedBy(&ACTIONS)]);
static ACTION_LIST: ValueShape = Either(&[Text, TaggedBy(&ACTIONS), List(&ACTION)]);
static TARGET: ValueShape = Either(&[Text, List(&Text), Null]);
static GUARD_VALUE: ValueShape = Either(&[Text, Bool, ValueShape::Record(&EXPRESSION)]);
static DELAY: ValueShape = Either(&[Text, Number, ValueShape::Record(&EXPRESSION)]);
static FIXED_DELAY: ValueShape = Either(&[Text, Number]);
static NAME_OR_EXPRESSION: ValueShape = Either(&[Text, ValueShape::Record(&EXPRESSION)]);
static ONE_TRANSITION: ValueShape = Either(&[Text, ValueShape::Record(&TRANSITION)]);
static TRANSITIONS: ValueShape = Either(&[Text, ValueShape::Record(&TRANSITION), List(&ONE_TRANSITION)]);
static ON: ValueShape =
    Either(&[MapBy(EVENT, &TRANSITIONS, "an event's name"), List(&ValueShape::Record(&EVENT_TRANSITION))]);
static AFTER: ValueShape =
    Either(&[MapOf(&TRANSITIONS, "a delay"), List(&ValueShape::Record(&DELAYED_TRANSITION))]);
static JOIN_VALUE: ValueShape = Either(&[Word(&["all", "any", "settled"]), ValueShape::Record(&JOIN)]);
static ONE_ITEM_HANDLER: ValueShape = ValueShape::Record(&ITEM_HANDLER);
static ITEM_HANDLERS: ValueShape = Either(&[ValueShape::Record(&ITEM_HANDLER), List(&ONE_ITEM_HANDLER)]);
static INVOKES: ValueShape = Either(&[ValueShape::Record(&INVOKE), List(&ValueShape::Record(&INVOKE))]);
static STATES: ValueShape = MapBy(STATE_KEY, &STATE_OR_NOTHING, "a state's key");
/// `done:` with an empty value is an atomic state.
static STATE_OR_NOTHING: ValueShape = Either(&[ValueShape::Record(&STATE), Null]);
static REGIONS: ValueShape =
    Either(&[List(&ValueShape::Record(&REGION)), MapBy(STATE_KEY, &STATE_OR_NOTHING, "a region's key")]);
static INITIAL_VALUE: ValueShape = Either(&[Text, List(&Text), ValueShape::Record(&INITIAL)]);
/// `NAME:` with nothing below it takes any data.
static EVENT_OR_NOTHING: ValueShape = Either(&[ValueShape::Record(&EVENT_SPEC), Null]);
static DATA_SCHEMA: ValueShape = Either(&[MapOf(&Any, "a JSON Schema keyword"), Bool]);
/// The image of an old state: states, nothing, or a choice.
static STATE_IMAGE: ValueShape = Either(&[Text, Null, List(&STATE_BRANCH)]);
static STATE_BRANCH: ValueShape = Either(&[Text, ValueShape::Record(&SPLIT)]);
static HEIR: ValueShape = Either(&[Text, Null]);
static TIMER_HEIRS: ValueShape = Either(&[MapOf(&TIMER_HEIR, "a delay of the old chart"), Null]);
static TIMER_HEIR: ValueShape = Either(&[Text, Number, Null]);
static TAGS: ValueShape = Either(&[Text, List(&Text)]);
static POLICY_LIST: ValueShape = Either(&[Text, List(&Text)]);

/// The documents that are not a bare chart.
pub(crate) static STATE_TYPES: &[&str] = &["atomic", "compound", "parallel", "final", "history"];

pub(crate) static ACTIONS: TaggedShape = TaggedShape {
    name: "action",
    words: "an action",
    tag: "type",
    variants: &[
        ("assign", &ASSIGN),
        ("emit", &EMIT),
        ("send", &SEND),
        ("invoke", &CALL),
        ("log", &LOG),
        ("raise", &RAISE),
        ("cancel", &CANCEL),
        ("choose", &CHOOSE),
        ("foreach", &FOREACH),
    ],
};

records! {
    DocumentKey DOCUMENT "document" "a document" {
        Statechart "statechart" ValueShape::Record(&CHART), "The chart.";
        MachineRegistry "machine_registry" List(&ValueShape::Record(&REGISTRY_ENTRY)), "Charts by id and version.";
        Schema "$schema" Text, "The schema an editor checks this file with.";
    }

    RegistryEntryKey REGISTRY_ENTRY "registry_entry" "a registry entry" requires ["id", "version", "src"] {
        Id "id" Text, "The chart's id.";
        Version "version" Either(&[Text, Number]), "The chart's version.";
        Src "src" Text, "The file, relative to the registry.";
        Description "description" Text, "A description.";
    }

    ChartKey CHART "chart" "a chart" requires ["states|regions"] {
        Id "id" Text, "The chart's id: how other charts and people refer to it.";
        Version "version" Either(&[TextLike(VERSION), Number]), "The chart's version, as in `1.2.0`.";
        Initial "initial" INITIAL_VALUE, "The state that the chart starts in.";
        Context "context" Either(&[MapOf(&Any, "a context key"), Null]), "The chart's data, with initial values.";
        ContextSchema "context_schema" MapOf(&Any, "a JSON Schema keyword"), "A JSON Schema of the context.";
        Events "events" Either(&[MapBy(EVENT_NAME, &EVENT_OR_NOTHING, "an event's name"), Null]), "The events that the chart accepts; others are refused.";
        States "states" STATES, "The top-level states by key.";
        Regions "regions" REGIONS, "The regions of a chart that is parallel at the top.";
        Type "type" Word(&["compound", "parallel"]), "Compound unless it has regions.";
        Actions "actions" Either(&[MapOf(&ACTION_LIST, "an action's name"), Null]), "Actions by name.";
        Guards "guards" Either(&[MapOf(&GUARD_VALUE, "a guard's name"), Null]), "Guards by name.";
        On "on" ON, "Transitions by event that hold in every state.";
        Always "always" TRANSITIONS, "Eventless transitions.";
        After "after" AFTER, "Transitions by delay since the start.";
        Entry "entry" ACTION_LIST, "Actions at the start.";
        Exit "exit" ACTION_LIST, "Actions at the end.";
        Invoke "invoke" INVOKES, "Services that run as long as the chart does.";
        Unhandled "unhandled" Word(&["ignore", "error", "defer"]), "Handling of events without a transition.";
        MaxMicrosteps "max_microsteps" Whole(1), "The limit of microsteps in one step (default: 1000).";
        Description "description" Text, "A description of the chart.";
        Tags "tags" TAGS, "Keywords for searching.";
        Meta "meta" MapOf(&Any, "a display hint"), "Display hints.";
        Tools "tools" ValueShape::Record(&TOOLS), "The tools agents may use.";
        Budget "budget" ValueShape::Record(&CHART_BUDGET), "The budget of agents.";
        Loop "loop" MapOf(&Any, "a loop setting"), "Loop control for agents.";
        Properties "properties" Either(&[MapOf(&ValueShape::Record(&PROPERTY), "a property's name"), Null]), "Statements that `rawko verify` proves or refutes.";
        Migrations "migrations" Either(&[List(&ValueShape::Record(&MIGRATION)), Null]), "Rules by which `rawko migrate` moves instances of older versions to this one.";
        Schema "$schema" Text, "The schema an editor checks this file with.";
    }

    MigrationKey MIGRATION "migration" "a migration" requires ["from"] {
        From "from" Either(&[Text, Number]), "Versions of the chart that it migrates, as in `^1`.";
        States "states" Either(&[MapOf(&STATE_IMAGE, "a state of the old chart"), Null]), "New states of old ones; `null` ends a region.";
        Context "context" Either(&[MapOf(&Any, "a context key"), Null]), "New values, as expressions over the `old` context.";
        Invokes "invokes" Either(&[MapOf(&HEIR, "an invoke of the old chart"), Null]), "New ids of open calls; `null` ends a call.";
        Timers "timers" Either(&[MapOf(&TIMER_HEIRS, "a state of the old chart"), Null]), "New delays of open `after` timers; `null` ends a timer.";
        Events "events" Either(&[MapOf(&HEIR, "an event of the old chart"), Null]), "New names of events on their way; `null` drops them.";
        Description "description" Text, "A description of the change.";
    }

    SplitKey SPLIT "migration_branch" "a branch of a migration" requires ["target"] {
        Guard "guard" Text, "A condition over the `old` context.";
        Target "target" Either(&[Text, List(&Text)]), "The new state or states.";
    }

    PropertyKey PROPERTY "property" "a property" {
        Never "never" Text, "A condition that must not hold in any configuration or step.";
        Always "always" Text, "A condition that must hold in every configuration.";
        Before "before" ValueShape::Record(&BEFORE), "`then` happens only after `first` did.";
        Within "within" ValueShape::Record(&WITHIN), "`to` holds within `time` after each entry into `from`.";
        LeadsTo "leads_to" ValueShape::Record(&LEADS_TO), "After `from`, `to` holds at some time.";
        Assume "assume" Either(&[Text, List(&Word(&["people_answer", "events_arrive"]))]), "Parties that act eventually, besides timers and services.";
        Description "description" Text, "Why it matters.";
    }

    BeforeKey BEFORE "before" "a `before` property" requires ["first", "then"] {
        First "first" Text, "The condition that comes first.";
        Then "then" Text, "The condition that holds only afterwards.";
    }

    WithinKey WITHIN "within" "a `within` property" requires ["from", "to", "time"] {
        From "from" Text, "The condition that starts the time.";
        To "to" Text, "The condition that ends it.";
        Time "time" FIXED_DELAY, "The longest time between them.";
    }

    LeadsToKey LEADS_TO "leads_to" "a `leads_to` property" requires ["from", "to"] {
        From "from" Text, "The condition that it begins with.";
        To "to" Text, "The condition that must follow.";
    }

    EventSpecKey EVENT_SPEC "event" "an event" {
        Description "description" Text, "A description.";
        Data "data" DATA_SCHEMA, "A JSON Schema of its data.";
        Internal "internal" Bool, "Raised by the chart itself: refused from outside and not shown to people.";
    }

    StateKey STATE "state" "a state" {
        Type "type" Word(STATE_TYPES), "The kind of state; optional where it follows from the other keys.";
        On "on" ON, "Transitions by event.";
        Entry "entry" ACTION_LIST, "Actions when it is entered.";
        Exit "exit" ACTION_LIST, "Actions when it is left.";
        Always "always" TRANSITIONS, "Eventless transitions.";
        After "after" AFTER, "Transitions by delay since it was entered.";
        Invoke "invoke" INVOKES, "Services that run while it is active.";
        Initial "initial" INITIAL_VALUE, "The child it starts in.";
        States "states" STATES, "Its children by key.";
        Regions "regions" REGIONS, "The regions of a parallel state.";
        OnDone "onDone" TRANSITIONS, "Taken when it is done.";
        OnAllDone "onAllDone" TRANSITIONS, "Taken when all regions are done.";
        Id "id" Text, "A name for `#id` and `done.state.<id>`, unique in the chart.";
        Variant "variant" Word(&["shallow", "deep"]), "Depth of a history state: `shallow` records children, `deep` all descendants.";
        Target "target" TARGET, "The target of a history state that has recorded nothing.";
        Actions "actions" ACTION_LIST, "Actions on the way to a history state's default target.";
        Output "output" Any, "A final state's result.";
        Description "description" Text, "A description.";
        Tags "tags" TAGS, "Keywords for searching.";
        Meta "meta" MapOf(&Any, "a display hint"), "Display hints: label, description, color, position.";
        Tools "tools" ValueShape::Record(&TOOLS), "The tools agents may use here.";
        Budget "budget" ValueShape::Record(&BUDGET), "The budget of agents here.";
        Loop "loop" MapOf(&Any, "a loop setting"), "Loop control for agents here.";
        Isolation "isolation" Word(&["worktree", "none"]), "`worktree`: each agent that is invoked here works in a copy of the project with a branch of its own.";
    }

    InitialKey INITIAL "initial" "an initial transition" requires ["target"] {
        Target "target" Either(&[Text, List(&Text)]), "The target state.";
        Actions "actions" ACTION_LIST, "Actions on the way.";
    }

    TransitionKey TRANSITION "transition" "a transition" {
        Target "target" TARGET, "Target state: a sibling, `.child` or `#id`; without one no state is left.";
        Guard "guard" GUARD_VALUE, "An expression, or the name of an entry in `guards`.";
        Actions "actions" ACTION_LIST, "Actions on the way.";
        Reenter "reenter" Bool, "Leave and enter the source even if the target is inside it.";
        Description "description" Text, "A description.";
        Tags "tags" TAGS, "Keywords for searching.";
        Meta "meta" MapOf(&Any, "a display hint"), "Display hints.";
    }

    EventTransitionKey EVENT_TRANSITION "event_transition" "a transition" extends TRANSITION requires ["event"] {
        Event "event" TextLike(EVENT), "The event that it waits for.";
    }

    DelayedTransitionKey DELAYED_TRANSITION "delayed_transition" "a transition" extends TRANSITION requires ["delay"] {
        Delay "delay" DELAY, "The delay since the state was entered.";
    }

    InvokeKey INVOKE "invoke" "an invoke" requires ["src"] {
        Id "id" Text, "Its name in `done.invoke.<id>`.";
        Src "src" NAME_OR_EXPRESSION, "A service, `agent:<id>` or `statechart:<id>@<version>`.";
        Input "input" Any, "Its input; text is an expression.";
        OnDone "onDone" TRANSITIONS, "Taken when it returns.";
        OnError "onError" TRANSITIONS, "Taken when it fails.";
        OnTimeout "onTimeout" TRANSITIONS, "Taken on timeout; without it, `onError` is taken.";
        Timeout "timeout" DELAY, "The timeout of one attempt.";
        Retry "retry" ValueShape::Record(&RETRY), "The retry policy.";
        Each "each" Any, "A list: it runs once per item; text is an expression.";
        As "as" TextLike(BINDING), "The name of the item in `src`, `input`, `timeout` and item handlers (default: `item`).";
        Index "index" TextLike(BINDING), "The name of the item's index, from 0 (default: `index`).";
        MaxConcurrent "max_concurrent" Whole(1), "Items that run at the same time (default: 8).";
        Join "join" JOIN_VALUE, "Completion rule: `all` (default), `any`, `settled` or `{at_least: n}`.";
        OnItemDone "onItemDone" ITEM_HANDLERS, "Actions for each item that returns.";
        OnItemError "onItemError" ITEM_HANDLERS, "Actions for each item that fails; a failed item then does not fail the whole.";
        Isolation "isolation" Word(&["worktree", "none"]), "`worktree`: the agent works in a copy of the project with a branch of its own.";
        Guards "guards" POLICY_LIST, "Ids of invokes that only this approval allows; `rawko verify` checks it.";
        Description "description" Text, "A description.";
        Meta "meta" MapOf(&Any, "a display hint"), "Display hints.";
    }

    JoinKey JOIN "join" "a join" requires ["at_least"] {
        AtLeast "at_least" Whole(1), "The number of items that have to succeed.";
    }

    RetryKey RETRY "retry" "a retry policy" {
        MaxAttempts "max_attempts" Whole(1), "The number of attempts, including the first.";
        Backoff "backoff" Word(&["fixed", "linear", "exponential"]), "Growth of the delay between attempts.";
        InitialDelay "initial_delay" FIXED_DELAY, "The delay before the second attempt.";
        MaxDelay "max_delay" FIXED_DELAY, "The longest delay.";
    }

    ToolsKey TOOLS "tools" "a tool policy" {
        Allowed "allowed" POLICY_LIST, "The only tools that may be used; `*` matches anything.";
        Blocked "blocked" POLICY_LIST, "Tools that may not be used; overrides `allowed`.";
    }

    BudgetKey BUDGET "budget" "a budget" {
        Tokens "tokens" Whole(0), "Tokens of all completions.";
        CostUsd "cost_usd" Number, "Cost of all completions.";
        Time "time" FIXED_DELAY, "Total run time.";
        ToolCalls "tool_calls" Whole(0), "Tool calls.";
    }

    ChartBudgetKey CHART_BUDGET "chart_budget" "a budget" {
        Tokens "tokens" Whole(0), "Tokens of all completions.";
        CostUsd "cost_usd" Number, "Cost of all completions.";
        Time "time" FIXED_DELAY, "Total run time.";
        ToolCalls "tool_calls" Whole(0), "Tool calls.";
        FromContext "from_context" Text, "Context key whose value is a budget (`{tokens: 1000}`) for the whole run, within the one here.";
    }

    ExpressionKey EXPRESSION "expression" "an expression" {
        Expr "expr" Text, "An expression.";
        Literal "literal" Any, "Data that is not evaluated.";
    }

    AssignKey ASSIGN "assign" "an `assign` action" requires ["type", "context_updates"] {
        Type "type" Word(&["assign"]), "Update the context.";
        ContextUpdates "context_updates" MapOf(&Any, "a context key"), "New values by context key; text is an expression.";
        Description "description" Text, "A description.";
    }

    EmitKey EMIT "emit" "an `emit` action" requires ["type", "event"] {
        Type "type" Word(&["emit"]), "Send an event to the parent and listeners.";
        Event "event" NAME_OR_EXPRESSION, "The event's name.";
        Data "data" Any, "The event's data.";
        Description "description" Text, "A description.";
    }

    SendKey SEND "send" "a `send` action" requires ["type", "event"] {
        Type "type" Word(&["send"]), "Send an event.";
        Target "target" NAME_OR_EXPRESSION, "`self`, `parent`, an invoke's id, an instance, `channel:x`, `agent:x` or an endpoint.";
        Event "event" NAME_OR_EXPRESSION, "The event's name.";
        Data "data" Any, "The event's data.";
        Delay "delay" DELAY, "The delay before it is sent.";
        Id "id" NAME_OR_EXPRESSION, "An id for `cancel`.";
        Description "description" Text, "A description.";
    }

    CallKey CALL "call" "an `invoke` action" requires ["type", "handler"] {
        Type "type" Word(&["invoke"]), "Call a handler without waiting for its result.";
        Handler "handler" Text, "The handler's name.";
        Params "params" Any, "Its input.";
        Description "description" Text, "A description.";
    }

    LogKey LOG "log" "a `log` action" requires ["type", "message"] {
        Type "type" Word(&["log"]), "Write to the trace.";
        Message "message" Any, "The message.";
        Description "description" Text, "A description.";
    }

    RaiseKey RAISE "raise" "a `raise` action" requires ["type", "event"] {
        Type "type" Word(&["raise"]), "Raise an event in this step.";
        Event "event" NAME_OR_EXPRESSION, "The event's name.";
        Data "data" Any, "The event's data.";
        Description "description" Text, "A description.";
    }

    CancelKey CANCEL "cancel" "a `cancel` action" requires ["type", "id"] {
        Type "type" Word(&["cancel"]), "Cancel a delayed send.";
        Id "id" NAME_OR_EXPRESSION, "The send's id.";
        Description "description" Text, "A description.";
    }

    ChooseKey CHOOSE "choose" "a `choose` action" requires ["type", "branches"] {
        Type "type" Word(&["choose"]), "Run the first branch whose guard holds.";
        Branches "branches" List(&ValueShape::Record(&BRANCH)), "The branches; one without a guard always holds.";
        Description "description" Text, "A description.";
    }

    BranchKey BRANCH "branch" "a branch" {
        Guard "guard" GUARD_VALUE, "An expression, or the name of an entry in `guards`.";
        Actions "actions" ACTION_LIST, "Its actions.";
        Description "description" Text, "A description.";
    }

    ForeachKey FOREACH "foreach" "a `foreach` action" requires ["type", "array", "actions"] {
        Type "type" Word(&["foreach"]), "Run actions for each item of a list.";
        Array "array" Any, "The list; text is an expression.";
        Item "item" Text, "The name of the item (default: `item`).";
        Index "index" Text, "The name of the item's index, from 0 (default: `index`).";
        Actions "actions" ACTION_LIST, "The actions for each item.";
        Description "description" Text, "A description.";
    }
}

/// An entry of a `regions:` list: a state with a required `id`, which is its key.
pub(crate) static REGION: RecordShape = RecordShape {
    name: "region",
    words: "a region",
    fields: &[FieldShape { key: "id", shape: &TextLike(STATE_KEY), doc: "The region's key." }],
    extends: Some(&STATE),
    required: &["id"],
};

/// A handler of an item: a transition without a target.
pub(crate) static ITEM_HANDLER: RecordShape = RecordShape {
    name: "item_handler",
    words: "an item handler",
    fields: &[
        FieldShape {
            key: "actions",
            shape: &ACTION_LIST,
            doc: "The actions; `event.item` and `event.index` identify the item.",
        },
        FieldShape {
            key: "guard",
            shape: &GUARD_VALUE,
            doc: "An expression, or the name of an entry in `guards`.",
        },
        FieldShape { key: "description", shape: &Text, doc: "A description." },
        FieldShape { key: "tags", shape: &TAGS, doc: "Keywords for searching." },
        FieldShape { key: "meta", shape: &MapOf(&Any, "a display hint"), doc: "Display hints." },
    ],
    extends: None,
    required: &[],
};
