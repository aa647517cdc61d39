//! The folders that the commands of a check run in: `cd web && npm test`, `make -C sub`, the workspaces of a package. What
//! defines a check is looked up in each of them.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::cargo_settings;
use super::definition::ProjectCheck;
use super::named::{is_interpreter, normal, shell_commands};
use super::run::shown;
use super::settings_of;

/// Folders of one check; further ones are not followed.
const PLACES_MAX: usize = 100;
/// Options whose value is the folder that a program runs in.
const FOLDER_OPTIONS: [&str; 9] = [
    "-C",
    "--directory",
    "--prefix",
    "--cwd",
    "--dir",
    "--chdir",
    "--working-directory",
    "--test-dir",
    "--project",
];
/// Options whose value is a file in the folder that a program runs in.
const FILE_OPTIONS: [&str; 3] = ["--manifest-path", "--file", "--makefile"];
const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// Programs that run a script of every workspace.
const RUNNERS: [&str; 5] = ["turbo", "lerna", "nx", "wsrun", "wireit"];
/// Options and commands of package managers that do so.
const RECURSIVE: [&str; 11] = [
    "--workspaces",
    "-ws",
    "--ws",
    "--workspace",
    "-w",
    "-r",
    "--recursive",
    "--filter",
    "-F",
    "workspaces",
    "workspace",
];
/// Words before a command.
const KEYWORDS: [&str; 12] =
    ["do", "then", "else", "if", "elif", "while", "until", "!", "time", "exec", "env", "{"];
/// Words that end a loop or a condition.
const ENDS: [&str; 4] = ["done", "fi", "esac", "}"];
/// Folders that hold no workspaces.
const LEFT_OUT: [&str; 4] = ["node_modules", ".git", "target", ".venv"];
/// Workspaces are searched up to this depth.
const WORKSPACE_DEPTH_MAX: usize = 4;

/// A folder, and the commands that run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckPlace {
    /// Relative to the project, without `.` and `..`; empty for the project itself.
    pub(super) folder: PathBuf,
    /// The commands themselves; empty if a shell script runs them.
    pub(super) commands: String,
    /// The commands, with the shell scripts that they run.
    pub(super) text: String,
}

impl CheckPlace {
    pub(super) fn new(folder: PathBuf, text: String) -> Self {
        Self { folder, commands: text.clone(), text }
    }

    pub(super) fn words(&self) -> Vec<&str> {
        self.text.split_whitespace().collect()
    }

    /// Returns a path of this folder as one of the project; `None` if it leads outside.
    pub(super) fn path(&self, name: &str) -> Option<String> {
        normal(&self.folder.join(name))
    }

    /// Names a definition by the path of its file.
    pub(super) fn named(&self, name: &str) -> String {
        let folder = self.folder.display();
        match name.strip_suffix('`').and_then(|name| name.rsplit_once('`')) {
            Some((before, file)) if !self.folder.as_os_str().is_empty() => {
                format!("{before}`{folder}/{file}`")
            }
            _ => name.to_owned(),
        }
    }
}

/// Returns the folders that a check runs in, the one of its command first.
pub(super) fn places(root: &Path, check: &ProjectCheck) -> Vec<CheckPlace> {
    let folder = PathBuf::from(normal(&check.cwd).unwrap_or_default());
    let mut found = vec![CheckPlace::new(folder, shown(&check.command))];
    let mut seen: Vec<(PathBuf, String)> = Vec::new();
    let mut at = 0;
    while at < found.len() {
        let folder = root.join(&found[at].folder);
        found[at].text = settings_of::with_scripts(&folder, &found[at].text);
        let CheckPlace { folder: inside, commands, text } = &found[at];
        let scripts = text.strip_prefix(commands.as_str()).unwrap_or(text);
        let mut new = moves(root, inside, commands);
        // Each line of a recipe begins in its own folder again.
        let inner = match leads_away(root, inside, text) {
            true => String::new(),
            false => settings_of::commands_in(&folder, text),
        };
        new.extend(inner.lines().flat_map(|line| moves(root, inside, line)));
        let of_scripts = moves(root, inside, scripts).into_iter();
        new.extend(of_scripts.map(|place| CheckPlace { commands: String::new(), ..place }));
        for place in new {
            let line = (place.folder.clone(), place.text.clone());
            if found.len() < PLACES_MAX && !seen.contains(&line) {
                seen.push(line);
                found.push(place);
            }
        }
        at += 1;
    }
    found
}

/// Returns true for a single command whose option names another folder: its scripts and recipes are those of that folder.
fn leads_away(root: &Path, here: &Path, text: &str) -> bool {
    match &shell_commands(text)[..] {
        [words] => !with_option(root, here, without_prefix(words), &Loops::default()).is_empty(),
        _ => false,
    }
}

/// Returns the other folders that a text runs commands in.
fn moves(root: &Path, folder: &Path, text: &str) -> Vec<CheckPlace> {
    let text = text.replace("$(MAKE)", "make").replace("${MAKE}", "make");
    let (mut here, mut loops) = (vec![folder.to_owned()], Loops::default());
    let (mut found, mut moved) = (Vec::new(), Vec::<CheckPlace>::new());
    for words in shell_commands(&text) {
        if let [word, name, is, values @ ..] = &words[..]
            && (word.as_str(), is.as_str()) == ("for", "in")
        {
            loops.0.push((name.clone(), values.to_vec()));
        }
        let words = without_prefix(&words);
        let Some((program, operands)) = words.split_first() else { continue };
        if ENDS.contains(&program.as_str()) {
            continue;
        }
        if ["cd", "pushd"].contains(&program.as_str()) {
            let target = operands.iter().find(|word| !word.starts_with('-'));
            let folders =
                here.iter().flat_map(|here| loops.folders(root, here, target.map_or("", String::as_str)));
            let folders: Vec<PathBuf> = folders.collect();
            here = if folders.is_empty() { here } else { folders };
            continue;
        }
        // `bash -c "cd web && npm test"`
        let inner = operands.iter().filter(|word| is_interpreter(program) && word.contains(' '));
        found.extend(
            inner.flat_map(|text| here.iter().flat_map(|here| moves(root, here, text)).collect::<Vec<_>>()),
        );
        for here in &here {
            found.extend(with_option(root, here, words, &loops));
            found.extend(workspaces(root, here, words));
            if here == folder {
                continue;
            }
            let line = quoted(words);
            match moved.iter_mut().find(|place| place.folder == *here) {
                Some(place) => place.text = format!("{}\n{line}", place.text),
                None => moved.push(CheckPlace::new(here.clone(), line)),
            }
        }
    }
    moved.extend(found);
    moved.into_iter().map(|place| CheckPlace::new(place.folder, place.text)).collect()
}

/// Returns a command without words such as `do`, variables and a shell before it.
fn without_prefix(words: &[String]) -> &[String] {
    let is_before =
        |word: &String| KEYWORDS.contains(&word.as_str()) || word.contains('=') && !word.starts_with('-');
    let at = words.iter().position(|word| !is_before(word)).unwrap_or(words.len());
    match &words[at..] {
        [shell, option, text, ..]
            if is_interpreter(shell)
                && option.starts_with('-')
                && option.ends_with('c')
                && !text.contains(' ') =>
        {
            without_prefix(&words[at + 2..])
        }
        rest => rest,
    }
}

/// The variables of loops with their values.
#[derive(Default)]
struct Loops(Vec<(String, Vec<String>)>);

impl Loops {
    /// Returns the existing folders that a word names, such as `web`, `$d` and `packages/*`.
    fn folders(&self, root: &Path, here: &Path, word: &str) -> Vec<PathBuf> {
        let Some(variable) = word.strip_prefix('$') else { return matching(root, here, word) };
        let (name, rest) = variable.split_once('/').unwrap_or((variable, ""));
        let name = name.trim_matches(['{', '}']);
        let values = self.0.iter().filter(|(known, _)| known == name).flat_map(|(_, values)| values);
        values
            .flat_map(|value| matching(root, here, &format!("{}/{rest}", value.trim_end_matches('/'))))
            .collect()
    }
}

/// Returns the existing folders that a pattern of a shell names.
fn matching(root: &Path, here: &Path, pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains(['*', '?', '[']) {
        return inside(root, here, pattern).into_iter().collect();
    }
    let mut glob = globset::GlobBuilder::new(pattern.trim_start_matches("./").trim_end_matches('/'));
    let Ok(glob) = glob.literal_separator(true).build() else { return Vec::new() };
    let matcher = glob.compile_matcher();
    let found = folders_below(&root.join(here)).into_iter().filter(|path| matcher.is_match(path));
    found.map(|path| here.join(path)).collect()
}

/// Returns the folders below another, without installed packages.
fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.standard_filters(false).max_depth(Some(WORKSPACE_DEPTH_MAX)).sort_by_file_name(|a, b| a.cmp(b));
    walk.filter_entry(|entry| {
        entry.depth() == 0
            || entry.file_type().is_some_and(|kind| kind.is_dir())
                && !entry.file_name().to_str().is_some_and(|name| LEFT_OUT.contains(&name))
    });
    let found = walk.build().flatten().filter(|entry| entry.depth() > 0);
    found.filter_map(|entry| Some(entry.path().strip_prefix(folder).ok()?.to_owned())).collect()
}

/// Returns the folders that an option of a command names, with the rest of the command.
fn with_option(root: &Path, here: &Path, words: &[String], loops: &Loops) -> Vec<CheckPlace> {
    let value = |names: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((name, value)) if names.contains(&name) => Some((at, at + 1, value.to_owned())),
            _ if names.contains(&word.as_str()) => Some((at, at + 2, words.get(at + 1)?.clone())),
            // `make -Csub`
            _ => Some((at, at + 1, word.strip_prefix("-C").filter(|_| names.contains(&"-C"))?.to_owned())),
        })
    };
    let named = value(&FOLDER_OPTIONS).or_else(|| {
        let (from, to, file) = value(&FILE_OPTIONS)?;
        Some((from, to, Path::new(&file).parent()?.to_str()?.to_owned()))
    });
    let Some((from, to, folder)) = named else { return Vec::new() };
    let rest: Vec<String> = words[..from].iter().chain(&words[to..]).cloned().collect();
    let folders = loops.folders(root, here, &folder).into_iter().filter(|folder| folder != here);
    folders.map(|folder| CheckPlace::new(folder, quoted(&rest))).collect()
}

/// Returns the workspaces of a package, or the members of a crate, that a command runs in.
fn workspaces(root: &Path, here: &Path, words: &[String]) -> Vec<CheckPlace> {
    let has = |names: &[&str]| {
        words.iter().any(|word| names.contains(&word.split_once('=').map_or(word.as_str(), |(name, _)| name)))
    };
    let folder = root.join(here);
    let (file, patterns, text) = if has(&RUNNERS) || has(&MANAGERS) && has(&RECURSIVE) {
        ("package.json", workspace_patterns(&folder), format!("npm {}", quoted(words)))
    } else if has(&["cargo"]) {
        ("Cargo.toml", cargo_settings::members(&folder), quoted(words))
    } else {
        return Vec::new();
    };
    if patterns.is_empty() {
        return Vec::new();
    }
    let mut set = globset::GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        if let Ok(glob) = globset::GlobBuilder::new(pattern).literal_separator(true).build() {
            set.add(glob);
        }
    }
    let Ok(set) = set.build() else { return Vec::new() };
    let found = folders_below(&folder).into_iter();
    let found = found.filter(|path| set.is_match(path) && folder.join(path).join(file).is_file());
    found.map(|path| CheckPlace::new(here.join(path), text.clone())).collect()
}

/// The patterns of workspaces in `package.json` and in `pnpm-workspace.yaml`.
fn workspace_patterns(folder: &Path) -> Vec<String> {
    let package: Value = serde_json::from_str(&settings_of::read(folder, "package.json")).unwrap_or_default();
    let listed = package.get("workspaces").map(|found| found.get("packages").unwrap_or(found));
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<String> = listed.filter_map(|pattern| Some(pattern.as_str()?.to_owned())).collect();
    let text = settings_of::read(folder, "pnpm-workspace.yaml");
    let items = text.lines().skip_while(|line| !line.starts_with("packages:")).skip(1);
    let items = items.map_while(|line| line.trim_start().strip_prefix("- "));
    found.extend(items.map(|item| item.trim().trim_matches(['"', '\'']).to_owned()));
    // Lerna's and Nx' packages stand here if the package itself lists none.
    if found.is_empty() {
        found.push("packages/*".to_owned());
    }
    found.retain(|pattern| !pattern.starts_with('!'));
    found
}

/// Returns an existing folder of the project.
fn inside(root: &Path, here: &Path, target: &str) -> Option<PathBuf> {
    let path = here.join(target);
    if path.is_absolute() {
        return None;
    }
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop().then_some(())?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    root.join(&parts).is_dir().then_some(parts)
}

/// Joins words so that a shell splits them in the same way.
fn quoted(words: &[String]) -> String {
    let is_plain = |word: &&String| {
        word.chars().all(|letter| !letter.is_whitespace() && !";&|()<>`@'\"\\".contains(letter))
    };
    let quote = |word: &String| match is_plain(&word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "\"")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{CheckPlace, places};
    use crate::checks::ProjectCheck;

    fn check(command: &str) -> ProjectCheck {
        serde_json::from_value(serde_json::json!({
            "name": "c", "command": ["sh", "-c", command], "format": "exit",
            "timeout": {"secs": 1, "nanos": 0}, "cwd": ".", "report": null, "pass_env": [], "reason": "",
        }))
        .unwrap()
    }

    #[test]
    fn commands_run_where_they_lead() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        for (path, text) in [
            ("web/package.json", r#"{"scripts": {"test": "node run.js"}}"#),
            ("api/package.json", r#"{"scripts": {"test": "cd src && node run.js"}}"#),
            ("api/src/run.js", ""),
            ("package.json", r#"{"workspaces": ["web", "api"], "scripts": {"all": "npm test -ws"}}"#),
            ("Makefile", "test:\n\tcd web && npm test\n\ttrue\nsub:\n\t$(MAKE) -C api check\n"),
            ("check.sh", "cd api\nnpm test\n"),
            ("Cargo.toml", "[workspace]\nmembers = [\"core\"]\n"),
            ("core/Cargo.toml", ""),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let table = [
            ("npm test", ""),
            ("cd web && npm test", "web: npm test"),
            ("(cd web; npm test)", "web: npm test"),
            ("cd api && npm test && cd ../web && npm ci", "api: npm test, web: npm ci, api/src: node run.js"),
            ("npm --prefix web test", "web: npm test"),
            ("npm --prefix=web test", "web: npm test"),
            (
                "cargo test --manifest-path core/Cargo.toml",
                "core: cargo test, core: cargo test --manifest-path core/Cargo.toml",
            ),
            ("make -C web unit", "web: make unit"),
            ("make -C . test", "web: npm test"),
            ("make test", "web: npm test"),
            ("make sub", "api: make check"),
            ("sh check.sh", "api: npm test, api/src: node run.js"),
            ("npm run all", "api: npm npm test -ws, web: npm npm test -ws, api/src: node run.js"),
            ("bash -lc 'cd web && npm test'", "web: npm test"),
            ("for d in web api; do (cd $d && npm ci); done", "web: npm ci, api: npm ci"),
            ("for d in w*/; do npm --prefix \"$d\" ci; done", "web: npm ci"),
            ("make -Capi check", "api: make check"),
            ("cargo test", "core: cargo test"),
            ("cd missing && npm test", ""),
            ("cd .. && npm test", ""),
            ("cd /tmp && npm test", ""),
        ];
        for (command, expected) in table {
            let found = places(root, &check(command));
            let shown = |place: &CheckPlace| format!("{}: {}", place.folder.display(), place.text);
            let others: Vec<String> = found.iter().skip(1).map(shown).collect();
            assert_eq!(others.join(", "), expected, "{command}");
        }
    }

    #[test]
    fn definitions_are_named_by_their_path() {
        let place = |folder: &str| CheckPlace::new(folder.into(), String::new());
        let name = "the script `test` of `package.json`";
        assert_eq!(place("web").named(name), "the script `test` of `web/package.json`");
        assert_eq!(place("").named(name), name);
    }
}
