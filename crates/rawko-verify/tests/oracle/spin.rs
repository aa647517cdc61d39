//! Random charts against SPIN: each property has the same verdict, and each violation replays.

use std::path::{Path, PathBuf};
use std::process::Command;

use rawko_verify::PropertyVerdict;

use crate::chart::{Chart, Random};
use crate::support::{replay, report};
use crate::{promela, yaml};

/// Charts in the default suite; `RAWKO_SPIN` has another number.
const CHARTS: u64 = 12;
/// The seed of the first; `RAWKO_SEED` has another.
const FIRST: u64 = 10;

#[test]
fn verdicts_are_those_of_spin() {
    let count = std::env::var("RAWKO_SPIN").ok().and_then(|text| text.parse().ok()).unwrap_or(CHARTS);
    let first = std::env::var("RAWKO_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(FIRST);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("spin-{}", std::process::id()));
    let (mut same, mut violated, mut runaways, mut wrong) = (0, 0, 0, Vec::new());
    for seed in first..first + count {
        let chart = Chart::random(&mut Random(seed));
        let text = yaml::write(&chart);
        let found = report(&[&text]);
        let is_bounded = found.property("bounded_eventless").map(|it| it.verdict);
        let model = Model::build(&folder.join(seed.to_string()), &promela::write(&chart));
        // Kept beside the model if a verdict differs.
        std::fs::write(model.folder.join("chart.yaml"), &text).unwrap();
        if !model.holds("runs") {
            runaways += 1;
            if is_bounded != Some(PropertyVerdict::Violated) {
                wrong.push(format!("seed {seed}: SPIN finds a runaway, rawko says {is_bounded:?}"));
            }
            continue;
        }
        if is_bounded != Some(PropertyVerdict::Holds) {
            wrong.push(format!("seed {seed}: SPIN finds no runaway, rawko says {is_bounded:?}"));
            continue;
        }
        for number in 0..chart.properties.len() {
            let name = format!("p{number}");
            let own = found.property(&name).unwrap_or_else(|| panic!("`{name}` was not read\n{text}"));
            let expected =
                if model.holds(&name) { PropertyVerdict::Holds } else { PropertyVerdict::Violated };
            violated += u64::from(expected == PropertyVerdict::Violated);
            match own.verdict == expected {
                true => same += 1,
                false => {
                    let line = text.lines().find(|line| line.starts_with(&format!("  {name}:")));
                    let line = line.unwrap_or_default();
                    wrong.push(format!(
                        "seed {seed}: SPIN {expected:?}, rawko {:?} ({}):{line}",
                        own.verdict, own.bound
                    ));
                }
            }
            if let Some(trace) = &own.trace {
                replay(&[&text], trace);
            }
        }
    }
    println!(
        "spin: {same} verdicts are the same, {violated} of them violations; {runaways} charts do not come to rest"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same > violated && violated > 0, "the properties are all alike");
    std::fs::remove_dir_all(folder).unwrap();
}

/// A verifier that SPIN generated.
struct Model {
    folder: PathBuf,
}

impl Model {
    fn build(folder: &Path, text: &str) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("model.pml"), text).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).current_dir(folder).output();
            let done = done.unwrap_or_else(|error| panic!("{program}: {error}; run `cargo xtask tools`"));
            let said =
                format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            assert!(done.status.success(), "{program} in {}: {said}", folder.display());
        };
        run("spin", &["-a", "model.pml"]);
        run("cc", &["-O0", "-w", "-DMEMLIM=2000", "-o", "pan", "pan.c"]);
        Self { folder: folder.to_owned() }
    }

    fn holds(&self, name: &str) -> bool {
        let pan = self.folder.join("pan");
        let done = Command::new(pan)
            .args(["-a", "-m200000", "-w18", "-N", name])
            .current_dir(&self.folder)
            .output()
            .unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let errors =
            said.lines().find_map(|line| line.split_once("errors: ").map(|(_, count)| count.trim() != "0"));
        assert!(!said.contains("max search depth too small") && !said.contains("out of memory"), "{said}");
        !errors.unwrap_or_else(|| panic!("no verdict in {}: {said}", self.folder.display()))
    }
}
