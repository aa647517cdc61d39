"""Calls by which changed code ends a process, looks at the test that calls it, or skips it. See `exits.py`."""

import os
import sys
import threading

# Functions of the C library that end a process.
ENDINGS = {"_exit", "_Exit", "exit", "quick_exit", "syscall", "Py_Exit", "Py_Finalize", "Py_FinalizeEx", "Py_RunMain"}
ENDINGS |= {"Py_Main", "Py_BytesMain", "longjmp", "siglongjmp", "execve", "execv", "fexecve"}
# What shows the values of another function.
INSIDE = {"f_locals", "co_consts", "f_trace", "tb_frame", "gi_frame", "code_context"}
FRAMEWORKS = {"unittest", "pytest", "_pytest", "nose", "nose2"}
SUPPORT = "test.support"
# Calls that show or lead to the objects of a test runner.
WATCHING = {"sys.settrace", "gc.get_objects", "gc.get_referrers", "gc.get_referents"}
OUTCOMES = {"Skipped", "XFailed", "Exit"}


def watch(guard):
    is_work = guard.is_work

    def calling(frame):
        """The tests on the stack above a frame."""
        while frame is not None:
            if guard.is_test(frame.f_code.co_filename):
                yield os.path.realpath(frame.f_code.co_filename)
            frame = frame.f_back

    def is_listing(frame, last):
        """The stack is listed with lines of source, as for a log."""
        while frame is not None and frame is not last:
            name = frame.f_code.co_filename
            if name.endswith(os.sep + "traceback.py") or frame.f_code.co_name == "getframeinfo":
                return True
            frame = frame.f_back
        return False

    kills = {"os.kill", "os.killpg"}
    events = {"os.exec", "open", *kills, "sys._getframe", "object.__setattr__", *WATCHING}
    busy = threading.local()

    def hook(event, args):
        # Looking at frames is an event, too.
        if (event in events or event.startswith("ctypes.dlsym")) and not getattr(busy, "is_on", False):
            busy.is_on = True
            try:
                judge(event, args)
            finally:
                busy.is_on = False

    def judge(event, args):
        if event == "os.exec" or event.startswith("ctypes.dlsym") and args[1] in ENDINGS:
            frame = guard.caller()
            if guard.get_pid() == guard.pid and frame is not None and guard.is_changed(frame.f_code.co_filename):
                guard.refuse(frame, "replaces the process" if event == "os.exec" else "calls %s" % args[1])
            if event == "os.exec":
                guard.ended()
        elif event == "open" and isinstance(args[0], str) and guard.is_kept(args[0]):
            frame = guard.caller()
            if frame is not None and guard.is_changed(frame.f_code.co_filename):
                guard.refuse(frame, "opens files of this run")
        elif event == "open" and isinstance(args[0], str) and args[0].endswith(".py"):
            frame = guard.caller()
            if frame is not None and is_work(frame.f_code.co_filename):
                is_looking = INSIDE.intersection(frame.f_code.co_names) or not is_listing(guard.frame_of(2), frame)
                if is_looking and os.path.realpath(args[0]) in calling(frame):
                    guard.refuse(frame, "reads the test that calls it")
        elif event in kills and args[1]:
            frame = guard.caller()
            if frame is None or not guard.is_changed(frame.f_code.co_filename):
                guard.spare(args[0])
        elif event in WATCHING:
            frame = guard.caller()
            if frame is not None and is_work(frame.f_code.co_filename):
                guard.refuse(frame, "watches the test")
        elif event == "sys._getframe":
            frame = guard.frame_of(2)
            if frame.f_code.co_filename.endswith((os.sep + "inspect.py", os.sep + "traceback.py")):
                frame = guard.caller()
            if frame is not None and is_work(frame.f_code.co_filename):
                if INSIDE.intersection(frame.f_code.co_names) and any(calling(frame)):
                    guard.refuse(frame, "looks into the test that calls it")
        elif event == "object.__setattr__" and args[1] in ("__code__", "__class__", "__bases__"):
            frame = guard.caller()
            code = getattr(args[0], "__code__", None)
            is_own = code is not None and is_work(code.co_filename)
            if frame is not None and is_work(frame.f_code.co_filename) and args[1] == "__code__" and not is_own:
                guard.refuse(frame, "replaces the code of a function")

    sys.addaudithook(hook)
    _watch_imports(guard)
    _watch_skips(guard)


def _watch_imports(guard):
    """Test frameworks are for tests."""
    import builtins
    import importlib

    real_import, real_module = builtins.__import__, importlib.import_module

    def verify(name):
        is_framework = isinstance(name, str) and (name.split(".")[0] in FRAMEWORKS or name.startswith(SUPPORT))
        if not is_framework:
            return
        # Imports by the interpreter itself have no frame.
        frame = guard.frame_of(1).f_back
        if frame is not None and guard.is_work(frame.f_code.co_filename):
            raise ImportError("%s imports %s, which is for tests" % (frame.f_code.co_filename, name))

    def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0:
            verify(name)
        return real_import(name, globals, locals, fromlist, level)

    def import_module(name, package=None):
        verify(name)
        return real_module(name, package)

    builtins.__import__, importlib.import_module = guarded_import, import_module


def raised_by_work(guard, error):
    """True if an exception came through changed code that is no test, however it was made."""
    place = error.__traceback__ if error is not None else None
    while place is not None:
        if guard.is_work(place.tb_frame.f_code.co_filename):
            return True
        place = place.tb_next
    return False


def _watch_outcomes(guard, builtins):
    """pytest takes some exceptions for a skip or for its end."""
    build = builtins.__build_class__

    def guarded_build(function, name, *bases, **keywords):
        made = build(function, name, *bases, **keywords)
        file = getattr(getattr(function, "__code__", None), "co_filename", "")
        if name == "CallInfo" and file.endswith(os.path.join("_pytest", "runner.py")):
            real = made.from_call.__func__

            def from_call(cls, *args, **keywords):
                try:
                    result = real(cls, *args, **keywords)
                except BaseException as error:
                    if type(error).__name__ in OUTCOMES and raised_by_work(guard, error):
                        guard.refuse("changed code", "ends the tests")
                    raise
                error = result.excinfo.value if result.excinfo is not None else None
                if type(error).__name__ in OUTCOMES | {"SkipTest"} and raised_by_work(guard, error):
                    guard.refuse("changed code", "skips a test")
                return result

            made.from_call = classmethod(from_call)
        return made

    builtins.__build_class__ = guarded_build


def _watch_skips(guard):
    """Only tests skip tests."""
    import builtins
    from unittest import case

    def refusing(begin):
        def begun(self, *args, **keywords):
            frame = guard.caller()
            if frame is not None and guard.is_work(frame.f_code.co_filename):
                guard.refuse(frame, "skips a test")
            begin(self, *args, **keywords)

        return begun

    case.SkipTest.__init__ = refusing(case.SkipTest.__init__)
    _watch_outcomes(guard, builtins)
    build = builtins.__build_class__

    def guarded_build(function, name, *bases, **keywords):
        made = build(function, name, *bases, **keywords)
        code = getattr(function, "__code__", None)
        if name in OUTCOMES and code is not None and code.co_filename.endswith(os.sep + "outcomes.py"):
            made.__init__ = refusing(made.__init__)
        return made

    builtins.__build_class__ = guarded_build
