"""Proof that the engine is Minigrid: both stepped side by side from the same layouts with the same actions.

    python -m wakesleep.worlds.minigrid.parity --steps 100000

Farama's environments play whole episodes of random actions, and some optimal ones; the engine replays them and must
give the same observation, reward, `terminated` and `truncated` at every step. Balls of DynObstacles are put where
Farama's random numbers put them (that our own moves have the same distribution is a test of its own). Run it against
whichever `minigrid` you have installed.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from wakesleep.worlds.minigrid import engine
from wakesleep.worlds.minigrid.engine import State
from wakesleep.worlds.minigrid.farama import balls_of, layout_of, make_env
from wakesleep.worlds.minigrid.observe import observe
from wakesleep.worlds.minigrid.solve import shortest_plan
from wakesleep.worlds.minigrid.tasks import TASKS, MinigridWorld

_EPISODES_AT_ONCE = 32


class Outcomes(NamedTuple):
    """What each step of an episode led to; the first axis is the step."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any


class Recording(NamedTuple):
    """One episode of the reference environment, padded to the longest possible one."""

    layout: State
    first_observation: np.ndarray
    actions: np.ndarray
    balls: np.ndarray
    outcomes: Outcomes
    length: int


@dataclass
class Report:
    """The result of comparing one task."""

    task: str
    steps: int = 0
    episodes: int = 0
    successes: int = 0
    mismatches: list[str] = field(default_factory=list)


def record_reference(
    env: gymnasium.Env[Any, Any], rng: np.random.Generator, solver: MinigridWorld | None = None
) -> Recording:
    """Play an episode of random actions in the reference environment.

    Args:
        env: the reference environment; it is reset without a seed.
        rng: of the actions. In half of the episodes their frequencies are random too, to meet more of the task.
        solver: if given, the episode begins with the fewest actions that succeed in this world.
    """
    max_steps = engine.LONGEST_EPISODE
    weights = rng.dirichlet(np.ones(engine.NUM_ACTIONS)) if rng.random() < 0.5 else None
    actions = rng.choice(engine.NUM_ACTIONS, max_steps, p=weights).astype(np.int32)
    first, _ = env.reset()
    layout = layout_of(env)
    if solver is not None:
        plan = shortest_plan(solver, layout) or []
        actions[: len(plan)] = plan
    outcomes = Outcomes(
        np.zeros((max_steps, *first.shape), np.uint8),
        np.zeros(max_steps, np.float32),
        np.zeros(max_steps, bool),
        np.zeros(max_steps, bool),
    )
    balls = np.zeros((max_steps, engine.MAX_BALLS, 2), np.int32)
    for step in range(max_steps):
        result = env.step(int(actions[step]))
        for part, value in zip(outcomes, result[:4], strict=True):
            part[step] = value
        balls[step] = balls_of(env)
        if outcomes.terminated[step] or outcomes.truncated[step]:
            break
    return Recording(layout, first, actions, balls, outcomes, step + 1)


@jax.jit
def replay(world: MinigridWorld, layouts: State, actions: jax.Array, balls: jax.Array) -> tuple[jax.Array, Outcomes]:
    """Play recorded episodes in the engine.

    Args:
        world: of the task.
        layouts: initial states, with a leading axis of episodes.
        actions: integers, [episodes, steps].
        balls: where the reference environment put the moving balls, [episodes, steps, balls, 2].

    Returns:
        First observations, [episodes, 7, 7, 3], and outcomes with leading axes [episodes, steps].
    """

    def episode(layout: State, actions: jax.Array, balls: jax.Array) -> tuple[jax.Array, Outcomes]:
        def step(state: State, at: tuple[jax.Array, jax.Array]) -> tuple[State, Outcomes]:
            action, where = at
            moved = engine.place_balls(state, jnp.where(world.rules.balls_move, where, state.balls))
            state, *outcome = engine.respond(world.rules, state, moved, action)
            return state, Outcomes(observe(state, world.rules.see_through_walls), *outcome)

        return observe(layout, world.rules.see_through_walls), jax.lax.scan(step, layout, (actions, balls))[1]

    return jax.vmap(episode)(layouts, actions, balls)


def compare(task: str, steps: int, seed: int = 0) -> Report:
    """Step the reference and the engine side by side for at least `steps` steps of one task."""
    report, env, rng = Report(task), make_env(task), np.random.default_rng(seed)
    env.reset(seed=seed)
    world = TASKS[task].world()
    while report.steps < steps:
        solver = None if world.rules.balls_move else world  # random actions alone may never succeed
        recordings = [
            record_reference(env, rng, solver if episode == 0 else None) for episode in range(_EPISODES_AT_ONCE)
        ]
        layouts, _, actions, balls, _, _ = jax.tree.map(lambda *leaves: np.stack(leaves), *recordings)
        first, outcomes = jax.tree.map(np.asarray, replay(world, layouts, actions, balls))
        for number, recording in enumerate(recordings):
            length = recording.length
            report.episodes += 1
            report.steps += length
            report.successes += bool(recording.outcomes.reward[length - 1] > 0)
            if not np.array_equal(first[number], recording.first_observation):
                report.mismatches.append(f"episode {report.episodes}: first observation")
            for name, ours, theirs in zip(Outcomes._fields, outcomes, recording.outcomes, strict=True):
                differs = (ours[number, :length] != theirs[:length]).reshape(length, -1).any(axis=1)
                for step in np.flatnonzero(differs):
                    report.mismatches.append(f"episode {report.episodes}, step {step}: {name}")
    return report


def main(steps: int = 100_000, seed: int = 0, tasks: tuple[str, ...] = tuple(TASKS)) -> None:
    """Compare the engine with the installed `minigrid` package.

    Args:
        steps: how many steps at least, per task.
        seed: of layouts and actions.
        tasks: which tasks.
    """
    console = Console()
    table = Table("task", "steps", "episodes", "solved", "mismatches", title="Engine against Farama minigrid")
    mismatches = 0
    for task in track(tasks, "comparing", console=console):
        report = compare(task, steps, seed)
        mismatches += len(report.mismatches)
        counts = (report.steps, report.episodes, report.successes, len(report.mismatches))
        table.add_row(task, *(f"{count:,}" for count in counts))
        for mismatch in report.mismatches[:5]:
            console.print(f"[red]{task}: {mismatch}")
    console.print(table)
    if mismatches:
        raise SystemExit(1)


if __name__ == "__main__":
    tyro.cli(main)
