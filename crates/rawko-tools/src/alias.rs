//! Alternative names of the built-in tools. Models and agent files use `readFile`, `str_replace` or `shell`; a rule
//! that names one of them applies to the tool under all its names.

use super::builtin::Builtin;

/// Keeps letters and digits, in lower case: `read_file`, `readFile` and `ReadFile` are one name.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Aliases by folded name. The tool's own name comes first.
const ALIASES: [(Builtin, &[&str]); 14] = [
    (Builtin::Read, &["read", "readfile", "viewfile", "openfile", "fileread", "cat"]),
    (Builtin::Write, &["write", "writefile", "createfile", "newfile", "filewrite", "savefile"]),
    (
        Builtin::Edit,
        &[
            "edit",
            "editfile",
            "strreplace",
            "strreplaceeditor",
            "replaceinfile",
            "fileedit",
            "multiedit",
            "applyedit",
        ],
    ),
    (Builtin::Glob, &["glob", "listfiles", "findfiles", "listdir", "listdirectory", "ls", "globfiles"]),
    (Builtin::Grep, &["grep", "search", "searchcode", "searchfiles", "codesearch", "grepsearch", "ripgrep"]),
    (
        Builtin::Bash,
        &[
            "bash",
            "shell",
            "sh",
            "runcommand",
            "executecommand",
            "execcommand",
            "execute",
            "runshell",
            "terminal",
        ],
    ),
    (Builtin::WebFetch, &["webfetch", "fetch", "fetchurl", "httpget", "browse", "readurl"]),
    (Builtin::PlanWrite, &["planwrite", "writeplan", "createplan", "setplan", "todowrite"]),
    (Builtin::PlanRead, &["planread", "readplan", "getplan", "todoread"]),
    (Builtin::PlanUpdate, &["planupdate", "updateplan", "updatestep", "todoupdate"]),
    (Builtin::WebSearch, &["websearch", "searchweb", "googlesearch", "bravesearch", "internetsearch"]),
    (Builtin::Think, &["think", "sequentialthinking", "thinking", "reflect"]),
    (Builtin::Skill, &["skill", "loadskill", "useskill", "readskill"]),
    (Builtin::AskUser, &["askuser", "askuserquestion", "askquestion", "askhuman", "ask"]),
];

/// Returns the tool of a name.
pub(super) fn resolved(name: &str) -> Option<Builtin> {
    let name = folded(name);
    ALIASES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(tool, _)| *tool)
}

/// Returns all folded names of a tool.
pub(super) fn names_of(tool: Builtin) -> &'static [&'static str] {
    ALIASES.iter().find(|(other, _)| *other == tool).map_or(&[], |(_, names)| names)
}

/// Folds a wildcard pattern, so that it can be matched against folded names.
pub(super) fn folded_pattern(pattern: &str) -> String {
    let kept = pattern.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '*');
    kept.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_its_own_name_first_and_no_name_means_two() {
        let mut seen = std::collections::BTreeSet::new();
        for tool in Builtin::ALL {
            assert_eq!(names_of(tool).first().copied(), Some(folded(tool.name()).as_str()), "{tool:?}");
            for name in names_of(tool) {
                assert!(seen.insert(*name), "{name} means two tools");
                assert_eq!(folded(name), *name, "{name} is not folded");
            }
        }
    }
}
