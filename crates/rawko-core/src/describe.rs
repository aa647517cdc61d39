//! What a person wants to know of a chart's states and transitions, taken out of the specs before they are laid out
//! as tables: a step only touches it when it is traced.

use std::sync::Arc;

use crate::blueprint::{Action, Delay, Docs, NodeSpec, Template, TransitionSpec, Trigger};
use crate::chart::{NodeInfo, TransitionInfo};
use crate::duration;
use crate::ids::NodeId;

/// What a person wants to know, taken out of the specs as far as a step does not need it.
pub(crate) fn describe(
    specs: &mut [NodeSpec],
    paths: &[Arc<str>],
    children: &[Vec<NodeId>],
) -> (Vec<NodeInfo>, Vec<TransitionInfo>) {
    let plain = Arc::new(Docs::default());
    let mut transitions = Vec::with_capacity(specs.iter().map(|spec| spec.transitions.len()).sum());
    let nodes = specs
        .iter_mut()
        .enumerate()
        .map(|(index, spec)| {
            let mut own = std::mem::take(&mut spec.transitions);
            let source = NodeId(index as u32);
            transitions.extend(own.iter_mut().map(|t| describe_transition(source, spec, t, &plain)));
            spec.transitions = own;
            let path = &paths[index];
            NodeInfo {
                key: shared(&spec.key, path),
                name: shared(&spec.name, path),
                path: Arc::clone(path),
                kind: spec.kind,
                parent: spec.parent,
                children: children[index].clone(),
                initial: spec.initial.as_ref().map(|initial| initial.targets.clone()).unwrap_or_default(),
                initial_actions: spec.initial.as_ref().map(|i| labels(&i.actions)).unwrap_or_default(),
                entry: labels(&spec.entry),
                exit: labels(&spec.exit),
                invokes: spec.invokes.iter().map(|i| (Arc::clone(&i.id), template_text(&i.src))).collect(),
                docs: taken(&mut spec.docs, &plain),
                policy: spec.policy.clone(),
            }
        })
        .collect();
    (nodes, transitions)
}

/// One text for both where they are the same, as key and path of a top-level state are.
fn shared(text: &str, path: &Arc<str>) -> Arc<str> {
    if text == &**path { Arc::clone(path) } else { text.into() }
}

/// Most states and transitions say nothing about themselves: they share one empty `Docs`.
fn taken(docs: &mut Docs, plain: &Arc<Docs>) -> Arc<Docs> {
    if *docs == **plain { Arc::clone(plain) } else { Arc::new(std::mem::take(docs)) }
}

fn labels(actions: &[Action]) -> Vec<Arc<str>> {
    actions.iter().map(|action| Arc::clone(&action.label)).collect()
}

fn template_text(template: &Template) -> Arc<str> {
    match template {
        Template::Literal(value) => value.to_string().into(),
        Template::Expr(expr) => expr.text().into(),
        Template::List(_) | Template::Map(_) => "…".into(),
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
        trigger: std::mem::replace(&mut transition.trigger, Trigger::Always),
        guard: transition.guard.as_ref().map(|guard| Arc::clone(&guard.text)),
        targets: transition.targets.clone(),
        reenter: transition.reenter,
        actions: labels(&transition.actions),
        docs: taken(&mut transition.docs, plain),
    }
}

fn trigger_label(spec: &NodeSpec, trigger: &Trigger) -> Arc<str> {
    match trigger {
        Trigger::Always => "always".into(),
        Trigger::After(index) => match spec.timers.get(*index) {
            Some(Delay::Millis(ms)) => format!("after {}", duration::format_ms(*ms)).into(),
            Some(Delay::Expr(_, text)) => format!("after {text}").into(),
            None => "after".into(),
        },
        Trigger::Event(name) => {
            if name.strip_prefix("done.state.") == Some(&spec.name) {
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
            name.as_str().into()
        }
    }
}
