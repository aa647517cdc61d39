//! Descriptions of a chart's states and transitions for display, split from the specs before they are laid out as
//! tables: a step only reads them when it is traced.

use std::sync::Arc;

use crate::blueprint::{
    ActionBlueprint, DataTemplate, Delay, Docs, NodeSpec, TransitionSpec, TransitionTrigger,
};
use crate::chart::{NodeInfo, TransitionInfo};
use crate::duration;
use crate::ids::NodeId;

/// Collects the descriptions of a chart, node by node.
pub(crate) struct Describer {
    transitions: Vec<TransitionInfo>,
    /// Most states and transitions have no description: they share one empty `Docs`.
    plain: Arc<Docs>,
}

impl Describer {
    pub(crate) fn with_room_for(nodes: &[NodeSpec]) -> Self {
        let transitions = nodes.iter().map(|node| node.transitions.len()).sum();
        Self { transitions: Vec::with_capacity(transitions), plain: Arc::new(Docs::default()) }
    }

    /// Moves the parts of a node's spec that a step does not need into its description.
    pub(crate) fn describe(
        &mut self,
        id: NodeId,
        spec: &mut NodeSpec,
        path: &Arc<str>,
        children: &[NodeId],
    ) -> (NodeInfo, &[TransitionInfo]) {
        let first = self.transitions.len();
        let mut own = std::mem::take(&mut spec.transitions);
        let plain = &self.plain;
        self.transitions.extend(own.iter_mut().map(|t| describe_transition(id, spec, t, plain)));
        spec.transitions = own;
        let info = NodeInfo {
            key: Arc::clone(&spec.key),
            name: Arc::clone(&spec.name),
            path: Arc::clone(path),
            kind: spec.kind,
            parent: spec.parent,
            children: children.into(),
            initial: spec.initial.as_ref().map(|initial| initial.targets[..].into()).unwrap_or_default(),
            initial_actions: spec.initial.as_ref().map(|i| labels(&i.actions)).unwrap_or_default(),
            entry: labels(&spec.entry),
            exit: labels(&spec.exit),
            invokes: spec.invokes.iter().map(|i| (Arc::clone(&i.id), template_text(&i.src))).collect(),
            docs: shared(spec.docs.take(), plain),
            policy: spec.policy.clone(),
        };
        (info, &self.transitions[first..])
    }

    pub(crate) fn finish(self) -> Vec<TransitionInfo> {
        self.transitions
    }
}

fn shared(docs: Option<Box<Docs>>, plain: &Arc<Docs>) -> Arc<Docs> {
    docs.map_or_else(|| Arc::clone(plain), Arc::from)
}

fn labels(actions: &[ActionBlueprint]) -> Box<[Arc<str>]> {
    actions.iter().map(|action| Arc::clone(&action.label)).collect()
}

fn template_text(template: &DataTemplate) -> Arc<str> {
    match template {
        DataTemplate::Literal(value) => value.to_string().into(),
        DataTemplate::Expr(expr) => expr.text().into(),
        DataTemplate::List(_) | DataTemplate::Map(_) => "…".into(),
    }
}

fn describe_transition(
    source: NodeId,
    spec: &NodeSpec,
    transition: &mut TransitionSpec,
    plain: &Arc<Docs>,
) -> TransitionInfo {
    TransitionInfo {
        source,
        label: trigger_label(spec, &transition.trigger),
        trigger: std::mem::replace(&mut transition.trigger, TransitionTrigger::Always),
        guard: transition.guard.as_ref().map(|guard| Arc::clone(&guard.text)),
        targets: transition.targets.clone(),
        reenter: transition.reenter,
        actions: labels(&transition.actions),
        docs: shared(transition.docs.take(), plain),
    }
}

fn trigger_label(spec: &NodeSpec, trigger: &TransitionTrigger) -> Arc<str> {
    match trigger {
        TransitionTrigger::Always => "always".into(),
        TransitionTrigger::After(index) => match spec.timers.get(*index) {
            Some(Delay::Millis(ms)) => format!("after {}", duration::format_ms(*ms)).into(),
            Some(Delay::Expr(_, text)) => format!("after {text}").into(),
            None => "after".into(),
        },
        TransitionTrigger::Item { invoke, failed } => {
            let id = spec.invokes.get(*invoke).map_or("?", |invoke| &*invoke.id);
            format!("{} {id}", if *failed { "onItemError" } else { "onItemDone" }).into()
        }
        TransitionTrigger::Event(name) => {
            if name.strip_prefix("done.state.") == Some(&*spec.name) {
                return "onDone".into();
            }
            for (prefix, word) in
                [("done.invoke.", "onDone"), ("error.invoke.", "onError"), ("timeout.invoke.", "onTimeout")]
            {
                if let Some(id) =
                    name.strip_prefix(prefix).filter(|id| spec.invokes.iter().any(|i| &*i.id == *id))
                {
                    return format!("{word} {id}").into();
                }
            }
            Arc::clone(name)
        }
    }
}
