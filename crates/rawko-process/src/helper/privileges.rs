//! Capabilities, `no_new_privs` and resource limits of the program.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use crate::launch::ProcessLimits;

/// Lets the next executed program keep one capability in the user namespace: it mounts `/proc`.
pub(super) fn lend_mounting() -> Result<(), String> {
    let mut sets = capabilities(None).map_err(|error| error.to_string())?;
    sets.inheritable = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
    set_capabilities(None, sets).map_err(|error| error.to_string())?;
    for capability in [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP] {
        configure_capability_in_ambient_set(capability, true).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Drops every capability for good, and the ways to gain one.
pub(super) fn drop_all() -> Result<(), String> {
    // Without CAP_SETPCAP there is nothing to drop either.
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        // The kernel knows fewer than there are bits.
        if remove_capability_from_bounding_set(capability) == Err(Errno::INVAL) {
            break;
        }
    }
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    let _ = set_capabilities_secure_bits(locked);
    let _ = clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(|error| format!("cannot drop capabilities: {error}"))?;
    set_no_new_privs(true).map_err(|error| format!("cannot set no_new_privs: {error}"))
}

/// Sets the limits, never above those of rawko itself.
pub(super) fn limit(limits: &ProcessLimits, mark: u64) {
    let set = |resource: Resource, wanted: Option<u64>| {
        if let Some(wanted) = wanted {
            let most = getrlimit(resource).maximum;
            let within = Some(most.map_or(wanted, |most| wanted.min(most)));
            let _ = setrlimit(resource, Rlimit { current: within, maximum: within });
        }
    };
    set(Resource::Core, Some(0));
    set(Resource::Fsize, limits.file_bytes);
    set(Resource::Cpu, limits.cpu_seconds);
    set(Resource::Nproc, limits.processes);
    let maximum = getrlimit(Resource::Locks).maximum;
    let _ = setrlimit(Resource::Locks, Rlimit { current: Some(mark), maximum });
}
