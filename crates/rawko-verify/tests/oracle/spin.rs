//! Random charts against SPIN: each property has the same verdict, and each violation replays.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rawko_verify::PropertyVerdict;

use crate::chart::{Chart, Random};
use crate::support::{replay, report};
use crate::{promela, yaml};

/// Charts in the default suite; `RAWKO_SPIN` has another number.
const CHARTS: u64 = 12;
/// The seed of the first; `RAWKO_SEED` has another.
const FIRST: u64 = 10;
/// Charts at the same time.
const AT_ONCE: usize = 2;
/// Seconds of one run of SPIN: those of a verifier that is built quickly, then those of one that runs quickly. A model that
/// is too large for both is counted, and there must be few.
const SECONDS: [(&str, u64); 2] = [("-O0", 5), ("-O2", 60)];
const TOO_LARGE_PERCENT: u64 = 3;

/// What all charts have shown together.
#[derive(Default)]
struct Comparison {
    done: u64,
    same: u64,
    violated: u64,
    runaways: u64,
    /// Verdicts for which SPIN needs too long, or too much memory.
    too_large: u64,
    wrong: Vec<String>,
}

#[test]
fn verdicts_are_those_of_spin() {
    let count = std::env::var("RAWKO_SPIN").ok().and_then(|text| text.parse().ok()).unwrap_or(CHARTS);
    let first = std::env::var("RAWKO_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(FIRST);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("spin-{}", std::process::id()));
    let (next, all) = (AtomicU64::new(first), Mutex::new(Comparison::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    let one = compare(seed, &folder.join(seed.to_string()));
                    let mut all = all.lock().unwrap();
                    all.add(one);
                    if all.done.is_multiple_of(50) {
                        println!("{} charts: {}", all.done, all.text());
                    }
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    println!("spin: {}", all.text());
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
    assert!(all.same > all.violated && all.violated > 0, "the properties are all alike");
    let most = (all.same + all.too_large) * TOO_LARGE_PERCENT / 100;
    assert!(all.too_large <= most, "{} models are too large for SPIN", all.too_large);
    let _ = std::fs::remove_dir_all(folder);
}

impl Comparison {
    fn add(&mut self, one: Comparison) {
        self.done += 1;
        self.same += one.same;
        self.violated += one.violated;
        self.runaways += one.runaways;
        self.too_large += one.too_large;
        self.wrong.extend(one.wrong);
    }

    fn text(&self) -> String {
        format!(
            "{} verdicts are the same, {} of them violations; {} charts do not come to rest; {} verdicts are too much \
             for SPIN",
            self.same, self.violated, self.runaways, self.too_large
        )
    }
}

/// Compares all verdicts on one chart. Its folder is kept if one differs.
fn compare(seed: u64, folder: &Path) -> Comparison {
    let mut found_here = Comparison::default();
    let chart = Chart::random(&mut Random(seed));
    let text = yaml::write(&chart);
    let found = report(&[&text]);
    let is_bounded = found.property("bounded_eventless").map(|it| it.verdict);
    let mut model = Model::generate(folder, &promela::write(&chart));
    std::fs::write(model.folder.join("chart.yaml"), &text).unwrap();
    let Some(runs) = model.holds("runs") else {
        found_here.too_large += chart.properties.len() as u64;
        return found_here;
    };
    let (expected, shown) = match runs {
        true => (PropertyVerdict::Holds, "no runaway"),
        false => (PropertyVerdict::Violated, "a runaway"),
    };
    if is_bounded != Some(expected) {
        found_here.wrong.push(format!("seed {seed}: SPIN finds {shown}, rawko says {is_bounded:?}"));
        return found_here;
    }
    if !runs {
        found_here.runaways += 1;
        std::fs::remove_dir_all(folder).unwrap();
        return found_here;
    }
    for number in 0..chart.properties.len() {
        let name = format!("p{number}");
        let own = found.property(&name).unwrap_or_else(|| panic!("`{name}` was not read\n{text}"));
        let expected = match model.holds(&name) {
            Some(true) => PropertyVerdict::Holds,
            Some(false) => PropertyVerdict::Violated,
            None => {
                found_here.too_large += 1;
                continue;
            }
        };
        found_here.violated += u64::from(expected == PropertyVerdict::Violated);
        if own.verdict == expected {
            found_here.same += 1;
        } else {
            let line = text.lines().find(|line| line.starts_with(&format!("  {name}:")));
            let line = line.unwrap_or_default();
            found_here.wrong.push(format!(
                "seed {seed}: SPIN {expected:?}, rawko {:?} ({}):{line}",
                own.verdict, own.bound
            ));
        }
        if let Some(trace) = &own.trace {
            replay(&[&text], trace);
        }
    }
    if found_here.wrong.is_empty() {
        std::fs::remove_dir_all(folder).unwrap();
    }
    found_here
}

/// The verifiers that SPIN generates for one model.
struct Model {
    folder: PathBuf,
    /// How the verifier is built, by its place in [`SECONDS`].
    built: Option<usize>,
}

impl Model {
    fn generate(folder: &Path, text: &str) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("model.pml"), text).unwrap();
        let model = Self { folder: folder.to_owned(), built: None };
        model.run("spin", &["-a", "model.pml"]);
        model
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let done = Command::new(program).args(arguments).current_dir(&self.folder).output();
        let done = done.unwrap_or_else(|error| panic!("{program}: {error}; run `cargo xtask tools`"));
        let said =
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{program} in {}: {said}", self.folder.display());
    }

    /// Returns the verdict on a formula; `None` if it takes too long or too much memory.
    fn holds(&mut self, name: &str) -> Option<bool> {
        let first = self.built.unwrap_or(0);
        (first..SECONDS.len()).find_map(|speed| self.holds_in_time(name, speed))
    }

    fn holds_in_time(&mut self, name: &str, speed: usize) -> Option<bool> {
        let (option, seconds) = SECONDS[speed];
        if self.built != Some(speed) {
            self.run("cc", &[option, "-w", "-DMEMLIM=1500", "-o", "pan", "pan.c"]);
            self.built = Some(speed);
        }
        let done = Command::new("timeout")
            .args([&seconds.to_string(), "./pan", "-a", "-m1000000", "-w20", "-N", name])
            .current_dir(&self.folder)
            .output()
            .unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let has_ended = done.status.code() != Some(124);
        let is_found = said.contains("acceptance cycle") || said.contains("claim violated");
        let is_cut = said.contains("max search depth too small") || said.contains("reached -DMEMLIM bound");
        if !has_ended || (is_cut && !is_found) {
            return None;
        }
        let errors =
            said.lines().find_map(|line| line.split_once("errors: ").map(|(_, count)| count.trim() != "0"));
        let errors = errors.unwrap_or_else(|| panic!("no verdict in {}: {said}", self.folder.display()));
        Some(!errors)
    }
}
