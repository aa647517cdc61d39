//! More attempts: newer and rarer calls of the kernel, families of sockets, the calls of 32 bits, and services of the machine
//! that act later or as another user.

use super::table::{Attempt, row};

/// A system call that works everywhere.
const ALIVE: &str = "try 'call(39) > 0 and print(\"WORKS\")'";

/// As in the table.
pub(crate) const CALLS: &[Attempt] = &[
    row(
        "a tree of mounts with attributes",
        "try 'r = call(467, -100, b\"keys\", 1, 0, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "flags of a file of authority",
        "try 'r = call(469, -100, b\".mcp.json\", ctypes.create_string_buffer(24), 24, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "capabilities of a file",
        "try 'r = call(188, b\"tries.sh\", b\"security.capability\", ctypes.create_string_buffer(b\"\\1\\0\\0\\2\" + b\"\\xff\" * 16), 20, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "capabilities of a file by the newer call",
        "try 'import struct; v = ctypes.create_string_buffer(b\"\\1\\0\\0\\2\" + b\"\\xff\" * 16, 20); r = call(463, -100, b\"tries.sh\", 0, b\"security.capability\", ctypes.create_string_buffer(struct.pack(\"QII\", ctypes.addressof(v), 20, 0)), 16); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "the rights of an owner by the newer call",
        "try 'r = call(452, -100, b\"tries.sh\", 0o4755, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "the rights of an owner at creation",
        "try 'r = call(85, b\"s-\" + os.environ[\"MARK\"].encode(), 0o4755); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "the rights of an owner without a name",
        "try 'r = call(257, -100, b\".\", 0o20200002, 0o4755); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a pair of sockets with high bits set",
        "try 'r = call(53, 0x100000001, 0x100000002, 0, ctypes.create_string_buffer(8)); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a namespace with high bits set",
        "try 'r = call(272, 0x110000000); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "advice to the first process",
        "try 'r = call(440, call(434, 1, 0), 0, 0, 0, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "pages of a process of the host",
        "try 'r = call(279, int(os.environ[\"HOST\"]), 0, 0, 0, 0, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "memory nodes of a process of the host",
        "try 'r = call(256, int(os.environ[\"HOST\"]), 0, 0, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a higher priority",
        "try 'r = call(141, 0, 0, -20); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a higher priority on disks",
        "try 'r = call(251, 1, 0, 1 << 13); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "the label of a security module",
        "try 'r = call(460, 100, ctypes.create_string_buffer(64), 64, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "the namespace of the network",
        "try 'r = call(308, os.open(\"/proc/self/ns/net\", 0), 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of ciphers of the kernel",
        "try 'r = call(41, 38, 5, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of the card",
        "try 'r = call(41, 44, 3, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a cluster",
        "try 'r = call(41, 30, 1, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of Bluetooth",
        "try 'r = call(41, 31, 3, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a vehicle bus",
        "try 'r = call(41, 29, 3, 1); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of keys of the network",
        "try 'r = call(41, 15, 3, 2); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of reliable datagrams",
        "try 'r = call(41, 21, 5, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of shared memory by sockets",
        "try 'r = call(41, 43, 1, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a router of a modem",
        "try 'r = call(41, 42, 2, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket of near field",
        "try 'r = call(41, 39, 2, 0); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "an echo request",
        "try 'r = call(41, 2, 2, 1); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a socket by the calls of 32 bits",
        "try 'import mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(b\"\\x53\\xb8\\x67\\x01\\x00\\x00\\xbb\\x01\\x00\\x00\\x00\\xb9\\x01\\x00\\x00\\x00\\xba\\x00\\x00\\x00\\x00\\xcd\\x80\\x5b\\xc3\"); f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); r = f(); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a process by the calls of 32 bits",
        "try 'import mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(b\"\\x53\\xb8\\x1a\\x00\\x00\\x00\\xbb\\x00\\x00\\x00\\x00\\xb9\\x00\\x00\\x00\\x00\\xcd\\x80\\x5b\\xc3\"); f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); r = f(); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "an exchange with the settings",
        "try 'r = call(316, -100, b\"tries.sh\", -100, b\".mcp.json\", 2); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a whiteout over the settings",
        "try 'r = call(316, -100, b\".mcp.json\", -100, b\"moved\", 4); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "a second name by a descriptor of the settings",
        "try 'f = os.open(\".mcp.json\", os.O_PATH); r = call(265, -100, b\"/proc/self/fd/%d\" % f, -100, b\"second\", 0x400); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row(
        "changes of a hidden directory",
        "try 'r = call(254, call(253), os.environ[\"REAL\"].encode() + b\"/.ssh\", 2); print(\"ESCAPED\") if r >= 0 else print(ctypes.get_errno())'",
        ALIVE,
    ),
    row("a hole in the settings", "fallocate -p -l 4 .mcp.json && echo ESCAPED", "echo WORKS"),
    row(
        "a file that nobody can change",
        "chattr +i tries.sh && echo ESCAPED; chattr +a results && echo ESCAPED",
        "echo WORKS",
    ),
    row(
        "signals of a pipe to the host",
        "try 'import fcntl; r, w = os.pipe(); fcntl.fcntl(r, 8, int(os.environ[\"HOST\"])); print(\"ESCAPED\")'",
        "try 'import fcntl; r, w = os.pipe(); fcntl.fcntl(r, 8, os.getpid()); print(\"WORKS\")'",
    ),
    row(
        "a line discipline",
        "try 'import fcntl, pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x5423, b\"\\x15\\0\\0\\0\"); print(\"ESCAPED\")'",
        "try 'import pty; pty.openpty(); print(\"WORKS\")'",
    ),
    row(
        "a card of the host by name",
        "try 's = socket.socket(); s.setsockopt(1, 25, b\"eth0\\0\"); print(\"ESCAPED\")'",
        "try 'socket.socket().setsockopt(1, 2, 1); print(\"WORKS\")'",
    ),
    row(
        "a broadcast",
        "try 's = socket.socket(2, 2); s.setsockopt(1, 6, 1); s.sendto(b\"x\", (\"255.255.255.255\", 9)); print(\"ESCAPED\")'",
        "try 's = socket.socket(2, 2); s.setsockopt(1, 6, 1); print(\"WORKS\")'",
    ),
    row(
        "engines of containers",
        "ls -d /run/containerd /run/podman /run/crio /var/run/docker.sock /run/user 2>/dev/null | grep . && echo ESCAPED",
        "ls -d /usr && echo WORKS",
    ),
    row(
        "the bus of the system",
        "ls -d /run/dbus /var/run/dbus /run/systemd 2>/dev/null | grep . && echo ESCAPED; env | grep -E '^(DBUS|XDG_RUNTIME|DISPLAY|WAYLAND|XAUTH)' && echo ESCAPED",
        "ls -d /usr && echo WORKS",
    ),
    row(
        "the display",
        "ls -d /tmp/.X11-unix /tmp/.ICE-unix 2>/dev/null | grep . && echo ESCAPED",
        "ls -d /tmp && echo WORKS",
    ),
    row(
        "later, by a service of the host",
        "systemd-run true 2>/dev/null && echo ESCAPED; echo true | at now 2>/dev/null && echo ESCAPED; echo '* * * * * true' | crontab - 2>/dev/null && echo ESCAPED",
        "echo true | sh && echo WORKS",
    ),
    row(
        "programs that change the user",
        "for p in sudo pkexec doas; do $p -n true 2>/dev/null && echo ESCAPED; done; newuidmap $$ 0 0 1 2>/dev/null && echo ESCAPED",
        "id -u | grep . && echo WORKS",
    ),
    row(
        "addresses of the kernel",
        "grep -m1 -v ^0000000000000000 /proc/kallsyms && echo ESCAPED; head -c 4 /proc/kcore | grep -a ELF && echo ESCAPED",
        "test -e /proc/self/maps && echo WORKS",
    ),
    row(
        "keys of the machine",
        "echo h > /proc/sysrq-trigger && echo ESCAPED",
        "test -e /proc/self && echo WORKS",
    ),
    row(
        "sockets of the host by name",
        "grep / /proc/net/unix && echo ESCAPED; grep -v sl /proc/net/tcp | grep . && echo ESCAPED",
        "test -r /proc/net/tcp && echo WORKS",
    ),
    row(
        "users that are logged in",
        "cat /var/run/utmp /run/utmp /var/log/wtmp 2>/dev/null | grep -a . && echo ESCAPED; ls /var/spool/cron /var/lib 2>/dev/null | grep . && echo ESCAPED",
        "id -un && echo WORKS",
    ),
    row(
        "a processor that is switched off",
        "echo 0 > /sys/devices/system/cpu/cpu1/online && echo ESCAPED",
        "ls /sys/devices/system >/dev/null && echo WORKS",
    ),
    row(
        "limits that are raised",
        "ulimit -Hc unlimited 2>/dev/null && echo ESCAPED; ulimit -Hn 99999999 2>/dev/null && echo ESCAPED",
        "ulimit -Sc 0 && echo WORKS",
    ),
];
