"""`make demo`: what there is so far, small, in a minute or two.

Draws optimal and random episodes of some tasks into the folder `demo`, steps both Minigrids side by side and prints
how fast they are.
"""

import time
from pathlib import Path

import jax
from rich.console import Console
from rich.table import Table

from wakesleep import runtime
from wakesleep.worlds import episode, registry
from wakesleep.worlds.batch import random_rollout
from wakesleep.worlds.minigrid.farama import make_env
from wakesleep.worlds.minigrid.parity import compare
from wakesleep.worlds.minigrid.solve import shortest_plan
from wakesleep.worlds.minigrid.tasks import TASKS
from wakesleep.worlds.world import compiled_reset

FOLDER = Path("demo")
OPTIMAL = ("SimpleCrossing_S9N2", "DistShift_R2", "CustomFetch_S8T1N2", "CustomUnlock_S7", "DoorKey_S6")
RANDOM = ("DoorKey_S5", "DynObstacles_S8N2")
NUM_ENVS, NUM_STEPS = 64, 2_000


def main() -> None:
    """Run the demonstration."""
    runtime.set_up()
    console = Console()
    FOLDER.mkdir(exist_ok=True)
    console.rule("Episodes")
    for name in OPTIMAL:
        _draw(name, "optimal", console)
    for name in RANDOM:
        _draw(name, "random", console)
    console.rule("Side by side with the real minigrid package")
    for name in ("DoorKey_S5", "DynObstacles_S8N2"):
        report = compare(name, steps=2_000)
        console.print(f"{name}: {report.steps:,} steps compared, {len(report.mismatches)} differences")
    console.rule("Speed, one core")
    console.print(_speeds())
    console.print(f"Pictures are in {FOLDER}/. Next: `wakesleep tasks`, `wakesleep play --help`, README.md.")


def _draw(name: str, who: str, console: Console) -> None:
    world, key = TASKS[name].world(), jax.random.key(1)
    start = compiled_reset(world, key)
    plan = shortest_plan(world, start[0]) if who == "optimal" else None
    policy = episode.plan_player(plan) if plan else episode.random_player(world)
    played = episode.record(world, policy, key, start, max_steps=60)
    file = FOLDER / f"{name}-{who}.gif"
    episode.save(list(episode.frames(world, played)), file)
    console.print(f"{file}: {len(played.actions)} steps, return {played.total_reward:.3f}")


def _speeds() -> Table:
    rollout = jax.jit(random_rollout, static_argnums=(2, 3))
    table = Table("task", "minigrid, steps/s", f"wakesleep, {NUM_ENVS} environments, steps/s", "ratio")
    for name in registry.tasks("minigrid", paper_only=True):
        env, count = make_env(name), 2_000
        env.reset(seed=0)
        begin_time = time.perf_counter()
        for step in range(count):
            _, _, terminated, truncated, _ = env.step(step * 7 % 6)
            if terminated or truncated:
                env.reset()
        reference = count / (time.perf_counter() - begin_time)
        world = TASKS[name].world()
        jax.block_until_ready(rollout(world, jax.random.key(0), NUM_ENVS, NUM_STEPS))
        begin_time = time.perf_counter()
        jax.block_until_ready(rollout(world, jax.random.key(1), NUM_ENVS, NUM_STEPS))
        ours = NUM_ENVS * NUM_STEPS / (time.perf_counter() - begin_time)
        table.add_row(name, f"{reference:,.0f}", f"{ours:,.0f}", f"{ours / reference:.0f}x")
    return table


if __name__ == "__main__":
    main()
