//! The functions that only property expressions have: `in`, `event`, `invoked`, `called`, `ended`. Each call becomes a
//! local variable, and the rest is the expression language unchanged.

use std::ops::Range;

use rawko_core::expr::{self, NameResolver};
use rawko_core::{Chart, NodeId, Slot};

use super::PropertyExpr;
use crate::suggest::nearest;

/// A fact about a configuration or a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// `in('path')`: the state is active.
    In(NodeId),
    /// `event('NAME')`: the step took this event.
    Event(String),
    /// `invoked('id-or-src')`: the step started this invoke.
    Invoked(String),
    /// `called('Tool')`: the step called this handler or tool.
    Called(String),
    /// `ended()`, `ended('outcome')`.
    Ended(Option<String>),
}

const FUNCTIONS: [&str; 5] = ["in", "event", "invoked", "called", "ended"];
const OUTCOMES: [&str; 6] = ["succeeded", "failed", "limit", "loop", "stuck", "cancelled"];

/// Compiles the text of a property expression, or returns the message of its first problem.
pub(super) fn compile(text: &str, chart: &Chart) -> Result<PropertyExpr, String> {
    let (rewritten, atoms) = rewrite(text, chart)?;
    let names = PropertyNames { chart, atoms: atoms.len() };
    let resolved = expr::parse(&rewritten).and_then(|ast| ast.resolve(&names));
    let expr = resolved.map_err(|problems| {
        problems.first().map_or_else(|| "it cannot be parsed".to_owned(), |problem| problem.message.clone())
    })?;
    Ok(PropertyExpr { text: text.to_owned(), expr, atoms })
}

/// Replaces each call of a property function by the name of a local.
fn rewrite(text: &str, chart: &Chart) -> Result<(String, Vec<Atom>), String> {
    let mut atoms = Vec::new();
    let out = replace_calls(text, |word, argument| {
        let local = local_name(atoms.len());
        atoms.push(atom(word, argument, chart)?);
        Ok(local)
    })?;
    Ok((out, atoms))
}

/// Returns the locations of the names in all `in('…')` of a property expression.
pub(crate) fn state_names(text: &str) -> Vec<Range<usize>> {
    let mut names = Vec::new();
    // The calls before a mistake count, too: the text may be half typed.
    let _: Result<String, String> = replace_calls(text, |word, argument| {
        if let Some(name) = argument.filter(|_| word == "in") {
            let start = name.as_ptr() as usize - text.as_ptr() as usize;
            names.push(start..start + name.len());
        }
        Ok(local_name(0))
    });
    names
}

/// Replaces each call of a property function, given its name and its argument, which is a part of the text.
fn replace_calls(
    text: &str,
    mut replace: impl FnMut(&str, Option<&str>) -> Result<String, String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '\'' || first == '"' {
            let end = quoted_end(rest, first)?;
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let is_call = FUNCTIONS.contains(&word) && after.trim_start().starts_with('(');
            if is_call && !(word == "in" && follows_operand(&out)) && !out.trim_end().ends_with('.') {
                let (argument, tail) = argument(word, after)?;
                out.push_str(&replace(word, argument)?);
                rest = tail;
            } else {
                out.push_str(word);
                rest = after;
            }
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(out)
}

fn local_name(number: usize) -> String {
    format!("p__{number}")
}

fn quoted_end(text: &str, quote: char) -> Result<usize, String> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Ok(at + c.len_utf8()),
            _ => {}
        }
    }
    Err(format!("a text has no closing {quote}"))
}

/// After an operand, `in` is the operator of the expression language.
fn follows_operand(before: &str) -> bool {
    let before = before.trim_end();
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    if ["and", "or", "not", "in"].contains(&word) {
        return false;
    }
    before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '\'' | '"'))
}

/// Returns the text between the parentheses without its quotes, and the rest.
fn argument<'t>(word: &str, after: &'t str) -> Result<(Option<&'t str>, &'t str), String> {
    let inner = after.trim_start()[1..].trim_start();
    if let Some(tail) = inner.strip_prefix(')') {
        return Ok((None, tail));
    }
    let wrong = || format!("`{word}` takes one text, as in `{word}('…')`");
    let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(wrong)?;
    let end = quoted_end(inner, quote)?;
    let tail = inner[end..].trim_start().strip_prefix(')').ok_or_else(wrong)?;
    Ok((Some(&inner[1..end - 1]), tail))
}

fn atom(word: &str, argument: Option<&str>, chart: &Chart) -> Result<Atom, String> {
    let text =
        || argument.map(str::to_owned).ok_or_else(|| format!("`{word}` needs a name, as in `{word}('…')`"));
    match word {
        "in" => state(&text()?, chart).map(Atom::In),
        "event" => {
            let name = text()?;
            let is_known = chart.handles(&name) || chart.event_spec(&name).is_some();
            let close = || nearest(&name, chart.event_names()).map(str::to_owned);
            if is_known { Ok(Atom::Event(name)) } else { Err(unknown("event", &name, close())) }
        }
        "invoked" => {
            let name = text()?;
            let invokes = || chart.node_ids().flat_map(|node| chart.node(node).invokes.iter());
            // A `src` that is an expression is known only when it runs.
            let is_known = invokes().any(|(id, src)| **id == *name || **src == *name)
                || name.contains(':')
                || name.contains('[');
            let close = || nearest(&name, invokes().map(|(id, _)| &**id)).map(str::to_owned);
            if is_known { Ok(Atom::Invoked(name)) } else { Err(unknown("invoke", &name, close())) }
        }
        "called" => text().map(Atom::Called),
        _ => match argument {
            Some(outcome) if !OUTCOMES.contains(&outcome) => {
                let close = nearest(outcome, OUTCOMES.iter().copied()).map(str::to_owned);
                Err(unknown("outcome", outcome, close))
            }
            outcome => Ok(Atom::Ended(outcome.map(str::to_owned))),
        },
    }
}

fn unknown(what: &str, name: &str, close: Option<String>) -> String {
    match close {
        Some(close) => format!("the chart has no {what} `{name}`; did you mean `{close}`?"),
        None => format!("the chart has no {what} `{name}`"),
    }
}

/// A dotted path, or a key or id that only one state has.
fn state(path: &str, chart: &Chart) -> Result<NodeId, String> {
    let path = path.trim_start_matches('#');
    if let Some(node) = chart.find(path) {
        return Ok(node);
    }
    let is_it = |node: &NodeId| *chart.node(*node).name == *path || *chart.node(*node).key == *path;
    let mut found = chart.node_ids().skip(1).filter(is_it);
    match (found.next(), found.next()) {
        (Some(node), None) => Ok(node),
        (Some(_), Some(_)) => Err(format!("several states are called `{path}`; write the path from the top")),
        (None, _) => {
            let nodes: Vec<NodeId> = chart.node_ids().skip(1).collect();
            let close = nearest(path, nodes.iter().map(|node| &*chart.node(*node).path)).map(str::to_owned);
            Err(unknown("state", path, close))
        }
    }
}

struct PropertyNames<'c> {
    chart: &'c Chart,
    atoms: usize,
}

impl NameResolver for PropertyNames<'_> {
    fn context_key(&self, key: &str) -> Option<Slot> {
        self.chart.context_names().iter().position(|name| &**name == key).map(|slot| Slot(slot as u32))
    }

    fn context_keys(&self) -> Vec<String> {
        self.chart.context_names().iter().map(|name| name.to_string()).collect()
    }

    fn local(&self, name: &str) -> Option<usize> {
        let number: usize = name.strip_prefix("p__")?.parse().ok()?;
        (number < self.atoms).then_some(number)
    }

    fn state(&self, path: &str) -> Option<NodeId> {
        self.chart.find(path)
    }
}
