//! `Guards`: code that Python and Node load before a check in its control run. It sees the calls themselves, so that no
//! spelling of an exit, a replaced assertion or a comparison that always holds turns a check green. Separate from `exits`,
//! which changes the text of other languages.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rawko_process::Confinement;
use rawko_settings::Environment;
use serde_json::json;

use super::definition::ProjectCheck;
use crate::changes::{ChangeStatus, FileChange, FolderSnapshot};

/// The guards by the names that they are loaded by.
const FILES: [(&str, &str); 6] = [
    ("sitecustomize.py", include_str!("guard/exits.py")),
    ("_rawko_calls.py", include_str!("guard/calls.py")),
    ("_rawko_tests.py", include_str!("guard/tests.py")),
    ("_rawko_values.py", include_str!("guard/values.py")),
    ("guard.cjs", include_str!("guard/node.cjs")),
    ("_RawkoEnd.pm", include_str!("guard/_RawkoEnd.pm")),
];
const PYTHON_VARIABLE: &str = "PYTHONPATH";
const NODE_VARIABLE: &str = "NODE_OPTIONS";
const PERL_VARIABLE: &str = "PERL5OPT";
const ENDINGS: [&str; 11] = ["py", "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "pl", "pm"];
/// Runs the command of a check, then notes which processes it left running: they need not come to their end. The first
/// argument is the file of the note. A process that has ended and was not waited for does not run.
const NOTING: &str = r#"note=$1; shift; "$@"; code=$?
for place in /proc/[0-9]*; do
  read -r line 2> /dev/null < "$place/stat" || continue
  case ${line##*) } in Z* | X*) ;; *) echo "${place#/proc/}" ;; esac
done > "$note"
exit "$code""#;
/// The name of the note.
const RUNNING: &str = "running";
/// Words of a check that ends the programs it starts: these prove nothing.
const KILLS: [&str; 6] = ["kill", "pkill", "killall", "timeout", "trap", "&"];

/// Folders outside the project, removed when dropped.
#[derive(Debug)]
pub struct Guards {
    folder: PathBuf,
    /// The files by which guarded programs prove that they came to their end.
    ends: PathBuf,
    nonce: String,
}

impl Guards {
    /// Writes the guards. `None` if only files were changed that they do not see. Code that git ignores counts as changed.
    pub fn of(
        root: &Path,
        snapshot: &FolderSnapshot,
        changes: &[FileChange],
        judges_exits: bool,
    ) -> io::Result<Option<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let root = root.canonicalize()?;
        // A changed test is as before in the control run; a new one is code like any other.
        let is_code = |change: &&FileChange| {
            let ending = Path::new(&change.path).extension().and_then(|ending| ending.to_str());
            let is_there = match change.status {
                ChangeStatus::Added => true,
                ChangeStatus::Modified => !change.is_test,
                ChangeStatus::Deleted => false,
            };
            is_there && ending.is_some_and(|ending| ENDINGS.contains(&ending))
        };
        // Git ignores what an agent lists in `.gitignore`, and then only the guards see it.
        let is_hidden = |change: &FileChange| change.path.ends_with(".gitignore");
        if !changes.is_empty() && !changes.iter().any(|change| is_code(&change) || is_hidden(change)) {
            return Ok(None);
        }
        let changed: BTreeSet<&str> =
            changes.iter().filter(is_code).map(|change| change.path.as_str()).collect();
        let ignored = unchanged_unlisted(&root, snapshot);
        let listed = snapshot.paths().filter(|path| !changed.contains(path));
        let unchanged: Vec<PathBuf> =
            listed.chain(ignored.iter().map(String::as_str)).map(|path| root.join(path)).collect();
        let new = changes.iter().filter(|change| change.is_test).map(|change| change.path.as_str());
        let former = snapshot.paths().chain(ignored.iter().map(String::as_str));
        let former = former.filter(|path| crate::changes::is_test(path));
        let tests: BTreeSet<PathBuf> = former.chain(new).map(|path| root.join(path)).collect();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("rawko-guard-{}-{number}", std::process::id()));
        // Left behind by a killed process with the same id.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder)?;
        let ends = folder.with_extension("ends");
        let _ = std::fs::remove_dir_all(&ends);
        std::fs::create_dir(&ends)?;
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        let guards = Self { folder: folder.canonicalize()?, ends: ends.canonicalize()?, nonce };
        let given = json!({
            "root": root, "others": unchanged, "tests": tests, "judges_exits": judges_exits, "ends": guards.ends,
            "nonce": guards.nonce,
        });
        std::fs::write(guards.folder.join("guard.json"), given.to_string())?;
        for (name, text) in FILES {
            std::fs::write(guards.folder.join(name), text)?;
        }
        Ok(Some(guards))
    }

    /// Returns the checks, their environment and their confinement with the guards.
    pub fn around(
        &self,
        checks: &[ProjectCheck],
        environment: &Environment,
        confinement: &Confinement,
    ) -> (Vec<ProjectCheck>, Environment, Confinement) {
        let mut variables = environment.all();
        let mut prepend = |name: &str, text: String, separator: &str| {
            let is_passed = checks.iter().any(|check| check.pass_env.iter().any(|passed| passed == name))
                || rawko_process::is_inherited(name);
            let known = environment.get(name).filter(|_| is_passed);
            variables.retain(|(other, _)| other != name);
            let whole = known.map_or(text.clone(), |known| format!("{text}{separator}{known}"));
            variables.push((name.to_owned(), whole));
        };
        let folder = self.folder.display().to_string();
        prepend(PYTHON_VARIABLE, folder.clone(), ":");
        prepend(NODE_VARIABLE, format!("--require={folder}/guard.cjs"), " ");
        // `PERL5LIB` is set by commands such as `PERL5LIB=lib prove t`.
        prepend(PERL_VARIABLE, format!("-I{folder} -M_RawkoEnd"), " ");
        let environment =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Environment>();
        let mut confinement = confinement.clone();
        confinement.extra_read.push(self.folder.clone());
        confinement.extra_write.push(self.ends.clone());
        let checks = checks.iter().cloned().map(|mut check| {
            check.pass_env.extend([PYTHON_VARIABLE, NODE_VARIABLE, PERL_VARIABLE].map(str::to_owned));
            let note = self.ends.join(RUNNING).display().to_string();
            let words = ["sh", "-c", NOTING, "sh", &note].map(str::to_owned);
            check.command = words.into_iter().chain(check.command).collect();
            check
        });
        (checks.collect(), environment, confinement)
    }

    /// Returns the programs of the last run that did not come to their end, and forgets them: native code that agents wrote
    /// can end a program with success. Programs that the check itself ends or leaves running are left out, as a runner
    /// does with its server.
    pub fn unended(&self, root: &Path, check: &ProjectCheck) -> Vec<String> {
        let mut programs = Vec::new();
        let kills = self.kills();
        let running = rawko_process::read_regular(&self.ends.join(RUNNING)).unwrap_or_default();
        let running = String::from_utf8_lossy(&running);
        for entry in std::fs::read_dir(&self.ends).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "begun") {
                let ended = rawko_process::read_regular(&path.with_extension("ended")).unwrap_or_default();
                let begun = rawko_process::read_regular(&path).unwrap_or_default();
                let begun = String::from_utf8_lossy(&begun);
                let (kin, program) = begun.split_once('\n').unwrap_or(("", begun.as_ref()));
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let own = name.split('-').next();
                // A program that kills others still proves its own end.
                let is_killed = kills.iter().any(|(target, killer)| {
                    own != Some(killer.as_str()) && kin.split(' ').any(|pid| pid == target)
                });
                let is_running = own.is_some_and(|own| running.lines().any(|pid| pid == own));
                if ended != self.nonce.as_bytes() && !is_killed && !is_running {
                    programs.push(program.to_owned());
                }
            }
        }
        for entry in std::fs::read_dir(&self.ends).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
        let text = super::settings_of::whole_text(root, check);
        if text.split_whitespace().any(|word| KILLS.contains(&word)) { Vec::new() } else { programs }
    }

    /// Returns the processes and groups that unchanged code killed, each with the process that killed it.
    fn kills(&self) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(&self.ends).into_iter().flatten().flatten();
        let kill = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (target, killer) = name.strip_prefix("kill-")?.split_once('-')?;
            let text = rawko_process::read_regular(&entry.path()).ok()?;
            (text == self.nonce.as_bytes()).then(|| (target.to_owned(), killer.to_owned()))
        };
        entries.filter_map(kill).collect()
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir_all(&self.ends);
    }
}

/// Returns the code that git ignores and that is unchanged since the snapshot: generated tests. No program can set
/// the time of such a change.
fn unchanged_unlisted(root: &Path, snapshot: &FolderSnapshot) -> Vec<String> {
    let Some(taken) = snapshot.taken_at() else { return Vec::new() };
    let is_old = |path: &String| {
        let about = root.join(path).symlink_metadata().ok().filter(std::fs::Metadata::is_file);
        let changed = about.and_then(|about| {
            let parts = (u64::try_from(about.ctime()).ok(), u32::try_from(about.ctime_nsec()).ok());
            parts.0.zip(parts.1).map(|(seconds, rest)| SystemTime::UNIX_EPOCH + Duration::new(seconds, rest))
        });
        changed.is_some_and(|changed| changed < taken)
    };
    let is_code = |path: &String| {
        let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ENDINGS.contains(&ending)) && !snapshot.has(path)
    };
    super::influence::all_files(root).into_iter().filter(is_code).filter(is_old).collect()
}

/// Returns true if Python and Node load the guards: no command of the checks replaces the variables that name them.
pub(super) fn are_loaded(root: &Path, checks: &[ProjectCheck]) -> bool {
    let replaces = |word: &str| {
        ["-I", "-E", "-S"].contains(&word) || word.contains("PYTHONPATH") || word.contains("NODE_OPTIONS")
    };
    let texts = checks.iter().map(|check| super::settings_of::whole_text(root, check));
    !checks.is_empty() && !texts.into_iter().any(|text| text.split_whitespace().any(replaces))
}

/// Returns true if tests look at how a program ends: then an exit with 0 may be what they ask for.
pub(super) fn tests_judge_exits(root: &Path, changes: &[FileChange], snapshot: &FolderSnapshot) -> bool {
    let words = ["SystemExit", "returncode", "exitCode", "exit_code", "process.exit", "status", "exec"];
    let is_about = |text: String| words.iter().any(|word| text.contains(word));
    let changed = changes.iter().filter(|change| change.is_test).map(|change| change.path.as_str());
    let tests = snapshot.paths().filter(|path| crate::changes::is_test(path)).chain(changed);
    tests.filter_map(|path| crate::checkpoints::text_inside(root, Path::new(path))).any(is_about)
}
