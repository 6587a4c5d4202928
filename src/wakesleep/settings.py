"""Settings of agents as plain data: to write them down in full, and to change one of them by its name.

override(WakeSleepConfig(), {"sleep.iterations": 5000, "model.architecture": "two-headed"})
"""

import ast
import inspect
import itertools
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import yaml

from wakesleep.errors import UserError


def to_dict(config: Any) -> Any:
    """Every setting, as what JSON knows."""
    if is_dataclass(config) and not isinstance(config, type):
        return {name: to_dict(value) for name, value in _fields(config).items()}
    if isinstance(config, tuple) and hasattr(config, "_asdict"):
        return {name: to_dict(value) for name, value in config._asdict().items()}
    if isinstance(config, Enum):
        return config.value
    return [to_dict(value) for value in config] if isinstance(config, tuple | list) else config


def parse_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    """Changes as they are written on a command line: `sleep.iterations=5000`."""
    parsed = {}
    for text in overrides:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UserError(f"a setting is changed by name=value (sleep.iterations=5000), not by {text!r}")
        try:
            parsed[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UserError(f"the value in {text!r} cannot be read") from error
    return parsed


def override(config: Any, overrides: Mapping[str, Any]) -> Any:
    """The settings with some of them changed, all at once; names, types and how they fit together are checked."""
    return _override(config, overrides, "") if overrides else config


def _override(config: Any, overrides: Mapping[str, Any], group: str) -> Any:
    known, inner = _fields(config), dict[str, dict[str, Any]]()
    for name, value in overrides.items():
        head, _, rest = name.partition(".")
        if head not in known:
            there = f"there are {', '.join(known)}" if known else "there are none at that place"
            raise UserError(f"no setting is called {group + name!r}: {there}")
        inner.setdefault(head, {})[rest] = value
    new = {}
    for head, below in inner.items():
        name, old = group + head, known[head]
        new[head] = coerce(old, below[""], name) if "" in below else _override(old, below, f"{name}.")
    return _replace(config, new)


def map_settings(config: Any, function: Callable[[Any], Any]) -> Any:
    """The settings with a function applied to every group of them, inner groups first."""
    changed = {name: map_settings(value, function) for name, value in _fields(config).items() if _fields(value)}
    return function(_replace(config, changed)) if _fields(config) else config


def _replace(config: Any, changed: Mapping[str, Any]) -> Any:
    return config._replace(**changed) if hasattr(config, "_replace") else replace(config, **changed)


def _fields(config: Any) -> dict[str, Any]:
    if is_dataclass(config) and not isinstance(config, type):
        return {field.name: getattr(config, field.name) for field in fields(config)}
    return config._asdict() if hasattr(config, "_asdict") else {}


def coerce(old: Any, value: Any, name: str) -> Any:
    """The value as the type that the setting has."""
    if _fields(old):
        raise UserError(
            f"{name} is a group of settings: change one of {', '.join(f'{name}.{key}' for key in _fields(old))}"
        )
    if isinstance(old, Enum):
        names = [choice.value for choice in type(old)]
        if value not in names:
            raise UserError(f"{name} is one of {', '.join(names)}, not {value!r}")
        return type(old)(value)
    if isinstance(old, float) and isinstance(value, int | str) and not isinstance(value, bool):
        try:
            return float(value)  # YAML takes 1e-3 for a word
        except ValueError:
            pass
    if (
        isinstance(old, tuple)
        and isinstance(value, list)
        and value
        and all(type(item) is type(old[0]) for item in value)
    ):
        return tuple(value)
    if type(value) is not type(old):
        raise UserError(f"{name} is {_kind(old)}, such as {to_dict(old)!r}, not {value!r}")
    return value


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "a word", tuple: "a list"}
    return kinds.get(type(value), "something else")


def describe_settings(config: Any, group: str = "") -> list[tuple[str, str, str]]:
    """Name, value and explanation of every setting; the explanation is the text that stands below it in the code."""
    if config is None:
        return []
    rows, texts = [], _field_texts(type(config))
    for name, value in _fields(config).items():
        if _fields(value):
            rows += describe_settings(value, f"{group}{name}.")
        else:
            rows.append((group + name, json.dumps(to_dict(value)), texts.get(name, "")))
    return rows


def _field_texts(kind: type[Any]) -> dict[str, str]:
    """The strings that stand below the fields of a class, those of its parents included."""
    texts: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        except (OSError, TypeError, SyntaxError):  # no source: typed into a shell
            continue
        lines = getattr(body, "body", [])
        for field, text in itertools.pairwise(lines):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                texts[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return texts
