//! The parts of a git repository that may name commands: hooks, and every key of its configuration that is not known to be
//! harmless. The rest changes with everyday commands and carries no authority.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::AuthorityFiles;

/// Adds the hooks and the commands in the configuration of the repository around a project.
pub(super) fn read(root: &Path, all: &mut AuthorityFiles) -> io::Result<()> {
    let Some(directory) = git_directory(root) else { return Ok(()) };
    let common = match text_of(&directory.join("commondir")) {
        Ok(text) => directory.join(text.trim()),
        Err(_) => directory.clone(),
    };
    for path in [common.join("config"), directory.join("config.worktree")] {
        let Ok(bytes) = rawko_process::read_regular(&path) else { continue };
        let commands = commands(&String::from_utf8_lossy(&bytes));
        if !commands.is_empty() {
            all.insert(root, &path, commands.as_bytes())?;
        }
    }
    hooks(root, &common, all)?;
    let full = root.canonicalize()?;
    // Attributes that no diff shows, and another repository in place of this one.
    all.take(root, &common.join("info/attributes"))?;
    if directory.ends_with(".git") {
        all.take(root, &directory.join("commondir"))?;
    }
    // The content of what the configuration names decides, too.
    let around = full.ancestors().find(|directory| directory.join(".git").exists());
    for path in around.into_iter().flat_map(rawko_process::files_named_by_git) {
        let path = path.strip_prefix(&full).map_or_else(|_| path.clone(), |below| root.join(below));
        all.walk(root, &path, &[], 1)?;
    }
    for submodule in rawko_process::submodule_directories(&full) {
        let submodule =
            submodule.strip_prefix(&full).map_or_else(|_| submodule.clone(), |below| root.join(below));
        let path = submodule.join("config");
        let text = rawko_process::read_regular(&path).unwrap_or_default();
        let commands = commands(&String::from_utf8_lossy(&text));
        // Every submodule has the place of its files.
        let commands: Vec<&str> =
            commands.lines().filter(|line| !line.to_lowercase().starts_with("[core] worktree")).collect();
        if !commands.is_empty() {
            all.insert(root, &path, commands.join("\n").as_bytes())?;
        }
        hooks(root, &submodule, all)?;
    }
    Ok(())
}

fn hooks(root: &Path, directory: &Path, all: &mut AuthorityFiles) -> io::Result<()> {
    let Ok(hooks) = fs::read_dir(directory.join("hooks")) else { return Ok(()) };
    for hook in hooks {
        let path = hook?.path();
        if path.extension().is_none_or(|ending| ending != "sample") {
            all.walk(root, &path, &[], 1)?;
        }
    }
    Ok(())
}

fn text_of(path: &Path) -> io::Result<String> {
    String::from_utf8(rawko_process::read_regular(path)?).map_err(io::Error::other)
}

/// Returns the git directory of a project: `.git` of the root or of the nearest parent, also through a `gitdir:` file.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let full = root.canonicalize().ok()?;
    let levels = full.ancestors().enumerate();
    let (level, _) = levels.into_iter().find(|(_, directory)| directory.join(".git").exists())?;
    // Relative to the root as it was given, so that paths are shown in the same way.
    let around = (0..level).fold(root.to_owned(), |path, _| path.join(".."));
    let place = around.join(".git");
    if place.is_dir() {
        return Some(place);
    }
    let text = text_of(&place).ok()?;
    Some(around.join(text.trim().strip_prefix("gitdir:")?.trim()))
}

/// Returns the entries of a git configuration that name commands, one per line.
fn commands(text: &str) -> String {
    let mut section = String::new();
    let mut found = String::new();
    let mut is_continued = false;
    for line in text.lines() {
        let line = line.trim();
        let mut rest = line;
        if !is_continued && let Some(inside) = line.strip_prefix('[') {
            let (name, after) = inside.split_once(']').unwrap_or((inside, ""));
            section = name.to_owned();
            rest = after.trim();
        }
        let key = rest.split(['=', ' ', '\t']).next().unwrap_or_default().to_lowercase();
        let family = section.split([' ', '.', '"']).next().unwrap_or_default().to_lowercase();
        // A list of harmless keys: git has many that name commands, and gets new ones.
        let value = rest.split_once('=').map_or("", |(_, value)| value);
        let is_address = key.ends_with("url") && value.contains("::");
        let is_place = (family.as_str(), key.as_str()) == ("core", "worktree");
        let counts =
            is_address || is_place || !rawko_process::is_harmless_git_key(&format!("{family}.{key}"));
        let is_comment = rest.starts_with(['#', ';']);
        let is_section = rest.is_empty() || key.is_empty();
        if !is_section && (is_continued || (counts && !is_comment)) {
            found += &format!("[{section}] {rest}\n");
            is_continued = rest.ends_with('\\');
        } else {
            is_continued = false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn only_entries_that_name_commands_count() {
        for (text, expected) in [
            ("[core]\n\tbare = false\n\tfilemode = true\n", ""),
            ("[remote \"o\"]\n\turl = git@example.test:a\n[branch \"main\"]\n\tremote = o\n", ""),
            ("[core]\n\tfsmonitor = ./evil\n", "[core] fsmonitor = ./evil\n"),
            ("[core] sshCommand = ./evil\n", "[core] sshCommand = ./evil\n"),
            ("[CORE]\nHooksPath=.husky\n", "[CORE] HooksPath=.husky\n"),
            ("[alias]\n\tst = !evil\n", "[alias] st = !evil\n"),
            (
                "[filter \"x\"]\n\tclean = a \\\n  b\n\trequired\n",
                "[filter \"x\"] clean = a \\\n[filter \"x\"] b\n[filter \"x\"] required\n",
            ),
            ("[include]\n\tpath = ../evil\n", "[include] path = ../evil\n"),
            ("[core]\n# fsmonitor = x\n", ""),
            ("[pager]\n\tlog = ./evil\n", "[pager] log = ./evil\n"),
            ("[submodule \"a\"]\n\turl = x\n\tupdate = !evil\n", "[submodule \"a\"] update = !evil\n"),
            ("[remote \"o\"]\n\turl = ext::evil\n", "[remote \"o\"] url = ext::evil\n"),
            ("[brand-new]\n\tkey = evil\n", "[brand-new] key = evil\n"),
            ("[advice]\n\tdetachedHead = false\n[color \"diff\"]\n\tmeta = red\n", ""),
        ] {
            assert_eq!(commands(text), expected, "{text}");
        }
    }
}
