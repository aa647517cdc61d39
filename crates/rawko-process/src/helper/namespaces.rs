//! Namespaces of the program: user, PID, mount, network, IPC, host name and cgroups.

use std::fs;

use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

use crate::launch::{KernelLayer, Layers};

/// The identity inside a user namespace if rawko runs as root. Programs that find themselves root try to change owners.
const USER_INSIDE: u32 = 1000;

/// Enters new namespaces. Each that the kernel refuses is recorded with its reason.
pub(super) fn enter(layers: &mut Layers) {
    let all = UnshareFlags::NEWPID
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let own = unshare(all | UnshareFlags::NEWUSER).and_then(|()| map_identity(user, group));
    let others = match &own {
        Ok(()) => Ok(()),
        // Root may have them without a user namespace.
        Err(_) => unshare(all),
    };
    layers.add(KernelLayer::UserNamespace, own.clone().map(|()| String::new()));
    for layer in [KernelLayer::PidNamespace, KernelLayer::NetworkNamespace] {
        let state = match (&own, &others) {
            (_, Ok(())) => Ok(String::new()),
            (Err(why), Err(_)) | (Ok(()), Err(why)) => Err(why.clone()),
        };
        layers.add(layer, state);
    }
}

fn unshare(flags: UnshareFlags) -> Result<(), String> {
    #[expect(
        deprecated,
        reason = "its replacement is unsafe only because of `CLONE_FILES`, which is not asked for here"
    )]
    rustix::thread::unshare(flags).map_err(|error| format!("the kernel refuses new namespaces: {error}"))
}

fn map_identity(user: u32, group: u32) -> Result<(), String> {
    let write = |file: &str, text: &str| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| format!("cannot write {file} of the user namespace: {error}"))
    };
    write("setgroups", "deny")?;
    write("uid_map", &format!("{} {user} 1", inside(user)))?;
    write("gid_map", &format!("{} {group} 1", inside(group)))
}

fn inside(id: u32) -> u32 {
    if id == 0 { USER_INSIDE } else { id }
}

/// The identity that the program has: user and group.
pub(crate) fn identity_inside() -> (u32, u32) {
    (inside(getuid().as_raw()), inside(getgid().as_raw()))
}
