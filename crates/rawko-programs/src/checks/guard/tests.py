"""The test frameworks are at the end what they were at the beginning, and tests run as they were loaded. See `exits.py`."""

import builtins
import contextlib
import os
import sys
import threading
import types
import weakref
from os import path as os_path

from _rawko_calls import raised_by_work
from _rawko_values import holds_for_everything, permissive

# Tests after which classes are searched; later ones rely on the search at the end.
SEARCHES_MAX = 200
# Functions by which a runner reports its result.
SYSTEM = ("exit", "exc_info", "modules", "_getframe")
# Functions by which the guards find out who calls.
OF_OS = ("_exit", "getpid", "fork", "lstat", "stat", "readlink", "fspath", "getcwd", "kill", "path")
OF_PATHS = ("realpath", "_joinrealpath", "join", "isabs", "abspath", "normpath", "split", "dirname", "basename")
OF_THREADS = ("current_thread", "main_thread")
TOOLS = ("builtins", "sys", "os", "os.path", "threading")
# Outcomes that a runner records for a test.
RECORDED = ("addSuccess", "addSkip", "addExpectedFailure", "addUnexpectedSuccess", "addSubTest")
FRAMEWORKS = ("unittest", "doctest", "pytest", "_pytest", "pluggy")


def watch(guard):
    import unittest
    from unittest import case, loader, main, result, runner, suite

    skip, equal, run, begin = (
        case.TestCase.skipTest,
        case.TestCase.assertEqual,
        case.TestCase.run,
        case.TestCase.__init__,
    )
    modules = (unittest, case, loader, main, result, runner, suite)
    loaded = {}

    def skip_test(self, reason):
        frame = guard.caller()
        if frame is not None and guard.is_work(frame.f_code.co_filename):
            raise AssertionError("%s skips a test" % frame.f_code.co_filename)
        skip(self, reason)

    def assert_equal(self, first, second, msg=None):
        for value, other in ((first, second), (second, first)):
            compare = getattr(type(value), "__eq__", None)
            code = getattr(compare, "__code__", None)
            if code is not None and guard.is_changed(code.co_filename) and holds_for_everything(compare, value, other):
                self.fail("a value equals everything")
        equal(self, first, second, msg)

    def begun(self, *args, **keywords):
        begin(self, *args, **keywords)
        found = getattr(type(self), getattr(self, "_testMethodName", ""), None)
        self._rawko_test = found, getattr(found, "__code__", None)

    def run_test(self, *args, **keywords):
        found = getattr(type(self), getattr(self, "_testMethodName", ""), None)
        if getattr(self, "_rawko_test", (found, None))[0] is not found:
            guard.refuse(_place(found), "replaces a test")
        if args and isinstance(args[0], result.TestResult):
            results.add(args[0])
        verify()
        own = args[0] if args and type(args[0]).__module__.startswith("unittest.") else None
        before = outcomes.get(own, 0) + failures.get(own, 0) if own is not None else 0
        try:
            return run(self, *args, **keywords)
        finally:
            verify()
            _verify_class(guard, type(self), case.TestCase)
            # An exception of the framework itself can end a test without any outcome, and its results stop the others.
            if own is not None and sys.exc_info()[0] is None:
                if outcomes.get(own, 0) + failures.get(own, 0) == before:
                    guard.refuse(self.id(), "has no outcome")
                if own.shouldStop and not failures.get(own):
                    guard.refuse(self.id(), "stops the tests")

    failures, outcomes = weakref.WeakKeyDictionary(), weakref.WeakKeyDictionary()
    succeeded = result.TestResult.wasSuccessful

    results = weakref.WeakSet()

    def counting(add):
        def added(self, *args, **keywords):
            failures[self] = failures.get(self, 0) + 1
            return add(self, *args, **keywords)

        return added

    def was_successful(self):
        """A list of failures can be emptied, the count cannot."""
        return succeeded(self) and not failures.get(self)

    def recording(name, add):
        def added(self, *args, **keywords):
            outcomes[self] = outcomes.get(self, 0) + 1
            if name == "addSkip" and raised_by_work(guard, sys.exc_info()[1]):
                guard.refuse("changed code", "skips a test")
            return add(self, *args, **keywords)

        return added

    for name in RECORDED:
        setattr(result.TestResult, name, recording(name, getattr(result.TestResult, name)))
    for name in ("addFailure", "addError"):
        setattr(result.TestResult, name, counting(getattr(result.TestResult, name)))
    if hasattr(case, "_addError"):
        case._addError = counting(case._addError)
    result.TestResult.wasSuccessful = was_successful
    case.TestCase.skipTest, case.TestCase.assertEqual = skip_test, assert_equal
    case.TestCase.run, case.TestCase.__init__ = run_test, begun
    _watch_parts(guard, case)
    _watch_modules(guard, loader)

    def contents():
        found = {}
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType):
                    found[module.__name__, name] = value
                    found[module.__name__, name, "code"] = (value.__code__,)
                elif isinstance(value, type) and value.__module__.startswith("unittest."):
                    found[module.__name__, name] = value
                    for key, member in list(vars(value).items()):
                        is_plain = isinstance(member, (types.FunctionType, type, bool, int, str))
                        if is_plain and not (key.startswith("_") and not callable(member)):
                            found[module.__name__, name, key] = member
                        if isinstance(member, types.FunctionType):
                            found[module.__name__, name, key, "code"] = (member.__code__,)
        for key, value in list(vars(loader.defaultTestLoader).items()) + list(vars(loader.TestLoader).items()):
            if isinstance(value, (str, bool)) and not key.startswith("_"):
                found["the loader", key] = getattr(loader.defaultTestLoader, key)
        places = (("sys", sys, SYSTEM), ("os", os, OF_OS), ("os.path", os_path, OF_PATHS), ("threading", threading, OF_THREADS))
        for place, module, names in places:
            for name in names:
                if hasattr(module, name):
                    found[place, name] = getattr(module, name)
        for name, value in list(vars(builtins).items()):
            if callable(value):
                found["builtins", name] = value
        return found

    before = contents()
    count = [0]

    def verify(is_last=False, own=None):
        if guard.get_pid() != guard.pid:
            return
        after = contents()
        for place, value in before.items():
            now = after.get(place)
            if now is value or isinstance(value, (str, bool)) and now == value:
                continue
            if isinstance(value, tuple) and (after.get(place[:-1]) is not before.get(place[:-1]) or now == value):
                continue
            code = getattr(now, "__code__", None)
            is_foreign = code is not None and not guard.is_changed(code.co_filename)
            # `monkeypatch` puts them back after the test: for tests of other files, they are what they were.
            is_foreign = is_foreign or code is not None and place[0] in TOOLS and code.co_filename == own
            # Tools replace builtins and functions of the system by their own, tests the loader's settings.
            is_tool = place[0] in TOOLS and (code is None and now is not None and not _is_builtin(now))
            if not is_foreign and not is_tool:
                guard.refuse(".".join(place), "was replaced")
        for place, value in after.items():
            code = getattr(value, "__code__", None)
            if place not in before and code is not None and guard.is_work(code.co_filename):
                guard.refuse(".".join(place), "was added")
        for seen in list(results):
            for name, value in list(vars(seen).items()):
                code = getattr(value, "__code__", None)
                if code is not None and guard.is_work(code.co_filename):
                    guard.refuse(code.co_filename, "replaces %s of the results" % name)
        count[0] += 1
        if is_last or count[0] <= 2 * SEARCHES_MAX:
            made = permissive(guard)
            if made is not None:
                guard.refuse("%s.%s" % (made.__module__, made.__qualname__), "equals everything")
        _verify_modules(guard, loaded)
        if is_last or count[0] <= 2 * SEARCHES_MAX:
            _verify_frameworks(guard)

    _watch_pytest(guard, verify)
    return verify


def _verify_frameworks(guard):
    """No function of a framework, or of the runner itself, is changed code."""
    for name, module in list(sys.modules.items()):
        is_runner = name == "__main__" and guard.is_module and guard.is_installed(getattr(module, "__file__", None) or "<none>")
        if not is_runner and name.split(".")[0] not in FRAMEWORKS:
            continue
        members = list(vars(module).items()) if isinstance(module, types.ModuleType) else []
        made = [value for _, value in members if isinstance(value, type) and value.__module__ == name]
        members += [member for owner in made for member in list(vars(owner).items())]
        for key, value in members:
            code = getattr(value, "__code__", None)
            if isinstance(value, types.FunctionType) and guard.is_work(code.co_filename):
                guard.refuse(code.co_filename, "replaces %s.%s" % (name, key))


def _watch_parts(guard, case):
    """A test ends without a failure by some exceptions of the framework: changed code raises none of them."""
    execute, kinds = case._Outcome.testPartExecutor, (case.SkipTest, getattr(case, "_ShouldStop", case.SkipTest))

    @contextlib.contextmanager
    def executed(self, *args, **keywords):
        with execute(self, *args, **keywords):
            try:
                yield
            except kinds as error:
                if raised_by_work(guard, error):
                    guard.refuse("changed code", "skips a test")
                raise

    case._Outcome.testPartExecutor = executed


def _watch_modules(guard, loader):
    """The module of a test is the one that its file made: changed code puts no other in its place."""
    from importlib.machinery import SourceFileLoader

    run, load, executed = SourceFileLoader.exec_module, loader.TestLoader.loadTestsFromModule, []

    def exec_module(self, module):
        executed.append(module)
        return run(self, module)

    def loaded(self, module, *args, **keywords):
        guard.verify_module(module)
        return load(self, module, *args, **keywords)

    def verify_module(module):
        name = getattr(module, "__name__", "").rpartition(".")[2]
        is_named = name != "__main__" and name in guard.test_names
        if is_named and not any(module is known for known in executed):
            guard.refuse("another module", "takes the place of %s" % name)

    guard.executed, guard.verify_module = executed, verify_module
    SourceFileLoader.exec_module = exec_module
    loader.TestLoader.loadTestsFromModule = loaded


def _verify_class(guard, made, framework):
    """Changed code gives a class of tests no assertions of its own; classes of its own may have them."""
    for owner in made.__mro__:
        if owner is framework:
            return
        module = sys.modules.get(owner.__module__)
        if guard.is_work(getattr(module, "__file__", None) or "<none>"):
            continue
        for name, value in list(vars(owner).items()):
            code = getattr(value, "__code__", None)
            if hasattr(framework, name) and code is not None and guard.is_work(code.co_filename):
                guard.refuse(code.co_filename, "replaces %s.%s" % (owner.__qualname__, name))


def _is_builtin(value):
    return isinstance(value, (types.BuiltinFunctionType, type))


def _place(function):
    code = getattr(function, "__code__", None)
    return "a callback" if code is None else code.co_filename


def _verify_modules(guard, loaded):
    """A new test does not replace functions of other modules for all tests."""
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if not isinstance(place, str) or name in loaded:
            continue
        loaded[name] = guard.is_own_code(place)
    for name, is_own_code in loaded.items():
        if not is_own_code:
            continue
        own = list(vars(sys.modules.get(name, types)).items())
        classes = [value for _, value in own if isinstance(value, type) and value.__module__ == name]
        own += [member for made in classes for member in list(vars(made).items())]
        for key, value in own:
            if not isinstance(value, types.FunctionType) or value.__module__ == name:
                continue
            file = value.__code__.co_filename
            if guard.is_changed(file) and guard.is_test(file):
                guard.refuse(file, "replaces %s.%s" % (name, key))


def _watch_pytest(guard, verify):
    """pytest runs the functions that it collected, and changed code adds no plugins to it."""
    build = builtins.__build_class__

    def guarded_build(function, name, *bases, **keywords):
        made = build(function, name, *bases, **keywords)
        file = getattr(getattr(function, "__code__", None), "co_filename", "")
        if name == "AssertionRewritingHook" and file.endswith(os_path.join("_pytest", "assertion", "rewrite.py")):
            exec_module = made.exec_module

            def noted(self, module):
                guard.executed.append(module)
                return exec_module(self, module)

            made.exec_module = noted
        if name == "Function" and file.endswith(os_path.join("_pytest", "python.py")):
            begin, run = made.__init__, made.runtest

            def begun(self, *args, **keywords):
                begin(self, *args, **keywords)
                guard.verify_module(getattr(self, "module", None))
                self._rawko_test = getattr(self.obj, "__func__", self.obj)

            def run_test(self):
                if getattr(self.obj, "__func__", self.obj) is not self._rawko_test:
                    guard.refuse(_place(self.obj), "replaces a test")
                own = getattr(getattr(self, "module", None), "__file__", None)
                own = own if own is not None and guard.is_test(own) else None
                verify(own=own)
                run(self)
                verify(own=own)

            made.__init__, made.runtest = begun, run_test
        if name == "PluginManager" and os.path.basename(os.path.dirname(file)) == "pluggy":
            register = made.register

            def registered(self, plugin, name=None):
                frame = sys._getframe(1)
                if guard.is_work(frame.f_code.co_filename) and not self.is_registered(
                    sys.modules.get(frame.f_globals.get("__name__"))
                ):
                    guard.refuse(frame, "adds a plugin")
                return register(self, plugin, name)

            made.register = registered
        return made

    builtins.__build_class__ = guarded_build
