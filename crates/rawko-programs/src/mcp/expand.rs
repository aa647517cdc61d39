//! Expands `${VAR}` and `${VAR:-default}` in `.mcp.json`, compatible with other programs that read the file.

use rawko_settings::Environment;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// The variable is not set and has no default.
    Unset(String),
    /// The text between `${` and `}` is not a valid name.
    NotAName(String),
    Unclosed,
}

/// Expands the variables in a text. An empty variable counts as unset if there is a default.
pub(super) fn expand(text: &str, environment: &Environment) -> Result<String, ExpandError> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let end = from.find('}').ok_or(ExpandError::Unclosed)?;
        out.push_str(before);
        out.push_str(&value(&from[2..end], environment)?);
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns the names of the variables in a text.
pub(super) fn variables(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split("${").skip(1).filter_map(|from| from.split_once('}'));
    inside.map(|(inside, _)| inside.split_once(":-").map_or(inside, |(name, _)| name))
}

fn value(inside: &str, environment: &Environment) -> Result<String, ExpandError> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_name(name) {
        return Err(ExpandError::NotAName(name.to_owned()));
    }
    let set = environment.get(name).filter(|value| default.is_none() || !value.is_empty());
    set.or(default).map(str::to_owned).ok_or_else(|| ExpandError::Unset(name.to_owned()))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let environment = Environment::from_iter([("TOKEN", "t0ken"), ("EMPTY", "")]);
        let unset = |name: &str| Err(ExpandError::Unset(name.into()));
        let cases = [
            ("plain text", "a $5 note {x}", Ok("a $5 note {x}".to_owned())),
            ("one", "Bearer ${TOKEN}", Ok("Bearer t0ken".to_owned())),
            ("two", "${TOKEN}/${TOKEN}", Ok("t0ken/t0ken".to_owned())),
            ("a default that is not needed", "${TOKEN:-x}", Ok("t0ken".to_owned())),
            (
                "a default that is needed",
                "${HOST:-http://localhost:1}/v1",
                Ok("http://localhost:1/v1".to_owned()),
            ),
            ("an empty default", "[${HOST:-}]", Ok("[]".to_owned())),
            ("empty counts as not set before a default", "${EMPTY:-x}", Ok("x".to_owned())),
            ("empty is a value otherwise", "[${EMPTY}]", Ok("[]".to_owned())),
            ("not set", "${HOST}", unset("HOST")),
            ("not a name", "${1X}", Err(ExpandError::NotAName("1X".into()))),
            ("nothing", "${}", Err(ExpandError::NotAName(String::new()))),
            ("unclosed", "${TOKEN", Err(ExpandError::Unclosed)),
        ];
        for (case, text, expected) in cases {
            assert_eq!(expand(text, &environment), expected, "{case}");
        }
    }
}
