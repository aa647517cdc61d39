"""Loaded by rawko in the control run of a check: code that agents changed neither ends the check with success nor
replaces what judges it. `guard.json` beside this file lists the files that are not such code. Programs that a test starts
are not guarded."""


def _guard():
    import atexit
    import builtins
    import json
    import os
    import sys
    import threading

    folder = os.path.dirname(os.path.abspath(__file__))

    def is_own(path):
        return bool(path) and os.path.abspath(path) == folder

    words = getattr(sys, "orig_argv", [""])
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    is_module = "-m" in words[1:2] or "-m" in words[2:3]
    starters = ("tox", "nox")
    is_starter = os.path.basename(script) in starters
    is_nested = os.environ.get("RAWKO_CONTROL_RUN") == "nested"
    with open(os.path.join(folder, "guard.json"), encoding="utf-8") as file:
        given = json.load(file)
    root, others, judges_exits = given["root"] + os.sep, frozenset(given["others"]), given["judges_exits"]
    tests = frozenset(given["tests"])
    ends, nonce = given["ends"], given["nonce"]
    # A script of the project that was there before may start the tests.
    is_starter = is_starter or not is_module and script.endswith(".py") and os.path.realpath(script) in others
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and not is_own(path)]
    if is_starter and not is_nested:
        os.environ["RAWKO_CONTROL_RUN"] = "nested"
    elif paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    if not is_starter:
        options = os.environ.get("NODE_OPTIONS", "").split()
        kept = [option for option in options if folder not in option]
        if kept != options:
            os.environ["NODE_OPTIONS"] = " ".join(kept)
    library = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    outside = os.path.join(library, "site-packages") + os.sep
    # Changed code may replace these.
    real_exit, get_pid, real_path, frame_of = os._exit, os.getpid, os.path.realpath, sys._getframe
    this_thread, first_thread, pid = threading.current_thread, threading.main_thread, os.getpid()

    def is_changed(name):
        if name.startswith("<"):
            return False
        path = real_path(name)
        is_installed = os.sep + "site-packages" + os.sep in path
        return path.startswith(root) and path not in others and not is_installed

    def is_work(name):
        """Changed code that is no new test: a test may skip itself and replace what it needs."""
        return is_changed(name) and real_path(name) not in tests

    def is_own_code(name):
        """Code of the project that is no test."""
        path = real_path(name)
        return path.startswith(root) and path not in tests and os.sep + "site-packages" + os.sep not in path

    def caller():
        """The nearest frame outside of the standard library."""
        frame = frame_of(1)
        while frame is not None:
            name = frame.f_code.co_filename
            is_library = name.startswith(library) and not name.startswith(outside)
            if not (is_library or name.startswith("<") or is_own(os.path.dirname(name))):
                return frame
            frame = frame.f_back
        return None

    def refuse(frame, what):
        name = frame if isinstance(frame, str) else frame.f_code.co_filename if frame else "a callback"
        sys.stderr.write("rawko: %s %s, so that the check ends without its result\n" % (name, what))
        sys.stderr.flush()
        real_exit(97)

    # A program proves that it came to its end: native code can leave without a call that Python sees. One that agents
    # changed is what a check judges, and proves nothing.
    main = "" if is_module else os.path.realpath(script)
    mark, write = None, open

    def kin():
        """The program, those above it and its group: a kill of one of them ends it."""
        found, at = [pid, os.getppid(), os.getpgrp()], pid
        try:
            while at > 1:
                found.append(at)
                with write("/proc/%d/stat" % at, encoding="utf-8", errors="replace") as file:
                    at = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            pass
        return " ".join(map(str, found))

    def spare(target):
        """Notes that unchanged code kills a program: it, and those below it, need not come to their end."""
        try:
            with write(os.path.join(ends, "kill-%d-%d" % (abs(target), os.getpid())), "w", encoding="utf-8") as file:
                file.write(nonce)
        except OSError:
            pass

    if not is_nested and not (main and is_changed(main)):
        mark = os.path.join(ends, "%d-%s" % (pid, os.urandom(8).hex()))
        try:
            with write(mark + ".begun", "w", encoding="utf-8") as file:
                file.write(kin() + "\n" + " ".join(words)[:200])
        except OSError:
            mark = None

    def ended():
        frame = caller()
        if mark is None or get_pid() != pid or frame is not None and is_changed(frame.f_code.co_filename):
            return
        with write(mark + ".ended", "w", encoding="utf-8") as file:
            file.write(nonce)

    def guarded_exit(status):
        if get_pid() == pid:
            verify()
        if get_pid() == pid and isinstance(status, int) and status & 0xFF == 0:
            frame = caller()
            if frame is None or is_changed(frame.f_code.co_filename):
                refuse(frame, "calls os._exit")
        ended()
        real_exit(status)

    os._exit = guarded_exit
    if "posix" in sys.modules:
        sys.modules["posix"]._exit = guarded_exit

    # The exit of a program that a test starts is what the test judges.
    if not judges_exits and not is_nested:
        real_sys_exit = sys.exit

        def sys_exit(status=None, /):
            if not status and this_thread() is first_thread():
                verify()
                frame = caller()
                is_main = frame is not None and frame.f_globals.get("__name__") == "__main__"
                if frame is not None and not is_main and is_changed(frame.f_code.co_filename):
                    refuse(frame, "calls sys.exit")
            real_sys_exit(status)

        sys.exit = sys_exit
        for name in ("exit", "quit"):
            if hasattr(builtins, name):
                setattr(builtins, name, sys_exit)

    import _rawko_calls
    import _rawko_tests
    import _rawko_values

    for name in ("_rawko_calls", "_rawko_tests", "_rawko_values"):
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if not is_own(path)]

    class Guard:
        """What the parts share."""

    guard = Guard()
    guard.is_changed, guard.is_work, guard.is_test = is_changed, is_work, lambda name: real_path(name) in tests
    kept = (os.path.join(folder, "guard.json"), os.path.join(ends, ""))
    guard.is_kept = lambda path: real_path(path).startswith(kept)
    guard.is_installed = lambda name: not name.startswith("<") and (
        name.startswith(library) or os.sep + "site-packages" + os.sep in name or os.sep + "dist-packages" + os.sep in name
    )
    guard.is_module = is_module
    guard.test_names = frozenset(os.path.splitext(os.path.basename(path))[0] for path in tests)
    guard.ended, guard.spare = ended, spare
    guard.frame_of, guard.get_pid = frame_of, get_pid
    guard.is_own_code, guard.caller, guard.refuse, guard.pid = is_own_code, caller, refuse, pid
    _rawko_values.watch(guard)
    verify = _rawko_tests.watch(guard)
    _rawko_calls.watch(guard)

    register = atexit.register

    def registered(function, *args, **keywords):
        """What code registers runs before the last look, not after it."""
        register(function, *args, **keywords)
        frame = caller()
        if frame is not None and is_changed(frame.f_code.co_filename):
            register(verify, True)
        return function

    # The function that is registered first runs last.
    register(ended)
    register(verify, True)
    atexit.register = registered


def _next():
    """Runs the `sitecustomize` that this one hides."""
    import importlib.util
    import sys

    own = sys.modules.pop("sitecustomize", None)
    try:
        if importlib.util.find_spec("sitecustomize") is not None:
            import sitecustomize  # noqa: F401
    except Exception:
        pass
    if "sitecustomize" not in sys.modules and own is not None:
        sys.modules["sitecustomize"] = own


try:
    _guard()
finally:
    _next()
