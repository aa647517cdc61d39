//! Configuration of git, as far as the sandbox has to know it: which files it names, and whether it names any command.

/// One key with its value.
struct GitConfigEntry {
    section: String,
    key: String,
    value: String,
}

/// Keys that everyday commands write and that start nothing. A list of harmless ones: git has many keys that
/// name commands, and gets new ones.
const HARMLESS: [(&str, &[&str]); 22] = [
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "preloadindex",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "symlinks",
            "untrackedcache",
            "worktree",
        ],
    ),
    (
        "extensions",
        &["compatobjectformat", "objectformat", "partialclone", "refstorage", "relativeworktrees"],
    ),
    (
        "remote",
        &[
            "fetch",
            "gh-resolved",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "pushurl",
            "tagopt",
            "url",
        ],
    ),
    (
        "branch",
        &[
            "autosetupmerge",
            "autosetuprebase",
            "description",
            "gh-merge-base",
            "github-pr-owner-number",
            "merge",
            "pushremote",
            "rebase",
            "remote",
            "sort",
            "vscode-merge-base",
        ],
    ),
    ("submodule", &["active", "branch", "ignore", "path", "recurse", "url"]),
    ("user", &["email", "name"]),
    ("author", &["email", "name"]),
    ("committer", &["email", "name"]),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("fetch", &["prune", "prunetags", "writecommitgraph"]),
    ("merge", &["conflictstyle", "ff", "renames", "stat"]),
    ("rebase", &["autosquash", "autostash", "updaterefs"]),
    ("commit", &["gpgsign", "verbose"]),
    ("tag", &["gpgsign", "sort"]),
    ("diff", &["algorithm", "colormoved", "mnemonicprefix", "renames"]),
    ("color", &["branch", "diff", "status", "ui"]),
    ("gc", &["auto", "autodetach"]),
    ("maintenance", &["auto", "strategy"]),
    ("rerere", &["autoupdate", "enabled"]),
    ("sparse", &["expectfilesoutsideofpatterns"]),
];

/// Returns true if every key is known to be harmless, and the text is as git itself writes it.
pub(crate) fn is_harmless(text: &str) -> bool {
    let Some(entries) = entries(text) else { return false };
    // `ext::command` is an address.
    entries.iter().all(|entry| {
        is_known(&entry.section, &entry.key) && !(entry.key.ends_with("url") && entry.value.contains("::"))
    })
}

fn is_known(section: &str, key: &str) -> bool {
    // All keys of these only change the output.
    const PRINTING: [&str; 5] = ["advice", "color", "column", "log", "status"];
    PRINTING.contains(&section)
        || HARMLESS.iter().any(|(known, keys)| section == *known && keys.contains(&key))
}

/// Returns true for a key of git's configuration that starts nothing and names no further configuration: `user.name`,
/// `remote.origin.url`. An address may still be one that runs a command (`ext::…`).
pub fn is_harmless_git_key(name: &str) -> bool {
    let name = name.to_lowercase();
    let (section, rest) = name.split_once('.').unwrap_or((&name, ""));
    is_known(section, rest.rsplit('.').next().unwrap_or_default())
}

/// The working trees that a configuration names.
pub(crate) fn worktrees(text: &str) -> Vec<String> {
    let entries =
        lines(text).0.into_iter().filter(|entry| entry.section == "core" && entry.key == "worktree");
    entries.map(|entry| entry.value).collect()
}

/// The kind of a file that a configuration names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedKind {
    /// Further configuration.
    Configuration,
    /// A directory of hooks.
    Hooks,
    /// A program, or anything else.
    Other,
}

/// The words of values that may be files: programs, directories of hooks, further configuration.
pub(crate) fn named(text: &str) -> Vec<(String, NamedKind)> {
    const NO_FILES: [&str; 5] = ["remote", "branch", "submodule", "user", "url"];
    let mut named = Vec::new();
    for entry in lines(text).0.iter().filter(|entry| !NO_FILES.contains(&entry.section.as_str())) {
        let kind = match (entry.section.as_str(), entry.key.as_str()) {
            ("include" | "includeif", "path") => Some(NamedKind::Configuration),
            (_, "hookspath") => Some(NamedKind::Hooks),
            (_, "path") => Some(NamedKind::Other),
            _ => None,
        };
        named.extend(kind.map(|kind| (entry.value.trim_matches('"').to_owned(), kind)));
        let words = entry.value.split(|sign: char| sign.is_whitespace() || "\"';|&!()".contains(sign));
        let words = words.filter(|word| kind.is_none() && word.contains('/'));
        named.extend(words.map(|word| (word.to_owned(), NamedKind::Other)));
    }
    named
}

/// The entries of a text that is as git writes it; `None` if it is not.
fn entries(text: &str) -> Option<Vec<GitConfigEntry>> {
    let (entries, is_plain) = lines(text);
    is_plain.then_some(entries)
}

fn lines(text: &str) -> (Vec<GitConfigEntry>, bool) {
    let (mut entries, mut section, mut is_plain) = (Vec::new(), String::new(), true);
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(inside) = line.strip_prefix('[') {
            let (name, rest) = inside.rsplit_once(']').unwrap_or((inside, ""));
            is_plain &= rest.is_empty() && !name.contains([']', '[']);
            section = name.split([' ', '.', '"', '\t']).next().unwrap_or_default().to_lowercase();
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        is_plain &= !line.ends_with('\\');
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim().to_owned());
        entries.push(GitConfigEntry { section: section.clone(), key, value });
    }
    (entries, is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_writes_every_day_is_harmless() {
        for (text, expected) in [
            ("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n", true),
            ("[remote \"o\"]\n\turl = git@example.test:a\n[branch \"main\"]\n\tremote = o\n", true),
            ("[user]\n\tname = A\n\temail = a@b\n# a comment\n", true),
            ("", true),
            ("[core]\n\tfsmonitor = ./evil\n", false),
            ("[core] fsmonitor = evil\n", false),
            ("[core] x = a]\n", false),
            ("[core]\n\tbare = false \\\n", false),
            ("[remote \"o\"]\n\turl = ext::sh -c evil\n", false),
            ("[remote \"o\"]\n\tuploadpack = evil\n", false),
            ("[submodule \"x\"]\n\tupdate = !evil\n", false),
            ("[include]\n\tpath = ../evil\n", false),
            ("[alias]\n\tst = status\n", false),
            ("[brand-new]\n\tcommand = evil\n", false),
        ] {
            assert_eq!(is_harmless(text), expected, "{text}");
        }
    }

    #[test]
    fn files_of_values() {
        let text = "[core]\n\thooksPath = .husky\n[include] path = ../x\n[diff \"a\"]\n\ttextconv = \"sh tools/conv\"\n\
                    [remote \"o\"]\n\turl = ./near\n";
        let expected = [
            (".husky", NamedKind::Hooks),
            ("../x", NamedKind::Configuration),
            ("tools/conv", NamedKind::Other),
        ];
        assert_eq!(named(text), expected.map(|(name, kind)| (name.to_owned(), kind)));
    }
}
