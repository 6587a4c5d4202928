"""Episodes of a lifetime's final policy, one per task: played once more, and drawn by the page.

Episodes of worlds with tiles go into the page as the first grid and what changed in each step, a few hundred bytes;
those of other worlds that can be drawn as a strip of small pictures. The start is the first of the lifetime's
evaluations, actions are sampled as they are there. Environments outside JAX are not started for a page.
"""

import base64
import io
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image

from wakesleep.errors import UserError
from wakesleep.lifetime.spec import LifetimeSpec, stored_policy
from wakesleep.nets import actions
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.reporting.lives import StoredLifetime
from wakesleep.syllabus.seeds import evaluation_initial_states, evaluation_seeds
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.make_envs import make_envs
from wakesleep.wake.rollout import HostPolicy
from wakesleep.worlds.episode import Episode, describe_action, record_episode
from wakesleep.worlds.protocols import DescribesActions, Drawable, HasTiles
from wakesleep.worlds.world import TimeStep, World

LONGEST = 120
"""Steps that are played; an episode that is not over by then will seldom end well."""
_STRIP_FRAMES, _STRIP_WIDTH = 40, 160


def episodes(life: StoredLifetime) -> tuple[dict[str, Any], list[str]]:
    """One episode of every task by the task's name, as plain data, and what could not be shown."""
    if not (life.folder / "policy.npz").exists():
        return {}, []
    found, problems = {}, []
    try:
        spec, policy = LifetimeSpec.from_json(life.config), stored_policy(life.folder)
        seeds = evaluation_seeds(spec.syllabus.evaluation_seed, len(spec.syllabus.tasks))
        for task, seed in zip(spec.syllabus.tasks, seeds, strict=True):
            envs = make_envs(task)
            if envs.jittable:
                found[task] = _play(task, cast(JaxEnvs, envs), seed, policy)
    except UserError as error:
        problems.append(f"no episodes of {life.name}: {error}")
    return found, problems


def world_of(life: StoredLifetime) -> World | None:
    """The world of the lifetime's first task; None where it is unknown here or outside JAX."""
    try:
        tasks = life.syllabus.get("tasks") or []
        envs = make_envs(str(tasks[0])) if tasks else None
    except UserError:
        return None
    return cast(JaxEnvs, envs).world if envs and envs.jittable else None


def action_names(life: StoredLifetime) -> list[str]:
    """What the actions are called in the lifetime's world; empty where it does not say."""
    world = world_of(life)
    return list(world.action_names) if isinstance(world, DescribesActions) else []


@eqx.filter_jit
def _act(policy: Actor, world: World, observation: Any, key: jax.Array) -> jax.Array:
    return actions.sample(world.action_spec, policy(observation), key, mask_of(observation))


def _play(task: str, envs: JaxEnvs, seed: int, policy: Actor) -> dict[str, Any]:
    world = envs.world
    first = jax.tree.map(lambda leaf: leaf[0], evaluation_initial_states(task, envs, seed, 1))
    nothing, no = jnp.float32(0), jnp.bool_(False)
    start = first.state, TimeStep(first.observation, nothing, no, no)

    def player(_: Any, observation: Any, key: jax.Array) -> jax.Array:
        if isinstance(policy, HostPolicy):
            logits = policy(jax.tree.map(lambda leaf: leaf[None], observation))[0]
            return actions.sample(world.action_spec, logits, key, mask_of(observation))
        return _act(policy, world, observation, key)

    played = record_episode(world, player, jax.random.key(0), start, LONGEST)
    shown: dict[str, Any] = {
        "actions": [describe_action(world, action) for action in played.actions],
        "return": round(played.total_reward, 3),
        "ended": "" if len(played.actions) < LONGEST or played.terminated else f"cut off after {LONGEST} steps",
    }
    if isinstance(world, HasTiles):
        return shown | world.tile_episode(played.states)
    return shown | (_strip(world, played) if isinstance(world, Drawable) else {})


def _strip(world: Drawable, played: Episode) -> dict[str, Any]:
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
