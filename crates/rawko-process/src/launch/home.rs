//! What of a home directory programs see: caches and tool chains without credentials, and the name for commits.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that tool chains read. None holds a credential, except files that are hidden in them.
const TOOL_CHAINS: [&str; 59] = [
    ".cargo/bin",
    ".cargo/env",
    ".cargo/registry",
    ".cargo/git",
    ".rustup",
    ".npm",
    ".nvm",
    ".volta",
    ".fnm",
    ".bun",
    ".deno",
    ".yarn/berry/cache",
    ".pyenv",
    ".rye/py",
    ".rye/self",
    ".rye/shims",
    ".rye/toolchains",
    ".rye/tools",
    ".rye/uv",
    ".virtualenvs",
    ".conda/pkgs",
    "miniconda3",
    "anaconda3",
    "go/bin",
    "go/pkg",
    ".rbenv",
    ".gem/ruby",
    ".sdkman/candidates",
    ".asdf",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ghcup",
    ".cabal/packages",
    ".elan",
    ".opam",
    ".juliaup",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/library-packs",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/sdk-manifests",
    ".dotnet/shared",
    ".dotnet/templates",
    ".dotnet/tools",
    ".nuget/packages",
    ".nix-profile",
    ".local/bin",
    ".local/lib",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/pnpm",
    ".local/share/mise",
    ".local/share/fnm",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cache/go-build",
];

/// Those of them that tools write to while they read.
const CACHES: [&str; 12] = [
    ".cargo/registry",
    ".cargo/git",
    ".npm",
    ".yarn/berry/cache",
    "go/pkg",
    ".m2/repository",
    ".gradle/caches",
    ".nuget/packages",
    ".local/share/pnpm",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
];

/// A configuration file with one of these words may hold a credential.
const SECRET_WORDS: [&str; 5] = ["token", "password", "secret", "credential", "@"];

/// The tool chains that a home directory has.
pub(crate) fn tool_chains(home: &Path) -> Vec<PathBuf> {
    let listed = TOOL_CHAINS.iter().map(|name| home.join(name));
    let configuration = [".cargo/config.toml"].iter().map(|name| home.join(name)).filter(|path| {
        fs::read_to_string(path).is_ok_and(|text| {
            let text = text.to_lowercase();
            !SECRET_WORDS.iter().any(|word| text.contains(word))
        })
    });
    listed.chain(configuration).filter(|path| path.exists()).collect()
}

/// The caches among them.
pub(crate) fn caches(home: &Path) -> impl Iterator<Item = PathBuf> {
    CACHES.iter().map(|name| home.join(name)).filter(|path| path.is_dir())
}

/// A git configuration with the name and address for commits. The rest of the person's may hold credentials and commands.
pub(crate) fn git_identity(home: &Path) -> Option<String> {
    let files = [home.join(".gitconfig"), home.join(".config/git/config")];
    let mut identity = String::from("[user]\n");
    let mut is_user = false;
    for line in files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>())
    {
        if line.starts_with('[') {
            is_user = line.eq_ignore_ascii_case("[user]");
        } else if is_user
            && let Some((key, value)) = line.split_once('=')
            && ["name", "email"].contains(&key.trim().to_ascii_lowercase().as_str())
        {
            let value = value.trim().trim_matches('"').replace(['\\', '"'], "");
            identity.push_str(&format!("\t{} = \"{value}\"\n", key.trim()));
        }
    }
    (identity.lines().count() > 1).then_some(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_git_configuration_only_the_name_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let text = "[core]\n\tfsmonitor = evil\n[user]\n\tname = A B\n\temail = a@b.c\n\tsigningkey = x\n\
                    [http]\n\textraheader = Authorization: x\n";
        fs::write(home.path().join(".gitconfig"), text).unwrap();
        let expected = "[user]\n\tname = \"A B\"\n\temail = \"a@b.c\"\n";
        assert_eq!(git_identity(home.path()).as_deref(), Some(expected));
        assert_eq!(git_identity(Path::new("/no/such/home")), None);
    }
}
