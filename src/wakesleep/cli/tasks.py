"""`wakesleep tasks`: what there is to learn."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from wakesleep.jobs import load_modules

if TYPE_CHECKING:
    from wakesleep.worlds.registry import TaskInfo


def tasks(domain: str | None = None, paper: bool = False, load: tuple[str, ...] = ()) -> None:
    """List the tasks, domain by domain.

    Args:
        domain: only tasks of this domain.
        paper: only tasks of the paper.
        load: modules of yours to import first: they register tasks.
    """
    from wakesleep.worlds import registry

    load_modules(load)
    by_domain: dict[str, list[TaskInfo]] = {}
    for name in registry.tasks(domain, paper_only=paper):
        info = registry.task_info(name)
        by_domain.setdefault(info.domain, []).append(info)
    width = Console().width
    print("\n\n".join("\n".join(_section(*section, width)) for section in by_domain.items()))


def _section(domain: str, infos: "list[TaskInfo]", width: int) -> Iterator[str]:
    """The lines of one domain: goals beside the names where all fit into the width, else below them."""
    of_paper = sum(info.in_paper for info in infos)
    yield f"{domain}: {len(infos)} task{'s' * (len(infos) != 1)}" + f", {of_paper} in the paper (*)" * (of_paper > 0)
    names = [f"  {'*' if info.in_paper else ' '} {info.name}" for info in infos]
    column = max(map(len, names)) + 2
    beside = all(column + len(info.goal) <= width for info in infos)
    for name, info in zip(names, infos, strict=True):
        if beside or not info.goal:
            yield f"{name:<{column}}{info.goal}".rstrip()
        else:
            yield name
            yield from textwrap.wrap(info.goal, width, initial_indent=" " * 6, subsequent_indent=" " * 6)
