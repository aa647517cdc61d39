//! A value against rules. Cost is bounded: alternatives inside alternatives could otherwise take for ever.

use super::{Additional, ArrayRules, JsonTypes, NumberRules, ObjectRules, RulePlace, SchemaRules, Violation};
use crate::expr::{nearest, with_article};
use crate::value::{Map, Value};

/// Maximum number of reported violations.
const VIOLATIONS_MAX: usize = 20;
/// Comparisons of a value with a rule.
const WORK_MAX: usize = 1_000_000;
const DEPTH_MAX: usize = 256;
const CHOICES_SHOWN: usize = 12;

pub(super) fn violations(rules: &[SchemaRules], part: RulePlace, value: &Value) -> Vec<Violation> {
    let mut check = SchemaValidation { rules, work: WORK_MAX, depth: 0, path: Vec::new(), found: Vec::new() };
    check.part(part, value);
    check.found
}

enum PathSegment<'v> {
    Key(&'v str),
    Item(usize),
}

struct SchemaValidation<'r, 'v> {
    rules: &'r [SchemaRules],
    work: usize,
    depth: usize,
    path: Vec<PathSegment<'v>>,
    found: Vec<Violation>,
}

impl<'r, 'v> SchemaValidation<'r, 'v> {
    fn part(&mut self, part: RulePlace, value: &'v Value) {
        if self.found.len() >= VIOLATIONS_MAX {
            return;
        }
        if self.work == 0 || self.depth >= DEPTH_MAX {
            self.violation("the value is too large to be checked against its schema");
            self.work = 0;
            return;
        }
        self.work -= 1;
        self.depth += 1;
        self.rules(&self.rules[part.0 as usize], value);
        self.depth -= 1;
    }

    fn rules(&mut self, rules: &'r SchemaRules, value: &'v Value) {
        if rules.never {
            return self.violation("no value is allowed here");
        }
        if let Some(types) = rules.types.filter(|types| !types.meets(JsonTypes::of(value))) {
            return self.violation(format!("expected {}, found {}", types.words(), found(value)));
        }
        if let Some(constant) = rules.constant.as_ref().filter(|constant| *constant != value) {
            self.violation(format!("expected {}, found {}", quoted(constant), quoted(value)));
        }
        if let Some(choices) = rules.choices.as_ref().filter(|choices| !choices.contains(value)) {
            self.choices(choices, value);
        }
        if let Some(part) = rules.reference {
            self.part(part, value);
        }
        match value {
            Value::Map(map) => {
                if let Some(object) = &rules.object {
                    self.object(object, map);
                }
            }
            Value::List(items) => {
                if let Some(array) = &rules.array {
                    self.array(array, items);
                }
            }
            Value::Str(text) => {
                let count = text.chars().count() as u64;
                if let Some(message) = rules.text.and_then(|text| text.broken_by(count, "characters")) {
                    self.violation(message);
                }
            }
            Value::Int(_) | Value::Float(_) => {
                if let (Some(number), Some(given)) = (&rules.number, value.as_f64()) {
                    self.number(number, given, value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        self.combinations(rules, value);
    }

    fn choices(&mut self, choices: &[Value], value: &Value) {
        let shown: Vec<String> = choices.iter().take(CHOICES_SHOWN).map(quoted).collect();
        let more = if choices.len() > CHOICES_SHOWN { ", …" } else { "" };
        let close = value.as_str().and_then(|text| nearest(text, choices.iter().filter_map(Value::as_str)));
        let close = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
        self.violation(format!("{} is not one of {}{more}{close}", quoted(value), shown.join(", ")));
    }

    fn object(&mut self, rules: &'r ObjectRules, map: &'v Map) {
        for name in rules.required.iter().filter(|name| !map.contains_key(&***name)) {
            self.violation(format!("`{name}` is missing"));
        }
        if let Some(message) = rules.size.broken_by(map.len() as u64, "keys") {
            self.violation(message);
        }
        for (key, value) in map {
            let declared = rules.properties.iter().find(|(name, _)| name == key).map(|(_, part)| *part);
            let part = match (declared, rules.additional) {
                (Some(part), _) | (None, Additional::Each(part)) => part,
                (None, Additional::Refused) => {
                    let known = rules.properties.iter().map(|(name, _)| &**name);
                    let close = nearest(key, known).map(|name| format!("; did you mean `{name}`?"));
                    self.violation(format!("unknown key `{key}`{}", close.unwrap_or_default()));
                    continue;
                }
                (None, Additional::Allowed | Additional::Unstated) => continue,
            };
            self.path.push(PathSegment::Key(key));
            self.part(part, value);
            self.path.pop();
        }
    }

    fn array(&mut self, rules: &'r ArrayRules, items: &'v [Value]) {
        if let Some(message) = rules.size.broken_by(items.len() as u64, "items") {
            self.violation(message);
        }
        for (number, item) in items.iter().enumerate() {
            let Some(part) = rules.prefix.get(number).copied().or(rules.items) else { break };
            self.path.push(PathSegment::Item(number));
            self.part(part, item);
            self.path.pop();
        }
        if rules.unique && !self.all_differ(items) {
            self.violation("expected unique items");
        }
    }

    fn all_differ(&mut self, items: &[Value]) -> bool {
        for (number, item) in items.iter().enumerate() {
            self.work = self.work.saturating_sub(number);
            if self.work == 0 || items[..number].contains(item) {
                return false;
            }
        }
        true
    }

    fn number(&mut self, rules: &NumberRules, number: f64, value: &Value) {
        let bounds = [
            (rules.minimum.filter(|bound| number < *bound), "at least"),
            (rules.maximum.filter(|bound| number > *bound), "at most"),
            (rules.above.filter(|bound| number <= *bound), "more than"),
            (rules.below.filter(|bound| number >= *bound), "less than"),
            (rules.multiple_of.filter(|unit| !is_multiple(number, *unit)), "a multiple of"),
        ];
        for (bound, words) in bounds {
            if let Some(bound) = bound {
                self.violation(format!("expected {words} {bound}, found {value}"));
            }
        }
    }

    fn combinations(&mut self, rules: &'r SchemaRules, value: &'v Value) {
        for part in &rules.all_of {
            self.part(*part, value);
        }
        if !rules.any_of.is_empty() {
            self.alternatives(&rules.any_of, value, usize::MAX);
        }
        if !rules.one_of.is_empty() {
            self.alternatives(&rules.one_of, value, 1);
        }
        if let Some(part) = rules.not
            && self.apart(part, value).is_empty()
        {
            self.violation("the value is not allowed here");
        }
    }

    /// Requires a match of at least one and at most `most` alternatives. Without a match, reports the violations of
    /// the nearest alternative.
    fn alternatives(&mut self, parts: &'r [RulePlace], value: &'v Value, most: usize) {
        let mut nearest: Option<Vec<Violation>> = None;
        let mut fitting = 0;
        for part in parts {
            let found = self.apart(*part, value);
            if found.is_empty() {
                fitting += 1;
                if most == usize::MAX {
                    return;
                }
            } else if nearest.as_ref().is_none_or(|known| deeper(&found, known)) {
                nearest = Some(found);
            }
        }
        match (fitting, nearest) {
            (0, Some(found)) => self.found.extend(found),
            (count, _) if count > most => self.violation("more than one of the alternatives matches"),
            (_, _) => {}
        }
    }

    /// The violations of one alternative, kept apart from the others.
    fn apart(&mut self, part: RulePlace, value: &'v Value) -> Vec<Violation> {
        let before = std::mem::take(&mut self.found);
        self.part(part, value);
        std::mem::replace(&mut self.found, before)
    }

    fn violation(&mut self, message: impl Into<String>) {
        let mut path = String::new();
        for step in &self.path {
            match step {
                PathSegment::Key(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                PathSegment::Item(number) => path.push_str(&format!("[{number}]")),
            }
        }
        self.found.push(Violation { path, message: message.into() });
    }
}

/// Returns true if `one` fails deeper inside than `other`, and so is nearer to a match.
fn deeper(one: &[Violation], other: &[Violation]) -> bool {
    let depth = |found: &[Violation]| found.iter().map(|violation| violation.path.len()).max().unwrap_or(0);
    depth(one) > depth(other)
}

fn is_multiple(number: f64, unit: f64) -> bool {
    let times = number / unit;
    (times - times.round()).abs() < 1e-9
}

fn quoted(value: &Value) -> String {
    format!("`{value}`")
}

fn found(value: &Value) -> String {
    with_article(match value {
        Value::Int(_) => "whole number",
        other => other.type_name(),
    })
}

impl JsonTypes {
    /// `a string or null`.
    fn words(self) -> String {
        let mut words: Vec<String> = Vec::new();
        let names = [(1, "null"), (2, "boolean"), (16, "string"), (32, "list"), (64, "map")];
        if self.0 & 8 != 0 {
            words.push("a number".into());
        } else if self.0 & 4 != 0 {
            words.push("a whole number".into());
        }
        for (bit, name) in names {
            if self.0 & bit != 0 {
                words.push(if bit == 1 { name.into() } else { with_article(name) });
            }
        }
        // Null comes last: it only means that the value is optional.
        words.sort_by_key(|word| word == "null");
        words.join(" or ")
    }
}
