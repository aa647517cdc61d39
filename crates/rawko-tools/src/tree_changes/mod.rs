//! Commands that change a whole tree of files and with it the directories that decide about calls: `rm -rf ./.*`,
//! `find . -delete`, `git stash`. Such a line does not name these directories. Only plain commands are found: a script can
//! hide any change.

mod cover;
mod git;
mod programs;

use std::path::Path;

use super::shell::{self, LineReading, Simple};
use super::unconfined::CallVerdict;
use cover::GateCoverage;

/// What a command may do to the directories that decide about calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeChange {
    /// It removes or overwrites them: the command, and a narrower one.
    Refused(String, &'static str),
    /// It may replace them, depending on content that is not known here: the command.
    Asked(String),
}

impl From<TreeChange> for CallVerdict {
    fn from(change: TreeChange) -> Self {
        match change {
            TreeChange::Refused(command, narrower) => CallVerdict::Deny(format!(
                "`{command}` also changes `.claude` and `.rawko`, which decide what agents may do; {narrower}"
            )),
            TreeChange::Asked(command) => CallVerdict::Ask(format!(
                "`{command}` may replace `.claude` and `.rawko`, which decide what agents may do"
            )),
        }
    }
}

/// Returns the worst change of a line. `roots` are the projects whose directories decide.
pub(super) fn of(line: &str, roots: &[&Path], cwd: &Path, home: Option<&Path>) -> Option<TreeChange> {
    let reading = shell::read_line(line).ok()?;
    let coverage = GateCoverage::new(line, &reading, roots, cwd, home);
    let mut asked = None;
    for simple in all(&reading) {
        match change(simple, &coverage) {
            Some(refused @ TreeChange::Refused(..)) => return Some(refused),
            change => asked = asked.or(change),
        }
    }
    asked.or_else(|| programs::listed(&all(&reading).collect::<Vec<_>>(), &coverage))
}

fn all(reading: &LineReading) -> impl Iterator<Item = &Simple> {
    reading.commands.iter().chain(&reading.inner).chain(&reading.wrappers)
}

fn change(simple: &Simple, coverage: &GateCoverage<'_>) -> Option<TreeChange> {
    match simple.name().rsplit('/').next()? {
        "git" => git::change(simple, coverage),
        name => programs::change(name, simple, coverage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: [&str; 57] = [
        "git checkout -- .",
        "git checkout .",
        "git checkout HEAD~1 -- ./",
        "git checkout -f",
        "git checkout -qf",
        "git checkout -fq",
        "git checkout -f -b fix",
        "git checkout -- ':/'",
        "git checkout -- '*.json'",
        "git checkout -- .cl*",
        "git restore .",
        "git restore --source=HEAD~1 -- src .",
        "git restore ':(glob)**'",
        "git stash",
        "git stash -u",
        "git stash push -m wip",
        "git stash push -- .",
        "git stash push -- . ':!.claude'",
        "git clean -fdx",
        "git clean -f -d -- .",
        "git clean -fdx -e node_modules",
        "git clean -fdx -enode_modules",
        "git clean -fdxenode_modules",
        "git clean -fdx -e -n",
        "git clean -fdx -- . -n",
        "git stash -m list",
        "git stash -um list",
        "git stash push -m wip .",
        "git restore -qs HEAD .",
        "git reset --hard",
        "git -C . reset --hard HEAD~1",
        "cd src; git reset --hard",
        "cd src && git stash",
        "git rm -rf .",
        "sh -c 'git stash'",
        "rm -rf ./.*",
        "rm -rf .[a-z]*",
        "rm -rf .cl*",
        "rm -rf .c*/settings.json",
        "rm -rf {.claude,src}",
        "rm -rf {.cl,.ra}*",
        "shopt -s dotglob; rm -rf *",
        "rm -rf .",
        "rm -rf ../project",
        "rm -rf ../*",
        "rm -rf ~",
        "rm -rf \"$PWD\"",
        "rm -rf $(pwd)",
        "d=.; rm -rf $d",
        "cd .. && rm -rf project",
        "chmod -R a-w .",
        "mv ../project ../aside",
        "find . -delete",
        "find -type f -delete",
        "find . -name settings.json -delete",
        "find . -name '*.json' -exec rm {} +",
        "find .. -exec sh -c 'rm $1' sh {} \\;",
    ];
    const ASKED: [&str; 17] = [
        "git switch main",
        "git checkout main",
        "git checkout -",
        "git checkout -b fix origin/main",
        "git pull",
        "git merge other",
        "git rebase main",
        "git stash pop",
        "git cherry-pick abc",
        "git apply change.patch",
        "patch -p1 < change.patch",
        "tar xzf all.tgz",
        "cp -r ../template/. .",
        "rsync -a ../template/ .",
        "git ls-files | xargs rm",
        "ls -A | xargs rm -rf",
        "find . -type f | while read f; do rm \"$f\"; done",
    ];
    const FREE: [&str; 53] = [
        "git status",
        "git checkout -- src/x",
        "git checkout src/a.py",
        "git checkout HEAD -- src",
        "git checkout -b fix",
        "git checkout -bfix",
        "git checkout -qb fix",
        "git checkout -- 'src/*.py'",
        "git checkout -- . ':!.claude' ':!.rawko'",
        "git restore src/a.py",
        "git restore --staged .",
        "git stash list",
        "git stash show -p",
        "git stash push -- src",
        "git stash -m wip -- src/a",
        "git stash push -m wip src",
        "git stash push -- . ':!.claude' ':!.rawko'",
        "git clean -n",
        "git clean -dne x",
        "git clean -fdn -enode_modules",
        "git restore -sHEAD src",
        "git clean -fd src",
        "cd src && git clean -fd",
        "cd src && git checkout -- .",
        "git reset HEAD~1",
        "git reset src/a.py",
        "git switch -c fix",
        "git add -A && git commit -m 'a: b'",
        "git rm -r --cached .",
        "git rm src/a.py",
        "git branch -d old",
        "git push",
        "git apply --check change.patch",
        "rm -rf target",
        "rm -rf *",
        "rm -rf src/*",
        "rm -rf ./.cache .pytest_cache",
        "rm -f .*.swp",
        "rm -rf \"$TMPDIR/x\" $dir/",
        "cd src && rm -rf *",
        "find . -name '*.py'",
        "find . -name '*.pyc' -delete",
        "find . -type d -name __pycache__ -exec rm -rf {} +",
        "find src -type f -delete",
        "find . -name '*.txt' -exec cat {} +",
        "find . -name '*.py' | xargs sed -i s/a/b/",
        "find src -type f | xargs rm",
        "mv src/a.py .",
        "cp -r ../lib .",
        "tar czf all.tgz src",
        "tar xzf all.tgz -C src",
        "chmod 755 .",
        "chmod -R u+w src",
    ];

    #[test]
    fn lines_that_change_the_tree_around_the_gate() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("code/project");
        for directory in [".claude/worktrees/fix/.claude", ".rawko/charts", ".git", "src"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [".claude/settings.json", ".rawko/config.yaml", "src/a.py"] {
            std::fs::write(root.join(file), "{}").unwrap();
        }
        let word = |line: &str| match of(line, &[&root], &root, Some(&home)) {
            Some(TreeChange::Refused(..)) => "refused",
            Some(TreeChange::Asked(_)) => "asked",
            None => "free",
        };
        let rows = [("refused", &REFUSED[..]), ("asked", &ASKED[..]), ("free", &FREE[..])];
        let wrong: Vec<String> = rows
            .into_iter()
            .flat_map(|(expected, lines)| lines.iter().map(move |line| (expected, *line)))
            .filter(|(expected, line)| word(line) != *expected)
            .map(|(expected, line)| format!("{line}: {}, expected {expected}", word(line)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        // A worktree of Claude Code has a gate of its own; that of the project is above.
        let tree = root.join(".claude/worktrees/fix");
        let within = |line: &str| of(line, &[&tree, &root], &tree, Some(&home)).is_some();
        assert!(!within("rm -rf src *"));
        assert!(within("git stash") && within("rm -rf .*") && within("git -C ../../.. reset --hard"));
    }
}
