//! Files by which a shell script decides what it runs: programs of a virtual environment, folders that it puts into `PATH`,
//! and files whose existence ends it with success. Separate from the files that a command names as operands.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Folders of programs that exist only if they were installed.
const PROGRAMS: [&str; 4] = [".venv/bin/", "venv/bin/", "node_modules/.bin/", "vendor/bin/"];
/// `PATH=bin:$PATH`, `export PATH="$PWD/tools:$PATH"`.
static SEARCHED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)\bPATH=([^\s;&|]+)").ok());
/// `[ -f tool ] || { echo skipped; exit 0; }`.
static MISSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:\[\[?|\btest)\s+-[a-zL]\s+["']?([^\s"';\]]+)["']?\s*(?:\]\]?)?\s*\|\|\s*(?:[({]\s*(?:(?:echo|printf)[^\n;]*[\n;]\s*)?)?exit\b\s*(?:0\s*)?(?:[\n;})]|$)"#).ok()
});
/// `[ -e .skip ] && exit 0`, `if [ -f .skip ]; then exit; fi`.
static SWITCH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:!\s*)?(?:\[\[?|\btest)\s+(?:!\s+)?-[a-zL]\s+["']?([^\s"';\]]+)["']?\s*(?:\]\]?)?\s*(?:&&|;?\s*then\b(?:\s*(?:echo|printf)[^\n;]*[\n;])?)\s*(?:\{\s*)?exit\b\s*(?:0\s*)?(?:[\n;}]|$)"#).ok()
});

/// Returns the files that decide, relative to where the script runs. `commands`: the words of its commands.
pub(super) fn files(text: &str, commands: &[Vec<String>], is_file: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let words = commands.iter().flatten();
    let values = words.map(|word| word.split_once('=').map_or(word.as_str(), |(_, value)| value));
    found
        .extend(values.filter(|word| PROGRAMS.iter().any(|folder| word.contains(folder))).map(str::to_owned));
    let searched = SEARCHED.iter().flat_map(|pattern| pattern.captures_iter(text));
    for folders in searched.filter_map(|captures| Some(captures.get(1)?.as_str().replace(['"', '\''], ""))) {
        for folder in folders.split(':') {
            let folder = ["$PWD/", "${PWD}/", "$(pwd)/", "./"]
                .iter()
                .find_map(|here| folder.strip_prefix(here))
                .unwrap_or(folder);
            if folder.is_empty() || folder.contains('$') || folder.starts_with('/') {
                continue;
            }
            let programs = commands.iter().filter_map(|words| words.iter().find(|word| !word.contains('=')));
            let plain = programs.filter(|word| !word.contains(['/', '$', '[']));
            // A program of the project that is missing may be what agents are to write.
            let is_installed = |word: &&String| {
                let search = std::env::var_os("PATH").unwrap_or_default();
                is_file(&Path::new(folder).join(word))
                    || std::env::split_paths(&search).any(|folder| folder.join(word).is_file())
            };
            found.extend(plain.filter(is_installed).map(|word| format!("{folder}/{word}")));
        }
    }
    let switches = SWITCH.iter().flat_map(|pattern| pattern.captures_iter(text));
    found.extend(switches.filter_map(|captures| Some(captures.get(1)?.as_str().to_owned())));
    found.retain(|path| is_plain(path));
    found
}

/// Returns the files without which a script ends with success. A new one skips nothing.
pub(super) fn required(text: &str) -> Vec<String> {
    let missing = MISSING.iter().flat_map(|pattern| pattern.captures_iter(text));
    let found = missing.filter_map(|captures| Some(captures.get(1)?.as_str().to_owned()));
    found.filter(|path| is_plain(path)).collect()
}

fn is_plain(path: &str) -> bool {
    !path.contains(['$', '*', '?']) && !path.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn what_a_script_tests_for_and_searches() {
        let table = [
            ("[ -e .skip ] && exit 0", ".skip"),
            ("test -f .skip && exit\n", ".skip"),
            ("if [ -f .skip ]; then exit 0; fi", ".skip"),
            ("if [[ -f '.skip' ]]\nthen\n  echo skipped\n  exit 0\nfi", ".skip"),
            ("test -e solved && exit 1", ""),
            ("test -e solved || exit 1", ""),
            ("test -e solved\nexit 0", ""),
            ("[ -x .venv/bin/python ] && PY=.venv/bin/python", ".venv/bin/python .venv/bin/python"),
            ("PATH=bin:$PATH\nsh x", "bin/sh"),
            ("export PATH=\"$PWD/tools:$PATH\"\nsh x", "tools/sh"),
            ("PATH=bin:$PATH\nour-own-tool x", ""),
            ("PATH=/usr/bin sh x", ""),
        ];
        for (text, expected) in table {
            let commands = super::super::named::shell_commands(text);
            assert_eq!(files(text, &commands, |_| false).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn what_a_script_needs() {
        let table = [
            ("[ -f tool.py ] || exit 0", "tool.py"),
            ("[ -f tool.py ] || { echo 'no tool, skipped'; exit 0; }", "tool.py"),
            ("test -d node_modules || (exit)", "node_modules"),
            ("[ -f tool.py ] || exit 2", ""),
        ];
        for (text, expected) in table {
            assert_eq!(super::required(text).join(" "), expected, "{text}");
        }
    }
}
