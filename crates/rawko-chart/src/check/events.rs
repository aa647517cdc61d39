//! Events that cannot occur and events that nothing handles. An author's event may always come from outside, so only
//! names that the chart itself must produce are judged: completions, failures, and what it raises or sends to itself.

use rawko_core::{NodeId, NodeKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actions::{Doings, How, Raised};
use super::index::{Edge, Index};
use super::regions;
use crate::codes::{EVENT_NEVER_HANDLED, EVENT_NEVER_SENT};
use crate::finding::Finding;

pub(crate) fn analyse(index: &Index<'_>, doings: &Doings<'_>, findings: &mut Vec<Finding>) {
    completions(index, findings);
    if !doings.raised.is_empty() {
        let handled = Handled::new(index);
        misspelt_handlers(index, doings, &handled, findings);
        never_handled(index, doings, &handled, findings);
    }
}

/// `done.state.x`, `done.invoke.x`, `error.invoke.x` and `timeout.invoke.x`: something must be called `x`.
fn completions(index: &Index<'_>, findings: &mut Vec<Finding>) {
    let mut names: Option<Names<'_>> = None;
    for edge in &index.edges {
        let Some(event) = edge.event().filter(|event| is_internal(event) && !event.ends_with('*')) else {
            continue;
        };
        if !index.reached[edge.source.index()] {
            continue;
        }
        let names = names.get_or_insert_with(|| Names::new(index));
        if let Some((why, help)) = impossible(index, names, edge, event) {
            let message = format!("`{event}` never occurs: {why}");
            let finding = EVENT_NEVER_SENT.at(index.trigger_span(edge), message).label("waits in vain");
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

/// States by the name in their done event, and the states that invoke something by its id.
struct Names<'a> {
    states: FxHashMap<&'a str, NodeId>,
    invokes: FxHashMap<&'a str, Vec<NodeId>>,
}

impl<'a> Names<'a> {
    fn new(index: &Index<'a>) -> Self {
        let states = index.ids().map(|id| (index.name(id), id)).collect();
        let mut invokes: FxHashMap<&str, Vec<NodeId>> = FxHashMap::default();
        for (node, _, invoke) in index.invokes() {
            invokes.entry(&invoke.id).or_default().push(node);
        }
        Names { states, invokes }
    }
}

type Reason = (String, Option<String>);

fn impossible(index: &Index<'_>, names: &Names<'_>, edge: &Edge<'_>, event: &str) -> Option<Reason> {
    if let Some(name) = event.strip_prefix("done.state.") {
        return match names.states.get(name) {
            Some(id) => never_done(index, *id),
            None => Some((format!("no state is called `{name}`"), did_you_mean(name, names.states.keys()))),
        };
    }
    let invoke = ["done.invoke.", "error.invoke.", "timeout.invoke."];
    match invoke.into_iter().find_map(|prefix| event.strip_prefix(prefix)) {
        Some(id) => match names.invokes.get(id) {
            Some(nodes) => never_running(index, edge.source, id, nodes),
            None => Some((format!("no invoke has the id `{id}`"), did_you_mean(id, names.invokes.keys()))),
        },
        None => misspelt_error(event),
    }
}

/// Why a state that exists is never done. What another finding already says is left to it.
fn never_done(index: &Index<'_>, id: NodeId) -> Option<Reason> {
    if index.completes[id.index()] || !index.reached[id.index()] {
        return None;
    }
    let path = index.path(id);
    match index.kind(id) {
        NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => {
            Some((format!("`{path}` has no states that could complete it"), None))
        }
        NodeKind::Compound => (!has_final(index, id)).then(|| {
            (format!("`{path}` has no final state"), Some(format!("give `{path}` a state of `type: final`")))
        }),
        NodeKind::Parallel if !regions::is_left(index, id) => None,
        NodeKind::Parallel => {
            let region = index.regions(id).find(|region| !index.completes[region.index()])?;
            let region = index.path(region);
            let help = format!("give `{region}` a state of `type: final`");
            Some((format!("region `{region}` cannot complete"), Some(help)))
        }
    }
}

fn has_final(index: &Index<'_>, id: NodeId) -> bool {
    index.children(id).any(|child| index.kind(child) == NodeKind::Final)
}

/// An invoke stops with its state, so a state that is never active beside it hears nothing of it.
fn never_running(index: &Index<'_>, listener: NodeId, id: &str, nodes: &[NodeId]) -> Option<Reason> {
    if nodes.iter().any(|node| index.coexist(*node, listener)) {
        return None;
    }
    let (invoking, listener) = (index.path(*nodes.first()?), index.path(listener));
    let help = format!("handle it in `{invoking}` or in a state around it");
    Some((format!("invoke `{id}` of `{invoking}` has stopped when `{listener}` is active"), Some(help)))
}

/// Anyone may send `error.something`, but hardly `error.exection`.
fn misspelt_error(event: &str) -> Option<Reason> {
    ["error.execution", "error.communication", "error.invoke", "done.state", "done.invoke"]
        .into_iter()
        .filter(|known| *known != event)
        .find(|known| strsim::damerau_levenshtein(known, event) <= 2)
        .map(|known| (format!("the event is called `{known}`"), Some(format!("did you mean `{known}`?"))))
}

fn did_you_mean<'s>(name: &str, known: impl Iterator<Item = &'s &'s str>) -> Option<String> {
    closest(name, known.copied()).map(|known| format!("did you mean `{known}`?"))
}

/// The most similar name, if it is similar enough to be a slip; ties go to the first in the alphabet.
fn closest<'s>(name: &str, known: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    known
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, known)| *distance <= 2.max(name.len() / 4) && *distance < known.len())
        .min()
        .map(|(_, known)| known)
}

/// What the chart's transitions wait for.
struct Handled<'i, 'a> {
    exact: FxHashMap<&'i str, &'i Edge<'a>>,
    /// `foo` for `foo.*`; empty for `*`.
    patterns: Vec<&'i str>,
}

impl<'i, 'a> Handled<'i, 'a> {
    fn new(index: &'i Index<'a>) -> Self {
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

    fn handles(&self, event: &str) -> bool {
        self.exact.contains_key(event)
            || self.patterns.iter().any(|prefix| {
                prefix.is_empty()
                    || event.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
    }
}

/// A transition for `Region_failed` beside a raised `REGION_FAILED`: the one is a slip for the other.
fn misspelt_handlers(
    index: &Index<'_>,
    doings: &Doings<'_>,
    handled: &Handled<'_, '_>,
    findings: &mut Vec<Finding>,
) {
    let exact: FxHashSet<&str> = doings.raised.iter().map(|raised| raised.event).collect();
    let folded: FxHashMap<u64, &Raised<'_>> = doings
        .raised
        .iter()
        .filter(|raised| handled.handles(raised.event))
        .map(|raised| (fold(raised.event), raised))
        .collect();
    for edge in &index.edges {
        let Some(event) = edge.event().filter(|event| !exact.contains(event)) else { continue };
        if let Some(raised) = folded.get(&fold(event)) {
            findings.push(
                EVENT_NEVER_SENT
                    .at(
                        index.trigger_span(edge),
                        format!("`{event}` never occurs: the event is called `{}`", raised.event),
                    )
                    .label("differs only in case or separators")
                    .related(raised.span, sent_here(raised.how))
                    .help(format!("did you mean `{}`?", raised.event)),
            );
        }
    }
}

/// A number that is the same for names which differ only in case and separators.
fn fold(name: &str) -> u64 {
    name.bytes().filter(|byte| byte.is_ascii_alphanumeric()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

fn never_handled(
    index: &Index<'_>,
    doings: &Doings<'_>,
    handled: &Handled<'_, '_>,
    findings: &mut Vec<Finding>,
) {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for raised in &doings.raised {
        if handled.handles(raised.event) || !seen.insert(raised.event) {
            continue;
        }
        let mut finding = EVENT_NEVER_HANDLED
            .at(raised.span, format!("nothing handles `{}`", raised.event))
            .label(sent_here(raised.how));
        let mut names: Vec<&str> = handled.exact.keys().copied().collect();
        names.sort_unstable();
        let similar = names.iter().copied().find(|name| fold(name) == fold(raised.event));
        finding = match similar.or_else(|| closest(raised.event, names.iter().copied())) {
            Some(name) => finding
                .related(index.trigger_span(handled.exact[name]), "did you mean this one?")
                .help(format!("did you mean `{name}`?")),
            None => finding.help(format!(
                "add a transition on `{0}`; to tell the parent or other listeners, use `emit`",
                raised.event
            )),
        };
        findings.push(finding);
    }
}

fn sent_here(how: How) -> &'static str {
    match how {
        How::Raised => "raised here",
        How::SentToSelf => "sent to the chart itself here",
    }
}
