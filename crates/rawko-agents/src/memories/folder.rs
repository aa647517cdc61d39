//! The folder of a project's memories: the only part with disk access.

use std::fs;
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::file::{Memory, MemoryProblem, parse_memory, render_memory};

/// Relative to the project.
pub const MEMORIES_FOLDER: &str = ".rawko/memories";
/// Limit of names tried to find a free one.
const NAMES_MAX: u32 = 1_000;

/// The contents of the folder, and all its problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memories {
    /// Sorted by name.
    pub all: Vec<Memory>,
    /// Problems of all files.
    pub problems: Vec<MemoryProblem>,
}

/// Reads `*.md`. A missing folder is empty; an unreadable file is reported as a problem and skipped.
pub fn read_memories(folder: &Path) -> Result<Memories, Error> {
    let mut paths = match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, Error>>()?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Memories::default()),
        Err(error) => return Err(error),
    };
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md") && !is_hidden(path));
    // Sort by stem: as whole paths, `a-2.md` would precede `a.md`.
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let mut memories = Memories::default();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match text_of(&path) {
            Ok(text) => {
                let (memory, problems) = parse_memory(&name, &text);
                memories.all.extend(memory);
                memories.problems.extend(problems);
            }
            Err(error) => {
                let message = format!("it cannot be read: {error}");
                memories.problems.push(MemoryProblem { file: format!("{name}.md"), line: 1, message });
            }
        }
    }
    Ok(memories)
}

/// Writes a new memory without overwriting an existing one. Returns its name.
pub fn write_memory(folder: &Path, memory: &Memory) -> Result<String, Error> {
    // The folder is not part of what a person trusts: a link in a cloned project would lead anywhere.
    if folder.is_symlink() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "the folder of memories is a link; nothing is written",
        ));
    }
    fs::create_dir_all(folder)?;
    let text = render_memory(memory);
    for number in 1..=NAMES_MAX {
        let name = if number == 1 { memory.name.clone() } else { format!("{}-{number}", memory.name) };
        let whole = temporary(folder, &name, &text)?;
        // Unlike a rename, a link fails if the file exists.
        let linked = fs::hard_link(&whole, folder.join(format!("{name}.md")));
        fs::remove_file(&whole)?;
        match linked {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(ErrorKind::AlreadyExists, format!("there are too many memories called {}", memory.name)))
}

/// Increments the use count of a memory. Reads the file again first, to keep a person's edits.
pub fn note_use(folder: &Path, name: &str) -> Result<(), Error> {
    let path = folder.join(format!("{name}.md"));
    let text = text_of(&path)?;
    let (memory, problems) = parse_memory(name, &text);
    // A file that is not fully understood is not rewritten, because parts of it would be lost.
    let Some(memory) =
        memory.filter(|_| problems.is_empty() && text.trim_start_matches('\u{feff}').starts_with("---"))
    else {
        return Ok(());
    };
    let counted = Memory { uses: memory.uses.saturating_add(1), ..memory };
    let whole = temporary(folder, name, &render_memory(&counted))?;
    fs::rename(whole, path)
}

fn text_of(path: &Path) -> Result<String, Error> {
    String::from_utf8(rawko_process::read_regular(path)?).map_err(|_| ErrorKind::InvalidData.into())
}

/// Writes the complete file under a temporary name. Hidden, so that it is not read meanwhile.
fn temporary(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = folder.join(format!(".{name}.{}.md", std::process::id()));
    // Never through a link that lies there.
    let _ = fs::remove_file(&path);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(path)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str) -> Memory {
        Memory { name: name.into(), title: "Use tabs".into(), body: "Always.".into(), ..Memory::default() }
    }

    #[test]
    fn memories_are_written_beside_each_other_and_read_in_order() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(MEMORIES_FOLDER);
        assert_eq!(read_memories(&folder).unwrap(), Memories::default());
        let names: Vec<String> =
            ["tabs", "tabs", "a"].iter().map(|name| write_memory(&folder, &memory(name)).unwrap()).collect();
        assert_eq!(names, ["tabs", "tabs-2", "a"]);
        fs::write(folder.join("notes.txt"), "not a memory").unwrap();
        fs::write(folder.join("broken.md"), "---\ntitle: [\n---\n").unwrap();
        fs::write(folder.join("latin.md"), b"\xe4").unwrap();
        let read = read_memories(&folder).unwrap();
        assert_eq!(
            read.all.iter().map(|memory| memory.name.as_str()).collect::<Vec<_>>(),
            ["a", "tabs", "tabs-2"]
        );
        let mut files: Vec<&str> = read.problems.iter().map(|problem| problem.file.as_str()).collect();
        files.dedup();
        assert_eq!(files, ["broken.md", "latin.md"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 6, "nothing temporary is left");
    }

    #[test]
    fn uses_are_counted_and_edits_kept() {
        let root = tempfile::tempdir().unwrap();
        let name = write_memory(root.path(), &memory("tabs")).unwrap();
        note_use(root.path(), &name).unwrap();
        let path = root.path().join("tabs.md");
        let edited = fs::read_to_string(&path).unwrap().replace("Always.", "Nearly always.");
        fs::write(&path, edited).unwrap();
        note_use(root.path(), &name).unwrap();
        let read = read_memories(root.path()).unwrap();
        assert_eq!((read.all[0].uses, read.all[0].body.as_str()), (2, "Nearly always."));
        for by_hand in ["Just words.", "---\ntitle: x\nmine: y\n---\nBody"] {
            fs::write(&path, by_hand).unwrap();
            note_use(root.path(), &name).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), by_hand, "what is not understood is left alone");
        }
    }
}
