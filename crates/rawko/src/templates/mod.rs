//! The files that `rawko init` and `rawko demo` write, built into the binary. Writing them never overwrites a file.

mod claude;
mod settings;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

pub(crate) use claude::{SETTINGS as CLAUDE_SETTINGS, add_hooks, claude};
pub(crate) use settings::SettingsTemplate;

use crate::failure::CommandFailure;
use crate::files;

/// The task of the demo.
pub(crate) const DEMO_TASK: &str = "Leave punctuation out of slugs, and number those that are taken";

/// One file, by its path in the project.
pub(crate) struct FileTemplate {
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// The result of writing one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateWrite {
    Wrote,
    /// The file existed and was not changed.
    Kept,
}

/// Files that are the same in every project.
const COMMON: [(&str, &str); 8] = [
    (".rawko/README.md", include_str!("project/README.md")),
    (".rawko/agents/planner.md", include_str!("project/agents/planner.md")),
    (".rawko/agents/developer.md", include_str!("project/agents/developer.md")),
    (".rawko/agents/tester.md", include_str!("project/agents/tester.md")),
    (".rawko/agents/reviewer.md", include_str!("project/agents/reviewer.md")),
    (".rawko/charts/review.yaml", include_str!("project/charts/review.yaml")),
    (".rawko/charts/review.scenario.yaml", include_str!("project/charts/review.scenario.yaml")),
    (".rawko/.gitignore", include_str!("project/gitignore")),
];

/// The code of the demo and the script of its models.
const DEMO: [(&str, &str); 5] = [
    ("README.md", include_str!("demo/README.md")),
    ("slugs.py", include_str!("demo/slugs.py")),
    ("test_slugs.py", include_str!("demo/test_slugs.py")),
    (".rawko/config.yaml", include_str!("demo/config.yaml")),
    (".rawko/script.yaml", include_str!("demo/script.yaml")),
];

/// Returns the files for an existing project.
pub(crate) fn project(settings: &SettingsTemplate) -> Vec<FileTemplate> {
    let own = FileTemplate { path: ".rawko/config.yaml", text: settings.text() };
    std::iter::once(own).chain(COMMON.map(template)).collect()
}

/// Returns a small project with scripted models, for a directory that is empty or does not exist: the script fits these
/// files only, so they are not mixed with others.
pub(crate) fn demo(dir: &Path) -> Result<Vec<FileTemplate>, CommandFailure> {
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        let name = files::shown(dir);
        return Err(CommandFailure::Usage(format!("`{name}` is not empty; pass an empty or new directory")));
    }
    Ok(DEMO.into_iter().chain(COMMON).map(template).collect())
}

/// The question of the planner in the interactive demo.
const QUESTION: &str = "    - expect: test_punctuation_is_left_out
      tool_calls:
        - name: AskUser
          input:
            question: How should a slug be numbered that is taken?
            options: [\"hello-2, then hello-3\", \"hello-b, then hello-c\"]
    - expect: The person answered
";

/// The end of the planner's report in the interactive demo.
const PAUSE: &str = "goes beside it.\\n\\n**Try it now:** press Ctrl-C twice. The task pauses, and `rawko resume` continues it.\"\n";

/// The end of the developer's second change, and a command that the person denies in the interactive demo.
const SECOND_CHANGE: &str = "                  return free\n";
const COMMIT: &str = "                  return free
        - {name: Bash, input: {command: \"git commit -am 'Number slugs that are taken'\"}}
";
const REPORT: &str = "until it finds a slug that is free.\"\n";
/// True if the person allows it, too: the demo is not a repository.
const UNCOMMITTED: &str = "until it finds a slug that is free. It is not committed.\"\n";

/// Changes the demo for a person at the terminal: a question, permissions, a command to deny, and a wait that is long
/// enough to pause.
pub(crate) fn interactive(project: &mut [FileTemplate]) {
    for file in project {
        let (from, to) = match file.path {
            ".rawko/script.yaml" => {
                let wait = "    - expect: \"def slug\"\n";
                file.text = file.text.replacen(wait, &format!("{wait}      delay_ms: 8000\n"), 1);
                file.text = file.text.replacen("goes beside it.\"\n", PAUSE, 1);
                file.text = file.text.replacen(SECOND_CHANGE, COMMIT, 1).replacen(REPORT, UNCOMMITTED, 1);
                ("    - expect: test_punctuation_is_left_out\n", QUESTION)
            }
            ".rawko/agents/planner.md" => ("allowed: [", "allowed: [AskUser, "),
            ".rawko/config.yaml" => ("# The models are", PERMISSIONS),
            _ => continue,
        };
        file.text = file.text.replacen(from, to, 1);
    }
}

const PERMISSIONS: &str = "\
# Calls that wait for a person.
permissions:
  ask: [\"Write(slugs.py)\", \"Bash(python3 -m unittest:*)\", \"Bash(git commit:*)\"]

# The models are";

fn template((path, text): (&'static str, &str)) -> FileTemplate {
    FileTemplate { path, text: text.to_owned() }
}

impl FileTemplate {
    /// Writes the file below a directory, unless it exists.
    pub(crate) fn write(&self, dir: &Path) -> Result<TemplateWrite, CommandFailure> {
        let path = dir.join(self.path);
        let cannot =
            |error: io::Error| CommandFailure::Usage(format!("cannot write `{}`: {error}", path.display()));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(cannot)?;
        }
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(self.text.as_bytes()).map_err(cannot)?;
                Ok(TemplateWrite::Wrote)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(TemplateWrite::Kept),
            Err(error) => Err(cannot(error)),
        }
    }

    /// Returns true if the file below this directory differs from the template.
    pub(crate) fn is_changed(&self, dir: &Path) -> bool {
        fs::read_to_string(dir.join(self.path)).is_ok_and(|text| text != self.text)
    }
}
