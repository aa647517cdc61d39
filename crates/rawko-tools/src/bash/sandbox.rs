//! The sandbox for commands: Landlock, where the kernel supports it. Writing is limited to the project, the temporary
//! directory and the paths in settings; reading is allowed everywhere except in key directories.
//!
//! Landlock can only allow, and a rule for a directory covers everything below it. A forbidden directory is therefore
//! excluded by allowing all its siblings, which leaves two gaps: `.git` and `.rawko/state` within the project stay
//! writable for programs (the shell filter and the file tools refuse them by name), and keys within the project stay
//! readable.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};

use crate::settings::{Sandbox, ToolSettings};
use crate::shell::Permit;

/// The newest rights this code knows; an older kernel enforces the subset it supports.
const RIGHTS: ABI = ABI::V5;

/// Devices that programs routinely write to.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/pts",
    "/dev/shm",
];

/// Key directories and files, relative to the home directory.
const KEYS: [&str; 13] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
];

pub(super) struct Fence {
    mode: Sandbox,
    writable: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
}

impl Fence {
    /// A read-only command line gets no write access to the project either.
    pub(super) fn new(root: &Path, temporary: &Path, settings: &ToolSettings, permit: &Permit) -> Self {
        let project = if permit.is_read_only { &[][..] } else { &[root.to_owned()][..] };
        let writable =
            project.iter().chain(&settings.extra_write_paths).cloned().chain([temporary.to_owned()]);
        let home = settings.bash.inherited.get("HOME").map(PathBuf::from).or_else(std::env::home_dir);
        let home = home.map(|home| home.canonicalize().unwrap_or(home));
        let hidden = home.iter().flat_map(|home| KEYS.map(|key| home.join(key)));
        let hidden = hidden.chain(permit.denied.hidden.iter().cloned());
        Self { mode: settings.bash.sandbox, writable: writable.collect(), hidden: hidden.collect() }
    }

    /// Restricts this thread and its future child processes. Returns the restriction in force.
    pub(super) fn raise(&self) -> Result<String, String> {
        if self.mode == Sandbox::Off {
            return Ok("none: switched off in settings".into());
        }
        let said = match self.restrict() {
            Ok(status) => in_words(&status),
            Err(error) => Err(format!("none: {error}")),
        };
        match (said, self.mode) {
            (Ok(said), _) => Ok(said),
            (Err(why), Sandbox::Require) => {
                Err(format!("settings require a sandbox (`tools.bash.sandbox: require`), and there is {why}"))
            }
            (Err(why), Sandbox::Auto | Sandbox::Off) => Ok(why),
        }
    }

    fn restrict(&self) -> Result<RestrictionStatus, landlock::RulesetError> {
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(RIGHTS))?
            .create()?;
        // Directories may be listed everywhere; opening files is restricted.
        let rules = allowed(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        let reading = AccessFs::ReadFile | AccessFs::Execute;
        let rules = self.readable().iter().try_fold(rules, |rules, path| allowed(rules, path, reading))?;
        let all = AccessFs::from_all(RIGHTS);
        let devices = DEVICES.iter().map(Path::new);
        let writable = self.writable.iter().map(PathBuf::as_path).chain(devices);
        writable.into_iter().try_fold(rules, |rules, path| allowed(rules, path, all))?.restrict_self()
    }

    /// Returns everything but the hidden paths: for each directory above a hidden path, all its other entries.
    fn readable(&self) -> Vec<PathBuf> {
        let mut readable = Vec::new();
        let mut open = vec![PathBuf::from("/")];
        while let Some(directory) = open.pop() {
            if self.hidden.contains(&directory) {
                continue;
            }
            if !self.hidden.iter().any(|hidden| hidden.starts_with(&directory)) {
                readable.push(directory);
                continue;
            }
            let entries = std::fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
            // A link is not allowed as such: its target is allowed or denied at its real location.
            open.extend(
                entries.filter(|e| e.file_type().is_ok_and(|kind| !kind.is_symlink())).map(|e| e.path()),
            );
        }
        readable
    }
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

/// Returns `landlock v4`, or the reason why there is no sandbox.
fn in_words(status: &RestrictionStatus) -> Result<String, String> {
    match (status.landlock, &status.ruleset) {
        (LandlockStatus::NotEnabled, _) => Err("none: landlock is switched off in this kernel".into()),
        (LandlockStatus::NotImplemented, _) => Err("none: kernel has no landlock".into()),
        (LandlockStatus::Available { .. }, RulesetStatus::NotEnforced) => {
            Err("none: the kernel did not enforce landlock".into())
        }
        (LandlockStatus::Available { effective_abi, kernel_abi }, _) => {
            Ok(format!("landlock v{}", kernel_abi.unwrap_or(effective_abi as i32)))
        }
    }
}
