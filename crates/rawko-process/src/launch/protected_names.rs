//! The names of files that carry authority, by class: the one table for the tools that write files, for the sandbox and for
//! the search after a call. A name counts in any directory, in any case, for a file and for a directory.
//!
//! Not in the table, because agents are asked to change them, and because every build of the project runs code of agents
//! anyway: manifests and build files (`package.json`, `Makefile`, `build.rs`, `.cargo/config.toml`, `.npmrc`, `flake.nix`),
//! tests, workflows of CI (`.github/workflows`), and files that only select a version (`.nvmrc`).

use std::collections::HashMap;
use std::sync::OnceLock;

/// Names with the same reason.
#[derive(Debug)]
pub struct ProtectedClass {
    /// Why agents do not write them.
    pub reason: &'static str,
    /// In lower case. One `*` stands for any text; `a/b` is the name `b` in a directory `a`.
    pub names: &'static [&'static str],
}

/// All protected names.
pub const PROTECTED_NAMES: [ProtectedClass; 9] = [
    ProtectedClass {
        reason: "rawko and Claude Code read settings, agents, hooks, servers and instructions from them",
        names: &[
            ".rawko",
            ".claude",
            ".claude.json",
            ".agents",
            ".mcp.json",
            "agents.md",
            "agents.override.md",
            "agents.local.md",
            "claude.md",
            "claude.local.md",
        ],
    },
    ProtectedClass {
        reason: "other agents read instructions, permissions and servers from them",
        names: &[
            ".agent",
            "agent.md",
            ".aiassistant",
            ".aider*.json",
            ".aider*.yml",
            ".amazonq",
            ".amp",
            ".augment",
            ".augment-guidelines",
            ".cline",
            ".clinerules*",
            ".codebuddy",
            "codebuddy.md",
            ".codex",
            ".continue",
            ".continuerc.json",
            ".continuerules",
            ".copilot",
            "copilot-instructions.md",
            ".crush.json",
            ".crush/crush.json",
            "crush.json",
            "crush.local.md",
            "crush.md",
            ".cursor",
            ".cursorrules",
            ".devin",
            ".factory",
            ".firebender",
            "firebender.json",
            ".gemini",
            "gemini.md",
            ".github/agents",
            ".github/chatmodes",
            ".github/hooks",
            ".github/instructions",
            ".github/prompts",
            ".github/skills",
            ".goose",
            ".goosehints",
            "gptme.toml",
            ".iflow",
            "iflow.md",
            ".junie",
            ".kilo",
            ".kilocode*",
            ".kiro",
            ".openhands",
            ".opencode",
            "opencode.json",
            "opencode.jsonc",
            ".plandex*",
            ".qwen",
            "qwen.md",
            ".roo",
            ".roomodes",
            ".roorules*",
            ".rules",
            ".tabnine",
            ".trae",
            ".vibe",
            ".warp",
            "warp.md",
            ".windsurf",
            ".windsurfrules",
            ".zencoder",
        ],
    },
    ProtectedClass {
        reason: "version control runs hooks and programs that they name, or is led elsewhere by them",
        names: &[
            ".git",
            ".gitconfig",
            ".gitmodules",
            ".lfsconfig",
            ".bzr",
            ".fslckout",
            "_fossil_",
            ".hg",
            ".hgrc",
            ".hgsub",
            ".jj",
            ".pijul",
            ".repo",
            ".sl",
            "_darcs",
        ],
    },
    ProtectedClass {
        reason: "managers of git hooks run what they name at the next commit",
        names: &[
            ".cargo-husky",
            ".config/lefthook*",
            ".git-hooks",
            ".githooks",
            ".hk.pkl",
            ".husky",
            ".huskyrc*",
            ".lefthook*",
            ".lintstagedrc*",
            ".overcommit.yml",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            ".simple-git-hooks.*",
            ".trunk",
            "captainhook.json",
            "grumphp.yml*",
            "hk.pkl",
            "lefthook*.json",
            "lefthook*.jsonc",
            "lefthook*.toml",
            "lefthook*.yaml",
            "lefthook*.yml",
            "lint-staged.config.*",
            "prek.toml",
            "simple-git-hooks.*",
        ],
    },
    ProtectedClass {
        reason: "editors run tasks, servers or code from them when the project is opened",
        names: &[
            "*.code-workspace",
            "*.run.xml",
            "*.sublime-project",
            "*.sublime-workspace",
            ".dir-locals*.el",
            ".emacs",
            ".emacs.d",
            ".exrc",
            ".externaltoolbuilders",
            ".fleet",
            ".gvimrc",
            ".helix",
            ".idea",
            ".lapce",
            ".local.vimrc",
            ".lvimrc",
            ".neoconf.json",
            ".nvim",
            ".nvim.lua",
            ".nvimrc",
            ".theia",
            ".vim",
            ".vimrc",
            ".vs",
            ".vscode",
            ".ycm_extra_conf.py",
            ".zed",
            "_vimrc",
        ],
    },
    ProtectedClass {
        reason: "environments for development run commands from them when they are opened",
        names: &[
            ".devcontainer",
            ".devcontainer.json",
            ".devfile.yaml",
            ".gitpod.yml",
            ".idx",
            ".ona",
            ".replit",
            "devfile.yaml",
            "replit.nix",
        ],
    },
    ProtectedClass {
        reason: "shells and their extensions run them when they start or enter the directory",
        names: &[
            ".autoenv*",
            ".bash_aliases",
            ".bash_login",
            ".bash_logout",
            ".bash_profile",
            ".bashrc",
            ".config/mise*",
            ".cshrc",
            ".direnv",
            ".envrc",
            ".inputrc",
            ".kshrc",
            ".login",
            ".logout",
            ".mise*",
            ".mkshrc",
            ".pam_environment",
            ".profile",
            ".rtx.toml",
            ".screenrc",
            ".shrc",
            ".smug.yml",
            ".tcshrc",
            ".tmux.conf",
            ".tmuxinator.yml",
            ".tmuxp.*",
            ".tool-versions",
            ".xinitrc",
            ".xprofile",
            ".xsession",
            ".zlogin",
            ".zlogout",
            ".zprofile",
            ".zshenv",
            ".zshrc",
            "mise*.toml",
        ],
    },
    ProtectedClass {
        reason: "debuggers and interpreters run them when they start in the directory",
        names: &[
            ".byebugrc",
            ".erlang",
            ".gdbinit*",
            ".ghci",
            ".iex.exs",
            ".irbrc",
            ".lldbinit*",
            ".ocamlinit",
            ".octaverc",
            ".pdbrc*",
            ".perldb",
            ".pryrc",
            ".radare2rc",
            ".rdata",
            ".rdbgrc*",
            ".renviron",
            ".rprofile",
            ".utoprc",
        ],
    },
    ProtectedClass {
        reason: "programs take keys, hosts and helper programs from them where the project is a home directory",
        names: &[
            ".aws",
            ".curlrc",
            ".docker",
            ".gnupg",
            ".kube",
            ".netrc",
            ".psqlrc",
            ".ripgreprc",
            ".sqliterc",
            ".ssh",
            ".wgetrc",
        ],
    },
];

/// Names by their text, and those with a `*`.
struct Index {
    exact: HashMap<&'static str, &'static str>,
    patterns: Vec<(&'static str, &'static str, &'static str)>,
    /// Directories that are named before a `/`.
    parents: Vec<&'static str>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let names = PROTECTED_NAMES.iter().flat_map(|class| class.names.iter().copied());
        let mut index = Index { exact: HashMap::new(), patterns: Vec::new(), parents: Vec::new() };
        for name in names {
            match name.split_once('*') {
                Some((start, end)) => index.patterns.push((name, start, end)),
                None => drop(index.exact.insert(name, name)),
            }
            index.parents.extend(name.split_once('/').map(|(parent, _)| parent));
        }
        index
    })
}

/// Returns the entry of the table that protects a name in a directory. Both are in lower case.
pub fn protected_name(directory: Option<&str>, name: &str) -> Option<&'static str> {
    let index = index();
    let of = |name: &str| {
        let matches = |(_, start, end): &&(&str, &str, &str)| {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        };
        let pattern = || index.patterns.iter().find(matches).map(|(pattern, ..)| *pattern);
        index.exact.get(name).copied().or_else(pattern)
    };
    let directory = directory.filter(|directory| index.parents.contains(directory));
    of(name).or_else(|| of(&format!("{}/{name}", directory?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns() {
        for (directory, name, expected) in [
            (None, ".git", Some(".git")),
            (None, "agents.md", Some("agents.md")),
            (None, "x.code-workspace", Some("*.code-workspace")),
            (None, ".clinerules-code", Some(".clinerules*")),
            (None, "lefthook-local.yml", Some("lefthook*.yml")),
            (None, "lefthook.go", None),
            (None, ".aider.conf.yml", Some(".aider*.yml")),
            (None, ".aider.chat.history.md", None),
            (Some(".github"), "prompts", Some(".github/prompts")),
            (Some(".github"), "workflows", None),
            (Some("src"), "prompts", None),
            (Some(".config"), "mise.toml", Some("mise*.toml")),
            (Some(".config"), "mise", Some(".config/mise*")),
            (None, "promise.toml", None),
            (None, "package.json", None),
            (None, ".gitignore", None),
        ] {
            assert_eq!(protected_name(directory, name), expected, "{directory:?} {name}");
        }
    }

    #[test]
    fn names_are_in_lower_case_and_appear_once() {
        let mut names: Vec<&str> =
            PROTECTED_NAMES.iter().flat_map(|class| class.names.iter().copied()).collect();
        assert!(names.iter().all(|name| *name == name.to_lowercase() && name.matches('*').count() <= 1));
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    /// The guide lists every name with its reason.
    #[test]
    fn the_guide_has_the_table() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/security.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        for class in &PROTECTED_NAMES {
            let names: Vec<String> = class.names.iter().map(|name| format!("`{name}`")).collect();
            let row = format!("| {} | {} |", names.join(", "), class.reason);
            assert!(guide.contains(&row), "docs/guide/security.md misses this row:\n{row}");
        }
    }
}
