//! Expands `${…}` in `.mcp.json`, compatible with the programs that share the file: `${VAR}` and `${VAR:-default}`,
//! `${CLAUDE_PROJECT_DIR}`, and VS Code's `${env:VAR}`, `${input:id}` and `${workspaceFolder}`.

use std::collections::BTreeMap;
use std::path::Path;

use rawko_settings::Environment;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// The variable is not set and has no default.
    Unset(String),
    /// The input has no default, and its variable is not set.
    NoInput {
        id: String,
        variable: String,
    },
    /// The text between `${` and `}` is not a valid name.
    NotAName(String),
    Unclosed,
}

/// The values that a file can refer to.
pub(super) struct FileVariables<'e> {
    pub(super) environment: &'e Environment,
    /// The project, as an absolute path.
    pub(super) root: &'e Path,
    /// The inputs that the file declares, with their defaults.
    pub(super) inputs: BTreeMap<String, Option<String>>,
}

/// One reference, without `${` and `}`.
enum Reference<'t> {
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
    Input(&'t str),
    /// The project's directory.
    Root,
    /// The last component of the project's directory.
    RootName,
    Home,
    Separator,
}

impl<'t> Reference<'t> {
    fn parse(inside: &'t str) -> Self {
        match inside {
            "CLAUDE_PROJECT_DIR" | "workspaceFolder" | "cwd" => return Reference::Root,
            "workspaceFolderBasename" => return Reference::RootName,
            "userHome" => return Reference::Home,
            "pathSeparator" | "/" => return Reference::Separator,
            _ => {}
        }
        if let Some(id) = inside.strip_prefix("input:") {
            return Reference::Input(id);
        }
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        match inside.split_once(":-") {
            Some((name, default)) => Reference::Variable { name, default: Some(default) },
            None => Reference::Variable { name: inside, default: None },
        }
    }
}

/// Returns the environment variable that holds an input: `api-key` is `RAWKO_INPUT_API_KEY`.
pub(super) fn input_variable(id: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("RAWKO_INPUT_{}", id.chars().map(letter).collect::<String>())
}

/// Expands the references in a text. An empty variable counts as unset if there is a default.
pub(super) fn expand(text: &str, variables: &FileVariables<'_>) -> Result<String, ExpandError> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let end = from.find('}').ok_or(ExpandError::Unclosed)?;
        out.push_str(before);
        out.push_str(&value(&from[2..end], variables)?);
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns the names of the environment variables in a text; their values may be secrets.
pub(super) fn variables(text: &str) -> impl Iterator<Item = String> {
    let inside = text.split("${").skip(1).filter_map(|from| from.split_once('}'));
    inside.filter_map(|(inside, _)| match Reference::parse(inside) {
        Reference::Variable { name, .. } => Some(name.to_owned()),
        Reference::Input(id) => Some(input_variable(id)),
        Reference::Root | Reference::RootName | Reference::Home | Reference::Separator => None,
    })
}

fn value(inside: &str, variables: &FileVariables<'_>) -> Result<String, ExpandError> {
    let (environment, root) = (variables.environment, variables.root);
    match Reference::parse(inside) {
        Reference::Root => Ok(root.to_string_lossy().into_owned()),
        Reference::RootName => {
            Ok(root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
        }
        Reference::Separator => Ok(std::path::MAIN_SEPARATOR_STR.to_owned()),
        Reference::Home => set("HOME", None, environment),
        Reference::Variable { name, default } => set(name, default, environment),
        Reference::Input(id) => {
            let variable = input_variable(id);
            let given = environment.get(&variable).map(str::to_owned);
            let default = || variables.inputs.get(id).cloned().flatten();
            given.or_else(default).ok_or_else(|| ExpandError::NoInput { id: id.to_owned(), variable })
        }
    }
}

fn set(name: &str, default: Option<&str>, environment: &Environment) -> Result<String, ExpandError> {
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
        let environment =
            Environment::from_iter([("TOKEN", "t0ken"), ("EMPTY", ""), ("RAWKO_INPUT_API_KEY", "k3y")]);
        let inputs =
            BTreeMap::from([("host".to_owned(), Some("h".to_owned())), ("api-key".to_owned(), None)]);
        let variables = FileVariables { environment: &environment, root: Path::new("/ada/repo"), inputs };
        let unset = |name: &str| Err(ExpandError::Unset(name.into()));
        let no_input = ExpandError::NoInput { id: "other".into(), variable: "RAWKO_INPUT_OTHER".into() };
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
            ("VS Code's variable", "${env:TOKEN}", Ok("t0ken".to_owned())),
            ("VS Code's variable, not set", "${env:HOST}", unset("HOST")),
            ("an input from its variable", "${input:api-key}", Ok("k3y".to_owned())),
            ("an input with a default", "${input:host}", Ok("h".to_owned())),
            ("an input that has no value", "${input:other}", Err(no_input)),
            ("Claude's directory", "${CLAUDE_PROJECT_DIR}/a", Ok("/ada/repo/a".to_owned())),
            ("VS Code's directory", "${workspaceFolder}", Ok("/ada/repo".to_owned())),
            ("its name", "${workspaceFolderBasename}", Ok("repo".to_owned())),
        ];
        for (case, text, expected) in cases {
            assert_eq!(expand(text, &variables), expected, "{case}");
        }
    }
}
