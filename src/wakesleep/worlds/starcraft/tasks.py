"""The paper's six StarCraft II tasks, each a row of data, and the world they share.

A name is minigame and variant: `CollectMineralShards_nofog`, `DefeatRoaches_two`. The variants `nofog` and `one` are
the stock minigames. Where the paper leaves a variant open (appendix, "Starcraft 2 Task Variants"):

- Two groups: Marines stand in a line in the very middle, each group at a random point of the box on its side. Which
  of Zerglings and Banelings is on which side is drawn anew every wave.
- Two groups of Zerglings and Banelings, "whenever a group has been defeated": both groups return, with six Marines,
  when both are dead. The other reading, each group returns by itself: `replace(task, by_group=True)`. Then an army can
  grow on Zerglings alone and never meets a Baneling, and returns are thirty times as high
  (docs/explanation/starcraft-simulator.md).
- Time: after 240 actions (120 seconds) an episode is truncated; the death of the last Marine terminates it.
"""

from dataclasses import dataclass, replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Key, Shaped

from wakesleep.errors import UserError
from wakesleep.worlds.protocols import Player
from wakesleep.worlds.starcraft import interface, waves
from wakesleep.worlds.starcraft.battle import ENEMIES, MAX_SLOTS
from wakesleep.worlds.starcraft.draw import TILE, draw
from wakesleep.worlds.starcraft.orders import available_functions, own_slots
from wakesleep.worlds.starcraft.players import scripted_players
from wakesleep.worlds.starcraft.screen import render
from wakesleep.worlds.starcraft.units import SHARDS, Kind
from wakesleep.worlds.starcraft.waves import Rules, State
from wakesleep.worlds.world import ActionSpec, MaskedObservation, ObservationSpec, TimeStep

MARINES = 32
"""Slots for Marines, unless a world is made with more or fewer."""
EPISODE_STEPS = 240
"""120 seconds of 16 loops, 8 loops an action."""
BLOCK_STEPS = 2_000_000
"""Environment steps of the paper's learning blocks."""
SMALL_SCREEN = 32
SMALL_BLOCK_STEPS = 200_000
"""Of the tasks for a small machine."""


class StarcraftWorld(eqx.Module):
    """A StarCraft II task as a world. Its rules are array leaves: every task runs the same compiled program."""

    rules: Rules
    """The task."""
    screen: int = eqx.field(static=True, default=interface.SCREEN)
    """Pixels each way."""
    compact: bool = eqx.field(static=True, default=True)
    """Whether unit types are numbered from 1 to 5 instead of by PySC2's ids."""
    marines: int = eqx.field(static=True, default=MARINES)
    """Slots for Marines."""

    @property
    def observation_spec(self) -> ObservationSpec:
        """The feature layers, [row, column, layer]; observations are `MaskedObservation`."""
        return interface.observation_spec(self.screen, compact=self.compact)

    @property
    def action_spec(self) -> ActionSpec:
        """A function and its arguments, six integers."""
        return interface.ACTION_SPEC

    def reset(self, key: Key[Array, ""]) -> tuple[State, TimeStep]:
        """Begin an episode; the key draws where units and shards are."""
        state = waves.initial_state(self.rules, key, self.marines)
        return state, TimeStep(self.observe(state), jnp.float32(0), jnp.bool_(False), jnp.bool_(False))

    def step(self, state: State, action: Shaped[ArrayLike, "6"], key: Key[Array, ""]) -> tuple[State, TimeStep]:
        """Take one action and play eight game loops. A function that is not available does nothing."""
        interface.ACTION_SPEC.check(action)
        chosen = jnp.asarray(action, jnp.int32)
        state, reward, terminated, truncated = waves.advance(self.rules, state, chosen, key, self.screen)
        return state, TimeStep(self.observe(state), reward, terminated, truncated)

    def observe(self, state: State) -> MaskedObservation:
        """Return what the agent sees of a state."""
        units, shards = state.units, state.shards
        own = own_slots(len(units.x))
        shown = units.alive & (own | waves.visible(self.rules, units, units.x, units.y))
        none = jnp.zeros(SHARDS, bool)
        layers = render(
            jnp.concatenate([units.x, shards.x]),
            jnp.concatenate([units.y, shards.y]),
            jnp.concatenate([units.kind, jnp.full(SHARDS, Kind.SHARD, jnp.int32)]),
            jnp.concatenate([shown, shards.present & shards.seen]),
            jnp.concatenate([units.selected, none]),
            self.screen,
            compact=self.compact,
        )
        return MaskedObservation(layers, available_functions(units))

    def scripted_policies(self, state: State | None = None) -> dict[str, Player]:
        """Return the scripts of `players.py` by name: attack-move, focus-fire, alternate and bait.

        They decide by the state of each step, so that the first one does not matter.
        """
        del state
        return scripted_players(self.screen)

    def draw(self, state: State, tile: int = TILE) -> np.ndarray:
        """Return a picture of the arena, uint8[height, width, 3], a unit of length `tile` pixels wide."""
        return draw(self.rules, state, tile)

    @property
    def action_names(self) -> tuple[str, ...]:
        """PySC2's names of the functions, the choices of the action's first part."""
        return tuple(function.name for function in interface.FUNCTIONS)

    def describe(self, action: list[int]) -> str:
        """Return a function and the arguments that it uses, in words."""
        return interface.describe(action)


@dataclass(frozen=True)
class StarcraftTask:
    """One row of the task table. `dataclasses.replace` makes variants of it."""

    name: str
    goal: str
    """What the agent has to do, in a few words."""
    marines: int
    """At the beginning of an episode."""
    groups: tuple[tuple[Kind, ...], ...] = ()
    """The enemies, in one or two groups."""
    reinforcements: int = 0
    """Marines that come with every wave."""
    clustered: bool = False
    """Groups appear crowded around a point, else in a line."""
    by_group: bool = False
    """A wave comes when one group is dead and brings it back, else when all are."""
    kill_reward: float | int = 0
    """For each enemy that dies."""
    loss_reward: float | int = -1
    """For each Marine that dies."""
    shards: int = 0
    """Mineral shards to collect."""
    fog: bool = False
    """Whether the agent sees only what its Marines see."""
    max_steps: int = EPISODE_STEPS
    """Steps after which an episode is truncated."""
    in_paper: bool = True
    block_steps: int = BLOCK_STEPS
    """Environment steps of a learning block."""
    screen: int = interface.SCREEN
    """Pixels each way, unless the world is made with others."""

    @property
    def optimal(self) -> None:
        """The best mean return is not known."""
        return None

    def world(self, screen: int | None = None, *, compact: bool = True, marine_slots: int = MARINES) -> StarcraftWorld:
        """Return the task as a world.

        Args:
            screen: pixels each way; by default the task's own.
            compact: whether unit types are numbered from 1 to 5 instead of by PySC2's ids. Agents that dream
                observations need this, as their networks have an output for each type.
            marine_slots: how many Marines there can be at once.
        """
        screen = self.screen if screen is None else screen
        interface.check_screen(screen)
        self._check(marine_slots)
        kinds = [kind for group in self.groups for kind in group]
        spare = [0] * (ENEMIES - len(kinds))
        offsets = [_cluster(len(group)) if self.clustered else _line(len(group)) for group in self.groups]
        places = np.concatenate([*offsets, np.zeros((len(spare), 2))]).astype(np.float32)
        numbers = [number for number, group in enumerate(self.groups) for _ in group]
        rules = Rules(
            marines=jnp.int32(self.marines),
            reinforcements=jnp.int32(self.reinforcements),
            enemy_kind=jnp.asarray([*kinds, *spare], jnp.int32),
            enemy_group=jnp.asarray([*numbers, *spare], jnp.int32),
            enemy_x=jnp.asarray(places[:, 0]),
            enemy_y=jnp.asarray(places[:, 1]),
            centred=jnp.bool_(len(self.groups) > 1),
            by_group=jnp.bool_(self.by_group),
            shards=jnp.int32(self.shards),
            kill_reward=jnp.float32(self.kill_reward),
            loss_reward=jnp.float32(self.loss_reward),
            shard_reward=jnp.float32(1),
            fog=jnp.bool_(self.fog),
            max_steps=jnp.int32(self.max_steps),
        )
        return StarcraftWorld(rules, screen, compact, marine_slots)

    def _check(self, marine_slots: int) -> None:
        """Refuse a task that the simulator has no room for."""
        if not 1 <= self.marines <= marine_slots:
            raise UserError(f"{self.name}: there are slots for 1 to {marine_slots} Marines, not {self.marines}")
        if marine_slots > MAX_SLOTS - ENEMIES:
            raise UserError(f"{self.name}: a world has at most {MAX_SLOTS - ENEMIES} slots for Marines")
        if len(self.groups) > waves.GROUPS or sum(map(len, self.groups)) > ENEMIES:
            raise UserError(f"{self.name}: enemies come in at most {waves.GROUPS} groups, {ENEMIES} in all")
        if not set(sum(self.groups, ())) <= {Kind.MARINE, Kind.ROACH, Kind.ZERGLING, Kind.BANELING}:
            raise UserError(f"{self.name}: enemies are Marines, Roaches, Zerglings or Banelings")
        if not 0 <= self.shards <= SHARDS:
            raise UserError(f"{self.name}: there can be 0 to {SHARDS} shards, not {self.shards}")


def _line(count: int) -> np.ndarray:
    """Offsets of a vertical line with one unit between neighbours, about its middle."""
    rank = np.arange(count)
    offset = (rank + 1) // 2 * np.where(rank % 2 == 1, 1, -1) if count % 2 else (rank // 2 + 0.5) * (1 - 2 * (rank % 2))
    return np.stack([np.zeros(count), offset], axis=-1)


def _cluster(count: int) -> np.ndarray:
    """Offsets of units that were put on one point and made room: a disc of close neighbours."""
    side = np.arange(-4, 5)
    column, row = np.meshgrid(side, side)
    lattice = np.stack([(column + row / 2).ravel(), (row * np.sqrt(3) / 2).ravel()], axis=-1)
    order = np.lexsort((np.arctan2(lattice[:, 1], lattice[:, 0]), np.hypot(*lattice.T).round(6)))
    return 0.8 * lattice[order][:count]


_COLLECT = StarcraftTask(
    "CollectMineralShards_nofog", "collect mineral shards with two Marines", marines=2, shards=20, loss_reward=0
)
_ROACHES = StarcraftTask(
    "DefeatRoaches_one", "defeat 4 Roaches with 9 Marines, in waves", marines=9, groups=((Kind.ROACH,) * 4,),
    reinforcements=5, kill_reward=10,
)  # fmt: skip
_ZERGLINGS = StarcraftTask(
    "DefeatZerglingsAndBanelings_one", "defeat 6 Zerglings and 4 Banelings with 9 Marines, in waves", marines=9,
    groups=((Kind.ZERGLING,) * 6 + (Kind.BANELING,) * 4,), reinforcements=4, clustered=True, kill_reward=5,
)  # fmt: skip

TASKS = {
    task.name: task
    for task in (
        _COLLECT,
        replace(
            _COLLECT, name="CollectMineralShards_fog", fog=True,
            goal="collect mineral shards with two Marines in the fog of war",
        ),
        _ROACHES,
        replace(
            _ROACHES, name="DefeatRoaches_two", groups=((Kind.ROACH,) * 3,) * 2, reinforcements=7,
            goal="defeat 3 Roaches on either side with 9 Marines, in waves",
        ),
        _ZERGLINGS,
        replace(
            _ZERGLINGS, name="DefeatZerglingsAndBanelings_two",
            groups=((Kind.ZERGLING,) * 9, (Kind.BANELING,) * 6), reinforcements=6,
            goal="defeat 9 Zerglings on one side, 6 Banelings on the other, in waves",
        ),
    )
}  # fmt: skip
"""The paper's tasks by name."""

SMALL_TASKS = {
    f"{name}Small": replace(
        task, name=f"{name}Small", goal=f"{task.goal} (small)", screen=SMALL_SCREEN, block_steps=SMALL_BLOCK_STEPS
    )
    for name, task in TASKS.items()
}
"""The same for a small machine: a quarter of the pixels, and shorter blocks. The battles are the same."""
