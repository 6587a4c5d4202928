"""Play one episode, step by step, and save it as an animation or as a strip of pictures."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image, ImageDraw

from wakesleep.errors import UserError
from wakesleep.worlds.protocols import DescribesActions, Player, RenderedWorld, as_drawable
from wakesleep.worlds.world import HostWorld, MaskedObservation, TimeStep, World, compiled_reset, compiled_step

_CAPTION_HEIGHT = 16
_STRIP_COLUMNS = 8


@dataclass
class Episode:
    """A recorded episode of `n` steps."""

    states: list[Any] = field(default_factory=list)
    """The n + 1 states; none of a host world, which does not show them."""
    actions: list[Any] = field(default_factory=list)
    """The n actions: integers, or lists of integers where actions have several parts."""
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False
    pictures: list[np.ndarray] = field(default_factory=list)
    """The n + 1 pictures that a host world drew of itself, uint8[height, width, 3]; none of a world in JAX."""

    @property
    def total_reward(self) -> float:
        """The undiscounted return."""
        return sum(self.rewards)


def random_player(world: World | HostWorld) -> Player:
    """Return a player whose actions are uniformly distributed; in a masked world, over the functions that are open."""
    spec = world.action_spec

    def play(_: Any, observation: Any, key: jax.Array) -> jax.Array:
        key, first_key = jax.random.split(key)
        action = jax.random.randint(key, spec.shape, 0, np.reshape(spec.sizes, spec.shape))
        if not isinstance(observation, MaskedObservation):
            return action
        first = jax.random.categorical(first_key, jnp.where(observation.action_mask, 0.0, -jnp.inf))
        return first.astype(action.dtype) if spec.is_single else action.at[0].set(first)

    return play


def plan_player(plan: Iterable[int]) -> Player:
    """Return a player that takes the given actions one after the other, whatever it observes."""
    actions: Iterator[int] = iter(plan)
    return lambda *_: next(actions)


def record_episode(
    world: World,
    player: Player,
    key: jax.Array,
    start: tuple[Any, TimeStep] | None = None,
    max_steps: int = 10_000,
) -> Episode:
    """Play one episode in a world in JAX.

    Args:
        world: where to play.
        player: who chooses the actions.
        key: for the player, the world, and the initial state if none is given.
        start: initial state and its time step, as `world.reset` returns them; drawn by the key if None.
        max_steps: after so many steps the recording ends, even if the episode does not.

    Returns:
        The episode with its states.
    """
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


def record_host_episode(
    world: RenderedWorld, player: Player, seed: int, key: jax.Array, max_steps: int = 10_000
) -> Episode:
    """Play one episode in a host world of one environment that draws itself.

    Args:
        world: where to play; it is not closed.
        player: who chooses the actions; it gets None for the state and observations without a batch axis.
        seed: of the environment.
        key: for the player.
        max_steps: after so many steps the recording ends, even if the episode does not.

    Returns:
        The episode with its pictures.
    """
    observations = world.reset(seed)
    episode = Episode(pictures=[world.picture()])
    for _ in range(max_steps):
        key, action_key = jax.random.split(key)
        observation = jax.tree.map(lambda leaf: leaf[0], observations)
        action = np.asarray(player(None, observation, action_key))
        step = world.step(action[None])
        observations = step.observation
        episode.pictures.append(world.picture())
        episode.actions.append(action.tolist())
        episode.rewards.append(float(step.reward[0]))
        episode.terminated = bool(step.terminated[0])
        if episode.terminated or step.truncated[0]:
            break
    return episode


def describe_action(world: World | HostWorld, action: Any) -> str:
    """Return an action in the world's words, or as a number where it has none."""
    return world.describe(action) if isinstance(world, DescribesActions) else str(action)


def frames(world: World | HostWorld, episode: Episode) -> Iterator[Image.Image]:
    """Yield the n + 1 pictures of an episode, each above a caption: step, action that led there, reward if not 0."""
    for number, picture in enumerate(_pictures(world, episode)):
        caption = str(number)
        if number:
            action, reward = episode.actions[number - 1], episode.rewards[number - 1]
            caption += f"  {describe_action(world, action)}" + f"  {reward:+.2f}" * (reward != 0)
        yield _captioned(picture, caption)


def _pictures(world: World | HostWorld, episode: Episode) -> Iterable[np.ndarray]:
    return episode.pictures or map(as_drawable(world).draw, episode.states)


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
    """Write pictures of one size to a file.

    Args:
        pictures: what `frames` yields.
        path: an animation if it ends in .gif; if in .png, the pictures side by side, at most eight in a row.
        milliseconds: how long an animation shows each picture; the last one stays five times as long.
    """
    check_target(path)
    if path.suffix == ".gif":
        durations = [milliseconds] * (len(pictures) - 1) + [5 * milliseconds]
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=durations, loop=0)
        return
    width, height = pictures[0].size
    columns = min(len(pictures), _STRIP_COLUMNS)
    rows = -(-len(pictures) // columns)
    strip = Image.new("RGB", (columns * width, rows * height), "white")
    for place, picture in enumerate(pictures):
        strip.paste(picture, (place % columns * width, place // columns * height))
    strip.save(path)
