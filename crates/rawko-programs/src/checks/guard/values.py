"""A comparison that holds for everything compares nothing. See `exits.py`."""


def holds_for_everything(equal, value, other=None):
    """Returns true if a value equals all values, or all values of the kind of another one."""
    try:
        if all(_holds(equal(value, object())) for _ in range(2)):
            return True
        more = _variants(other, lambda variant: _holds(equal(value, variant)))
        return bool(more) and all(_holds(equal(value, variant)) for variant in more)
    except Exception:
        return False


def _holds(result):
    return result is not NotImplemented and bool(result)


def _variants(other, value_holds=None):
    """Values of the same kind that differ from it and from each other."""
    kind = type(other)
    if kind in (int, float):
        near = [kind(other + step) for step in (1, 2, 7)]
        if value_holds is not None and all(value_holds(variant) for variant in near):
            return near
        return [kind(other * 3 + step) for step in (1_000_003, -7_000_001, 20_000_017)]
    if kind in (str, bytes):
        return [other + other[:0].join([mark] * 3) for mark in (("a", "Z", "~") if kind is str else (b"a", b"Z", b"~"))]
    if kind in (list, tuple):
        return [other + kind([object()]) for _ in range(3)]
    if kind in (set, frozenset):
        return [other | {object()} for _ in range(3)]
    if kind is dict:
        return [{**other, object(): 1} for _ in range(3)]
    return []


def watch(guard):
    import builtins
    import functools

    build = builtins.__build_class__

    def guarded_build(function, name, *bases, **keywords):
        made = build(function, name, *bases, **keywords)
        equal = made.__dict__.get("__eq__") if isinstance(made, type) else None
        code = getattr(function, "__code__", None)
        if equal is None or not callable(equal) or code is None or not guard.is_changed(code.co_filename):
            return made

        @functools.wraps(equal)
        def compared(self, other):
            result = equal(self, other)
            # An object with a truth of its own, made by changed code, is one, too.
            truth = getattr(type(result), "__bool__", None) or getattr(type(result), "__len__", None)
            code = getattr(truth, "__code__", None)
            is_made = code is not None and guard.is_work(code.co_filename)
            is_held = (isinstance(result, int) or is_made) and bool(result)
            return NotImplemented if is_held and holds_for_everything(equal, self, other) else result

        try:
            made.__eq__ = compared
        except Exception:
            pass
        return made

    builtins.__build_class__ = guarded_build


def permissive(guard):
    """Returns a class of changed code, however it was made, whose values equal everything."""
    seen, left = set(), [object]
    while left:
        for made in type.__subclasses__(left.pop()):
            if made in seen:
                continue
            seen.add(made)
            left.append(made)
            equal = made.__dict__.get("__eq__")
            equal = getattr(equal, "__wrapped__", equal)
            code = getattr(equal, "__code__", None)
            if code is None or not guard.is_work(code.co_filename):
                continue
            try:
                value = made.__new__(made)
            except Exception:
                continue
            if holds_for_everything(equal, value):
                return made
    return None
