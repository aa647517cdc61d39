//! Measures what the sandbox adds to one call of Bash: `cargo run --release -p rawko-process --example overhead [PROJECT]`.
//! A program of its own, because a number is not a test. PROJECT is only read, apart from files that calls would make.

#![allow(clippy::print_stdout, reason = "it prints its result")]

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rawko_process::{Confinement, Launch, Profile, ProgramStdin, ProgramStdout};

const CALLS: usize = 200;
/// Calls before the first that counts: what does not change is known after some seconds.
const WARM_UP: Duration = Duration::from_secs(8);

fn main() -> Result<(), Box<dyn Error>> {
    rawko_process::run_if_asked();
    let temporary = std::env::temp_dir().join(format!("rawko-overhead-{}", std::process::id()));
    let project = std::env::args_os().nth(1).map_or_else(|| temporary.clone(), PathBuf::from);
    std::fs::create_dir_all(&temporary)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(measure(&project));
    std::fs::remove_dir_all(&temporary)?;
    measured
}

async fn measure(project: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let first = Instant::now();
    confined(project).await?;
    println!("first confined call: {:.1} ms", ms(first.elapsed()));
    while begin.elapsed() < WARM_UP {
        confined(project).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let start = Instant::now();
        confined(project).await?;
        with.push(start.elapsed());
        let start = Instant::now();
        tokio::process::Command::new("bash").args(["-c", "true"]).output().await?;
        without.push(start.elapsed());
    }
    let (with, without) = (median(with), median(without));
    println!(
        "confined {:.1} ms, plain {:.1} ms, overhead {:.1} ms (median of {CALLS})",
        ms(with),
        ms(without),
        ms(with.saturating_sub(without))
    );
    Ok(())
}

/// One call as Bash makes it: started, guarded, ended, and files of authority looked at again.
async fn confined(project: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let launch = Launch {
        args: vec!["-c".to_owned(), "true".to_owned()],
        inherited: std::env::vars().collect(),
        input: ProgramStdin::Null,
        output: ProgramStdout::Merged,
        ..Launch::new("bash", Profile::Workspace, Confinement::of_project(project))
    };
    let mut launched = launch.start().await?;
    launched.authority.guard();
    launched.child.wait().await?;
    launched.processes.kill_all().await;
    launched.authority.restore();
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
