//! Compares a tree with the description of the format: unknown keys, wrong kinds of values, missing keys.

use crate::def::{RecordShape, TaggedShape, ValueShape};
use crate::finding::{FINDINGS_MAX, Finding, Severity};
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::{Data, NodeView};

const UNKNOWN_KEY: &str = crate::codes::UNKNOWN_KEY.name;
const UNKNOWN_VALUE: &str = crate::codes::UNKNOWN_VALUE.name;
const WRONG_TYPE: &str = crate::codes::WRONG_TYPE.name;
const MISSING_KEY: &str = crate::codes::MISSING_KEY.name;
const UNKNOWN_ACTION: &str = crate::codes::UNKNOWN_ACTION.name;

/// Reports everything below `view` that does not match `shape`. `at` is the location for a value without text, such as
/// a key with an empty value.
pub(crate) fn check_shape(view: NodeView<'_>, shape: &ValueShape, at: Span, findings: &mut Vec<Finding>) {
    if findings.len() >= FINDINGS_MAX {
        return;
    }
    match shape {
        ValueShape::Any => {}
        ValueShape::Null
        | ValueShape::Text
        | ValueShape::TextLike(_)
        | ValueShape::Bool
        | ValueShape::Number => {
            if !fits_kind(view, shape) {
                findings.push(wrong_type(view, shape, at));
            }
        }
        ValueShape::Whole(least) => check_whole(view, *least, shape, at, findings),
        ValueShape::Word(words) => check_word(view, words, shape, at, findings),
        ValueShape::List(item) => match view.items() {
            Some(items) => items.for_each(|value| check_shape(value, item, at, findings)),
            None => findings.push(wrong_type(view, shape, at)),
        },
        ValueShape::MapOf(value, _) | ValueShape::MapBy(_, value, _) => match view.pairs() {
            Some(pairs) => pairs.for_each(|pair| check_shape(pair.value, value, pair.key_span, findings)),
            None => findings.push(wrong_type(view, shape, at)),
        },
        ValueShape::Record(record) => check_record(view, record, shape, at, findings),
        ValueShape::Tagged(tagged) => check_tagged(view, tagged, shape, at, findings),
        ValueShape::Either(shapes) => match shapes.iter().find(|shape| fits_kind(view, shape)) {
            Some(shape) => check_shape(view, shape, at, findings),
            None => findings.push(wrong_type(view, shape, at)),
        },
    }
}

/// Returns true if the kind of value matches, ignoring its contents.
fn fits_kind(view: NodeView<'_>, shape: &ValueShape) -> bool {
    match (shape, view.data()) {
        (ValueShape::Any, _) => true,
        (ValueShape::Null, Data::Null) => true,
        (ValueShape::Text | ValueShape::TextLike(_) | ValueShape::Word(_), Data::Str(_)) => true,
        (ValueShape::Bool, Data::Bool(_)) => true,
        (ValueShape::Whole(_), Data::Int(_)) => true,
        (ValueShape::Number, Data::Int(_) | Data::Float(_)) => true,
        (ValueShape::List(_), Data::List { .. }) => true,
        (
            ValueShape::MapOf(..) | ValueShape::MapBy(..) | ValueShape::Record(_) | ValueShape::Tagged(_),
            Data::Map { .. },
        ) => true,
        (ValueShape::Either(shapes), _) => shapes.iter().any(|shape| fits_kind(view, shape)),
        _ => false,
    }
}

fn check_whole(view: NodeView<'_>, least: i64, shape: &ValueShape, at: Span, findings: &mut Vec<Finding>) {
    match view.data() {
        Data::Int(number) if number >= least => {}
        Data::Int(number) => {
            let message = format!("{number} is too small here: expected at least {least}");
            findings.push(Finding::new(UNKNOWN_VALUE, Severity::Fatal, view.span(), message));
        }
        _ => findings.push(wrong_type(view, shape, at)),
    }
}

fn check_word(view: NodeView<'_>, words: &[&str], shape: &ValueShape, at: Span, findings: &mut Vec<Finding>) {
    let Some(text) = view.text() else {
        findings.push(wrong_type(view, shape, at));
        return;
    };
    if !words.contains(&text) {
        let message = format!("`{text}` is not one of {}", list_words(words));
        let mut finding = Finding::new(UNKNOWN_VALUE, Severity::Fatal, view.span(), message);
        if let Some(word) = nearest(text, words.iter().copied()) {
            finding = finding.help(format!("did you mean `{word}`?"));
        }
        findings.push(finding);
    }
}

fn check_record(
    view: NodeView<'_>,
    record: &RecordShape,
    shape: &ValueShape,
    at: Span,
    findings: &mut Vec<Finding>,
) {
    let Some(pairs) = view.pairs() else {
        findings.push(wrong_type(view, shape, at));
        return;
    };
    for pair in pairs {
        match record.field(pair.key) {
            Some(field) => check_shape(pair.value, field.shape, pair.key_span, findings),
            None => findings.push(unknown_key(pair.key, pair.key_span, record)),
        }
    }
    for required in record.required {
        if !required.split('|').any(|key| view.get(key).is_some()) {
            let at = if at == Span::default() { view.span() } else { at };
            findings.push(missing_key(required, record, at));
        }
    }
}

fn check_tagged(
    view: NodeView<'_>,
    tagged: &TaggedShape,
    shape: &ValueShape,
    at: Span,
    findings: &mut Vec<Finding>,
) {
    if view.pairs().is_none() {
        findings.push(wrong_type(view, shape, at));
        return;
    }
    let Some(tag) = view.get(tagged.tag) else {
        let words = tagged.words;
        let message = format!("{words} needs a `{}`", tagged.tag);
        let names: Vec<&str> = tagged.variants.iter().map(|(name, _)| *name).collect();
        findings.push(Finding::new(MISSING_KEY, Severity::Fatal, view.span(), message).help(format!(
            "add `{}:` with one of {}",
            tagged.tag,
            list_words(&names)
        )));
        return;
    };
    let Some(name) = tag.text() else {
        findings.push(wrong_type(tag, &ValueShape::Text, at));
        return;
    };
    match tagged.variants.iter().find(|(variant, _)| *variant == name) {
        Some((_, record)) => check_record(view, record, shape, view.span(), findings),
        None => findings.push(unknown_type(name, tag.span(), tagged)),
    }
}

fn unknown_type(name: &str, span: Span, tagged: &TaggedShape) -> Finding {
    let names = tagged.variants.iter().map(|(name, _)| *name);
    let finding =
        Finding::new(UNKNOWN_ACTION, Severity::Fatal, span, format!("there is no action type `{name}`"));
    match nearest(name, names.clone()) {
        Some(close) => finding.help(format!("did you mean `{close}`?")),
        None => finding.help(format!("the types are {}", list_words(&names.collect::<Vec<_>>()))),
    }
}

fn unknown_key(key: &str, span: Span, record: &RecordShape) -> Finding {
    let message = format!("{} has no key `{key}`", record.words);
    let finding = Finding::new(UNKNOWN_KEY, Severity::Fatal, span, message);
    let keys = record.all_fields();
    let hint =
        FAMILIAR.iter().find(|(other, ours)| *other == key && keys.iter().any(|field| field.key == *ours));
    if let Some((_, ours)) = hint {
        return finding.help(format!("use `{ours}` here"));
    }
    if key == "target" && record.name == "item_handler" {
        return finding
            .help("an item does not leave the state: use `onDone`, `onError` or an eventless transition");
    }
    if key == "<<" {
        return finding.help("YAML 1.2 has no merge keys; write the keys out");
    }
    match nearest(key, keys.iter().map(|field| field.key)) {
        Some(close) => finding.help(format!("did you mean `{close}`?")),
        None => {
            let names: Vec<&str> = keys.iter().map(|field| field.key).collect();
            finding.help(format!("its keys are {}", list_words(&names)))
        }
    }
}

/// Keys of other statechart formats, and ours.
const FAMILIAR: &[(&str, &str)] = &[
    ("cond", "guard"),
    ("onEntry", "entry"),
    ("onentry", "entry"),
    ("onExit", "exit"),
    ("onexit", "exit"),
    ("transitions", "on"),
    ("params", "input"),
    ("assignments", "context_updates"),
    ("payload", "data"),
    ("to", "target"),
    ("history", "variant"),
    ("datamodel", "context"),
    ("parallel", "regions"),
];

fn missing_key(required: &str, record: &RecordShape, span: Span) -> Finding {
    let key = required.replace('|', "` or `");
    let message = format!("{} needs `{key}`", record.words);
    let doc = required.split('|').next().and_then(|key| record.field(key)).map_or("", |field| field.doc);
    Finding::new(MISSING_KEY, Severity::Fatal, span, message)
        .help(format!("add `{key}`: {}", lower_first(doc)))
}

fn lower_first(doc: &str) -> String {
    let mut chars = doc.trim_end_matches('.').chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

fn wrong_type(view: NodeView<'_>, shape: &ValueShape, at: Span) -> Finding {
    let message = format!("expected {}, found {}", expected(shape), view.kind_words());
    let span = if view.span().start == view.span().end { at } else { view.span() };
    Finding::new(WRONG_TYPE, Severity::Fatal, span, message)
}

/// Returns the description of a shape, as in "expected …".
fn expected(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Any => "anything".into(),
        ValueShape::Null => "nothing".into(),
        ValueShape::Text | ValueShape::TextLike(_) => "text".into(),
        ValueShape::Bool => "`true` or `false`".into(),
        ValueShape::Whole(least) => format!("a whole number of at least {least}"),
        ValueShape::Number => "a number".into(),
        ValueShape::Word(words) => format!("one of {}", list_words(words)),
        ValueShape::List(_) => "a list".into(),
        ValueShape::MapOf(_, keys) | ValueShape::MapBy(_, _, keys) => {
            format!("a map by {}", keys.trim_start_matches("an ").trim_start_matches("a "))
        }
        ValueShape::Record(record) => format!("{} (a map)", record.words),
        ValueShape::Tagged(tagged) => format!("{} (a map)", tagged.words),
        ValueShape::Either(shapes) => {
            let words: Vec<String> =
                shapes.iter().filter(|shape| !matches!(shape, ValueShape::Null)).map(expected).collect();
            match words.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                _ => words.concat(),
            }
        }
    }
}

fn list_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
