//! Files of authority in git's index.

use std::path::Path;

use rawko_process::AuthorityWatch;

fn git(project: &Path, line: &str) -> String {
    let line = format!("git() {{ command git -c user.name=a -c user.email=a@b \"$@\"; }}; {line}");
    let done = std::process::Command::new("bash").args(["-c", &line]).current_dir(project).output().unwrap();
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// What a line of a program leaves in the index, by version of its format; what the person's `git checkout .` brings.
#[test]
fn an_index_brings_no_file_of_authority() {
    const EVIL: &str = "b=$(echo evil | git hash-object -w --stdin)";
    for version in [2, 3, 4] {
        for (line, is_refused, index) in [
            (
                format!("{EVIL}; git update-index --add --cacheinfo 100644,$b,.envrc"),
                true,
                "AGENTS.md a/b.txt a/c.txt z.txt",
            ),
            (
                format!("{EVIL}; git update-index --cacheinfo 100644,$b,AGENTS.md; git commit -qm x"),
                true,
                "AGENTS.md a/b.txt a/c.txt z.txt",
            ),
            (
                format!(
                    "{EVIL}; git update-index --add --cacheinfo 100755,$b,a/.vscode/tasks.json; git add -N new.txt"
                ),
                true,
                "AGENTS.md a/b.txt a/c.txt new.txt z.txt",
            ),
            ("git rm -q --cached AGENTS.md".to_owned(), false, "a/b.txt a/c.txt z.txt"),
            // What the person wrote may be staged.
            ("git add -A".to_owned(), false, ".envrc.mine AGENTS.md CLAUDE.md a/b.txt a/c.txt new.txt z.txt"),
        ] {
            let project = tempfile::tempdir().unwrap();
            let root = project.path().canonicalize().unwrap();
            git(
                &root,
                &format!(
                    "mkdir a; for f in AGENTS.md a/b.txt a/c.txt z.txt; do echo mine > $f; done; git init -q; git add .; \
                 git update-index --index-version {version}; git commit -qm first; \
                 echo more >> AGENTS.md; printf 'a\\r\\n' > CLAUDE.md; echo x > .envrc.mine; echo new > new.txt"
                ),
            );
            let mut before = AuthorityWatch::of_project(&root);
            assert_eq!(before.restore(), Vec::<String>::new(), "{line}");
            git(&root, &line);
            let lines = before.restore();
            assert_eq!(lines.len(), usize::from(is_refused), "{version} {line}: {lines:?}");
            assert_eq!(before.restore(), Vec::<String>::new(), "{line}");
            let listed = git(&root, "git ls-files | tr '\\n' ' '; git fsck 2>&1 | grep -i index");
            assert_eq!(listed.trim_end(), index, "{version} {line}");
            git(&root, "git checkout .");
            let found = git(&root, "grep -rl evil . --exclude-dir=.git");
            assert_eq!(found, "", "{version} {line}: {lines:?}");
        }
    }
}
