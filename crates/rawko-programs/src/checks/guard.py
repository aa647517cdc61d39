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
    # A script of the project that was there before may start the tests.
    is_starter = is_starter or not is_module and script.endswith(".py") and os.path.realpath(script) in others
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and not is_own(path)]
    if is_starter and not is_nested:
        os.environ["RAWKO_CONTROL_RUN"] = "nested"
    elif paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [path for path in sys.path if not is_own(path)]
    library = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    outside = os.path.join(library, "site-packages") + os.sep
    real_exit, pid = os._exit, os.getpid()

    def is_changed(name):
        if name.startswith("<"):
            return False
        path = os.path.realpath(name)
        is_installed = os.sep + "site-packages" + os.sep in path
        return path.startswith(root) and path not in others and not is_installed

    def caller():
        """The nearest frame outside of the standard library."""
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            is_library = name.startswith(library) and not name.startswith(outside)
            if not (is_library or name.startswith("<") or os.path.abspath(name) == os.path.abspath(__file__)):
                return frame
            frame = frame.f_back
        return None

    def refuse(frame, what):
        name = frame.f_code.co_filename if frame is not None else "a callback"
        sys.stderr.write("rawko: %s %s, so that the check ends without its result\n" % (name, what))
        sys.stderr.flush()
        real_exit(97)

    def guarded_exit(status):
        if os.getpid() == pid and isinstance(status, int) and status & 0xFF == 0:
            frame = caller()
            if frame is None or is_changed(frame.f_code.co_filename):
                refuse(frame, "calls os._exit")
        real_exit(status)

    os._exit = guarded_exit
    if "posix" in sys.modules:
        sys.modules["posix"]._exit = guarded_exit

    # The exit of a program that a test starts is what the test judges.
    if not judges_exits and not is_nested:
        real_sys_exit = sys.exit

        def sys_exit(status=None, /):
            if not status and threading.current_thread() is threading.main_thread():
                frame = caller()
                is_main = frame is not None and frame.f_globals.get("__name__") == "__main__"
                if frame is not None and not is_main and is_changed(frame.f_code.co_filename):
                    refuse(frame, "calls sys.exit")
            real_sys_exit(status)

        sys.exit = sys_exit
        for name in ("exit", "quit"):
            if hasattr(builtins, name):
                setattr(builtins, name, sys_exit)

    endings = {"_exit", "_Exit", "exit", "quick_exit", "syscall"}

    def hook(event, args):
        is_ending = event == "os.exec" or event.startswith("ctypes.dlsym") and args[1] in endings
        if is_ending and os.getpid() == pid:
            frame = caller()
            if frame is not None and is_changed(frame.f_code.co_filename):
                refuse(frame, "replaces the process" if event == "os.exec" else "calls %s" % args[1])

    sys.addaudithook(hook)
    _guard_classes(is_changed)
    _guard_unittest(is_changed, caller, atexit, real_exit)


def _equals_everything(equal, value):
    try:
        results = [equal(value, object()) for _ in range(2)]
        return all(result is not NotImplemented and result for result in results)
    except Exception:
        return False


def _guard_classes(is_changed):
    """A comparison that holds for everything compares nothing."""
    import builtins
    import functools

    build = builtins.__build_class__

    def guarded_build(function, name, *bases, **keywords):
        made = build(function, name, *bases, **keywords)
        equal = made.__dict__.get("__eq__") if isinstance(made, type) else None
        code = getattr(function, "__code__", None)
        if equal is None or not callable(equal) or code is None or not is_changed(code.co_filename):
            return made

        @functools.wraps(equal)
        def compared(self, other):
            result = equal(self, other)
            is_held = isinstance(result, int) and bool(result)
            return NotImplemented if is_held and _equals_everything(equal, self) else result

        try:
            made.__eq__ = compared
        except Exception:
            pass
        return made

    builtins.__build_class__ = guarded_build


def _guard_unittest(is_changed, caller, atexit, real_exit):
    """The framework is at the end what it was at the beginning, and only tests skip tests."""
    import sys
    import types
    import unittest
    from unittest import case, loader, main, result, runner, suite

    skip = case.TestCase.skipTest

    def skip_test(self, reason):
        frame = caller()
        if frame is not None and is_changed(frame.f_code.co_filename):
            raise AssertionError("%s skips a test" % frame.f_code.co_filename)
        skip(self, reason)

    case.TestCase.skipTest = skip_test
    equal = case.TestCase.assertEqual

    def assert_equal(self, first, second, msg=None):
        for value in (first, second):
            compare = getattr(type(value), "__eq__", None)
            code = getattr(compare, "__code__", None)
            if code is not None and is_changed(code.co_filename) and _equals_everything(compare, value):
                self.fail("a value equals everything")
        equal(self, first, second, msg)

    case.TestCase.assertEqual = assert_equal

    def contents():
        found = {}
        for module in (unittest, case, loader, main, result, runner, suite):
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType):
                    found[module.__name__, name] = value
                elif isinstance(value, type) and value.__module__.startswith("unittest."):
                    found[module.__name__, name] = value
                    for key, member in list(vars(value).items()):
                        if isinstance(member, types.FunctionType):
                            found[module.__name__, name, key] = member
        return found

    before = contents()

    def verify():
        after = contents()
        for place, value in before.items():
            now = after.get(place)
            code = getattr(now, "__code__", None)
            is_other = now is not value and (code is None or is_changed(code.co_filename))
            if is_other:
                sys.stderr.write("rawko: %s was replaced\n" % ".".join(place))
                sys.stderr.flush()
                real_exit(97)

    atexit.register(verify)


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
