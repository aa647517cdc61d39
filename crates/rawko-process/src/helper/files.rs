//! Landlock: which files the program may read and write, and that it reaches no socket or process outside.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::launch::{Confined, ViewPath};

/// The newest rights this code knows; an older kernel enforces the subset it supports.
const RIGHTS: ABI = ABI::V9;

/// Devices that programs routinely write to.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/pts", "/dev/shm"];

/// Restricts this process and everything that it starts. `has_view`: the file system holds only what may be read.
pub(super) fn restrict(
    confined: &Confined,
    has_view: bool,
    has_network_namespace: bool,
) -> Result<String, String> {
    let status = rules(confined, has_view, has_network_namespace).map_err(|error| error.to_string())?;
    in_words(&status)
}

fn rules(
    confined: &Confined,
    has_view: bool,
    has_network_namespace: bool,
) -> Result<RestrictionStatus, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RIGHTS))?
        .scope(Scope::from_all(RIGHTS))?;
    // In a network namespace there is nothing to reach; without one this refuses connections.
    if !has_network_namespace {
        rules = rules.handle_access(AccessNet::from_all(RIGHTS))?;
    }
    let rules = rules.create()?;
    let reading = AccessFs::ReadFile | AccessFs::Execute | AccessFs::ReadDir;
    let rules = if has_view {
        allowed(rules, Path::new("/"), reading)?
    } else {
        let rules = allowed(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        confined.readable.iter().try_fold(rules, |rules, path| allowed(rules, path, reading))?
    };
    let devices = DEVICES.iter().map(PathBuf::from);
    let private = if has_view { confined.private.as_slice() } else { &[] };
    let writable = confined.writable.iter().chain(private).cloned().chain(devices);
    let all = AccessFs::from_all(RIGHTS);
    let rights = |path: &Path| if has_view || !hides(confined, path) { all } else { all & !reading };
    writable.into_iter().try_fold(rules, |rules, path| allowed(rules, &path, rights(&path)))?.restrict_self()
}

/// Returns true if something below a path is hidden. Without a view, only listed files may be read there: files
/// that the program makes beside something hidden are not.
fn hides(confined: &Confined, path: &Path) -> bool {
    confined.view.iter().any(|(hidden, place)| *place == ViewPath::Hidden && hidden.starts_with(path))
}

/// Adds a rule for a path. A path that is missing or inaccessible needs no rule.
fn allowed(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(handle) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(RIGHTS) };
    rules.add_rule(PathBeneath::new(handle, access))
}

/// Returns the version, or the reason why nothing is enforced.
fn in_words(status: &RestrictionStatus) -> Result<String, String> {
    match (status.landlock, &status.ruleset) {
        (LandlockStatus::NotEnabled, _) => Err("switched off in this kernel".into()),
        (LandlockStatus::NotImplemented, _) => Err("not in this kernel".into()),
        (LandlockStatus::Available { .. }, RulesetStatus::NotEnforced) => {
            Err("the kernel did not enforce it".into())
        }
        (LandlockStatus::Available { effective_abi, kernel_abi }, _) => {
            Ok(format!("v{}", kernel_abi.unwrap_or(effective_abi as i32)))
        }
    }
}
