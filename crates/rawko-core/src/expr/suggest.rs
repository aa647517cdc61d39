//! "Did you mean": the nearest known name, or our name for a function of another language.

/// A longer name is unlikely to be a typo.
const NAME_CHARS_MAX: usize = 64;

/// Returns the candidate nearest to `name`, if it is near enough to be a typo.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = name.chars().count();
    let slack = (length / 3).max(1);
    candidates
        .into_iter()
        // Names can be as long as the source text; comparing costs the product of both lengths.
        .filter(|candidate| length <= NAME_CHARS_MAX && candidate.chars().count().abs_diff(length) <= slack)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= slack)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Maps function names of other languages to ours.
pub(crate) fn synonym(name: &str) -> Option<&'static str> {
    Some(match name {
        "len" | "size" | "strlen" => "length",
        "str" | "to_string" | "toString" | "String" => "string",
        "float" | "Number" | "parseFloat" | "to_number" => "number",
        "parseInt" | "integer" | "trunc" => "int",
        "toLowerCase" | "lowercase" | "downcase" => "lower",
        "toUpperCase" | "uppercase" | "upcase" => "upper",
        "strip" => "trim",
        "substring" | "substr" | "take" => "slice",
        "includes" | "has_item" => "contains",
        "startsWith" | "startswith" => "starts_with",
        "endsWith" | "endswith" => "ends_with",
        "push" | "add" | "append_to" => "append",
        "indexOf" | "find" => "index_of",
        "ceiling" => "ceil",
        "average" | "mean" => "avg",
        "typeof" | "typeOf" => "type",
        "isNull" | "is_none" | "isnull" => "is_null",
        "coalesce" | "ifnull" | "nvl" => "default",
        "distinct" | "uniq" => "unique",
        "filter" | "select" => "where",
        "map" => "pluck",
        "some" | "exists" => "any",
        "every" => "all",
        "extend" | "assign" | "update" => "merge",
        "delete" | "del" | "pop" => "remove",
        "has_key" | "hasOwnProperty" | "contains_key" => "has",
        "tojson" | "to_json" | "stringify" => "json",
        "from_json" | "fromjson" => "parse_json",
        "date" | "timestamp" | "parse_date" | "parse_datetime" => "parse_time",
        "strftime" | "format_date" | "date_format" => "format_time",
        "isoformat" | "toISOString" => "iso",
        "match" | "matches" | "like" => "glob",
        "In" | "state_in" | "in_state" | "statein" => "stateIn",
        _ => return None,
    })
}

/// Returns the edit distance (insert, delete, replace, swap of neighbours) between two names, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}
