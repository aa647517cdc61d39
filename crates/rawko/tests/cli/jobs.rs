//! The project of queues and fan-outs: one service, which is a script, and the chart of a queued task. Shared by the tests
//! on both hosts.

use tempfile::TempDir;

use crate::support::directory;

pub(crate) const SETTINGS: &str = "\
services:
  work: {command: [sh, work.sh], on_restart: retry}
governance: {allow: [work]}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
";

/// A service that notes the begin and the end of each task, so that it shows how many run. A file `hold` keeps a task running.
pub(crate) const NOTED: &str = "\
task=$(cat | sed 's/.*\"task\":\"\\([^\"]*\\)\".*/\\1/')
echo \"begin $task\" >> log.txt
while [ -e hold ]; do sleep 0.05; done
echo \"end $task\" >> log.txt
echo '{}'
";

/// A chart that calls the service once, for its task.
pub(crate) const JOB: &str = "\
statechart:
  id: job
  version: 1.0.0
  initial: working
  context: {task: ''}
  states:
    working: {invoke: {id: w, src: work, input: {task: context.task, n: 7}, onDone: done, onError: failed}}
    done: {type: final, output: {task: context.task}}
    failed: {type: final, tags: [error], output: event.data}
";

/// A project whose service is this script, with more settings and files.
pub(crate) fn project(work: &str, settings: &str, files: &[(&str, &str)]) -> TempDir {
    let settings = format!("{SETTINGS}{settings}");
    let own = [("job.yaml", JOB), ("work.sh", work), (".rawko/script.yaml", "[]\n")];
    directory(&[&own[..], &[(".rawko/config.yaml", &*settings)], files].concat())
}
