"""The real StarCraft II as a host world, through PySC2: the paper's six tasks on the game itself.

    world = GameWorld("DefeatRoaches_two", num_envs=8)

Observations and actions are those of `interface.py`, as on the simulator. Every environment is a game of its own, a
process that PySC2 starts and talks to; threads wait for them side by side. An episode is a new game with its own seed.

Games crash and hang now and then. One that does is started again, with a new episode; the step at which that happened
did not take place: it is not `valid`, and `truncated`, so that nothing is learned from it or across it.
"""

import logging
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from wakesleep.errors import UserError, brief
from wakesleep.worlds.starcraft import compat, interface
from wakesleep.worlds.starcraft.maps import find_map
from wakesleep.worlds.starcraft.tasks import EPISODE_STEPS
from wakesleep.worlds.starcraft.translate import call_of, observation_of
from wakesleep.worlds.starcraft.units import LOOPS_PER_STEP
from wakesleep.worlds.world import ActionSpec, AutoResetStep, MaskedObservation, ObservationSpec

MAPS = {
    "CollectMineralShards_nofog": "CollectMineralShards",
    "CollectMineralShards_fog": "CollectMineralShardsFog",
    "DefeatRoaches_one": "DefeatRoaches",
    "DefeatRoaches_two": "DefeatRoachesTwoGroups",
    "DefeatZerglingsAndBanelings_one": "DefeatZerglingsAndBanelings",
    "DefeatZerglingsAndBanelings_two": "DefeatZerglingsAndBanelingsTwoGroups",
}
"""The map of each task; those that are not stock, `wakesleep starcraft maps` makes."""

MAX_CRASHES = 3
"""A game that crashes so many times without a step in between is given up."""
_TIME_IS_UP = (EPISODE_STEPS - 2) * LOOPS_PER_STEP
"""An episode that ends from this game loop on was ended by the clock, not by the death of the last Marine."""

_log = logging.getLogger(__name__)


@runtime_checkable
class Env(Protocol):
    """What is used of PySC2's environments (`SC2Env`, `SC2TestEnv`)."""

    def reset(self) -> Any:
        """Begin an episode; returns a time step for every player."""
        ...

    def step(self, actions: list[Any]) -> Any:
        """Take an action of every player; returns a time step for each."""
        ...

    def close(self) -> None:
        """End the game's process."""
        ...


class EnvStep(NamedTuple):
    """One environment's row of `AutoResetStep`."""

    observation: MaskedObservation
    reward: float
    terminated: bool
    truncated: bool
    next_observation: MaskedObservation
    valid: bool


class GameWorld:
    """A StarCraft II task on the real game, a host world. The first `reset` starts the games, which takes a while."""

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        *,
        screen: int = interface.SCREEN,
        compact: bool = True,
        maps: Path | None = None,
        make_env: Callable[..., Env] | None = None,
    ) -> None:
        """Find PySC2, the game and the map.

        Args:
            task: one of `MAPS`.
            num_envs: how many games.
            screen: pixels each way.
            compact: whether unit types are numbered from 1 to 5 instead of by PySC2's ids.
            maps: folder of the maps; by default the game's own.
            make_env: replaces PySC2's `SC2Env` and is called with the same arguments, for instance
                `mock_sc2_env.SC2TestEnv`, which needs no game.
        """
        if task not in MAPS:
            raise UserError(f"no task of StarCraft II is called {task!r}: there are {', '.join(MAPS)}")
        if num_envs < 1:
            raise UserError(f"a world needs at least one environment, not {num_envs}")
        self.num_envs = num_envs
        self._observation_spec = interface.observation_spec(screen, compact=compact)
        self._screen, self._compact = screen, compact
        pysc2 = compat.load()
        if make_env is None and maps is None:
            maps = compat.game_folder(pysc2) / "Maps"
        self.with_envs: Callable[[int], GameWorld] = partial(
            GameWorld, task, screen=screen, compact=compact, maps=maps, make_env=make_env
        )
        """Makes another world with so many games."""
        name = MAPS[task]
        self._call = pysc2.actions.FunctionCall
        arguments = compat.env_arguments(
            pysc2, name if maps is None else compat.map_of(pysc2, map_file(maps, name)), screen
        )
        make = make_env or pysc2.sc2_env.SC2Env
        self._games = [_Game(lambda seed: make(random_seed=seed, **arguments)) for _ in range(num_envs)]
        self._pool = ThreadPoolExecutor(num_envs, "starcraft")
        self._observed: list[MaskedObservation] = []
        self._finalizer = weakref.finalize(self, _close_all, self._games, self._pool)

    @property
    def observation_spec(self) -> ObservationSpec:
        """The feature layers; observations are `MaskedObservation`."""
        return self._observation_spec

    @property
    def action_spec(self) -> ActionSpec:
        """A function and its arguments."""
        return interface.ACTION_SPEC

    @property
    def crashes(self) -> int:
        """How many times any of the games crashed and was started again."""
        return sum(game.crashes for game in self._games)

    def reset(self, seed: int) -> MaskedObservation:
        """Begin an episode in every game.

        Args:
            seed: game i is seeded with seed + i. Its later episodes have seeds that follow from that one.

        Returns:
            The first observations, with a leading axis of num_envs.
        """
        if not self._finalizer.alive:
            raise UserError("this world was closed and its games are gone: make another one")
        for number, game in enumerate(self._games):
            game.seed(int(seed) + number)
        self._observed = list(self._pool.map(lambda game: self._observe(game.begin()), self._games))
        return _stack(self._observed)

    def step(self, actions: np.ndarray) -> AutoResetStep:
        """Take one action in every game; those whose episode ended begin another.

        Args:
            actions: integers, [num_envs, 6].

        Returns:
            NumPy arrays with a leading axis of num_envs. Where a game crashed, `valid` is False.
        """
        if not self._observed:
            raise UserError("call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape[:1] != (self.num_envs,):
            raise UserError(f"{self.num_envs} environments need as many actions, not an array of shape {actions.shape}")
        self.action_spec.check(actions)
        observed, self._observed = self._observed, []  # if a game is lost for good, only a reset goes on
        rows = list(self._pool.map(self._advance, self._games, observed, actions))
        self._observed = [row.observation for row in rows]
        return AutoResetStep(
            observation=_stack(self._observed),
            reward=np.array([row.reward for row in rows], np.float32),
            terminated=np.array([row.terminated for row in rows]),
            truncated=np.array([row.truncated for row in rows]),
            next_observation=_stack([row.next_observation for row in rows]),
            valid=np.array([row.valid for row in rows]),
        )

    def close(self) -> None:
        """End all games."""
        self._observed = []
        self._finalizer()

    def _advance(self, game: "_Game", observed: MaskedObservation, action: np.ndarray) -> EnvStep:
        """One action in one game."""
        if not observed.action_mask[action[0]]:  # as on the simulator: nothing happens
            action = np.zeros_like(action)
        timestep = game.step(self._call(*call_of(action, self._screen)))
        if timestep is None:
            return EnvStep(self._observe(game.begin()), 0.0, False, True, observed, False)
        next_observation, reward = self._observe(timestep), float(timestep.reward)
        if not timestep.last():
            return EnvStep(next_observation, reward, False, False, next_observation, True)
        timeout = bool(timestep.discount) or int(timestep.observation["game_loop"][0]) >= _TIME_IS_UP
        return EnvStep(self._observe(game.begin()), reward, not timeout, timeout, next_observation, True)

    def _observe(self, timestep: Any) -> MaskedObservation:
        return observation_of(timestep.observation, self._observation_spec, compact=self._compact)


class _Game:
    """One game: plays episode after episode, and is started again when it crashed."""

    def __init__(self, make: Callable[[int], Env]) -> None:
        self._make = make
        self._env: Env | None = None
        self._seeds: Iterator[int] = iter(())
        self.crashes, self._crashes_in_a_row = 0, 0

    def seed(self, seed: int) -> None:
        """Set the seeds of the episodes to come."""
        self._seeds = _seeds_from(seed)

    def begin(self) -> Any:
        """Begin an episode, starting the game again as often as it crashes; returns its first time step."""
        while True:
            try:
                return self._begin(next(self._seeds))
            except Exception as error:
                self._recover(error)

    def _begin(self, seed: int) -> Any:
        if self._env is None:
            self._env = self._make(seed)
        else:
            self._env._random_seed = seed  # type: ignore[attr-defined]  # PySC2 reads it when it creates a game
        return self._env.reset()[0]

    def step(self, call: Any) -> Any:
        """Take one action; returns the time step that it led to, None if the game crashed."""
        assert self._env is not None
        try:
            timestep = self._env.step([call])[0]
        except Exception as error:
            self._recover(error)
            return None
        self._crashes_in_a_row = 0
        return timestep

    def _recover(self, error: Exception) -> None:
        """Clean up after a crash; raise `UserError` if the game never ran or crashes again and again."""
        never_ran = self._env is None and not self.crashes
        self.close()
        self.crashes += 1
        self._crashes_in_a_row += 1
        what = brief(error)
        if isinstance(error, UserError):
            raise error
        if never_ran:
            raise UserError(
                f"StarCraft II does not start ({what}): docs/guides/starcraft-game.md has what to check"
            ) from error
        if self._crashes_in_a_row >= MAX_CRASHES:
            raise UserError(
                f"StarCraft II crashed {self._crashes_in_a_row} times without a step in between ({what})"
            ) from error
        _log.warning("StarCraft II crashed and is started again (%s)", what)

    def close(self) -> None:
        """End the process, whatever state it is in."""
        env, self._env = self._env, None
        if env is not None:
            with suppress(Exception):
                env.close()


def _seeds_from(seed: int) -> Iterator[int]:
    """The seed itself, then others that follow from it."""
    yield seed % 2**31  # the game takes no larger ones
    generator = np.random.default_rng(seed % 2**63)
    while True:
        yield int(generator.integers(2**31))


def _close_all(games: list[_Game], pool: ThreadPoolExecutor) -> None:
    pool.shutdown()
    for game in games:
        game.close()


def map_file(folder: Path, name: str) -> Path:
    """Return the file of a map in a folder or below it; if there is none, `UserError` says how to make it."""
    try:
        return find_map(folder, name)
    except UserError:
        if not folder.is_dir() or name in (task.split("_")[0] for task in MAPS):
            raise
        command = f"wakesleep starcraft maps --source {folder} --out {folder / 'mini_games'}"
        raise UserError(f"there is no {name}.SC2Map in {folder}: make it with `{command}`") from None


def _stack(observations: list[MaskedObservation]) -> MaskedObservation:
    return MaskedObservation(*(np.stack(parts) for parts in zip(*observations, strict=True)))
