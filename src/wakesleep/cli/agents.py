"""`wakesleep agents`: the agents, and every setting of one of them."""

from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from wakesleep.jobs import load_modules


def agents(
    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[NAME]")] = None,
    preset: str | None = None,
    domain: str = "minigrid",
    learner: str | None = None,
    load: tuple[str, ...] = (),
) -> None:
    """List the agents, or all settings of one with their values.

    Args:
        name: whose settings.
        preset: paper or fast; fast, unless the agent has no presets.
        domain: whose presets: minigrid, starcraft, or one of yours.
        learner: with another wake learner.
        load: modules of yours to import first: they register agents and learners.
    """
    from wakesleep.agents.presets import agent_about, agent_config, agent_names
    from wakesleep.settings import describe_settings

    load_modules(load)
    console = Console()
    if name is None:
        listed = Table("agent", "what it is", box=None, pad_edge=False)
        for one in agent_names():
            listed.add_row(one, agent_about(one))
        console.print(listed)
        console.print("\n`wakesleep agents NAME` lists the settings of one.", highlight=False)
        return
    table = Table("setting", "value", "what it is", box=None, pad_edge=False)
    for setting, value, text in describe_settings(agent_config(name, preset, None, domain, None, learner)):
        table.add_row(setting, value, text)
    console.print(table)
    console.print("\nChange one with `wakesleep run --set NAME=VALUE`.", highlight=False)
