"""JSON Schemas from the annotations of a handler: scalars, lists, maps, literals, optionals, TypedDicts, dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from typing import Any, Callable

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schemas_of(handler: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns the schemas of the first parameter and of the result; None where there is no annotation."""
    hints = typing.get_type_hints(handler, include_extras=False)
    parameters = [name for name in inspect.signature(handler).parameters if name != "self"]
    given = hints.get(parameters[0]) if parameters else None
    return schema_of(given), schema_of(hints["return"]) if "return" in hints else None


def schema_of(hint: Any) -> Any:
    """Returns the schema of a type, or None if the type says nothing."""
    if hint is None or hint is Any or hint is object or hint is inspect.Parameter.empty:
        return {"type": "null"} if hint is type(None) else None
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (list, tuple, set) or hint is list:
        items = schema_of(arguments[0]) if arguments else None
        return {"type": "array", **({"items": items} if items else {})}
    if origin is dict or hint is dict:
        values = schema_of(arguments[1]) if arguments else None
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        parts = [schema_of(part) for part in arguments]
        if any(part is None for part in parts):
            return None
        if all(set(part) == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}
    if dataclasses.is_dataclass(hint):
        fields = dataclasses.fields(hint)
        required = [
            field.name
            for field in fields
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        return _object(typing.get_type_hints(hint), required)
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint)
        return _object(hints, [name for name in hints if name in hint.__required_keys__])
    raise TypeError(f"no schema for {hint!r}; use JSON types, TypedDicts or dataclasses, or pass input= and output=")


def _object(hints: dict[str, Any], required: list[str]) -> dict[str, Any]:
    properties = {name: schema_of(hint) or {} for name, hint in hints.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def into(hint: Any, value: Any) -> Any:
    """Returns a dataclass for a map, if the handler takes one; other values as they are."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        hints = typing.get_type_hints(hint)
        return hint(**{name: into(hints.get(name), part) for name, part in value.items() if name in hints})
    return value


def plain(value: Any) -> Any:
    """Returns a map for a dataclass; other values as they are."""
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
