"""The StarCraft simulator: how fast it is, and how scripted players fare beside what is published of the real game.

    taskset -c 0 python benchmarks/starcraft.py speed
    taskset -c 0 python benchmarks/starcraft.py loop
    python benchmarks/starcraft.py calibrate
    python benchmarks/starcraft.py experts FOLDER --picture curves.png

Speed: random actions, observations drawn and episodes restarted, everything on one core; the best of many short
rounds, in time of the processor as well, which other load on the machine disturbs less.
"""

import dataclasses
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from wakesleep import runtime
from wakesleep.experts.expert import Expert, load_experts
from wakesleep.lifetime.spec import stored_spec
from wakesleep.wake.envs import evaluate
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.learners import learner_config, make_learner
from wakesleep.wake.make_envs import jax_world
from wakesleep.wake.train import train
from wakesleep.worlds import registry
from wakesleep.worlds.batch import random_rollout
from wakesleep.worlds.episode import random_player
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.players import episode_returns, place_near
from wakesleep.worlds.starcraft.tasks import EPISODE_STEPS, TASKS, StarcraftTask, StarcraftWorld
from wakesleep.worlds.starcraft.units import Order
from wakesleep.worlds.starcraft.waves import State
from wakesleep.worlds.world import MaskedObservation

PAPER_RATE = (35, 46)
"""Steps per second of the paper's whole loop: a condensed lifetime, 12 million steps, in 3 to 4 days on an RTX 2080."""

PUBLISHED = {
    ("CollectMineralShards_nofog", "PySC2's random"): "17 / 35 (SC2LE), 18.5 / 32 (another run)",
    ("CollectMineralShards_nofog", "random"): "",
    ("CollectMineralShards_nofog", "alternate"): "113, sd 6 / 125 (script); FullyConvConfig 103 / 134",
    ("DefeatRoaches_one", "PySC2's random"): "1 / 46 (SC2LE), -4 / 11 (another run)",
    ("DefeatRoaches_one", "random"): "",
    ("DefeatRoaches_one", "attack-move"): "",
    ("DefeatRoaches_one", "focus-fire"): "25, sd 24 / 91 (script); 97 / 345 (another); human 41 / 81",
    ("DefeatZerglingsAndBanelings_one", "PySC2's random"): "23 / 118 (SC2LE), 18.1 / 72 (another run)",
    ("DefeatZerglingsAndBanelings_one", "random"): "",
    ("DefeatZerglingsAndBanelings_one", "attack-move"): "",
    ("DefeatZerglingsAndBanelings_one", "focus-fire"): "",
    ("DefeatZerglingsAndBanelings_one", "bait"): "108, sd 41 / 220 (script); FullyConvConfig 62 / 251",
    ("CollectMineralShards_fog", "random"): "",
    ("CollectMineralShards_fog", "alternate"): "",
    ("DefeatRoaches_two", "random"): "",
    ("DefeatRoaches_two", "attack-move"): "",
    ("DefeatRoaches_two", "focus-fire"): "",
    ("DefeatZerglingsAndBanelings_two", "random"): "",
    ("DefeatZerglingsAndBanelings_two", "attack-move"): "",
    ("DefeatZerglingsAndBanelings_two, by group", "random"): "",
    ("DefeatZerglingsAndBanelings_two, by group", "attack-move"): "",
}
"""Mean / greatest return of the real game by task and player, where there is one."""

app = tyro.extras.SubcommandApp()


def pysc2_random(state: State, observation: MaskedObservation, key: jax.Array) -> jax.Array:
    """PySC2's random agent, whose score is published, as nearly as our functions allow.

    It chooses among the sixteen functions that PySC2 offers for Marines, not our thirteen: also select_army, an idle
    control group, and the four orders on the minimap. Half of its orders are queued: here those wait for an idle unit.
    """
    kind_key, part_key, place_key, queue_key = jax.random.split(key, 4)
    parts = jax.random.randint(part_key, (len(interface.PARTS),), 0, jnp.asarray(interface.ACTION_SPEC.sizes))
    choice = jax.random.randint(kind_key, (), 0, jnp.where(observation.action_mask[interface.MOVE], 16, 6))
    orders = (interface.ATTACK, interface.MOVE, interface.PATROL, interface.SMART)
    selecting = (interface.NO_OP, interface.MOVE_CAMERA, interface.SELECT_POINT, interface.SELECT_RECT, interface.NO_OP)
    functions = (*selecting, interface.SELECT_RECT, *orders, *orders, interface.HOLD, interface.STOP)
    chosen = parts.at[0].set(jnp.asarray(functions)[choice])
    x, y = 64 * jax.random.uniform(place_key, (2,))  # anywhere on the map, which is larger than the arena
    chosen = jnp.where((choice >= 10) & (choice < 14), chosen.at[1].set(place_near(x, y, interface.SCREEN)), chosen)
    chosen = jnp.where(choice == 5, interface.action(interface.SELECT_RECT, screen2=interface.GRID**2 - 1), chosen)
    busy = jnp.any(state.units.selected & state.units.alive & (state.units.order != Order.IDLE))
    waits = busy & (choice >= 6) & jax.random.bernoulli(queue_key)
    return jnp.where(waits, interface.action(interface.NO_OP), chosen)


def task_of(name: str) -> StarcraftTask:
    """A task, or the other reading of one."""
    known, _, other = name.partition(", ")
    return dataclasses.replace(TASKS[known], by_group=True) if other else TASKS[known]


@app.command
def calibrate(episodes: int = 200, seed: int = 0, task: str = "", player: str = "") -> None:
    """Play scripted players and print their returns.

    Args:
        episodes: of each player.
        seed: of layouts, cooldowns and the random player.
        task: only tasks whose name contains this.
        player: only this one.
    """
    runtime.set_up()
    # the same functions for every task: compiled once each
    world = TASKS["DefeatRoaches_one"].world()
    players = {"random": random_player(world), "PySC2's random": pysc2_random} | world.scripted_policies()
    run = jax.jit(episode_returns, static_argnums=(1, 3, 4))
    table = Table(title=f"Returns of {episodes} episodes, 64 x 64 screen, 16 x 16 places")
    for column in ("task", "player", "mean", "sd", "least", "greatest", "the real game: mean / greatest"):
        table.add_column(column, justify="right" if column in ("mean", "sd", "least", "greatest") else "left")
    for (name, who), published in PUBLISHED.items():
        if task not in name or player not in ("", who):
            continue
        result = np.asarray(run(task_of(name).world(), players[who], jax.random.key(seed), episodes, EPISODE_STEPS))
        numbers = (f"{result.mean():.1f}", f"{result.std():.1f}", f"{result.min():.0f}", f"{result.max():.0f}")
        table.add_row(name, who, *numbers, published)
        print(name, who, *numbers, flush=True)  # a long run shows what it has
    Console(width=160).print(table)


def best_rates(run: Callable[[jax.Array], object], steps: int, seconds: float) -> tuple[float, float]:
    """Steps per second in the best of many rounds, by the clock and by the processor's time."""
    best = [0.0, 0.0]
    start, number = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        key = jax.random.key(number)
        clock, processor = time.perf_counter(), time.process_time()
        jax.block_until_ready(run(key))
        spent = time.perf_counter() - clock, time.process_time() - processor
        best = [max(rate, steps / each) for rate, each in zip(best, spent, strict=True)]
        number += 1
    return best[0], best[1]


@app.command
def speed(seconds: float = 10.0, core: int = 0, num_envs: int = 32, num_steps: int = 60) -> None:
    """Measure the simulator alone.

    Args:
        seconds: how long to measure each number.
        core: which core to run on.
        num_envs: environments in a batch.
        num_steps: of a round.
    """
    os.sched_setaffinity(0, {core})
    os.environ[runtime.CACHE_VARIABLE] = ""  # compile times are those of a first run
    runtime.set_up()
    table = Table(title=f"Agent steps per second on one core, {num_envs} environments")
    for column in (
        "screen",
        "task",
        "by the clock",
        "by the processor",
        f"times the paper's {PAPER_RATE[1]} to {PAPER_RATE[0]}",
    ):
        table.add_column(column, justify="left" if column == "task" else "right")
    for screen in (64, 32):
        start = time.perf_counter()
        rollout = jax.jit(random_rollout, static_argnums=(2, 3, 4))
        first = TASKS["DefeatRoaches_one"].world(screen)
        compiled = rollout.lower(first, jax.random.key(0), num_envs, num_steps, num_envs).compile()
        spent = time.perf_counter() - start
        for name, task in TASKS.items():
            world = task.world(screen)
            clock, processor = best_rates(partial(compiled, world), num_envs * num_steps, seconds)
            ratios = " to ".join(f"{clock / rate:.0f}" for rate in PAPER_RATE[::-1])
            table.add_row(str(screen), name, f"{clock:,.0f}", f"{processor:,.0f}", ratios)
        table.add_section()
        print(f"compiled for {screen} x {screen}, cold, once for all tasks: {spent:.1f} s")
    Console(width=130).print(table)


@app.command
def loop(seconds: float = 30.0, core: int = 0, task: str = "DefeatRoaches_one") -> None:
    """Measure the whole V-trace loop: acting, the simulator, learning.

    Args:
        seconds: how long to measure each number.
        core: which core to run on.
        task: in which task.
    """
    os.sched_setaffinity(0, {core})
    runtime.set_up()
    table = Table(title=f"V-trace in {task}, whole loop on one core, agent steps per second")
    for column in ("screen", "preset", "environments", "by the clock", "by the processor", "times the paper's"):
        table.add_column(column, justify="right")
    for name, chosen in ((task, "paper"), (task, "fast"), (f"{task}Small", "fast")):
        world = registry.make(name)
        assert isinstance(world, StarcraftWorld)
        learner = make_learner(learner_config(chosen, "starcraft"), world.observation_spec, world.action_spec)
        envs, state = JaxEnvs(world, learner.num_envs), learner.init(jax.random.key(0))
        run = partial(train, learner, state, envs, envs.reset(jax.random.key(1)), iterations=4)
        jax.block_until_ready(run(jax.random.key(2)))
        clock, processor = best_rates(run, 4 * learner.num_envs * learner.num_steps, seconds)
        ratios = " to ".join(f"{clock / rate:.0f}" for rate in PAPER_RATE[::-1])
        numbers = f"{clock:,.0f}", f"{processor:,.0f}", ratios
        table.add_row(str(world.screen), chosen, str(learner.num_envs), *numbers)
        print(name, chosen, *numbers, flush=True)
    Console(width=130).print(table)


@app.command
def experts(
    folder: tyro.conf.Positional[Path],
    picture: Path | None = None,
    episodes: int = 100,
    scripts: tuple[str, ...] = ("random", "attack-move", "focus-fire", "alternate", "bait"),
) -> None:
    """Compare experts with newborn learners, chance and scripted players on the same worlds, and draw their curves.

    Args:
        folder: what `wakesleep experts train` made, of StarCraft tasks.
        picture: file for the learning curves.
        episodes: of each player.
        scripts: which players, where they fit.
    """
    runtime.set_up()
    run = jax.jit(episode_returns, static_argnums=(1, 3, 4))
    table, trained = Table(title=f"Mean returns of {episodes} episodes"), load_experts(folder)[0]
    for column in ("task", "newborn", "expert", "sd", "steps", "minutes", *scripts):
        table.add_column(column, justify="left" if column == "task" else "right")
    first = jax_world(trained[0].task, "this comparison")
    players, levels = {"random": random_player(first)} | first.scripted_policies(None), {}
    for expert in trained:
        world, agent = jax_world(expert.task, "this comparison"), stored_spec(expert.folder).make_agent()
        newborn = agent.policy(agent.init(jax.random.key(expert.seed)))
        before = float(evaluate(JaxEnvs(world), newborn, jax.random.key(1), episodes).total_reward.mean())
        fit = ("random", "alternate") if "Collect" in expert.task else ("random", "attack-move", "focus-fire", "bait")
        found = {
            who: float(np.mean(run(world, players[who], jax.random.key(0), episodes, EPISODE_STEPS)))
            for who in scripts
            if who in fit
        }
        levels[expert.task] = found
        numbers = (before, expert.mean_return, expert.returns.std())
        row = [f"{number:.1f}" for number in numbers] + [f"{expert.steps:,}", f"{expert.seconds / 60:.1f}"]
        table.add_row(expert.task, *row, *(f"{found[who]:.1f}" if who in found else "" for who in scripts))
        print(expert.task, *row, found, flush=True)
    Console(width=160).print(table)
    if picture is not None:
        draw_curves(trained, levels, picture)


def draw_curves(trained: list[Expert], levels: dict[str, dict[str, float]], picture: Path) -> None:
    """Returns of training episodes by steps, means of 50, beside chance and the scripts."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(13, 7), squeeze=False)
    for axis, expert in zip(axes.T.ravel(), trained, strict=False):
        steps, reward = expert.curve.steps, expert.curve.returns
        window = min(50, len(reward))
        means = np.convolve(reward, np.ones(window) / window, mode="valid")
        axis.plot(np.asarray(steps[window - 1 :]) / 1e3, means, color="tab:blue", label="V-trace, 50 episodes")
        for (who, level), line in zip(levels[expert.task].items(), ("--", "-.", ":", (0, (1, 4))), strict=False):
            axis.axhline(level, linestyle=line, color="black", linewidth=1, label=who)
        axis.set_title(expert.task, fontsize=10)
        axis.set_xlabel("thousand steps")
        axis.set_ylabel("return")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(picture, dpi=80)


if __name__ == "__main__":
    app.cli()
