//! Git as a store of contents. Only commands that read neither the index nor the working tree, with hooks, monitors and
//! configuration of the user switched off: a repository must not run anything because a checkpoint is made.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rawko_process::{Confinement, Launch, Profile, ProgramStdin, ProgramStdout};
use rawko_settings::Environment;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;

use super::names::real_path;
use super::open_below::Root;
use super::scan::read;
use super::vault::content_hash;
use super::{PathKind, PathState};

/// Settings of the repository that would start programs or leave traces.
const OVERRIDES: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
];
/// Bytes of a message of git.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;

/// The repository of a project.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    pub(crate) root: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) confinement: Confinement,
}

/// A commit to make.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImportRequest<'c> {
    pub(crate) reference: &'c str,
    pub(crate) parent: Option<&'c str>,
    pub(crate) message: String,
    /// The tree to begin with, in place of the parent's.
    pub(crate) root: Option<&'c str>,
    /// Mode, id and name of objects to add as they are.
    pub(crate) kept: Vec<(String, String, String)>,
    pub(crate) removed: Vec<String>,
    /// Files and links with new contents.
    pub(crate) written: Vec<String>,
}

/// A commit that was made.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    pub(crate) commit: String,
    /// Its tree, if git printed it.
    pub(crate) tree: Option<String>,
    /// The marks of the contents that it holds: files may change meanwhile.
    pub(crate) marks: Vec<(String, Option<PathState>)>,
}

impl Git {
    /// Returns true if the directory is the top of a git working tree.
    pub(crate) fn is_repository(root: &Path) -> bool {
        root.join(".git").symlink_metadata().is_ok()
    }

    /// Returns a repository whose commands may also write to a directory.
    pub(crate) fn with_place(&self, place: &Path) -> Self {
        let mut git = self.clone();
        git.confinement.extra_write.push(place.to_owned());
        git
    }

    /// Runs git and returns the text that it prints.
    pub(crate) async fn text(&self, args: &[&str]) -> io::Result<String> {
        let output = self.run(args, &[], Vec::new()).await?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Runs git with an input and returns its output.
    pub(crate) async fn run(
        &self,
        args: &[&str],
        variables: &[(&str, &str)],
        input: Vec<u8>,
    ) -> io::Result<Vec<u8>> {
        let feed = async move |pipe: &mut ChildStdin| pipe.write_all(&input).await;
        self.exchange(args, variables, feed).await.map(|(output, ())| output)
    }

    async fn exchange<T>(
        &self,
        args: &[&str],
        variables: &[(&str, &str)],
        feed: impl AsyncFnOnce(&mut ChildStdin) -> io::Result<T>,
    ) -> io::Result<(Vec<u8>, T)> {
        let mut launched = self.launch(args, variables).start().await.map_err(io::Error::from)?;
        let child = &mut launched.child;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("git has no pipes"));
        };
        let writing = async move {
            let fed = feed(&mut stdin).await;
            let _ = stdin.shutdown().await;
            fed
        };
        let (mut output, mut message) = (Vec::new(), Vec::new());
        let reading = stdout.read_to_end(&mut output);
        let mut limited = stderr.take(MESSAGE_BYTES_MAX);
        let (fed, read, _) = tokio::join!(writing, reading, limited.read_to_end(&mut message));
        let status = launched.child.wait().await?;
        if !status.success() {
            let message = String::from_utf8_lossy(&message);
            let command = args.first().copied().unwrap_or_default();
            return Err(io::Error::other(format!("git {command} failed ({status}): {}", message.trim())));
        }
        read?;
        Ok((output, fed?))
    }

    fn launch(&self, args: &[&str], variables: &[(&str, &str)]) -> Launch {
        let options = OVERRIDES.iter().flat_map(|setting| ["-c", setting]);
        let above = self.root.parent().unwrap_or(&self.root).display().to_string();
        let own = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("LC_ALL", "C"),
            ("GIT_CEILING_DIRECTORIES", &above),
        ];
        let set = own.iter().chain(variables);
        Launch {
            args: options.chain(args.iter().copied()).map(str::to_owned).collect(),
            inherited: self.environment.all(),
            set: set.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            input: ProgramStdin::Pipe,
            output: ProgramStdout::Separate,
            cwd: self.root.clone(),
            ..Launch::new("git", Profile::Workspace, self.confinement.clone())
        }
    }

    /// Returns the files in the index.
    pub(super) async fn tracked(&self) -> io::Result<Vec<PathBuf>> {
        let output = self.run(&["ls-files", "-z"], &[], Vec::new()).await?;
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    /// Makes a commit with the present contents of files in a directory, on a ref.
    pub(crate) async fn import(&self, request: &ImportRequest<'_>, at: &Path) -> io::Result<Imported> {
        let (at, root) =
            (at.to_owned(), if request.written.is_empty() { None } else { Some(Root::open(at)?) });
        let root = root.map(Arc::new);
        let feed = async |pipe: &mut ChildStdin| {
            pipe.write_all(head(request).as_bytes()).await?;
            if let Some(tree) = request.root {
                pipe.write_all(format!("M 040000 {tree} \"\"\n").as_bytes()).await?;
            }
            for (mode, id, name) in &request.kept {
                let line =
                    [b"M ", mode.as_bytes(), b" ", id.as_bytes(), b" ", &*quoted(name), b"\n"].concat();
                pipe.write_all(&line).await?;
            }
            for name in &request.removed {
                pipe.write_all(&[b"D ", &*quoted(name), b"\n"].concat()).await?;
            }
            let mut marks = Vec::new();
            for name in &request.written {
                let (at, root, path) = (at.clone(), root.clone(), real_path(name));
                let found = tokio::task::spawn_blocking(move || read(&at, root.as_deref()?, &path)).await?;
                if let Some((mark, body)) = &found {
                    let mode = git_mode(mark);
                    let line = [b"M ", mode.as_bytes(), b" inline ", &*quoted(name), b"\n"].concat();
                    pipe.write_all(&line).await?;
                    pipe.write_all(format!("data {}\n", body.len()).as_bytes()).await?;
                    pipe.write_all(body).await?;
                    pipe.write_all(b"\n").await?;
                } else {
                    pipe.write_all(&[b"D ", &*quoted(name), b"\n"].concat()).await?;
                }
                marks.push((name.clone(), found.map(|(mark, _)| mark)));
            }
            pipe.write_all(b"\nget-mark :1\nls :1 \"\"\ndone\n").await?;
            Ok(marks)
        };
        // The ref may have a commit of a process that was killed before it noted it.
        let args = ["fast-import", "--quiet", "--done", "--force"];
        let (output, marks) = self.exchange(&args, &[], feed).await?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let mut lines = output.lines();
        let commit = lines.next().unwrap_or_default().trim().to_owned();
        if commit.len() < 40 {
            return Err(io::Error::other(format!("git fast-import returned no commit: `{output}`")));
        }
        let tree = lines.next().and_then(|line| line.strip_prefix("040000 tree "));
        let tree = tree.map(|tree| tree.trim().to_owned()).filter(|tree| tree.len() >= 40);
        Ok(Imported { commit, tree, marks })
    }

    /// Returns contents by commit, name and hash; `None` where there is no such content.
    pub(super) async fn contents(
        &self,
        wanted: &[(String, String, String)],
    ) -> io::Result<Vec<Option<Vec<u8>>>> {
        let mut input = Vec::new();
        for (commit, name, _) in wanted {
            input.extend_from_slice(commit.as_bytes());
            input.push(b':');
            input.extend_from_slice(real_path(name).as_os_str().as_encoded_bytes());
            input.push(0);
        }
        let output = self.run(&["cat-file", "--batch", "-z"], &[], input).await?;
        let (mut rest, mut found) = (&*output, Vec::new());
        for (commit, name, hash) in wanted {
            let body = take_content(&mut rest, commit, name)?;
            found.push(body.filter(|body| content_hash(body) == *hash));
        }
        Ok(found)
    }
}

/// Takes one answer of `cat-file --batch`.
fn take_content(rest: &mut &[u8], commit: &str, name: &str) -> io::Result<Option<Vec<u8>>> {
    let path = real_path(name);
    let missing = [commit.as_bytes(), b":", path.as_os_str().as_encoded_bytes(), b" missing\n"].concat();
    if let Some(after) = rest.strip_prefix(&*missing) {
        *rest = after;
        return Ok(None);
    }
    let wrong = || io::Error::other("git cat-file returned something unexpected");
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(wrong)?;
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    let size: usize = line.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(wrong)?;
    let body = rest.get(end + 1..end + 1 + size).ok_or_else(wrong)?.to_vec();
    *rest = rest.get(end + 2 + size..).ok_or_else(wrong)?;
    Ok(line.contains(" blob ").then_some(body))
}

fn head(request: &ImportRequest<'_>) -> String {
    let ImportRequest { reference, parent, message, .. } = request;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let from = parent.map(|parent| format!("from {parent}\n")).unwrap_or_default();
    let length = message.len();
    format!(
        "feature done\ncommit {reference}\nmark :1\ncommitter rawko <rawko@localhost> {seconds} +0000\n\
         data {length}\n{message}\n{from}"
    )
}

pub(super) fn git_mode(mark: &PathState) -> &'static str {
    match mark.kind {
        PathKind::Link => "120000",
        PathKind::File | PathKind::Opaque | PathKind::Directory if mark.mode & 0o100 != 0 => "100755",
        PathKind::File | PathKind::Opaque | PathKind::Directory => "100644",
    }
}

/// Quotes a path as git reads it.
fn quoted(name: &str) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in real_path(name).as_os_str().as_encoded_bytes() {
        match byte {
            b'\n' => text.extend_from_slice(b"\\n"),
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

/// Returns a name as part of a ref: letters, digits and a few marks, with a hash if anything was replaced.
pub fn ref_part(name: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
    let mut part: String =
        name.chars().map(|char| if kept(char) || char == '.' { char } else { '_' }).collect();
    let is_bad = part.is_empty()
        || part.len() > 120
        || part.starts_with(['.', '-'])
        || part.ends_with('.')
        || part.contains("..")
        || part.ends_with(".lock");
    if is_bad || part != name {
        part = part.chars().filter(|char| kept(*char)).take(80).collect();
        part = format!("{part}-{}", rawko_settings::short_hash(name.as_bytes()));
        part = part.trim_start_matches('-').to_owned();
    }
    part
}

#[cfg(test)]
mod tests {
    use super::ref_part;

    #[test]
    fn parts_of_refs() {
        let kept = ["task-1", "fix.worker.3", "A_b"];
        assert!(kept.iter().all(|name| ref_part(name) == *name));
        for name in ["a b", "..", "-x", "x.lock", "a/b", "a..b", "é", "", "x."] {
            let part = ref_part(name);
            assert!(
                part != name && part.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char))
            );
            assert!(!part.starts_with('-'), "{part}");
        }
        assert_ne!(ref_part("a b"), ref_part("a:b"));
    }
}
