//! Finds installed language servers for the languages of a project. They advise: a task can be complete although a server
//! that the project never used reports errors.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSetBuilder};

use super::definition::{CheckFormat, ProjectCheck, TIMEOUT};
use super::tree::walk_files;

/// A project with more matching files is too large to open in full.
const FILES_MAX: usize = 500;

struct KnownServer {
    /// The name of its program.
    program: &'static str,
    args: &'static [&'static str],
    patterns: &'static [&'static str],
    /// One of these files makes it useful; empty: any matching file.
    needs: &'static [&'static str],
}

const SERVERS: [KnownServer; 5] = [
    KnownServer { program: "rust-analyzer", args: &[], patterns: &["**/*.rs"], needs: &["Cargo.toml"] },
    KnownServer { program: "pyright-langserver", args: &["--stdio"], patterns: &["**/*.py"], needs: &[] },
    KnownServer {
        program: "typescript-language-server",
        args: &["--stdio"],
        patterns: &["**/*.ts", "**/*.tsx"],
        needs: &["tsconfig.json", "package.json"],
    },
    KnownServer { program: "gopls", args: &[], patterns: &["**/*.go"], needs: &["go.mod"] },
    KnownServer {
        program: "clangd",
        args: &[],
        patterns: &["**/*.c", "**/*.cc", "**/*.cpp"],
        needs: &["compile_commands.json", "compile_flags.txt", ".clangd"],
    },
];

/// Returns a check for each installed language server that knows files of the project. `search` is the value of `PATH`;
/// the project's own `node_modules/.bin` and `.venv/bin` come first.
pub fn installed_language_servers(project_root: &Path, search: &OsStr) -> Vec<ProjectCheck> {
    let own = ["node_modules/.bin", ".venv/bin"].map(|folder| project_root.join(folder));
    let folders: Vec<PathBuf> = own.into_iter().chain(std::env::split_paths(search)).collect();
    SERVERS.iter().filter_map(|server| check_of(server, project_root, &folders)).collect()
}

fn check_of(server: &KnownServer, root: &Path, folders: &[PathBuf]) -> Option<ProjectCheck> {
    let is_needed = server.needs.is_empty() || server.needs.iter().any(|file| root.join(file).is_file());
    if !is_needed || !has_files(root, server.patterns) {
        return None;
    }
    let found = folders.iter().map(|folder| folder.join(server.program)).find(|path| is_program(path))?;
    let program = match found.strip_prefix(root) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => server.program.to_owned(),
    };
    let words = std::iter::once(program).chain(server.args.iter().map(|arg| (*arg).to_owned()));
    Some(ProjectCheck {
        name: server.program.to_owned(),
        command: words.collect(),
        format: CheckFormat::Lsp {
            files: server.patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
        },
        timeout: TIMEOUT,
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: format!("`{}` is installed; it advises, and decides nothing", server.program),
        decides: false,
        sources: Vec::new(),
    })
}

fn has_files(root: &Path, patterns: &[&str]) -> bool {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns.iter().filter_map(|pattern| Glob::new(pattern).ok()) {
        set.add(pattern);
    }
    let Ok(set) = set.build() else { return false };
    let count = walk_files(root).iter().filter(|path| set.is_match(path)).count();
    (1..=FILES_MAX).contains(&count)
}

/// Returns true for a program that exists. rustup puts a proxy for every component there, installed or not.
fn is_program(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    if real.file_stem() != Some(OsStr::new("rustup")) {
        return real.is_file();
    }
    let (Some(name), Some(bin)) = (path.file_name(), path.parent()) else { return false };
    let home = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    // `~/.cargo/bin` stands beside `~/.rustup`.
    let home = home.or_else(|| Some(bin.parent()?.parent()?.join(".rustup")));
    let toolchains = home.and_then(|home| std::fs::read_dir(home.join("toolchains")).ok());
    toolchains.into_iter().flatten().flatten().any(|entry| entry.path().join("bin").join(name).is_file())
}
