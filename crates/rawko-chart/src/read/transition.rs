//! Transitions and invokes in all their notations.

use crate::def::{
    DelayedTransitionKey, DocsDef, EventTransitionKey, InvokeDef, InvokeKey, TransitionDef, TransitionKey,
    TriggerDef,
};
use crate::source::Span;
use crate::tree::NodeView;

fn bare<'a>(trigger: Span, body: Span) -> TransitionDef<'a> {
    let docs = DocsDef::default();
    TransitionDef { trigger, body, target: None, guard: None, actions: None, reenter: false, docs }
}

/// Reads a target, a transition, or a list of these; all have the same trigger.
pub(crate) fn read_transitions<'a>(
    trigger: Span,
    value: NodeView<'a>,
    mut each: impl FnMut(TransitionDef<'a>),
) {
    match value.items() {
        Some(items) => items.for_each(|item| each(read_one(trigger, item))),
        None => each(read_one(trigger, value)),
    }
}

fn read_one<'a>(trigger: Span, value: NodeView<'a>) -> TransitionDef<'a> {
    let mut transition = bare(trigger, value.span());
    if value.text().is_some() {
        transition.target = Some(value);
    }
    for pair in value.each_pair() {
        if let Some(key) = TransitionKey::parse(pair.key) {
            set(&mut transition, key, pair.value);
        }
    }
    transition
}

fn set<'a>(transition: &mut TransitionDef<'a>, key: TransitionKey, value: NodeView<'a>) {
    match key {
        TransitionKey::Target => transition.target = Some(value).filter(|value| !value.is_null()),
        TransitionKey::Guard => transition.guard = Some(value),
        TransitionKey::Actions => transition.actions = Some(value),
        TransitionKey::Reenter => transition.reenter = matches!(value.data(), crate::tree::Data::Bool(true)),
        TransitionKey::Description => transition.docs.description = Some(value),
        TransitionKey::Tags => transition.docs.tags = Some(value),
        TransitionKey::Meta => transition.docs.meta = Some(value),
    }
}

/// Reads an entry of an `on:` list.
pub(crate) fn read_event_list<'a>(item: NodeView<'a>) -> Option<(TriggerDef<'a>, TransitionDef<'a>)> {
    let mut transition = bare(item.span(), item.span());
    let mut event = None;
    for pair in item.pairs()? {
        match EventTransitionKey::parse(pair.key) {
            Some(EventTransitionKey::Event) => {
                event = pair.value.text();
                transition.trigger = pair.value.span();
            }
            None => {
                if let Some(key) = TransitionKey::parse(pair.key) {
                    set(&mut transition, key, pair.value);
                }
            }
        }
    }
    Some((TriggerDef::Event(event?), transition))
}

/// Reads an entry of an `after:` list.
pub(crate) fn read_delayed<'a>(item: NodeView<'a>) -> Option<(TriggerDef<'a>, TransitionDef<'a>)> {
    let mut transition = bare(item.span(), item.span());
    let mut delay = None;
    for pair in item.pairs()? {
        match DelayedTransitionKey::parse(pair.key) {
            Some(DelayedTransitionKey::Delay) => {
                delay = Some(pair.value);
                transition.trigger = pair.value.span();
            }
            None => {
                if let Some(key) = TransitionKey::parse(pair.key) {
                    set(&mut transition, key, pair.value);
                }
            }
        }
    }
    Some((TriggerDef::Delay(delay?), transition))
}

pub(crate) fn read_invoke(body: NodeView<'_>) -> InvokeDef<'_> {
    let mut invoke = InvokeDef {
        body: body.span(),
        id: None,
        src: None,
        input: None,
        timeout: None,
        retry: None,
        guards: None,
        isolation: None,
        on_done: None,
        on_error: None,
        on_timeout: None,
        each: None,
        item: None,
        index: None,
        max_concurrent: None,
        join: None,
        on_item_done: None,
        on_item_error: None,
        each_keys: Vec::new(),
    };
    for pair in body.each_pair() {
        let Some(key) = InvokeKey::parse(pair.key) else { continue };
        let value = pair.value;
        match key {
            InvokeKey::Id => invoke.id = value.text().map(|id| (id, value.span())),
            InvokeKey::Src => invoke.src = Some(value),
            InvokeKey::Input => invoke.input = Some(value),
            InvokeKey::OnDone => invoke.on_done = Some((pair.key_span, value)),
            InvokeKey::OnError => invoke.on_error = Some((pair.key_span, value)),
            InvokeKey::OnTimeout => invoke.on_timeout = Some((pair.key_span, value)),
            InvokeKey::Timeout => invoke.timeout = Some(value),
            InvokeKey::Guards => invoke.guards = Some(value),
            InvokeKey::Isolation => invoke.isolation = Some(value),
            InvokeKey::Retry => invoke.retry = Some(value),
            InvokeKey::Each => invoke.each = Some(value),
            InvokeKey::As => invoke.item = Some(value),
            InvokeKey::Index => invoke.index = Some(value),
            InvokeKey::MaxConcurrent => invoke.max_concurrent = Some(value),
            InvokeKey::Join => invoke.join = Some(value),
            InvokeKey::OnItemDone => invoke.on_item_done = Some((pair.key_span, value)),
            InvokeKey::OnItemError => invoke.on_item_error = Some((pair.key_span, value)),
            InvokeKey::Description | InvokeKey::Meta => {}
        }
        if matches!(
            key,
            InvokeKey::As
                | InvokeKey::Index
                | InvokeKey::MaxConcurrent
                | InvokeKey::Join
                | InvokeKey::OnItemDone
                | InvokeKey::OnItemError
        ) {
            invoke.each_keys.push((pair.key, pair.key_span));
        }
    }
    invoke
}
