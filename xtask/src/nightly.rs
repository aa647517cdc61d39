//! `cargo xtask nightly`: the long tier. Runs every job to its end, also after a failure, and prints a table of results.
//! Apart from `test`, which has to be done within minutes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run::root;
use crate::tools;
use crate::unprivileged::UnprivilegedUser;

/// One program to run.
struct Job {
    name: &'static str,
    /// Crate of the test program.
    package: &'static str,
    /// Its test program.
    test: &'static str,
    /// The tests of the program that are run; empty: all.
    filter: &'static str,
    /// An environment variable that makes it long.
    variable: &'static str,
    amount: u64,
    /// The line of its output that has the numbers contains this.
    result: &'static str,
}

const JOBS: [Job; 26] = [
    Job {
        name: "seeds",
        package: "rawko-sim",
        test: "seeds",
        filter: "",
        variable: "RAWKO_SEEDS",
        amount: 100_000,
        result: " seeds/s, ",
    },
    Job {
        name: "kills",
        package: "rawko-host",
        test: "crash",
        filter: "",
        variable: "RAWKO_KILLS",
        amount: 2_000,
        result: "ok: ",
    },
    Job {
        name: "fleet",
        package: "rawko",
        test: "cli",
        filter: "a_killed_host_starts_no_finished_agent_again",
        variable: "RAWKO_FLEET",
        amount: 1_000,
        result: "fleet: ",
    },
    Job {
        name: "worktrees",
        package: "rawko",
        test: "cli",
        filter: "a_killed_host_loses_no_work_of_worktrees",
        variable: "RAWKO_KILLS",
        amount: 40,
        result: "worktrees: ",
    },
    Job {
        name: "fleet-restate",
        package: "rawko",
        test: "restate",
        filter: "killed_workers_start_no_finished",
        variable: "RAWKO_FLEET",
        amount: 1_000,
        result: "fleet on Restate: ",
    },
    Job {
        name: "kills-restate",
        package: "rawko",
        test: "restate",
        filter: "slow_kills_of_workers_and_server",
        variable: "RAWKO_KILLS",
        amount: 300,
        result: "test result",
    },
    Job {
        name: "scenarios-restate",
        package: "rawko-testing",
        test: "drivers",
        filter: "on_restate",
        // As many scenarios at most.
        variable: "RAWKO_SCENARIOS",
        amount: 10_000,
        result: "scenarios on Restate: ",
    },
    Job {
        name: "feed-restate",
        package: "rawko",
        test: "restate",
        filter: "followers_of_two_replicas",
        variable: "RAWKO_FEED_KILLS",
        amount: 300,
        result: "feed on Restate: ",
    },
    Job {
        name: "outside",
        package: "rawko",
        test: "embed",
        filter: "",
        variable: "RAWKO_OUTSIDE",
        amount: 1,
        result: "outside: ",
    },
    Job {
        name: "sdks",
        package: "rawko",
        test: "sdks",
        filter: "lose_no_call_and_pay_nothing_twice",
        variable: "RAWKO_SDK_CALLS",
        amount: 1_000,
        result: "sdks: ",
    },
    Job {
        name: "charts",
        package: "rawko-core",
        test: "properties",
        filter: "",
        variable: "RAWKO_CHARTS",
        amount: 20_000,
        result: "test result",
    },
    Job {
        name: "turns",
        package: "rawko-turns",
        test: "interleavings",
        filter: "",
        variable: "RAWKO_INTERLEAVINGS",
        amount: 1_000_000,
        result: "test result",
    },
    Job {
        name: "spin",
        package: "rawko-verify",
        test: "oracle",
        filter: "verdicts_are_those_of_spin",
        variable: "RAWKO_SPIN",
        amount: 500,
        result: "spin: ",
    },
    Job {
        name: "mutants",
        package: "rawko-verify",
        test: "verify",
        filter: "mutants_of_our_charts_are_killed",
        variable: "RAWKO_MUTANTS",
        amount: 1_000,
        result: "mutants: ",
    },
    Job {
        name: "migration",
        package: "rawko",
        test: "cli",
        filter: "killed_again_and_again_nothing_is_lost_and_nothing_migrated_twice",
        variable: "RAWKO_MIGRATE_INSTANCES",
        amount: 10_000,
        result: "the last run took ",
    },
    Job {
        name: "xstate",
        package: "rawko-verify",
        test: "oracle",
        filter: "reachable_configurations",
        variable: "RAWKO_MACHINES",
        amount: 400,
        result: "xstate: ",
    },
    Job {
        name: "expressions",
        package: "rawko-core",
        test: "expressions",
        filter: "",
        variable: "PROPTEST_CASES",
        amount: 100_000,
        result: "test result",
    },
    Job {
        name: "readers",
        package: "rawko-chart",
        test: "hostile",
        filter: "",
        variable: "PROPTEST_CASES",
        amount: 100_000,
        result: "test result",
    },
    Job {
        name: "logs",
        package: "rawko-store",
        test: "torn_log",
        filter: "",
        variable: "PROPTEST_CASES",
        amount: 10_000,
        result: "test result",
    },
    Job {
        name: "settings",
        package: "rawko-host",
        test: "settings",
        filter: "",
        variable: "PROPTEST_CASES",
        amount: 100_000,
        result: "test result",
    },
    Job {
        name: "fuzz",
        package: "rawko",
        test: "fuzz",
        filter: "",
        // Seconds, shared by all targets.
        variable: "RAWKO_FUZZ",
        amount: 1_800,
        result: "fuzz: ",
    },
    Job {
        name: "api",
        package: "rawko",
        test: "api",
        filter: "",
        variable: "RAWKO_API_SECONDS",
        amount: 600,
        result: "test result",
    },
    Job {
        name: "cluster",
        package: "rawko",
        test: "cluster",
        filter: "",
        variable: "RAWKO_NODE_KILLS",
        amount: 6,
        result: " orders with ",
    },
    Job {
        name: "page",
        package: "rawko",
        test: "page",
        filter: "on_restate_",
        variable: "RAWKO_NIGHTLY",
        amount: 1,
        result: "test result",
    },
    Job {
        name: "ordinary",
        package: "rawko",
        test: "escapes",
        filter: "ordinary_lines_run_and_change_nothing",
        variable: "RAWKO_ORDINARY",
        amount: 1,
        result: "ordinary: ",
    },
    Job {
        name: UNPRIVILEGED_JOB,
        package: "rawko",
        test: "escapes",
        filter: "",
        variable: "RAWKO_NIGHTLY",
        amount: 1,
        result: "test result",
    },
];

/// The job that runs as another user.
const UNPRIVILEGED_JOB: &str = "escapes-unprivileged";

/// Result of one job.
struct Outcome {
    name: &'static str,
    passed: bool,
    took: Duration,
    numbers: String,
}

/// `nightly [JOB…] [--amount N]`: all jobs, or those named; `--amount` replaces the amount of each.
pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let (jobs, amount) = chosen(arguments)?;
    tools::install()?;
    let mut outcomes = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        report(&format!("\n── job {} of {}: {}", at + 1, jobs.len(), job.name));
        outcomes.push(job.run(amount.unwrap_or(job.amount))?);
    }
    report(&table(&outcomes));
    let failed: Vec<&str> = outcomes.iter().filter(|job| !job.passed).map(|job| job.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn chosen(arguments: &[String]) -> Result<(Vec<&'static Job>, Option<u64>)> {
    let (mut jobs, mut amount) = (Vec::new(), None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--amount" {
            let number = arguments.next().context("--amount needs a number")?;
            amount = Some(number.parse().with_context(|| format!("--amount {number}: not a number"))?);
            continue;
        }
        let Some(job) = JOBS.iter().find(|job| job.name == argument) else {
            let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
            bail!("no job `{argument}`; jobs: {}", names.join(", "));
        };
        jobs.push(job);
    }
    if jobs.is_empty() {
        jobs.extend(&JOBS);
    }
    Ok((jobs, amount))
}

impl Job {
    fn arguments(&self) -> Vec<&'static str> {
        // Without `--nocapture` the progress of a long test shows only at its end.
        // The features of the whole workspace: with those of one crate, each job would build the dependencies anew.
        let mut arguments =
            vec!["test", "--profile", "quick", "--workspace", "--all-features", "--test", self.test];
        arguments.extend(["--", "--nocapture", "--include-ignored"]);
        arguments.extend(Some(self.filter).filter(|filter| !filter.is_empty()));
        arguments
    }

    fn run(&self, amount: u64) -> Result<Outcome> {
        let user = if self.name == UNPRIVILEGED_JOB { UnprivilegedUser::new()? } else { None };
        let command = self.arguments().join(" ");
        report(&format!("{}: {}={amount} cargo {command}", self.package, self.variable));
        let from = Instant::now();
        let mut child = Command::new("cargo")
            .args(user.iter().flat_map(UnprivilegedUser::options))
            .args(self.arguments())
            .env(self.variable, amount.to_string())
            .current_dir(root())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `cargo`")?;
        let output = child.stdout.take().context("standard output is not piped")?;
        let mut numbers = String::new();
        for line in BufReader::new(output).lines() {
            let line = line?;
            report(&line);
            if line.contains(self.result) {
                numbers = line;
            }
        }
        let passed = child.wait()?.success();
        Ok(Outcome { name: self.name, passed, took: from.elapsed(), numbers })
    }
}

#[expect(clippy::print_stdout, reason = "this is a terminal program")]
fn report(line: &str) {
    println!("{line}");
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = format!("\n{:<14} {:<6} {:>8}  last result\n", "job", "", "seconds");
    for Outcome { name, passed, took, numbers } in outcomes {
        let word = if *passed { "ok" } else { "FAILED" };
        text += &format!("{name:<14} {word:<6} {:>8}  {numbers}\n", took.as_secs());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{JOBS, Outcome, chosen, table};
    use std::time::Duration;

    #[test]
    fn every_job_names_a_test_that_exists() {
        for job in &JOBS {
            let package = crate::run::root().join("crates").join(job.package);
            assert!(package.join("Cargo.toml").is_file(), "{}: no crate `{}`", job.name, job.package);
            let file = package.join(format!("tests/{}.rs", job.test));
            let folder = package.join(format!("tests/{}/main.rs", job.test));
            let is_there = file.is_file() || folder.is_file();
            assert!(is_there, "{}: no test `{}` in {}", job.name, job.test, job.package);
        }
    }

    #[test]
    fn jobs_are_chosen_by_name() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let names = |text: &str| {
            let (jobs, amount) = chosen(&words(text)).map_err(|error| error.to_string())?;
            Ok::<_, String>((jobs.iter().map(|job| job.name).collect::<Vec<_>>(), amount))
        };
        assert_eq!(names("").map(|(jobs, _)| jobs.len()), Ok(JOBS.len()));
        assert_eq!(names("kills seeds --amount 5"), Ok((vec!["kills", "seeds"], Some(5))));
        let jobs = "seeds, kills, fleet, worktrees, fleet-restate, kills-restate, scenarios-restate, feed-restate, outside, sdks, charts, turns, spin, mutants, migration, xstate, expressions, readers, logs, settings, fuzz, api, cluster, page, ordinary, escapes-unprivileged";
        assert_eq!(names("naps"), Err(format!("no job `naps`; jobs: {jobs}")));
        assert_eq!(names("--amount"), Err("--amount needs a number".to_owned()));
    }

    #[test]
    fn the_table_has_a_line_for_each_job() {
        let outcome = |name, passed, numbers: &str| Outcome {
            name,
            passed,
            took: Duration::from_secs(90),
            numbers: numbers.to_owned(),
        };
        let text = table(&[outcome("seeds", true, "100000 seeds"), outcome("kills", false, "")]);
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "job                    seconds  last result",
                "seeds          ok           90  100000 seeds",
                "kills          FAILED       90"
            ]
        );
    }
}
