//! The part of `Cargo.toml` that decides which tests run and what they assert: targets, members, features, profiles and
//! lints, in a package and in the workspace above it.

use std::path::Path;

use super::places::CheckPlace;
use super::settings_of::read;

/// Keys of `Cargo.toml` that leave tests, packages or assertions out.
const CARGO_KEYS: [&str; 8] = [
    "autotests",
    "test",
    "doctest",
    "harness",
    "default-members",
    "required-features",
    "overflow-checks",
    "debug-assertions",
];

/// Cargo takes members and profiles from the workspace above.
pub(super) fn of_workspace(root: &Path, place: &CheckPlace) -> Vec<(String, String)> {
    let above =
        place.folder.ancestors().skip(1).filter(|folder| root.join(folder).join("Cargo.toml").is_file());
    let is_cargo = place.words().contains(&"cargo");
    let of_folder = |folder: &Path| {
        let above = CheckPlace::new(folder.to_owned(), String::new());
        let settings = of(&root.join(folder)).into_iter();
        settings.map(|(name, text)| (above.named(&name), text)).collect::<Vec<_>>()
    };
    above.filter(|_| is_cargo).flat_map(of_folder).collect()
}

/// The lines of `Cargo.toml` that leave tests or packages out, its lints, and each member and default feature.
pub(super) fn of(folder: &Path) -> Vec<(String, String)> {
    let text = one_line_lists(&read(folder, "Cargo.toml"));
    let (mut is_lints, mut head) = (false, "");
    let (mut kept, mut found) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_lints = line.contains("lints");
            head = line;
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        // Each item counts: a new one leaves nothing out.
        let listed = match (head, key) {
            (_, "members") => Some("member"),
            ("[features]", "default") => Some("default feature"),
            _ => None,
        };
        // A profile for tests may take over that assertions are off.
        let is_profile = key == "inherits" && ["[profile.test]", "[profile.dev]"].contains(&head);
        // Programs and dependencies may be added; the library and the tests are not led elsewhere.
        let counts = match key {
            "path" => ["[lib]", "[[test]]"].contains(&head),
            "exclude" => head == "[workspace]",
            _ => CARGO_KEYS.contains(&key),
        };
        if let Some(item) = listed {
            let names = line.split(['"', '\'']).skip(1).step_by(2);
            found.extend(names.map(|name| (format!("the {item} `{name}` of `Cargo.toml`"), name.to_owned())));
        } else if is_lints || is_profile || counts {
            kept.push(line);
        }
    }
    found.push(("the targets, members and lints in `Cargo.toml`".to_owned(), kept.join("\n")));
    found
}

/// Returns the patterns of the members of a workspace of cargo.
pub(super) fn members(folder: &Path) -> Vec<String> {
    let text = one_line_lists(&read(folder, "Cargo.toml"));
    let is_members = |line: &&str| line.split('=').next().is_some_and(|key| key.trim() == "members");
    let lists = text.lines().filter(is_members);
    lists.flat_map(|line| line.split(['"', '\'']).skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Joins the lines of each list.
fn one_line_lists(text: &str) -> String {
    let (mut joined, mut is_open) = (String::new(), false);
    for line in text.lines() {
        let line = line
            .split_once('#')
            .filter(|(before, _)| !before.contains(['"', '\'']))
            .map_or(line, |(line, _)| line);
        joined.push_str(line);
        let is_begun = line.contains("= [") || line.contains("=[");
        is_open = (is_open || is_begun) && !line.contains(']');
        joined.push(if is_open { ' ' } else { '\n' });
    }
    joined
}
