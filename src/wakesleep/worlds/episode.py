"""One episode, step by step, to look at: recorded for `wakesleep play` and saved as a moving picture or a strip."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image, ImageDraw

from wakesleep.errors import UserError
from wakesleep.worlds.world import MaskedObservation, World, compiled_reset, compiled_step

Player = Callable[[Any, Any, jax.Array], Any]
"""Chooses an action, given the state (only scripts look at it), the observation and a random key."""

_CAPTION_HEIGHT = 16
_STRIP_COLUMNS = 8


@dataclass
class Episode:
    """States from the first to the last, and what happened between them."""

    states: list[Any]
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False

    @property
    def total_reward(self) -> float:
        """The undiscounted return."""
        return sum(self.rewards)


def random_player(world: World) -> Player:
    """Any action, all equally likely; of a masked world, any that is available."""
    spec = world.action_spec

    def play(_: Any, observation: Any, key: jax.Array) -> jax.Array:
        key, first_key = jax.random.split(key)
        action = jax.random.randint(key, spec.shape, 0, np.reshape(spec.sizes, spec.shape))
        if not isinstance(observation, MaskedObservation):
            return action
        first = jax.random.categorical(first_key, jnp.where(observation.action_mask, 0.0, -jnp.inf))
        return first.astype(action.dtype) if spec.is_single else action.at[0].set(first)

    return play


def plan_player(plan: list[int]) -> Player:
    """The given actions, one after the other, whatever is observed."""
    actions: Iterator[int] = iter(plan)
    return lambda *_: next(actions)


def record(world: World, player: Player, key: jax.Array, start: Any = None, max_steps: int = 10_000) -> Episode:
    """Play one episode, from a given start (state and time step) or a drawn one."""
    reset_key, key = jax.random.split(key)
    state, timestep = start if start is not None else compiled_reset(world, reset_key)
    episode = Episode([state])
    for _ in range(max_steps):
        key, action_key, step_key = jax.random.split(key, 3)
        action = jnp.asarray(player(state, timestep.observation, action_key))
        state, timestep = compiled_step(world, state, action, step_key)
        episode.states.append(state)
        episode.actions.append(np.asarray(action).tolist())
        episode.rewards.append(float(timestep.reward))
        episode.terminated = bool(timestep.terminated)
        if episode.terminated or timestep.truncated:
            break
    return episode


def in_words(world: World, action: Any) -> str:
    """An action as its world calls it."""
    names = getattr(world, "action_names", None)
    return str(getattr(world, "describe", names.__getitem__ if names else str)(action))


def frames(world: World, episode: Episode) -> Iterator[Image.Image]:
    """The pictures of an episode, each with a line below: the step, the action that led there, the reward."""
    if not hasattr(world, "draw"):
        raise UserError(f"{type(world).__name__} cannot be drawn: it has no `draw(state)`")
    for step, state in enumerate(episode.states):
        caption = str(step)
        if step:
            action, reward = episode.actions[step - 1], episode.rewards[step - 1]
            caption += f"  {in_words(world, action)}" + f"  {reward:+.2f}" * (reward != 0)
        yield _captioned(world.draw(state), caption)


def _captioned(picture: np.ndarray, caption: str) -> Image.Image:
    height, width, _ = picture.shape
    image = Image.new("RGB", (width, height + _CAPTION_HEIGHT), "white")
    image.paste(Image.fromarray(picture))
    ImageDraw.Draw(image).text((4, height + 2), caption, fill="black")
    return image


def check_target(path: Path) -> None:
    """Refuse a file that `save` could not write, before an episode is played for it."""
    if path.suffix not in (".gif", ".png"):
        raise UserError(f"an episode is saved as .gif or .png, not {path.name!r}")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} to save {path.name} in")


def save(pictures: list[Image.Image], path: Path, milliseconds: int = 200) -> None:
    """Write pictures as an animation (.gif) or side by side (.png, at most eight in a row)."""
    check_target(path)
    if path.suffix == ".gif":
        durations = [milliseconds] * (len(pictures) - 1) + [5 * milliseconds]  # linger on the end
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=durations, loop=0)
        return
    width, height = pictures[0].size
    columns = min(len(pictures), _STRIP_COLUMNS)
    rows = -(-len(pictures) // columns)
    strip = Image.new("RGB", (columns * width, rows * height), "white")
    for place, picture in enumerate(pictures):
        strip.paste(picture, (place % columns * width, place // columns * height))
    strip.save(path)
