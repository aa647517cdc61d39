//! Files that carry authority or secrets: which of them programs never write, and which they never see.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{git, names};

/// Files of a project that decide which programs start and what agents may do. Relative to the project.
pub const AUTHORITY: [&str; 6] =
    [".rawko", ".claude", ".mcp.json", "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md"];

/// Depth and number of entries of the search for links in files of authority.
const LINKS_DEPTH: usize = 4;
const LINKS_MAX: usize = 4000;

/// Keys, tokens and profiles, relative to the home directory. A private home has none of them; they are listed for
/// projects that contain a home directory.
const CREDENTIALS: [&str; 62] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".docker",
    ".config",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".vault-token",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".rawko",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".terraform.d",
    ".terraformrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".boto",
    ".s3cfg",
    ".oci",
    ".databrickscfg",
    ".kaggle",
    ".huggingface",
    ".cache/huggingface/token",
    ".snowflake",
    ".mozilla",
    ".thunderbird",
    ".pki",
    ".var",
    ".local/share/keyrings",
    ".local/state",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    "miniconda3/.condarc",
    "anaconda3/.condarc",
    ".nvm/.npmrc",
    ".npm/_logs",
    ".dotnet/corefx",
    ".rye/credentials",
    ".rye/config.toml",
    ".local/share/uv/credentials",
    ".volta/.npmrc",
    ".bun/.npmrc",
    ".pulumi/credentials.json",
    ".fly/config.yml",
];

/// What no program sees: credentials, rawko's own state, and what only some users of this machine may read.
pub(crate) fn hidden(home: Option<&Path>, project: &Path) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = system_secrets().to_vec();
    hidden.push(project.join(".rawko/state"));
    hidden.extend(state_directories());
    if let Some(home) = home {
        hidden.extend(CREDENTIALS.iter().map(|name| home.join(name)));
        hidden.push(home.join(".local/state/rawko"));
    }
    hidden.retain(|path| path.symlink_metadata().is_ok());
    // A link hides its target too.
    let real: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    hidden.extend(real);
    hidden.sort();
    hidden.dedup();
    hidden
}

/// The directories of rawko's store, socket and operator credential.
fn state_directories() -> impl Iterator<Item = PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let configured = of("XDG_CONFIG_HOME").map(|home| home.join("rawko"));
    let state = of("XDG_STATE_HOME").map(|home| home.join("rawko"));
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    [of("RAWKO_STATE_DIR"), state, configured].into_iter().flatten().map(absolute)
}

/// Directories of the system in which administrators keep files of their own.
const ADMINISTERED: [&str; 3] = ["/etc", "/opt", "/usr/local"];

/// Paths of the system that not every user may read. Root could: it owns them. Looked up once.
fn system_secrets() -> &'static [PathBuf] {
    static SECRETS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let mut found = Vec::new();
        ADMINISTERED.iter().for_each(|directory| unreadable(Path::new(directory), &mut found));
        found
    })
}

fn unreadable(directory: &Path, found: &mut Vec<PathBuf>) {
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        let Ok(metadata) = entry.metadata() else { continue };
        let (mode, path) = (metadata.permissions().mode(), entry.path());
        if metadata.is_symlink() {
            continue;
        }
        if metadata.is_dir() && mode & 0o005 == 0o005 {
            unreadable(&path, found);
        } else if mode & 0o004 == 0 {
            found.push(path);
        }
    }
}

/// The files of authority that a project has, and what links in them lead to.
pub(crate) fn protected(project: &Path) -> Vec<PathBuf> {
    let mut protected: Vec<PathBuf> = top_names().map(|name| project.join(name)).collect();
    protected.extend(names::at_top(project));
    protected.extend(git::authority(project));
    // The file of a worktree; a directory is written to.
    protected.extend(Some(project.join(".git")).filter(|git| git.is_file()));
    protected.retain(|path| path.symlink_metadata().is_ok());
    let (mut targets, mut left) = (Vec::new(), LINKS_MAX);
    for path in &protected {
        link_targets(path, LINKS_DEPTH, &mut left, &mut targets);
    }
    protected.extend(targets.into_iter().filter(|target| target != project && target.starts_with(project)));
    protected.sort();
    protected.dedup();
    protected
}

/// The names of files of authority in a project.
pub(crate) fn top_names() -> impl Iterator<Item = &'static str> {
    AUTHORITY.into_iter()
}

fn link_targets(path: &Path, depth: usize, left: &mut usize, targets: &mut Vec<PathBuf>) {
    *left = left.saturating_sub(1);
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_symlink() {
        targets.extend(path.canonicalize());
    } else if metadata.is_dir() && depth > 0 && *left > 0 {
        for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
            link_targets(&entry.path(), depth - 1, left, targets);
        }
    }
}
