//! Events that cannot occur and events that nothing handles. An author's event may always come from outside, so only
//! names that the chart itself must produce are analysed: completions, failures, and events it raises or sends to
//! itself.

use rawko_core::{NodeId, NodeKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actions::{ActionEffects, AssignmentKind, RaisedEvent};
use super::index::{ChartIndex, TransitionEdge};
use super::regions;
use crate::codes::{EVENT_NEVER_HANDLED, EVENT_NEVER_SENT};
use crate::finding::Finding;

/// Comparing takes the product of two lengths.
const NAME_MAX: usize = 64;
/// Searching for a similar name compares all names; beyond this many errors suggestions do not help.
const SUGGESTIONS_MAX: usize = 20;

pub(crate) fn analyse(index: &ChartIndex<'_>, doings: &ActionEffects<'_>, findings: &mut Vec<Finding>) {
    completions(index, findings);
    if !doings.raised.is_empty() {
        let handled = Handled::new(index);
        misspelt_handlers(index, doings, &handled, findings);
        never_handled(index, doings, &handled, findings);
    }
}

/// `done.state.x`, `done.invoke.x`, `error.invoke.x` and `timeout.invoke.x` require something named `x`.
fn completions(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let mut known: Option<EventCache<'_>> = None;
    for edge in &index.edges {
        let Some(event) = edge.event().filter(|event| is_internal(event) && !event.ends_with('*')) else {
            continue;
        };
        if !index.reached[edge.source.index()] {
            continue;
        }
        let known = known.get_or_insert_with(|| EventCache::new(index));
        if let Some((why, help)) = impossible(index, known, edge, event) {
            let message = format!("`{event}` never occurs: {why}");
            let finding = EVENT_NEVER_SENT.at(index.trigger_span(edge), message).label("never taken");
            findings.push(match help {
                Some(help) => finding.help(help),
                None => finding,
            });
        }
    }
}

fn is_internal(event: &str) -> bool {
    ["done.", "error.", "timeout.invoke."].iter().any(|prefix| event.starts_with(prefix))
}

/// Cached lookups.
struct EventCache<'a> {
    /// The states with an invoke, by its id and in document order.
    invokes: FxHashMap<&'a str, Vec<NodeId>>,
    /// True if a parallel state that cannot complete is left some other way.
    left: FxHashMap<NodeId, bool>,
    suggestions_left: usize,
}

impl<'a> EventCache<'a> {
    fn new(index: &ChartIndex<'a>) -> Self {
        let mut invokes: FxHashMap<&str, Vec<NodeId>> = FxHashMap::default();
        for (node, _, invoke) in index.invokes() {
            invokes.entry(&invoke.id).or_default().push(node);
        }
        EventCache { invokes, left: FxHashMap::default(), suggestions_left: SUGGESTIONS_MAX }
    }

    fn did_you_mean<'s>(&mut self, name: &str, known: impl Iterator<Item = &'s str>) -> Option<String> {
        self.suggestions_left = self.suggestions_left.checked_sub(1)?;
        closest(name, known).map(|known| format!("did you mean `{known}`?"))
    }
}

type Impossibility = (String, Option<String>);

fn impossible(
    index: &ChartIndex<'_>,
    known: &mut EventCache<'_>,
    edge: &TransitionEdge<'_>,
    event: &str,
) -> Option<Impossibility> {
    if let Some(name) = event.strip_prefix("done.state.") {
        if let Some(id) = index.names().get(name) {
            return never_done(index, known, *id);
        }
        let help = known.did_you_mean(name, index.names().keys().copied());
        return Some((format!("no state is named `{name}`"), help));
    }
    let prefixes = ["done.invoke.", "error.invoke.", "timeout.invoke."];
    let Some(id) = prefixes.into_iter().find_map(|prefix| event.strip_prefix(prefix)) else {
        return misspelt_error(event);
    };
    if let Some(nodes) = known.invokes.get(id) {
        return never_running(index, edge.source, id, nodes);
    }
    let ids: Vec<&str> = known.invokes.keys().copied().collect();
    let help = known.did_you_mean(id, ids.into_iter());
    Some((format!("no invoke has the id `{id}`"), help))
}

/// Returns the reason why an existing state is never done. Leaves out reasons that another finding reports.
fn never_done(index: &ChartIndex<'_>, known: &mut EventCache<'_>, id: NodeId) -> Option<Impossibility> {
    if index.completes[id.index()] || !index.reached[id.index()] {
        return None;
    }
    let path = index.path(id);
    match index.kind(id) {
        NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => {
            Some((format!("`{path}` has no states that could complete it"), None))
        }
        NodeKind::Compound => (!index.has_final(id)).then(|| {
            (format!("`{path}` has no final state"), Some(format!("give `{path}` a state of `type: final`")))
        }),
        NodeKind::Parallel => {
            if !*known.left.entry(id).or_insert_with(|| regions::is_left(index, id)) {
                return None;
            }
            let region = index.regions(id).find(|region| !index.completes[region.index()])?;
            let region = index.path(region);
            let help = format!("give `{region}` a state of `type: final`");
            Some((format!("region `{region}` cannot complete"), Some(help)))
        }
    }
}

/// An invoke stops with its state, so a state that is never active beside it cannot receive its events.
fn never_running(
    index: &ChartIndex<'_>,
    listener: NodeId,
    id: &str,
    nodes: &[NodeId],
) -> Option<Impossibility> {
    if any_beside(index, listener, nodes) {
        return None;
    }
    let (invoking, listener) = (index.path(*nodes.first()?), index.path(listener));
    let help = format!("handle it in `{invoking}` or in a state around it");
    Some((format!("invoke `{id}` of `{invoking}` has stopped when `{listener}` is active"), Some(help)))
}

/// Returns true if one of `nodes`, in document order, can be active together with `listener`.
fn any_beside(index: &ChartIndex<'_>, listener: NodeId, nodes: &[NodeId]) -> bool {
    let any_in = |first: NodeId, last: NodeId| {
        let start = nodes.partition_point(|node| *node < first);
        nodes.get(start).is_some_and(|node| *node <= last)
    };
    any_in(listener, index.last(listener))
        || index.ancestors(listener).any(|above| {
            any_in(above, above)
                || (index.kind(above) == NodeKind::Parallel && any_in(above, index.last(above)))
        })
}

/// `error.something` may be sent from anywhere, but `error.exection` is probably a typo.
fn misspelt_error(event: &str) -> Option<Impossibility> {
    ["error.execution", "error.communication", "error.invoke", "done.state", "done.invoke"]
        .into_iter()
        .filter(|known| *known != event && event.len() <= NAME_MAX)
        .find(|known| strsim::damerau_levenshtein(known, event) <= 2)
        .map(|known| (format!("the event is named `{known}`"), Some(format!("did you mean `{known}`?"))))
}

/// Returns the most similar name, if it is similar enough to be a typo; ties go to the first in the alphabet.
fn closest<'s>(name: &str, known: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    known
        .filter(|known| known.len().abs_diff(name.len()) <= 2.max(name.len() / 4) && known.len() <= NAME_MAX)
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, known)| *distance <= 2.max(name.len() / 4) && *distance < known.len())
        .min()
        .map(|(_, known)| known)
}

/// The events that the chart's transitions handle.
struct Handled<'i, 'a> {
    exact: FxHashMap<&'i str, &'i TransitionEdge<'a>>,
    /// `foo` for `foo.*`; empty for `*`.
    patterns: Vec<&'i str>,
}

impl<'i, 'a> Handled<'i, 'a> {
    fn new(index: &'i ChartIndex<'a>) -> Self {
        let mut handled = Handled { exact: FxHashMap::default(), patterns: Vec::new() };
        for edge in &index.edges {
            match edge.event() {
                Some("*") => handled.patterns.push(""),
                Some(event) => match event.strip_suffix(".*") {
                    Some(prefix) => handled.patterns.push(prefix),
                    None => {
                        handled.exact.entry(event).or_insert(edge);
                    }
                },
                None => {}
            }
        }
        handled.patterns.sort_unstable();
        handled.patterns.dedup();
        handled
    }

    /// Returns a handled event with a similar name.
    fn similar(&self, event: &str) -> Option<&'i str> {
        let folded = fold(event);
        let same = self.exact.keys().copied().filter(|name| fold(name) == folded).min();
        same.or_else(|| closest(event, self.exact.keys().copied()))
    }

    fn handles(&self, event: &str) -> bool {
        self.exact.contains_key(event)
            || self.patterns.iter().any(|prefix| {
                prefix.is_empty()
                    || event.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
    }
}

/// A transition for `Region_failed` beside a raised `REGION_FAILED`: one is a typo of the other.
fn misspelt_handlers(
    index: &ChartIndex<'_>,
    doings: &ActionEffects<'_>,
    handled: &Handled<'_, '_>,
    findings: &mut Vec<Finding>,
) {
    let exact: FxHashSet<&str> = doings.raised.iter().map(|raised| raised.event).collect();
    let folded: FxHashMap<u64, &RaisedEvent<'_>> = doings
        .raised
        .iter()
        .filter(|raised| handled.handles(raised.event))
        .map(|raised| (fold(raised.event), raised))
        .collect();
    for edge in &index.edges {
        let Some(event) = edge.event().filter(|event| !exact.contains(event)) else { continue };
        if let Some(raised) = folded.get(&fold(event)).filter(|raised| !matches_wildcard(event, raised.event))
        {
            findings.push(
                EVENT_NEVER_SENT
                    .at(
                        index.trigger_span(edge),
                        format!("`{event}` never occurs: the event is named `{}`", raised.event),
                    )
                    .label("differs only in case or separators")
                    .related(raised.span, sent_here(raised.how))
                    .help(format!("did you mean `{}`?", raised.event)),
            );
        }
    }
}

/// `foo.*` also takes `foo`, and `*` everything.
fn matches_wildcard(descriptor: &str, event: &str) -> bool {
    let Some(stem) = descriptor.strip_suffix('*') else { return false };
    event.starts_with(stem) || stem.strip_suffix('.') == Some(event)
}

/// Returns the same number for names that differ only in case and separators.
fn fold(name: &str) -> u64 {
    name.bytes().filter(|byte| byte.is_ascii_alphanumeric()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

fn never_handled(
    index: &ChartIndex<'_>,
    doings: &ActionEffects<'_>,
    handled: &Handled<'_, '_>,
    findings: &mut Vec<Finding>,
) {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut suggestions_left = SUGGESTIONS_MAX;
    for raised in &doings.raised {
        // An event that is not declared is reported as such.
        let declared = index.lowered.blueprint.events.as_ref();
        let is_undeclared = declared.is_some_and(|all| !all.iter().any(|spec| &*spec.name == raised.event));
        if is_undeclared || handled.handles(raised.event) || !seen.insert(raised.event) {
            continue;
        }
        let mut finding = EVENT_NEVER_HANDLED
            .at(raised.span, format!("nothing handles `{}`", raised.event))
            .label(sent_here(raised.how));
        suggestions_left = suggestions_left.saturating_sub(1);
        let similar = if suggestions_left > 0 { handled.similar(raised.event) } else { None };
        finding = match similar {
            Some(name) => finding
                .related(index.trigger_span(handled.exact[name]), "did you mean this one?")
                .help(format!("did you mean `{name}`?")),
            None => finding.help(format!(
                "add a transition on `{0}`; to notify the parent or other listeners, use `emit`",
                raised.event
            )),
        };
        findings.push(finding);
    }
}

fn sent_here(how: AssignmentKind) -> &'static str {
    match how {
        AssignmentKind::Raised => "raised here",
        AssignmentKind::SentToSelf => "sent to the chart itself here",
    }
}
