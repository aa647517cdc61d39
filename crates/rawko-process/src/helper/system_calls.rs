//! The seccomp filter: system calls that a program of an agent never needs and that widen the kernel's surface.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::launch::Network;

/// Refused with any arguments.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // File systems and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Keys, programs in the kernel, and interfaces with a history of faults.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// The x32 calls of an x86-64 kernel: the same numbers with this bit.
const X32: i64 = 0x4000_0000;
/// x32 calls with numbers of their own: rt_sigreturn is not among them.
const X32_OWN: &[i64] = &[521, 539, 540, 528, 543, 544, 545];

const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // CLONE_NEWTIME, which only `unshare` takes.
    0x80,
];

type CallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filters on this process and everything that it starts.
pub(super) fn restrict(network: Network, is_root: bool) -> Result<(), String> {
    let refused = program(rules(network, is_root)?, libc::EPERM)?;
    // Libraries use these, whose arguments a filter cannot see, and turn to `clone` and `openat` if the kernel does not
    // have them.
    let absent = [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new()));
    let absent = program(CallRules::from(absent), libc::ENOSYS)?;
    for filter in [absent, refused] {
        seccompiler::apply_filter(&filter).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn program(rules: CallRules, error: i32) -> Result<BpfProgram, String> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| format!("{error}"))?;
    let action = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture);
    filter.and_then(BpfProgram::try_from).map_err(|error| error.to_string())
}

fn rules(network: Network, is_root: bool) -> Result<CallRules, String> {
    let mut rules: CallRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![families(network)?]);
    let flags = |argument: u8| -> Result<Vec<SeccompRule>, String> {
        NAMESPACES.iter().map(|flag| has_bit(argument, flag.cast_unsigned().into())).collect()
    };
    rules.insert(libc::SYS_unshare, flags(0)?);
    // The low byte of the flags of `clone` is a signal.
    let clone: Result<_, String> =
        NAMESPACES[..7].iter().map(|flag| has_bit(0, flag.cast_unsigned().into())).collect();
    rules.insert(libc::SYS_clone, clone?);
    // Typing into a terminal, and pasting into a console.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| equals(1, request));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_, String>>()?);
    rules.insert(libc::SYS_socketpair, pairs()?);
    for (call, modes) in modes(is_root)? {
        rules.insert(call, modes);
    }
    if cfg!(target_arch = "x86_64") {
        let x32: CallRules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(x32);
        rules.extend(X32_OWN.iter().map(|call| (call | X32, Vec::new())));
        let terminal = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| equals(1, request));
        rules.insert(514 | X32, terminal.into_iter().collect::<Result<_, String>>()?);
    }
    Ok(rules)
}

/// Matches every family of sockets but those that stay inside the network namespace. A Unix socket could be one of the
/// host that lies in the project; pairs of sockets are another call.
fn families(network: Network) -> Result<SeccompRule, String> {
    let allowed: &[i32] = match network {
        Network::None => &[],
        Network::Loopback | Network::Proxy => &[libc::AF_INET, libc::AF_INET6],
    };
    let mut conditions: Vec<SeccompCondition> = Vec::new();
    for family in allowed {
        conditions.push(condition(0, SeccompCmpOp::Ne, family.cast_unsigned().into())?);
    }
    if conditions.is_empty() {
        conditions.push(condition(0, SeccompCmpOp::Ge, 0)?);
    }
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

/// Matches pairs that are not connected for good: a datagram socket can be sent to any address, also one of the host.
fn pairs() -> Result<Vec<SeccompRule>, String> {
    const KIND: u64 = 0xf;
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.cast_unsigned()));
    let others = (0..=KIND).filter(|kind| !connected.contains(kind));
    others.map(|kind| rule(vec![condition(1, SeccompCmpOp::MaskedEq(KIND), kind)?])).collect()
}

/// Matches calls that give a file the rights of its owner. Those of its group too if that is root's; otherwise they are
/// usual for directories.
fn modes(is_root: bool) -> Result<CallRules, String> {
    // `FCHMODAT2` is the same on all architectures.
    const FCHMODAT2: i64 = 452;
    let bits: &[u32] = if is_root { &[libc::S_ISUID, libc::S_ISGID] } else { &[libc::S_ISUID] };
    let mut calls: Vec<(i64, u8)> = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_mkdirat, 2),
        (libc::SYS_mknodat, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([libc::SYS_chmod, libc::SYS_creat, libc::SYS_mkdir, libc::SYS_mknod].map(|call| (call, 1)));
    let mut rules = CallRules::new();
    for (call, mode) in calls {
        let of_call: Result<_, String> = bits.iter().map(|bit| has_bit(mode, (*bit).into())).collect();
        rules.insert(call, of_call?);
    }
    // These look at a mode only if they make a file.
    let mut calls: Vec<(i64, u8)> = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_open, 1));
    let making =
        [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY].map(|flag| u64::from(flag.cast_unsigned()));
    for (call, flags) in calls {
        let mut of_call = Vec::new();
        for (flag, bit) in making.iter().flat_map(|flag| bits.iter().map(move |bit| (*flag, u64::from(*bit))))
        {
            of_call.push(rule(vec![
                condition(flags, SeccompCmpOp::MaskedEq(flag), flag)?,
                condition(flags + 1, SeccompCmpOp::MaskedEq(bit), bit)?,
            ])?);
        }
        rules.insert(call, of_call);
    }
    Ok(rules)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

fn has_bit(argument: u8, bit: u64) -> Result<SeccompRule, String> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(bit), bit)?])
        .map_err(|error| error.to_string())
}

fn equals(argument: u8, value: u64) -> Result<SeccompRule, String> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::Eq, value)?]).map_err(|error| error.to_string())
}

/// Compares the 32 bits that the kernel looks at: others could be set to slip through.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(|error| error.to_string())
}
