"""`wakesleep play`: one episode as pictures, by a random, scripted or trained policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from wakesleep.errors import UserError
from wakesleep.jobs import load_modules

if TYPE_CHECKING:
    from wakesleep.nets.policy import Actor
    from wakesleep.worlds.episode import Episode
    from wakesleep.worlds.protocols import Player, RenderedWorld
    from wakesleep.worlds.world import HostWorld, World

SEEDS = 2**32
"""Seeds are below this."""


def play(
    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")],
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    policy: Annotated[str, tyro.conf.arg(metavar="NAME|FOLDER")] = "random",
    seed: int = 0,
    max_frames: int = 1000,
    load: tuple[str, ...] = (),
) -> None:
    """Play one episode and save it as an animation or a strip of pictures.

    Args:
        task: which task; `wakesleep tasks` lists them.
        out: file to write, .gif or .png.
        policy: random, or the folder of a lifetime or an expert; in Minigrid (without moving balls) also optimal, the
            fewest actions that succeed; in StarCraft also the scripts attack-move, focus-fire, alternate and bait.
        seed: of the initial state and the actions.
        max_frames: longest episode to draw, in steps.
        load: modules of yours to import first: they register tasks.
    """
    from wakesleep.worlds import episode, registry
    from wakesleep.worlds.world import HostWorld

    load_modules(load)
    _check_seed(seed)
    world = registry.make(task)
    episode.check_target(out)
    if isinstance(world, HostWorld):
        played, pictures = _play_on_host(task, world, policy, seed, max_frames)
    else:
        played, pictures = _play_in_jax(task, world, policy, seed, max_frames)
    episode.save(pictures, out)
    print(f"{out}: {len(played.actions)} steps, return {played.total_reward:.3f}")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < SEEDS:
        raise UserError(f"a seed is a whole number from 0 to {SEEDS - 1}, not {seed}")


def _play_in_jax(task: str, world: "World", policy: str, seed: int, steps: int) -> "tuple[Episode, list[Any]]":
    """Record an episode in a world in JAX; returns it and its captioned pictures."""
    import jax

    from wakesleep.worlds import episode
    from wakesleep.worlds.protocols import HasScriptedPolicies, as_drawable
    from wakesleep.worlds.world import compiled_reset

    as_drawable(world)
    key, reset_key = jax.random.split(jax.random.key(seed))
    start = compiled_reset(world, reset_key)
    scripts = world.scripted_policies(start[0]) if isinstance(world, HasScriptedPolicies) else {}
    player = _player(policy, task, world, scripts)
    played = episode.record_episode(world, player, key, start, steps)
    return played, list(episode.frames(world, played))


def _play_on_host(task: str, world: "HostWorld", policy: str, seed: int, steps: int) -> "tuple[Episode, list[Any]]":
    """Record an episode in a host world; returns it and its captioned pictures. Closes the world."""
    import jax

    from wakesleep.worlds import episode

    rendered = _rendered(task, world)
    try:
        player = _player(policy, task, rendered, {})
        played = episode.record_host_episode(rendered, player, seed, jax.random.key(seed), steps)
        return played, list(episode.frames(rendered, played))
    finally:
        rendered.close()


def _rendered(task: str, world: "HostWorld") -> "RenderedWorld":
    """The same host world with an environment that draws itself."""
    from wakesleep.worlds.protocols import HasRendering

    try:
        if not isinstance(world, HasRendering):
            raise UserError(f"{type(world).__name__} cannot be drawn: it has no `with_rendering()`")
        return world.with_rendering()
    except UserError as error:
        raise UserError(f"{task}: {error}") from error
    finally:
        world.close()


def _player(policy: str, task: str, world: "World | HostWorld", scripts: "dict[str, Player]") -> "Player":
    """Who plays: the random player, a script of the world, or a policy from a folder."""
    from wakesleep.worlds.episode import random_player

    known = {"random": random_player(world), **scripts}
    if policy in known:
        return known[policy]
    folder = Path(policy)
    if not folder.is_dir():
        raise UserError(
            f"{task} can be played by {', '.join(known)}, not {policy!r}: there is no folder of a lifetime or an"
            " expert of that name either"
        )
    return _policy_player(_trained_policy(folder), world, f"the policy in {folder} does not fit {task}")


def _trained_policy(folder: Path) -> "Actor":
    """The policy of the lifetime or the expert in a folder: from a batch of observations to logits."""
    from wakesleep.api import load_policy

    return load_policy(folder)


def _policy_player(policy: "Actor", world: "World | HostWorld", mismatch: str) -> "Player":
    """Samples actions from a policy. Refuses one that was trained on other observations or actions."""
    import jax

    from wakesleep.nets import actions
    from wakesleep.nets.policy import mask_of

    spec = world.action_spec

    def play(_: Any, observation: Any, key: jax.Array) -> Any:
        observations = jax.tree.map(lambda leaf: leaf[None], observation)
        try:
            logits = policy(observations)
        except (TypeError, ValueError) as error:
            raise UserError(f"{mismatch}: it was trained on other observations") from error
        if logits.shape != (1, actions.num_logits(spec)):
            raise UserError(f"{mismatch}: it was trained on other actions")
        return actions.sample(spec, logits, key, mask_of(observations))[0]

    return play
