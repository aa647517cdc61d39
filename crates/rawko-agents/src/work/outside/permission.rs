//! Maps a coding agent's request to our tools. The agent declares the kind of operation itself, so its own tool name is
//! checked as well: all of them must be allowed.

use std::path::{Path, PathBuf};

use rawko_core::Value;

use rawko_programs::program::{AgentOperation, AskedKind};

/// Keys under which agents send the path of a file.
const PATH_KEYS: [&str; 6] = ["path", "file_path", "filePath", "abs_path", "absolute_path", "notebook_path"];
/// … and the working directory of a command.
const DIRECTORY_KEYS: [&str; 3] = ["cwd", "workdir", "directory"];

/// A tool use that must be allowed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequiredTool {
    pub(super) tool: String,
    pub(super) input: Value,
}

impl RequiredTool {
    fn new(tool: &str, key: &str, text: &str) -> Self {
        Self { tool: tool.to_owned(), input: Value::map([(key.to_owned(), Value::str(text))]) }
    }

    fn bare(tool: &str) -> Self {
        Self { tool: tool.to_owned(), input: Value::Map(Default::default()) }
    }
}

/// Returns every tool use that must be allowed, or the reason why the request cannot be allowed at all. `own` is our
/// name of the agent's tool, if it has one; `cwd` is the agent's working directory.
pub(super) fn required_tools(
    asked: &AgentOperation,
    own: Option<&str>,
    cwd: &Path,
) -> Result<Vec<RequiredTool>, String> {
    let mut required_tools = match asked.kind {
        AskedKind::Read => on_files("Read", asked, cwd)?,
        AskedKind::Edit => on_files(if own == Some("Write") { "Write" } else { "Edit" }, asked, cwd)?,
        AskedKind::Delete | AskedKind::Move => on_files("Write", asked, cwd)?,
        AskedKind::Search => somewhere("Grep", asked, cwd)?,
        AskedKind::Execute => vec![command(asked)?],
        AskedKind::Fetch => vec![fetch(asked)],
        AskedKind::Think => carried(asked)?,
        AskedKind::SwitchMode => {
            return Err("a mode in which it asks for less is not granted".to_owned());
        }
        // A known tool name is more specific than the kind `Other`.
        AskedKind::Other if own.is_some() => Vec::new(),
        AskedKind::Other => {
            let tool = RequiredTool::bare(asked.tool.as_deref().unwrap_or("other"));
            std::iter::once(tool).chain(carried(asked)?).collect()
        }
    };
    if let Some(tool) = own.filter(|tool| !required_tools.iter().any(|required| required.tool == *tool)) {
        required_tools.extend(by_name(tool, asked, cwd)?);
    }
    Ok(required_tools)
}

/// Maps a command and an address that a request carries although its kind needs none.
fn carried(asked: &AgentOperation) -> Result<Vec<RequiredTool>, String> {
    let mut required_tools = Vec::new();
    if !asked.input.get("command").is_null() {
        required_tools.push(command(asked)?);
    }
    if !asked.input.get("url").is_null() {
        required_tools.push(fetch(asked));
    }
    Ok(required_tools)
}

fn by_name(tool: &str, asked: &AgentOperation, cwd: &Path) -> Result<Vec<RequiredTool>, String> {
    match tool {
        "Read" | "Write" | "Edit" => on_files(tool, asked, cwd),
        "Glob" | "Grep" => somewhere(tool, asked, cwd),
        "Bash" => Ok(vec![command(asked)?]),
        "WebFetch" => Ok(vec![fetch(asked)]),
        _ => Ok(vec![RequiredTool::bare(tool)]),
    }
}

/// Maps an operation on files, which must name them.
fn on_files(tool: &str, asked: &AgentOperation, cwd: &Path) -> Result<Vec<RequiredTool>, String> {
    let paths = paths(asked, cwd)?;
    if paths.is_empty() {
        return Err(format!("it names no file for `{}`", shown(asked)));
    }
    Ok(paths.iter().map(|path| RequiredTool::new(tool, "path", path)).collect())
}

/// Maps an operation anywhere in the project, unless it names a path.
fn somewhere(tool: &str, asked: &AgentOperation, cwd: &Path) -> Result<Vec<RequiredTool>, String> {
    let paths = paths(asked, cwd)?;
    if paths.is_empty() {
        return Ok(vec![RequiredTool::new(tool, "path", ".")]);
    }
    Ok(paths.iter().map(|path| RequiredTool::new(tool, "path", path)).collect())
}

fn command(asked: &AgentOperation) -> Result<RequiredTool, String> {
    let line = match asked.input.get("command") {
        Value::Str(line) => line.to_string(),
        Value::List(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.unwrap_or_default().into_iter().map(quoted).collect::<Vec<_>>().join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => String::new(),
    };
    if line.trim().is_empty() {
        return Err(format!("it names no command for `{}`", shown(asked)));
    }
    Ok(RequiredTool::new("Bash", "command", &line))
}

/// Returns the working directory, if given: it determines the meaning of paths in a command.
pub(super) fn directories(asked: &AgentOperation, cwd: &Path) -> Result<Vec<String>, String> {
    texts(asked, &DIRECTORY_KEYS).map(|directory| absolute(directory, cwd)).collect()
}

fn fetch(asked: &AgentOperation) -> RequiredTool {
    match asked.input.get("url").as_str() {
        Some(url) => RequiredTool::new("WebFetch", "url", url),
        // A web search or similar: it cannot be checked without a URL, and the check reports that.
        None => RequiredTool::bare("WebFetch"),
    }
}

fn paths(asked: &AgentOperation, cwd: &Path) -> Result<Vec<String>, String> {
    let given = asked.paths.iter().map(|path| path.to_str().unwrap_or("\0"));
    let mut paths = Vec::new();
    for path in given.chain(texts(asked, &PATH_KEYS)) {
        paths.push(absolute(path, cwd)?);
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn texts<'a>(asked: &'a AgentOperation, keys: &[&str]) -> impl Iterator<Item = &'a str> {
    keys.iter().filter_map(|key| asked.input.get(key).as_str()).collect::<Vec<_>>().into_iter()
}

/// Resolves a relative path against the agent's working directory.
pub(super) fn absolute(path: &str, cwd: &Path) -> Result<String, String> {
    if path.is_empty() || path.contains('\0') {
        return Err("the path it names is not a path".to_owned());
    }
    let path: PathBuf = cwd.join(path);
    path.to_str().map(str::to_owned).ok_or_else(|| "the path it names is not UTF-8 text".to_owned())
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn shown(asked: &AgentOperation) -> &str {
    if asked.title.is_empty() { asked.tool.as_deref().unwrap_or("the call") } else { &asked.title }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: AskedKind, input: &str, paths: &[&str]) -> AgentOperation {
        AgentOperation {
            id: "t1".into(),
            kind,
            tool: None,
            title: "do it".into(),
            input: serde_json::from_str(input).unwrap(),
            paths: paths.iter().map(PathBuf::from).collect(),
        }
    }

    fn told(asked: &AgentOperation, own: Option<&str>) -> String {
        match required_tools(asked, own, Path::new("/p")) {
            Ok(required_tools) => {
                let each =
                    required_tools.iter().map(|required| format!("{} {}", required.tool, required.input));
                each.collect::<Vec<_>>().join(" + ")
            }
            Err(why) => why,
        }
    }

    #[test]
    fn what_is_asked_becomes_what_must_be_allowed() {
        use AskedKind::{Delete, Edit, Execute, Fetch, Other, Read, Search, SwitchMode, Think};
        let table = [
            (Read, r#"{"file_path": "/p/a"}"#, &[][..], r#"Read {"path":"/p/a"}"#),
            (Read, "{}", &["/p/a"], r#"Read {"path":"/p/a"}"#),
            (Read, "{}", &[], "it names no file for `do it`"),
            (Edit, r#"{"path": "b"}"#, &["/p/a"], r#"Edit {"path":"/p/a"} + Edit {"path":"/p/b"}"#),
            (Delete, "{}", &["/etc/a"], r#"Write {"path":"/etc/a"}"#),
            (Search, r#"{"pattern": "x"}"#, &[], r#"Grep {"path":"."}"#),
            (Execute, r#"{"command": "ls -l"}"#, &[], r#"Bash {"command":"ls -l"}"#),
            (
                Execute,
                r#"{"command": ["sh", "-c", "it's"]}"#,
                &[],
                r#"Bash {"command":"'sh' '-c' 'it'\\''s'"}"#,
            ),
            (Execute, r#"{"command": ["ls", 1]}"#, &[], "it names no command for `do it`"),
            (Fetch, r#"{"url": "https://x"}"#, &[], r#"WebFetch {"url":"https://x"}"#),
            (Fetch, r#"{"query": "x"}"#, &[], "WebFetch {}"),
            (Think, "{}", &[], ""),
            (Think, r#"{"command": "git push"}"#, &[], r#"Bash {"command":"git push"}"#),
            (Think, r#"{"url": "https://x"}"#, &[], r#"WebFetch {"url":"https://x"}"#),
            (SwitchMode, "{}", &[], "a mode in which it asks for less is not granted"),
            (Other, "{}", &[], "other {}"),
            (Other, r#"{"command": ["git", "push"]}"#, &[], r#"other {} + Bash {"command":"'git' 'push'"}"#),
        ];
        for (kind, input, paths, expected) in table {
            assert_eq!(told(&asked(kind, input, paths), None), expected, "{kind:?} {input} {paths:?}");
        }
    }

    #[test]
    fn a_tool_that_is_called_by_a_harmless_kind_is_what_it_is() {
        let shell = AgentOperation {
            tool: Some("shell".into()),
            ..asked(AskedKind::Think, r#"{"command": "rm -r ."}"#, &[])
        };
        assert_eq!(told(&shell, Some("Bash")), r#"Bash {"command":"rm -r ."}"#);
        for name in ["shell", "Bash"] {
            let unknown = AgentOperation { tool: Some(name.into()), kind: AskedKind::Other, ..shell.clone() };
            assert_eq!(told(&unknown, Some("Bash")), r#"Bash {"command":"rm -r ."}"#, "{name}");
        }
    }
}
