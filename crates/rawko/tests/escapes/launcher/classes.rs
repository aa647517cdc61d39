//! More attempts, by class: races, descriptors, the kernel's rarer interfaces, other programs of the machine, and what git
//! and other tools execute. Separate from the table, because two kinds of programs are enough for them.

use super::table::{Attempt, row};

/// The kinds of programs that run them: one of an agent's own, and one beside it.
pub(crate) const KINDS: [&str; 2] = ["bash", "mcp"];

/// A system call that works everywhere.
const ALIVE: &str = "try 'call(39) > 0 and print(\"WORKS\")'";
const PLAIN: &str = "grep KEY keys/id && echo WORKS";

/// As in the table.
pub(crate) const CLASSES: &[Attempt] = &[
    // Links, races and descriptors.
    row(
        "a link that is swapped while it is read",
        "(for i in $(seq 99); do ln -sfn $REAL/notes r-$MARK; ln -sfn keys r-$MARK; done) & \
         for i in $(seq 99); do cat r-$MARK/private.txt 2>/dev/null | grep KEY && echo ESCAPED; done; wait; rm -f r-$MARK",
        "ln -sfn keys r-$$; grep KEY r-$$/id && echo WORKS; rm r-$$",
    ),
    row(
        "a directory that is swapped for a link",
        "mkdir s-$MARK; (for i in $(seq 99); do mv s-$MARK t-$MARK; ln -s $OUT s-$MARK; rm s-$MARK; mv t-$MARK s-$MARK; done) & \
         for i in $(seq 99); do : > s-$MARK/$MARK; done 2>/dev/null; wait; rm -rf s-$MARK t-$MARK",
        "mkdir s-$$; : > s-$$/x && rm -r s-$$ && echo WORKS",
    ),
    row(
        "by the root of the process",
        "grep KEY /proc/self/root$REAL/.ssh/id && echo ESCAPED",
        "grep KEY /proc/self/cwd/keys/id && echo WORKS",
    ),
    row(
        "by the thread's directory",
        "grep -s KEY /proc/thread-self/cwd/..$UP/.ssh/id && echo ESCAPED",
        PLAIN,
    ),
    row(
        "by a path of a thousand parts",
        "grep KEY $(printf './%.0s' $(seq 999))../$(basename $REAL)/.ssh/id && echo ESCAPED",
        "grep KEY $(printf './%.0s' $(seq 999))keys/id && echo WORKS",
    ),
    row(
        "by a descriptor",
        "exec 3< $REAL/.ssh/id && grep KEY /dev/fd/3 && echo ESCAPED",
        "exec 3< keys/id && grep KEY /dev/fd/3 && echo WORKS",
    ),
    row(
        "inherited descriptors",
        "ls -l /proc/self/fd | grep -E \"$STATE|rawko.db|operator|socket:\" && echo ESCAPED",
        "ls -l /proc/self/fd | grep /dev/null && echo WORKS",
    ),
    row(
        "descriptors of the first process by pidfd",
        "try 'fd = call(434, 1, 0); fd >= 0 and call(438, fd, 0, 0) >= 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row(
        "a file by its handle",
        "try 'fd = os.open(\".\", 0); h = ctypes.create_string_buffer(b\"\\x80\\0\\0\\0\" + bytes(132)); m = ctypes.c_int(); \
         call(303, fd, b\"keys\", h, ctypes.byref(m), 0); call(304, fd, h, 0) >= 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row(
        "a program in memory",
        "try 'fd = os.memfd_create(\"x\", 0); os.write(fd, b\"#!/bin/sh\\ngrep KEY $REAL/.ssh/id && echo ESCAPED\\n\"); os.execve(fd, [\"x\"], os.environ)'",
        "try 'fd = os.memfd_create(\"x\", 0); os.write(fd, b\"#!/bin/sh\\ngrep KEY keys/id && echo WORKS\\n\"); os.execve(fd, [\"x\"], os.environ)'",
    ),
    row(
        "a program by the loader",
        "$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -1) /bin/cat $REAL/.ssh/id | grep KEY && echo ESCAPED",
        "$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -1) /bin/cat keys/id | grep KEY && echo WORKS",
    ),
    row(
        "the memory of the first process",
        "exec 3<> /proc/1/mem && echo ESCAPED",
        "exec 3< /proc/self/maps && echo WORKS",
    ),
    row("the kernel's memory", "head -c1 /proc/kcore | grep -q . && echo ESCAPED", ALIVE),
    row(
        "the kernel's log",
        "dmesg 2>/dev/null | grep . && echo ESCAPED; head -c1 /dev/kmsg && echo ESCAPED",
        ALIVE,
    ),
    // Namespaces and mounts by other calls.
    row("chroot", "try 'os.chroot(\".\"); print(\"ESCAPED\")'", ALIVE),
    row("pivot_root", "try 'call(155, b\".\", b\".\") == 0 and print(\"ESCAPED\")'", ALIVE),
    row(
        "the namespaces of the first process",
        "try 'call(308, os.open(\"/proc/1/ns/mnt\", 0), 0) == 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row("a detached tree", "try 'call(428, -100, b\"/\", 1) >= 0 and print(\"ESCAPED\")'", ALIVE),
    row(
        "attributes of mounts",
        "try 'call(442, -100, b\"/\", 0, ctypes.create_string_buffer(32), 32) == 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row(
        "the map of users",
        "echo '0 0 4294967295' > /proc/self/uid_map && echo ESCAPED",
        "cat /proc/self/uid_map && echo WORKS",
    ),
    row(
        "the old call numbers",
        "try 'call(0x40000000 + 165, b\"x\", b\"keys\", b\"tmpfs\", 0, 0) == 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    // The kernel's rarer interfaces.
    row("cipher sockets", "try 'socket.socket(38, socket.SOCK_SEQPACKET); print(\"ESCAPED\")'", ALIVE),
    row("key management sockets", "try 'socket.socket(15, socket.SOCK_RAW, 2); print(\"ESCAPED\")'", ALIVE),
    row("cluster sockets", "try 'socket.socket(30, socket.SOCK_STREAM); print(\"ESCAPED\")'", ALIVE),
    row("express sockets", "try 'socket.socket(44, socket.SOCK_RAW); print(\"ESCAPED\")'", ALIVE),
    row("Bluetooth", "try 'socket.socket(31, socket.SOCK_RAW, 1); print(\"ESCAPED\")'", ALIVE),
    row(
        "a family with high bits set",
        "try 'call(41, 0x100000001, 1, 0) >= 0 and print(\"ESCAPED\")'",
        "try 'call(41, 2, 1, 0) >= 0 and print(\"WORKS\")'",
    ),
    row(
        "performance counters",
        "try 'import struct; b = struct.pack(\"IIQQQQQ\", 1, 112, 0, 0, 0, 0, 0x60) + bytes(64); call(298, ctypes.create_string_buffer(b), 0, -1, -1, 0) >= 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row(
        "a key of the kernel",
        "try 'call(248, b\"user\", b\"x\", b\"y\", 1, -3) >= 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row("faults in user space by device", "exec 3<> /dev/userfaultfd && echo ESCAPED", ALIVE),
    row(
        "devices that reach the host",
        "for d in fuse net/tun loop-control mapper/control uinput vhost-net dri input console tty0 mem port; do test -e /dev/$d && echo ESCAPED; done",
        "test -e /dev/null && test -e /dev/urandom && echo WORKS",
    ),
    row(
        "terminals of the host",
        "ls /dev/pts | grep '^[0-9]' && echo ESCAPED",
        "try 'import pty; pty.openpty(); print(\"WORKS\")'",
    ),
    row(
        "control groups",
        "mkdir /sys/fs/cgroup/$MARK && echo ESCAPED",
        "mkdir cg-$$ && rmdir cg-$$ && echo WORKS",
    ),
    row("the release agent", "echo /x > /sys/fs/cgroup/release_agent && echo ESCAPED", ALIVE),
    row(
        "the helper of hotplug",
        "echo /x > /sys/kernel/uevent_helper && echo ESCAPED; echo /x > /proc/sys/kernel/modprobe && echo ESCAPED",
        ALIVE,
    ),
    row("magic keys", "echo h > /proc/sysrq-trigger && echo ESCAPED", ALIVE),
    row("the clock", "date -s \"$(date)\" && echo ESCAPED", "date && echo WORKS"),
    row(
        "the name of the machine",
        "try 'socket.sethostname(socket.gethostname()); print(\"ESCAPED\")'",
        "try 'socket.gethostname() and print(\"WORKS\")'",
    ),
    row(
        "real time",
        "try 'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print(\"ESCAPED\")'",
        ALIVE,
    ),
    row("security bits", "try 'call(157, 28, 1) == 0 and print(\"ESCAPED\")'", ALIVE),
    // Processes of the host by other calls.
    row(
        "a thread signal to the host",
        "try 'h = int(os.environ[\"HOST\"]); call(234, h, h, 0) == 0 and print(\"ESCAPED\")'",
        "try 'p = os.getpid(); call(234, p, p, 0) == 0 and print(\"WORKS\")'",
    ),
    row(
        "a descriptor of a process of the host",
        "try 'call(434, int(os.environ[\"HOST\"]), 0) >= 0 and print(\"ESCAPED\")'",
        ALIVE,
    ),
    row(
        "limits of a process of the host",
        "try 'call(302, int(os.environ[\"HOST\"]), 7, 0, ctypes.create_string_buffer(16)) == 0 and print(\"ESCAPED\")'",
        "try 'call(302, 0, 7, 0, ctypes.create_string_buffer(16)) == 0 and print(\"WORKS\")'",
    ),
    row(
        "processors of a process of the host",
        "try 'os.sched_setaffinity(int(os.environ[\"HOST\"]), {0}); print(\"ESCAPED\")'",
        "try 'os.sched_getaffinity(0) and print(\"WORKS\")'",
    ),
    // Shared places.
    row(
        "the temporary directory of the host",
        "echo x > /tmp/$MARK; echo x > /var/tmp/$MARK",
        "echo x > /tmp/mine-$$ && echo WORKS",
    ),
    row("shared memory of the host", "echo x > /dev/shm/$MARK", "echo x > /tmp/mine-$$ && echo WORKS"),
    row(
        "the run directory",
        "mkdir /run/$MARK && echo ESCAPED; mkdir /run/user/$(id -u)/$MARK && echo ESCAPED",
        "mkdir run-$$ && rmdir run-$$ && echo WORKS",
    ),
    // Programs of the machine that act for others.
    row(
        "sudo",
        "sudo -n true && echo ESCAPED; doas -n true && echo ESCAPED; pkexec --disable-internal-agent true && echo ESCAPED",
        "sh -c true && echo WORKS",
    ),
    row(
        "scheduled jobs",
        "echo '* * * * * true' | crontab - && echo ESCAPED; echo true | at now && echo ESCAPED",
        "sh -c true && echo WORKS",
    ),
    row(
        "the service manager",
        "systemd-run --user true && echo ESCAPED; busctl --user list && echo ESCAPED; dbus-send --system / x.y && echo ESCAPED",
        "sh -c true && echo WORKS",
    ),
    row(
        "names of the internet",
        "try 'socket.getaddrinfo(\"example.com\", 80); print(\"ESCAPED\")'",
        "try 'socket.getaddrinfo(\"127.0.0.1\", 80) and print(\"WORKS\")'",
    ),
    // Files of authority by other calls.
    row(
        "exchanging MCP servers",
        "echo x > x-$MARK; try 'call(316, -100, (\"x-\" + os.environ[\"MARK\"]).encode(), -100, b\".mcp.json\", 2) == 0 and print(\"ESCAPED\")'; rm -f x-$MARK",
        "echo a > a-$$; echo b > b-$$; mv a-$$ b-$$ && rm b-$$ && echo WORKS",
    ),
    row(
        "a second name for the settings",
        "ln .rawko/config.yaml h-$MARK && echo $MARK >> h-$MARK && echo ESCAPED; rm -f h-$MARK",
        "ln keys/id h-$$ && rm h-$$ && echo WORKS",
    ),
    row(
        "cutting the settings",
        "truncate -s 0 .mcp.json && echo ESCAPED; : > .rawko/config.yaml && echo ESCAPED",
        "echo x > tr-$$; truncate -s 0 tr-$$ && rm tr-$$ && echo WORKS",
    ),
    row(
        "permissions of the settings",
        "chmod 000 .rawko/config.yaml && echo ESCAPED; touch .mcp.json && echo ESCAPED",
        "echo x > ch-$$; chmod 600 ch-$$ && rm ch-$$ && echo WORKS",
    ),
    row(
        "the project's directory",
        "mv ../project ../$MARK && echo ESCAPED",
        "mkdir mv-$$ && mv mv-$$ mw-$$ && rmdir mw-$$ && echo WORKS",
    ),
    row("a worktree beside the project", "git worktree add -f $OUT/$MARK", "git worktree list && echo WORKS"),
    row(
        "hooks by a template",
        "mkdir -p .git/hooks/x && echo ESCAPED; cp /bin/true .git/hooks/post-checkout && echo ESCAPED",
        "ls .git/hooks && echo WORKS",
    ),
    // Created in the call, and set aside after it.
    row(
        "new instructions",
        "mkdir -p sub-$MARK; echo x > sub-$MARK/AGENTS.md",
        "mkdir -p sub-$$ && echo x > sub-$$/notes.md && rm -r sub-$$ && echo WORKS",
    ),
    row(
        "new settings of an editor",
        "mkdir -p sub-$MARK/.vscode; echo x > sub-$MARK/.vscode/tasks.json",
        "mkdir -p sub-$$/vscode && rm -r sub-$$ && echo WORKS",
    ),
];
