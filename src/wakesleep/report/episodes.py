"""Episodes of a lifetime's final policy, one per task: played once more, and drawn by the page.

Minigrid episodes go into the page as the grid at the start and what changed in each step, a few hundred bytes; those of
other worlds that can be drawn as a strip of small pictures. The layout is the first of the lifetime's evaluations,
actions are sampled as they are there. Environments outside JAX are not started for a page.
"""

import base64
import io
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.lifetime.spec import LifetimeSpec
from wakesleep.nets import actions
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.report.lives import Life
from wakesleep.report.sleeps import cells_as_text
from wakesleep.syllabus.seeds import evaluation_initial_states, evaluation_seeds
from wakesleep.syllabus.syllabus import specs_of
from wakesleep.wake.experts import world_of
from wakesleep.worlds.batch import InitialStates
from wakesleep.worlds.episode import Episode, in_words, record
from wakesleep.worlds.host import HostWorldFactory
from wakesleep.worlds.minigrid.tasks import MinigridWorld
from wakesleep.worlds.world import TimeStep, World

LONGEST = 120
"""Steps that are played; an episode that is not over by then will seldom end well."""
_STRIP_FRAMES, _STRIP_WIDTH = 40, 160


def episodes(life: Life) -> tuple[dict[str, Any], list[str]]:
    """One episode of every task by the task's name, as plain data, and what could not be shown."""
    if not (life.folder / "policy.npz").exists():
        return {}, []
    found, problems = {}, []
    try:
        spec = LifetimeSpec.from_json(life.config)
        policy = load_policy(life, spec)
        seeds = evaluation_seeds(spec.syllabus.evaluation_seed, len(spec.syllabus.tasks))
        for task, seed in zip(spec.syllabus.tasks, seeds, strict=True):
            world = world_of(task)
            if not isinstance(world, HostWorldFactory):
                found[task] = _play(task, world, seed, policy)
    except UserError as error:
        problems.append(f"no episodes of {life.name}: {error}")
    return found, problems


def action_names(life: Life) -> list[str]:
    """What the actions are called in the lifetime's world; empty where it does not say."""
    try:
        tasks = life.syllabus.get("tasks") or []
        return list(getattr(world_of(str(tasks[0])), "action_names", ())) if tasks else []
    except UserError:
        return []


def load_policy(life: Life, spec: LifetimeSpec) -> Actor:
    """What acted in the evaluations, at the end of the lifetime."""
    return store.load_tree(life.folder / "policy.npz", policy_form(spec))


def policy_form(spec: LifetimeSpec) -> Any:
    """The agent's policy with shapes in place of numbers."""
    from wakesleep.agents.presets import make_agent

    agent = make_agent(spec.agent, *specs_of(spec.syllabus.tasks[0]), spec.config)
    return eqx.filter_eval_shape(lambda key: agent.policy(agent.init(key)), jax.random.key(0))


@eqx.filter_jit
def _act(policy: Actor, world: World, observation: Any, key: jax.Array) -> jax.Array:
    return actions.sample(world.action_spec, policy(observation), key, mask_of(observation))


def _play(task: str, world: World, seed: int, policy: Actor) -> dict[str, Any]:
    starts = evaluation_initial_states(task, world, seed, 1)
    assert isinstance(starts, InitialStates)
    starts = jax.tree.map(lambda leaf: leaf[0], starts)
    nothing, no = jnp.float32(0), jnp.bool_(False)
    start = starts.state, TimeStep(starts.observation, nothing, no, no)
    played = record(world, lambda _, seen, key: _act(policy, world, seen, key), jax.random.key(0), start, LONGEST)
    shown: dict[str, Any] = {
        "actions": [in_words(world, action) for action in played.actions],
        "return": round(played.total_reward, 3),
        "ended": "" if len(played.actions) < LONGEST or played.terminated else f"cut off after {LONGEST} steps",
    }
    if isinstance(world, MinigridWorld):
        return shown | minigrid_moves(world, played)
    return shown | (_strip(world, played) if hasattr(world, "draw") else {})


def minigrid_moves(world: MinigridWorld, played: Episode) -> dict[str, Any]:
    """The grid at the start, then of each moment the agent's column, row and direction and the cells that changed."""
    width, height = int(world.plan.width), int(world.plan.height)
    states = [jax.tree.map(np.asarray, state) for state in played.states]
    grids = [state.grid[:height, :width] for state in states]
    changes = []
    for before, after in zip([grids[0], *grids], grids, strict=False):
        (changed,) = np.nonzero((before != after).ravel())
        changes.append([[int(cell), int(after.ravel()[cell])] for cell in changed])
    return {
        "width": width,
        "grid": cells_as_text(grids[0]),
        "agent": [[int(state.x), int(state.y), int(state.direction)] for state in states],
        "changes": changes,
    }


def _strip(world: Any, played: Episode) -> dict[str, Any]:
    """Pictures one below the other, as one PNG file."""
    chosen = np.unique(np.linspace(0, len(played.states) - 1, _STRIP_FRAMES).astype(int))
    frames = [Image.fromarray(np.asarray(world.draw(played.states[number]))) for number in chosen]
    width, height = _STRIP_WIDTH, round(frames[0].height * _STRIP_WIDTH / frames[0].width)
    strip = Image.new("RGB", (width, height * len(frames)))
    for number, frame in enumerate(frames):
        strip.paste(frame.resize((width, height)), (0, number * height))
    file = io.BytesIO()
    strip.quantize(64).save(file, "png", optimize=True)
    picture = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    return {"strip": picture, "height": height, "moments": chosen.tolist()}
