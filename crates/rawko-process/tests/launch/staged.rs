//! Files of authority in git's index.

use std::path::Path;

use rawko_process::AuthorityWatch;

/// A program's content of a file of authority.
const EVIL: &str = "b=$(echo evil | git hash-object -w --stdin)";

fn git(project: &Path, line: &str) {
    let line = format!("git() {{ command git -c user.name=a -c user.email=a@b \"$@\"; }}; {line}");
    std::process::Command::new("bash").args(["-c", &line]).current_dir(project).output().unwrap();
}

/// The lines of a program or of the person, and whether they are reported. The index is never changed.
#[test]
fn an_index_with_another_content_of_files_of_authority_is_reported() {
    for (init, line, is_reported) in [
        ("", format!("{EVIL}; git update-index --add --cacheinfo 100644,$b,.envrc"), true),
        ("", format!("{EVIL}; git update-index --cacheinfo 100644,$b,AGENTS.md; git commit -qm x"), true),
        ("", format!("{EVIL}; git update-index --add --cacheinfo 100755,$b,a/.vscode/tasks.json"), true),
        ("", "git rm -q --cached AGENTS.md".to_owned(), false),
        ("", "git status".to_owned(), false),
        // What the person wrote may be staged.
        ("", "git add -A".to_owned(), false),
        // What only the person does.
        ("", "git commit -qam mine; echo again >> AGENTS.md".to_owned(), true),
        (
            "",
            "git checkout -qb other; git commit -qam theirs; git checkout -q -; echo ours > AGENTS.md; \
             git commit -qam ours; git merge other"
                .to_owned(),
            true,
        ),
        // Indexes that are not understood.
        (
            "",
            format!(
                "{EVIL}; git update-index --cacheinfo 100644,$b,AGENTS.md; git update-index --split-index"
            ),
            true,
        ),
        ("", "truncate -s 65M .git/index".to_owned(), true),
        ("", "truncate -s 90 .git/index".to_owned(), true),
        ("--object-format=sha256", "git add -A".to_owned(), true),
        ("--object-format=sha256", "true".to_owned(), false),
    ] {
        for version in [2, 3, 4] {
            let project = tempfile::tempdir().unwrap();
            let root = project.path().canonicalize().unwrap();
            git(
                &root,
                &format!(
                    "mkdir a; for f in AGENTS.md a/b.txt z.txt; do echo mine > $f; done; git init -q {init}; git add .; \
                     git update-index --index-version {version}; git commit -qm first; \
                     echo more >> AGENTS.md; printf 'a\\r\\n' > CLAUDE.md; echo x > .envrc.mine; echo new > new.txt"
                ),
            );
            let mut watch = AuthorityWatch::of_project(&root);
            assert_eq!(watch.restore(), Vec::<String>::new(), "{line}");
            git(&root, &line);
            let index = || std::fs::read(root.join(".git/index")).unwrap();
            let staged = index();
            let lines = watch.restore();
            assert_eq!(lines.len(), usize::from(is_reported), "{version} {init} {line}: {lines:?}");
            assert_eq!(watch.restore(), Vec::<String>::new(), "reported once: {line}");
            assert_eq!(index(), staged, "{version} {line}");
        }
    }
}

#[test]
fn a_copy_does_not_report_the_index_of_its_project() {
    let directory = tempfile::tempdir().unwrap();
    let above = directory.path().canonicalize().unwrap();
    let (project, copy) = (above.join("project"), above.join("rawko/worktrees/project/copy"));
    std::fs::create_dir(&project).unwrap();
    git(&project, "git init -q; echo mine > AGENTS.md; git add .; git commit -qm first");
    git(&project, &format!("git worktree add -q {}", copy.display()));
    let mut watch = AuthorityWatch::of_project(&copy);
    let line = format!("{EVIL}; git update-index --cacheinfo 100644,$b,AGENTS.md");
    git(&project, &line);
    assert_eq!(watch.restore(), Vec::<String>::new());
    git(&copy, &line);
    assert_eq!(watch.restore().len(), 1);
}
