"""The page: style, scripts and data in one HTML file that needs nothing else."""

import json
import math
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError

_SCRIPTS = ("core.js", "charts.js", "minigrid.js", "results.js", "sleep.js", "main.js")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src {}"


def page(data: dict[str, Any], title: str = "Lifetimes", live: bool = False) -> str:
    """The HTML of the page. Its content policy forbids all requests, except that a live page may poll its server.

    Args:
        data: from `Reporter.data`.
        title: of the page.
        live: whether the page polls the server that it came from.
    """
    folder = files("wakesleep.reporting") / "page"
    parts = {
        "TITLE": escape(title),
        "POLICY": _POLICY.format("'self'" if live else "'none'"),
        "STYLE": (folder / "report.css").read_text(encoding="utf-8"),
        "DATA": to_text({**data, "live": live}),
        "SCRIPT": "\n".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS),
    }
    begin, *rest = (folder / "report.html").read_text(encoding="utf-8").split("{{")
    pieces = [begin]
    for part in rest:  # one pass: inserted text is never searched for placeholders
        name, text = part.split("}}", 1)
        pieces += [parts[name], text]
    return "".join(pieces)


def to_text(data: dict[str, Any]) -> str:
    """JSON that can stand inside a script element; NaN and infinities (of an agent that diverged) are null."""
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_page(file: Path, text: str) -> None:
    """Write the page, atomically."""
    if file.is_dir():
        raise UserError(f"{file} is a folder: name the file to write, such as {file / 'report.html'}")
    if not file.parent.is_dir():
        raise UserError(f"there is no folder {file.parent} to write {file.name} in")
    try:
        store.write_atomically(file, lambda beside: beside.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}") from error
