//! The driver: runs inputs on a thread with the stack of a worker, catches panics, and measures time.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::mutate::{INPUT_MAX, Mutator};
use crate::targets::Target;

/// The stack of tokio's workers, on which servers parse.
const STACK_BYTES: usize = 2 * 1024 * 1024;
/// No input of at most 64 KiB takes this long, even in an unoptimised build on a loaded machine, unless its cost explodes.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Resident memory of the process; inputs are small.
const MEMORY_KB_MAX: u64 = 3 * 1024 * 1024;
const FAILURES_MAX: usize = 5;

pub(crate) struct Driver {
    target: &'static Target,
    seed: u64,
    corpus: Vec<Vec<u8>>,
    mutator: Mutator,
    slowest: (Duration, usize),
    pub(crate) runs: u64,
    pub(crate) failures: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus")
}

/// Returns the inputs of a target, sorted by name.
pub(crate) fn corpus(target: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder().join(target)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

impl Driver {
    pub(crate) fn new(target: &'static Target, seed: u64) -> Driver {
        Driver {
            target,
            seed,
            corpus: corpus(target.name),
            mutator: Mutator::new(seed, target.words),
            slowest: (Duration::ZERO, 0),
            runs: 0,
            failures: Vec::new(),
        }
    }

    pub(crate) fn replay(&mut self) {
        let corpus = self.corpus.clone();
        self.run(corpus);
        let deep = self.mutator.deep_inputs();
        self.run(deep);
    }

    pub(crate) fn mutate_times(&mut self, count: u64) {
        let inputs = (0..count).map(|_| self.mutator.input(&self.corpus)).collect();
        self.run(inputs);
    }

    pub(crate) fn mutate_for(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time && self.failures.len() < FAILURES_MAX {
            let inputs = (0..64).map(|_| self.mutator.input(&self.corpus)).collect();
            self.run(inputs);
        }
    }

    /// Runs inputs on a thread of their own.
    fn run(&mut self, inputs: Vec<Vec<u8>>) {
        let (parse, name) = (self.target.parse, self.target.name);
        let work = move || {
            let mut results = Vec::new();
            for input in inputs {
                debug_assert!(input.len() <= INPUT_MAX);
                let file = keep(name, "current", &input);
                let begun = Instant::now();
                let outcome = catch_unwind(AssertUnwindSafe(|| parse(&input)));
                results.push((begun.elapsed(), outcome.is_err(), input, file));
            }
            results
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap();
        for (time, is_panic, input, file) in thread.join().unwrap() {
            self.runs += 1;
            if time > self.slowest.0 {
                self.slowest = (time, input.len());
            }
            if is_panic || time > TIME_MAX {
                let kind = if is_panic { "panic" } else { "too slow" };
                let kept = keep(name, &format!("failure-{}", self.failures.len()), &input);
                let seed = self.seed;
                self.failures.push(format!("{name}: {kind} ({time:?}), seed {seed}: {}", kept.display()));
            }
            drop(file);
        }
        let memory_kb = memory_kb();
        if memory_kb > MEMORY_KB_MAX {
            self.failures.push(format!("{name}: {memory_kb} KiB of memory"));
        }
    }

    pub(crate) fn summary(&self) -> String {
        let (time, length) = self.slowest;
        let name = self.target.name;
        format!("{name:<14} {:>8} inputs, slowest {time:?} ({length} bytes)", self.runs)
    }
}

/// Writes an input where it is found after the process died.
fn keep(target: &str, name: &str, input: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{target}-{name}"));
    fs::write(&file, input).unwrap();
    file
}

fn memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}
