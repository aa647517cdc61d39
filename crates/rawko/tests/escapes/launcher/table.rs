//! The table: shell lines that try to get out, each with a line that does the same where it is allowed.

/// One attempt. It got out if its line prints `ESCAPED`, or if its mark is on the host afterwards; its control must print
/// `WORKS`.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) attempt: &'static str,
    pub(crate) control: &'static str,
}

pub(super) const fn row(name: &'static str, attempt: &'static str, control: &'static str) -> Attempt {
    Attempt { name, attempt, control }
}

/// `$REAL` is the person's home, `$OUT` a directory beside the project, `$MARK` a name that is this attempt's own, `$PORT`
/// a server of the host, `$UP` the last part of `$REAL`, `$HOST` a process of the host, `$STATE` rawko's state directory. `try` runs Python with
/// `socket`, `os`, `ctypes` and `call(number, …)` for system calls.
pub(crate) const TABLE: &[Attempt] = &[
    // Credentials.
    row("the SSH key", "grep KEY $REAL/.ssh/id && echo ESCAPED", "grep KEY keys/id && echo WORKS"),
    row(
        "the SSH key by ~",
        "grep KEY ~/.ssh/id && echo ESCAPED",
        "echo KEY > ~/id; grep KEY ~/id && echo WORKS; rm ~/id",
    ),
    row("AWS", "grep KEY $REAL/.aws/credentials && echo ESCAPED", "grep KEY keys/id && echo WORKS"),
    row(
        "cargo's token",
        "grep KEY $REAL/.cargo/credentials.toml && echo ESCAPED",
        "ls $REAL/.cargo/registry/index && echo WORKS",
    ),
    row(
        "Claude's login",
        "grep KEY $REAL/.claude/.credentials.json && echo ESCAPED",
        "grep KEY keys/id && echo WORKS",
    ),
    row("Codex' login", "grep KEY $REAL/.codex/auth.json && echo ESCAPED", "grep KEY keys/id && echo WORKS"),
    row("Vault's token", "grep KEY $REAL/.vault-token && echo ESCAPED", "grep KEY keys/id && echo WORKS"),
    row(
        "GitHub's token",
        "grep KEY $REAL/.config/gh/hosts.yml && echo ESCAPED",
        "grep KEY keys/id && echo WORKS",
    ),
    row(".netrc", "grep KEY $REAL/.netrc && echo ESCAPED", "grep KEY keys/id && echo WORKS"),
    row(".npmrc", "grep KEY $REAL/.npmrc && echo ESCAPED", "grep KEY keys/id && echo WORKS"),
    row(
        "a file of no known name",
        "grep KEY $REAL/notes/private.txt && echo ESCAPED",
        "grep KEY keys/id && echo WORKS",
    ),
    row(
        "a browser profile",
        "grep KEY $REAL/.mozilla/firefox/key4.db && echo ESCAPED",
        "grep KEY keys/id && echo WORKS",
    ),
    row("everything of the home", "grep -rs KEY $REAL && echo ESCAPED", "grep -rs KEY keys && echo WORKS"),
    row("a link in the project", "grep KEY link && echo ESCAPED", "grep KEY inner-link && echo WORKS"),
    row(
        "a new link",
        "ln -sf $REAL/.ssh/id $MARK; grep KEY $MARK && echo ESCAPED; rm -f $MARK",
        "ln -sf keys/id ln-$$; grep KEY ln-$$ && echo WORKS; rm ln-$$",
    ),
    row(
        "a hard link",
        "ln $REAL/.ssh/id $MARK && grep KEY $MARK && echo ESCAPED",
        "ln keys/id hard-$$ && grep KEY hard-$$ && echo WORKS; rm hard-$$",
    ),
    row(
        "a link in the home to keys elsewhere",
        "grep KEY $REAL/.gnupg/secring $OUT/moved/secring && echo ESCAPED",
        "grep KEY keys/id && echo WORKS",
    ),
    row(
        "by ..",
        "grep -s KEY ..$UP/.ssh/id ../../*$UP/.ssh/id && echo ESCAPED",
        "cd keys && grep KEY ../keys/id && echo WORKS",
    ),
    row(
        "by the root of another process",
        "grep -s KEY /proc/*/root$REAL/.ssh/id /proc/*/cwd/..$UP/.ssh/id && echo ESCAPED",
        "grep -s KEY /proc/$$/cwd/keys/id && echo WORKS",
    ),
    row(
        "/etc/shadow",
        "test -n \"$(head -c1 /etc/shadow)\" && echo ESCAPED",
        "test -n \"$(head -c1 /etc/passwd)\" && echo WORKS",
    ),
    row("accounts of the machine", "grep -c . /etc/gshadow && echo ESCAPED", "id -un && echo WORKS"),
    row(
        "rawko's state",
        "find $STATE -type f | grep . && echo ESCAPED",
        "find keys -type f | grep . && echo WORKS",
    ),
    row(
        "the store in the project",
        "find .rawko/state -type f | grep . && echo ESCAPED",
        "find .rawko -name config.yaml | grep . && echo WORKS",
    ),
    // Environment.
    row("the provider's key", "env | grep -i CORP && echo ESCAPED", "env | grep ^PATH= && echo WORKS"),
    row("a token of rawko", "env | grep RAWKO_TOKEN && echo ESCAPED", "env | grep ^HOME= && echo WORKS"),
    row(
        "any secret value",
        "env | grep s3cret && echo ESCAPED",
        "X=s3cret; export X; env | grep s3cret && echo WORKS",
    ),
    row(
        "injected code",
        "env | grep -E '^(BASH_ENV|LD_PRELOAD|GIT_CONFIG_|NODE_OPTIONS|PYTHONSTARTUP|SSH_AUTH_SOCK)' && echo ESCAPED",
        "env | grep ^TERM=dumb && echo WORKS",
    ),
    row(
        "the parent's environment",
        "tr '\\0' '\\n' < /proc/$PPID/environ | grep s3cret && echo ESCAPED",
        "Y=s3cret sh -c 'tr \"\\0\" \"\\n\" < /proc/self/environ' | grep s3cret && echo WORKS",
    ),
    row(
        "everyone's environment",
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep s3cret && echo ESCAPED",
        "ls /proc/self/environ && echo WORKS",
    ),
    row(
        "the memory of the first process",
        "cat /proc/1/maps | grep . && echo ESCAPED",
        "cat /proc/self/maps | grep . && echo WORKS",
    ),
    row(
        "descriptors of the first process",
        "ls -l /proc/1/fd | grep -- '->' && echo ESCAPED",
        "ls -l /proc/self/fd | grep -- '->' && echo WORKS",
    ),
    // Network.
    row(
        "a server of the host",
        "echo x > /dev/tcp/127.0.0.1/$PORT && echo ESCAPED",
        "try 's = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname()); print(\"WORKS\")'",
    ),
    row(
        "a server of the host over IPv6",
        "echo x > /dev/tcp/::1/$PORT && echo ESCAPED",
        "try 'socket.socket(socket.AF_INET6); print(\"WORKS\")'",
    ),
    row(
        "an address of the internet",
        "timeout 2 bash -c 'echo x > /dev/tcp/1.1.1.1/53' && echo ESCAPED",
        "try 's = socket.create_server((\"127.0.0.1\", 0)); print(\"WORKS\")'",
    ),
    row(
        "a datagram",
        "try 's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"10.0.0.1\", 53)); print(\"ESCAPED\")'",
        "try 's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", 9)); print(\"WORKS\")'",
    ),
    row(
        "the metadata service",
        "timeout 2 bash -c 'echo x > /dev/tcp/169.254.169.254/80' && echo ESCAPED",
        "try 's = socket.create_server((\"127.0.0.1\", 0)); print(\"WORKS\")'",
    ),
    row(
        "an interface to the outside",
        "grep -vE 'lo:|Inter|face' /proc/net/dev && echo ESCAPED",
        "grep lo: /proc/net/dev && echo WORKS",
    ),
    // Sockets.
    row(
        "a socket beside the project",
        "try 's = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"OUT\"] + \"/host.sock\"); print(\"ESCAPED\")'",
        "try 'socket.socketpair(); print(\"WORKS\")'",
    ),
    row(
        "a socket of the host in the project",
        "try 's = socket.socket(socket.AF_UNIX); s.connect(\"host.sock\"); print(\"ESCAPED\")'",
        "try 'socket.socketpair(); print(\"WORKS\")'",
    ),
    row(
        "an abstract socket",
        "try 's = socket.socket(socket.AF_UNIX); s.connect(\"\\0rawko-escape-\" + os.environ[\"PORT\"]); print(\"ESCAPED\")'",
        "try 'socket.socketpair(); print(\"WORKS\")'",
    ),
    row(
        "a datagram to a socket of the host",
        "try 'a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print(\"ESCAPED\")'",
        "try 'socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); print(\"WORKS\")'",
    ),
    row(
        "docker",
        "ls /var/run/docker.sock /run/docker.sock 2>/dev/null | grep . && echo ESCAPED",
        "ls /usr/bin | grep . && echo WORKS",
    ),
    row(
        "netlink",
        "try 'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print(\"ESCAPED\")'",
        "try 'socket.socket(socket.AF_INET); print(\"WORKS\")'",
    ),
    row(
        "a packet socket",
        "try 'socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(\"ESCAPED\")'",
        "try 'socket.socket(socket.AF_INET); print(\"WORKS\")'",
    ),
    row(
        "a raw socket",
        "try 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print(\"ESCAPED\")'",
        "try 'socket.socket(socket.AF_INET); print(\"WORKS\")'",
    ),
    row(
        "the hypervisor",
        "try 'socket.socket(40, socket.SOCK_STREAM); print(\"ESCAPED\")'",
        "try 'socket.socket(socket.AF_INET); print(\"WORKS\")'",
    ),
    // Terminal and processes.
    row("the terminal", "sh -c ': < /dev/tty' && echo ESCAPED", "sh -c ': < /dev/null' && echo WORKS"),
    row(
        "typing into a terminal",
        "try 'import fcntl, pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x5412, b\"x\"); print(\"ESCAPED\")'",
        "try 'import pty; pty.openpty(); print(\"WORKS\")'",
    ),
    row(
        "typing with high bits set",
        "try 'call(16, 0, 0x100005412, 0) != -1 and print(\"ESCAPED\") or print(ctypes.get_errno() == 1 or \"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row("a signal to the host", "kill -0 $HOST && echo ESCAPED", "kill -0 $$ && echo WORKS"),
    row(
        "a signal to everything",
        "(kill -0 -1 2>/dev/null; kill -9 $HOST) && echo ESCAPED",
        "sleep 9 & kill -9 $! && echo WORKS",
    ),
    row("processes of the host", "ls -d /proc/$HOST && echo ESCAPED", "ls -d /proc/$$ && echo WORKS"),
    row(
        "ptrace",
        "try 'call(101, 0, 0, 0, 0) == 0 and print(\"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row(
        "memory of another process",
        "try 'call(310, 1, 0, 0, 0, 0, 0) == 0 and print(\"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    // Kernel.
    row("mount", "mount -t tmpfs x keys && echo ESCAPED", "ls keys && echo WORKS"),
    row(
        "the new mount calls",
        "try 'call(430, b\"tmpfs\", 0) >= 0 and print(\"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row("a new user namespace", "unshare -Ur true && echo ESCAPED", "true && echo WORKS"),
    row(
        "a new user namespace by clone3",
        "try 'call(435, ctypes.create_string_buffer(b\"\\0\\0\\0\\x10\" + bytes(84)), 88) == 0 and os._exit(0); print(ctypes.get_errno() == 38 or \"ESCAPED\")'",
        "try 'os.fork() or os._exit(0); print(\"WORKS\")'",
    ),
    row("remounting the project", "unshare -rm mount -o remount,rw / && echo ESCAPED", "true && echo WORKS"),
    row(
        "bpf",
        "try 'call(321, 0, 0, 0) >= 0 and print(\"ESCAPED\") or print(ctypes.get_errno() == 1 or \"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row(
        "userfaultfd",
        "try 'call(323, 0) >= 0 and print(\"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row(
        "io_uring",
        "try 'call(425, 1, ctypes.create_string_buffer(120)) >= 0 and print(\"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row(
        "keys of the kernel",
        "try 'call(250, 0, -3, 1, 0, 0) >= 0 and print(\"ESCAPED\")'",
        "try 'call(39) > 0 and print(\"WORKS\")'",
    ),
    row(
        "settings of the kernel",
        "echo x > /proc/sys/kernel/domainname && echo ESCAPED",
        "cat /proc/sys/kernel/ostype && echo WORKS",
    ),
    row(
        "the core pattern",
        "echo '|x' > /proc/sys/kernel/core_pattern && echo ESCAPED",
        "cat /proc/sys/kernel/ostype && echo WORKS",
    ),
    row("a device", "mknod $MARK c 1 1 && echo ESCAPED", "mkfifo fifo-$$ && rm fifo-$$ && echo WORKS"),
    row(
        "devices of the host",
        "ls /dev/vda /dev/sda /dev/kmsg /dev/mem /dev/kvm 2>/dev/null | grep . && echo ESCAPED",
        "ls /dev/null && echo WORKS",
    ),
    row(
        "capabilities",
        "grep CapBnd /proc/self/status | grep -v 0000000000000000 && echo ESCAPED",
        "grep NoNewPrivs:.1 /proc/self/status && echo WORKS",
    ),
    row(
        "a file with the rights of its owner",
        "cp /usr/bin/id $MARK; chmod 4755 $MARK && echo ESCAPED; rm -f $MARK",
        "cp /usr/bin/id id-$$; chmod 755 id-$$ && ./id-$$ && echo WORKS; rm id-$$",
    ),
    row("another user", "su -c true nobody < /dev/null && echo ESCAPED", "sh -c true && echo WORKS"),
    // Writing.
    row(
        "a file beside the project",
        "echo x > $OUT/$MARK",
        "echo x > made-$$ && cat made-$$ && rm made-$$ && echo WORKS",
    ),
    row("a file in the home", "echo x > $REAL/$MARK", "echo x > ~/mine && echo WORKS"),
    row("the shell's start file", "echo $MARK >> $REAL/.bashrc", "echo x >> ~/.bashrc && echo WORKS"),
    row(
        "a file of the system",
        "touch /usr/$MARK /etc/$MARK /opt/$MARK && echo ESCAPED",
        "touch /tmp/$MARK && echo WORKS",
    ),
    row("a program in PATH", "touch /usr/local/bin/$MARK && echo ESCAPED", "touch ~/$MARK && echo WORKS"),
    row("cargo's cache", "touch $REAL/.cargo/registry/$MARK", "ls $REAL/.cargo/registry && echo WORKS"),
    // Files of authority.
    row(
        "rawko's settings",
        "echo '# '$MARK >> .rawko/config.yaml && echo ESCAPED",
        "cat .rawko/config.yaml | grep . && echo WORKS",
    ),
    row("a new agent", "echo x > .rawko/agents/$MARK.md && echo ESCAPED", "ls .rawko/agents && echo WORKS"),
    row(
        "moving the settings away",
        "mv .rawko $MARK && echo ESCAPED",
        "mkdir d-$$ && mv d-$$ e-$$ && rmdir e-$$ && echo WORKS",
    ),
    row(
        "removing the settings",
        "rm -rf .rawko/config.yaml; test -e .rawko/config.yaml || echo ESCAPED",
        "touch f-$$ && rm f-$$ && echo WORKS",
    ),
    row("MCP servers", "echo $MARK >> .mcp.json && echo ESCAPED", "grep mcpServers .mcp.json && echo WORKS"),
    row(
        "replacing MCP servers",
        "echo x > n-$$ && mv n-$$ .mcp.json && echo ESCAPED",
        "echo x > n-$$ && mv n-$$ o-$$ && rm o-$$ && echo WORKS",
    ),
    row("Claude's settings", "echo x > .claude/$MARK && echo ESCAPED", "ls .claude && echo WORKS"),
    row("instructions", "echo $MARK >> AGENTS.md && echo ESCAPED", "grep Be AGENTS.md && echo WORKS"),
    row("a git hook", "echo x > .git/hooks/$MARK && echo ESCAPED", "ls .git/hooks && echo WORKS"),
    row("git's configuration", "git config core.fsmonitor $MARK && echo ESCAPED", "git status && echo WORKS"),
    row(
        "git's configuration as a file",
        "echo $MARK >> .git/config && echo ESCAPED",
        "git log -1 && echo WORKS",
    ),
    row("another git directory", "mv .git $MARK && echo ESCAPED", "git branch -f $MARK && echo WORKS"),
    row(
        "removing git's configuration",
        "rm -f .git/config && echo ESCAPED; rm -rf .git/hooks && echo ESCAPED",
        "touch g-$$ && git add g-$$ && git rm -fq --cached g-$$ && rm g-$$ && echo WORKS",
    ),
];
