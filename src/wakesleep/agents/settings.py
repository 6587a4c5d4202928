"""Settings of agents as plain data: to write them down in full, and to change one of them by its name.

override(WakeSleepConfig(), {"sleep.iterations": 5000, "model.architecture": "two-headed"})
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import yaml

from wakesleep.errors import UserError


def to_dict(config: Any) -> Any:
    """Every setting, as what JSON knows."""
    if is_dataclass(config):
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
    return config._replace(**new) if hasattr(config, "_replace") else replace(config, **new)


def _fields(config: Any) -> dict[str, Any]:
    if is_dataclass(config):
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
