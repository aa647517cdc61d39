//! Conditions of edges, as agent runners write them: `outcome=success && context.tests != red || !done`.

use crate::ecmascript::text_literal;

/// Words for an outcome of some runners, and ours.
pub(super) const OUTCOMES: [(&str, &str); 3] =
    [("succeeded", "success"), ("failed", "fail"), ("partially_succeeded", "partial_success")];

/// The names under which one thread of the workflow keeps its results in the context: branches have their own.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadNames {
    pub(super) prefix: String,
}

impl ThreadNames {
    pub(super) fn of(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(super) fn context(&self, name: &str) -> String {
        format!("context.{}", self.of(name))
    }
}

/// A key of the workflow's context as one of ours.
pub(super) fn context_key(key: &str) -> String {
    let key: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if key.starts_with(|c: char| c.is_ascii_digit()) { format!("_{key}") } else { key }
}

/// Returns the keys of the context that a condition reads.
pub(super) fn keys(condition: &str) -> Vec<String> {
    let clauses = condition.split("||").flat_map(|group| group.split("&&"));
    clauses.filter_map(|clause| Some(clause_parts(clause)?.0)).filter(|key| !is_own(key)).map(bare).collect()
}

fn is_own(key: &str) -> bool {
    matches!(key, "outcome" | "preferred_label")
}

fn bare(key: String) -> String {
    key.strip_prefix("context.").map(str::to_owned).unwrap_or(key)
}

/// Translates a condition; the error names the part without a counterpart.
pub(super) fn translate(condition: &str, names: &ThreadNames) -> Result<String, String> {
    let groups: Result<Vec<_>, _> = condition
        .split("||")
        .map(|group| {
            let clauses: Result<Vec<_>, _> =
                group.split("&&").map(|clause| self::clause(clause, names)).collect();
            clauses.map(|clauses| clauses.join(" and "))
        })
        .collect();
    let groups = groups?;
    Ok(if groups.len() == 1 {
        groups.concat()
    } else {
        groups.iter().map(|group| format!("({group})")).collect::<Vec<_>>().join(" or ")
    })
}

/// Operators, longest first.
const OPERATORS: [&str; 9] = ["!=", ">=", "<=", "==", "=", ">", "<", " contains ", " matches "];

fn clause_parts(clause: &str) -> Option<(String, &'static str, String, bool)> {
    let clause = clause.trim();
    let (negated, clause) = match clause.strip_prefix('!') {
        Some(rest) => (true, rest.trim()),
        None => (false, clause),
    };
    let first = OPERATORS
        .iter()
        .filter_map(|operator| clause.find(operator).map(|at| (at, *operator)))
        .min_by_key(|(at, operator)| (*at, usize::MAX - operator.len()));
    let (key, operator, value) = match first {
        Some((at, operator)) => (&clause[..at], operator, &clause[at + operator.len()..]),
        None => (clause, "", ""),
    };
    let key = key.trim();
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let value = value.trim();
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
    is_key.then(|| (key.to_owned(), operator, value.to_owned(), negated))
}

fn clause(clause: &str, names: &ThreadNames) -> Result<String, String> {
    let (key, operator, value, negated) =
        clause_parts(clause).ok_or_else(|| format!("the condition `{}`", clause.trim()))?;
    let outcome = OUTCOMES.iter().find(|(theirs, _)| key == "outcome" && *theirs == value);
    let value = outcome.map_or(value, |(_, ours)| (*ours).to_owned());
    let name = if is_own(&key) { key } else { context_key(&bare(key)) };
    let read = format!("default({}, '')", names.context(&name));
    let literal = text_literal(&value);
    let number = || {
        value
            .parse::<f64>()
            .map(|_| value.clone())
            .map_err(|_| format!("`{operator}` with `{value}`, which is not a number"))
    };
    let text = match operator {
        "=" | "==" => format!("string({read}) == {literal}"),
        "!=" => format!("string({read}) != {literal}"),
        " contains " => format!("contains(string({read}), {literal})"),
        " matches " => return Err("`matches`: expressions have no regular expressions".to_owned()),
        "" => format!("string({read}) not in ['', 'false', '0']"),
        operator => format!("default(number({read}), 0) {operator} {}", number()?),
    };
    Ok(if negated { format!("not ({text})") } else { text })
}

/// The forms in which a person or a node may name the label of an edge, in lower case.
pub(super) fn label_forms(label: &str) -> Vec<String> {
    let full = label.trim().to_lowercase();
    let mut forms = vec![full.clone()];
    let (key, rest) = accelerator(&full);
    forms.extend(rest.filter(|rest| !rest.is_empty()));
    forms.extend(key);
    forms.dedup();
    forms
}

/// Splits `[y] yes`, `y) yes` and `y - yes`.
fn accelerator(label: &str) -> (Option<String>, Option<String>) {
    if let Some((key, rest)) = label.strip_prefix('[').and_then(|label| label.split_once(']')) {
        return (Some(key.trim().to_owned()), Some(rest.trim().to_owned()));
    }
    for separator in [") ", " - "] {
        if let Some((key, rest)) = label.split_once(separator).filter(|(key, _)| key.chars().count() <= 2) {
            return (Some(key.trim().to_owned()), Some(rest.trim().to_owned()));
        }
    }
    (None, None)
}
