//! The names that a half-typed chart defines. Separate from `states`, which is exact but needs a readable text.

use std::collections::BTreeSet;

use crate::scan::ScannedKey;

/// States by path, context keys, events, guards and actions.
#[derive(Debug, Default)]
pub(crate) struct ChartOutline {
    /// Path of each state and the offset of its key.
    pub(crate) states: Vec<(Vec<String>, usize)>,
    pub(crate) context: BTreeSet<String>,
    pub(crate) events: BTreeSet<String>,
    pub(crate) guards: BTreeSet<String>,
    pub(crate) actions: BTreeSet<String>,
}

impl ChartOutline {
    pub(crate) fn of(keys: &[ScannedKey]) -> ChartOutline {
        let mut names = ChartOutline::default();
        for key in keys {
            let path = own(&key.path);
            let state = state_of(path);
            match &path[state.len() * 2..] {
                [] if !state.is_empty() => names.states.push((state, key.span.start)),
                [on, event] if on == "on" => {
                    names.events.insert(event.clone());
                }
                [block, name] if state.is_empty() => {
                    let names = match block.as_str() {
                        "context" => &mut names.context,
                        "events" => &mut names.events,
                        "guards" => &mut names.guards,
                        "actions" => &mut names.actions,
                        _ => continue,
                    };
                    names.insert(name.clone());
                }
                _ => {}
            }
        }
        names
    }

    /// Returns the keys of the states directly below one.
    pub(crate) fn children(&self, parent: &[String]) -> impl Iterator<Item = &str> {
        let below = move |path: &&Vec<String>| path.len() == parent.len() + 1 && path.starts_with(parent);
        self.states
            .iter()
            .map(|(path, _)| path)
            .filter(below)
            .filter_map(|path| path.last().map(String::as_str))
    }
}

fn own(path: &[String]) -> &[String] {
    if path.first().is_some_and(|key| key == "statechart") { &path[1..] } else { path }
}

/// Returns the state that a path is in: `states.a.states.b.on` is in `a.b`.
pub(crate) fn state_of(path: &[String]) -> Vec<String> {
    let pairs = own(path).chunks(2);
    let states = pairs.take_while(|pair| pair.len() == 2 && (pair[0] == "states" || pair[0] == "regions"));
    states.map(|pair| pair[1].clone()).collect()
}
