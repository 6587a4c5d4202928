"""The six tasks: where units appear, waves, fog, orders, and what is refused."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from wakesleep import UserError
from wakesleep.worlds.batch import stack
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.tasks import TASKS, StarcraftTask
from wakesleep.worlds.starcraft.units import Kind, Order
from wakesleep.worlds.starcraft.waves import LEFT_BOX, RIGHT_BOX

NAMES = list(TASKS)
OWN = 32
WORLDS = {name: task.world(16) for name, task in TASKS.items()}

traces = []


@jax.jit
def step(world, state, action, key):
    traces.append(1)  # runs only while tracing
    return world.step(state, action, key)


@jax.jit
def resets(worlds, keys):
    """InitialStates of all tasks at once, leaves [task, start, ...]."""
    return jax.vmap(lambda world: jax.vmap(world.reset)(keys))(worlds)[0]


@pytest.fixture(scope="module")
def starts():
    """By task: 512 starts."""
    states = jax.device_get(resets(stack(*WORLDS.values()), jax.random.split(jax.random.key(7), 512)))
    return {name: jax.tree.map(lambda leaf, at=number: leaf[at], states) for number, name in enumerate(NAMES)}


def test_lines_and_boxes(starts):
    units = starts["DefeatRoaches_one"].units
    x, y = units.x[:, :9], units.y[:, :9]
    assert (units.life[:, :OWN] > 0).sum(1).tolist() == [9] * 512
    np.testing.assert_allclose(np.sort(y, axis=1) - y[:, :1], np.tile(np.arange(-4.0, 5), (512, 1)), atol=1e-4)
    assert (x == x[:, :1]).all()
    left = x[:, 0] < 33
    assert 0.4 < left.mean() < 0.6  # a coin flip
    for side, box, other in ((left, LEFT_BOX, RIGHT_BOX), (~left, RIGHT_BOX, LEFT_BOX)):
        assert (x[side, 0].min() >= box[0]) & (x[side, 0].max() <= box[1])
        assert np.ptp(x[side, 0]) > 0.95 * (box[1] - box[0])  # all of the box is used
        assert np.ptp(y[side, 0]) > 0.95 * (box[3] - box[2])
        roaches_x, roaches_y = units.x[side, OWN : OWN + 4], units.y[side, OWN : OWN + 4]
        assert (roaches_x.min() >= other[0]) & (roaches_x.max() <= other[1])
        np.testing.assert_allclose(roaches_y - roaches_y.mean(1, keepdims=True), [[0.5, -0.5, 1.5, -1.5]] * side.sum(), atol=1e-4)  # fmt: skip # noqa: E501


def test_two_groups_stand_on_both_sides(starts):
    for name, sizes in (("DefeatRoaches_two", (3, 3)), ("DefeatZerglingsAndBanelings_two", (9, 6))):
        units = starts[name].units
        assert (units.x[:, :9] == 33).all()
        assert (units.y[:, 0] == 28).all()
        one, other = units.x[:, OWN : OWN + sizes[0]], units.x[:, OWN + sizes[0] : OWN + sum(sizes)]
        assert ((one.max(1) < 30) & (other.min(1) > 36) | (one.min(1) > 36) & (other.max(1) < 30)).all()
        assert 0.4 < (one[:, 0] < 33).mean() < 0.6
        assert (units.life[:, OWN + sum(sizes) :] == 0).all()


def test_groups_are_those_of_the_paper(starts):
    kinds = {name: np.bincount(starts[name].units.kind[0, OWN:], minlength=6)[1:5].tolist() for name in NAMES}
    assert kinds["DefeatRoaches_one"] == [0, 4, 0, 0]
    assert kinds["DefeatRoaches_two"] == [0, 6, 0, 0]
    assert kinds["DefeatZerglingsAndBanelings_one"] == [0, 0, 6, 4]
    assert kinds["DefeatZerglingsAndBanelings_two"] == [0, 0, 9, 6]
    assert kinds["CollectMineralShards_fog"] == [0, 0, 0, 0]


def test_crowds_do_not_overlap_at_the_start(starts):
    units = starts["DefeatZerglingsAndBanelings_two"].units
    x, y = units.x[0, OWN : OWN + 9], units.y[0, OWN : OWN + 9]
    distance = np.hypot(x[:, None] - x, y[:, None] - y) + 9 * np.eye(9)
    assert 0.75 <= distance.min() < 0.85


def test_marines_and_shards_are_anywhere(starts):
    for name in NAMES[:2]:
        state = starts[name]
        x, y = state.units.x[:, :2], state.units.y[:, :2]
        assert (x.min() < 22.5) & (x.max() > 43.5) & (y.min() < 20.5) & (y.max() > 35.5)
        assert abs(np.corrcoef(x[:, 0], x[:, 1])[0, 1]) < 0.15  # independent
        shards = state.shards
        assert shards.present.all()
        assert (shards.x >= 23).all() & (shards.x <= 43).all() & (shards.y >= 21).all() & (shards.y <= 35).all()
        distance = np.hypot(shards.x[:, :, None] - x[:, None], shards.y[:, :, None] - y[:, None])
        assert 2.0 <= distance.min() < 2.1
        assert not state.units.selected.any()
    assert starts["DefeatRoaches_one"].units.selected[:, :9].all()


NO_OP = interface.action(interface.NO_OP)


def edited(state, **fields):
    """A start with some fields of its units replaced: name = function of the old array."""
    units = state.units._replace(**{name: jnp.asarray(edit(np.array(getattr(state.units, name)))) for name, edit in fields.items()})  # fmt: skip # noqa: E501
    return state._replace(units=units)


def first(starts, name):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), starts[name])


def test_a_wave_brings_marines_and_keeps_wounds(starts):
    def wounded(life):
        life[OWN:] = 0
        life[:9] = [45, 10, 0, 0, 45, 7, 45, 45, 45]
        return life

    state = edited(first(starts, "DefeatRoaches_one"), life=wounded, order=lambda order: order + Order.PATROL,
                   selected=lambda chosen: chosen & False)  # fmt: skip
    after, timestep = step(WORLDS["DefeatRoaches_one"], state, NO_OP, jax.random.key(5))
    life = np.asarray(after.units.life)
    assert sorted(life[:OWN][life[:OWN] > 0].tolist()) == [7, 10] + [45] * 10
    assert (life[1], life[5]) == (10, 7)
    assert life[OWN : OWN + 4].tolist() == [145] * 4
    alive = life[:OWN] > 0
    assert np.asarray(after.units.selected)[:OWN][alive].all()
    assert (np.asarray(after.units.order) == Order.IDLE).all()
    x = np.asarray(after.units.x)[:OWN][alive]
    assert np.isin(np.round(x - x.min(), 3), [0, 1]).all()  # in line again, those beyond the arena's edge beside it
    assert (int(after.tally.waves), float(timestep.reward)) == (1, 0)


def test_reinforcements_end_at_the_slots(starts):
    def crowd(life):
        life[:] = 0
        life[: OWN - 2] = 45
        return life

    after, _ = step(WORLDS["DefeatRoaches_one"], edited(first(starts, "DefeatRoaches_one"), life=crowd), NO_OP,
                    jax.random.key(5))  # fmt: skip
    life, x, y = (np.asarray(part)[:OWN] for part in (after.units.life, after.units.x, after.units.y))
    assert (life > 0).all()
    distance = np.hypot(x[:, None] - x, y[:, None] - y) + 9 * np.eye(OWN)
    assert distance.min() > 0.9  # they have room: a line as long as the arena, and more beside it


def test_a_wave_waits_for_both_groups_and_the_other_reading_does_not(starts):
    name = "DefeatZerglingsAndBanelings_two"

    def no_zerglings(life):
        life[OWN : OWN + 9] = 0
        life[OWN + 9] = 12
        return life

    state = edited(first(starts, name), life=no_zerglings)
    waiting, _ = step(WORLDS[name], state, NO_OP, jax.random.key(2))
    assert (np.asarray(waiting.units.life)[OWN : OWN + 9] == 0).all()
    assert int(waiting.tally.waves) == 0
    by_itself = replace(TASKS[name], by_group=True).world(16)
    after, _ = step(by_itself, state, NO_OP, jax.random.key(2))
    life = np.asarray(after.units.life)
    assert life[OWN : OWN + 9].tolist() == [35] * 9
    assert life[OWN + 9] == pytest.approx(12, abs=0.2)
    assert (life[:OWN] > 0).sum() == 15


def test_unavailable_functions_change_nothing(starts):
    world = WORLDS["CollectMineralShards_nofog"]
    state = first(starts, "CollectMineralShards_nofog")  # nothing is selected
    expected, _ = step(world, state, NO_OP, jax.random.key(0))
    available = np.asarray(world.observe(state).action_mask)
    assert (~available).sum() == 9
    for function in np.flatnonzero(~available).tolist():
        action = interface.action(function, screen=130, screen2=255, select_add=1, select_point_act=2)
        after, _ = step(world, state, action, jax.random.key(0))
        same = zip(jax.tree.leaves(expected), jax.tree.leaves(after), strict=True)
        assert all((a == b).all() for a, b in same), interface.FUNCTIONS[function].name


def test_orders_survive_steps(starts):
    world, state = WORLDS["CollectMineralShards_nofog"], first(starts, "CollectMineralShards_nofog")
    state = edited(state, x=lambda x: x * 0 + 23, y=lambda y: y * 0 + 28, selected=lambda s: np.arange(len(s)) == 0)
    state, _ = step(world, state, interface.action(interface.MOVE, screen=6 * 16 + 14), jax.random.key(0))
    x = [float(state.units.x[0])]
    for number in range(5):
        state, _ = step(world, state, NO_OP, jax.random.key(number))
        x.append(float(state.units.x[0]))
    np.testing.assert_allclose(np.diff(x), 8 * 2.25 / 16, rtol=1e-2)
    assert int(state.units.order[0]) == Order.MOVE


def test_fog_hides_and_remembers_shards(starts):
    world, state = WORLDS["CollectMineralShards_fog"], first(starts, "CollectMineralShards_fog")
    shards = state.shards._replace(x=jnp.full(20, 43.0), y=jnp.full(20, 21.0).at[0].set(35.0), seen=jnp.zeros(20, bool))
    state = edited(state, x=lambda x: x * 0 + 23, y=lambda y: y * 0 + 28)._replace(shards=shards)
    far, timestep = step(world, state, NO_OP, jax.random.key(0))
    assert not (np.asarray(timestep.observation.view)[..., interface.UNIT_TYPE] == Kind.SHARD).any()
    _, timestep = step(WORLDS["CollectMineralShards_nofog"], state, NO_OP, jax.random.key(0))
    assert (np.asarray(timestep.observation.view)[..., interface.UNIT_TYPE] == Kind.SHARD).any()
    near, _ = step(world, edited(far, x=lambda x: x * 0 + 40, y=lambda y: y * 0 + 29), NO_OP, jax.random.key(0))
    assert np.asarray(near.shards.seen).all()
    again, timestep = step(world, edited(near, x=lambda x: x * 0 + 23), NO_OP, jax.random.key(0))
    assert (np.asarray(timestep.observation.view)[..., interface.UNIT_TYPE] == Kind.SHARD).any()
    taken, timestep = step(
        world, edited(again, x=lambda x: x * 0 + 43, y=lambda y: y * 0 + 35), NO_OP, jax.random.key(0)
    )
    assert float(timestep.reward) == 1
    assert int(taken.shards.present.sum()) == 19


def test_fog_hides_enemies(starts):
    foggy = replace(TASKS["DefeatRoaches_one"], fog=True).world(16)
    state = first(starts, "DefeatRoaches_one")
    layers = np.asarray(foggy.observe(state).view)[..., interface.UNIT_TYPE]
    assert (layers == Kind.MARINE).any()
    assert not (layers == Kind.ROACH).any()  # across the arena
    close = edited(state, x=lambda x: np.where(np.arange(len(x)) < OWN, 33, 36).astype(np.float32))
    assert (np.asarray(foggy.observe(close).view)[..., interface.UNIT_TYPE] == Kind.ROACH).any()


def test_new_shards_come_when_all_are_taken(starts):
    world, state = WORLDS["CollectMineralShards_nofog"], first(starts, "CollectMineralShards_nofog")
    last = jnp.arange(20) == 3
    shards = state.shards._replace(present=last, x=jnp.full(20, 30.0), y=jnp.full(20, 28.0))
    after, timestep = step(world, edited(state, x=lambda x: x * 0 + 30, y=lambda y: y * 0 + 28)._replace(shards=shards),
                           NO_OP, jax.random.key(0))  # fmt: skip
    assert (float(timestep.reward), int(after.tally.waves)) == (1, 1)
    assert after.shards.present.all()
    assert (np.hypot(after.shards.x - after.units.x[0], after.shards.y - after.units.y[0]) >= 2).all()


def test_one_program_serves_all_tasks(starts):
    before = len(traces)
    for name in NAMES:
        step(WORLDS[name], first(starts, name), NO_OP, jax.random.key(0))
    assert len(traces) == max(before, 1) <= 2  # the first call of this module may have been the one that traced


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (StarcraftTask("My_a", "", marines=33), "1 to 32 Marines"),
        (StarcraftTask("My_b", "", marines=9, groups=((Kind.ROACH,) * 17,)), "16 in all"),
        (StarcraftTask("My_c", "", marines=9, groups=((Kind.ROACH,),) * 3), "at most 2 groups"),
        (StarcraftTask("My_d", "", marines=9, groups=((Kind.SHARD,),)), "enemies are"),
        (StarcraftTask("My_e", "", marines=2, shards=21), "0 to 20 shards"),
    ],
)
def test_tasks_without_room_are_refused(task, why):
    with pytest.raises(UserError, match=why):
        task.world()


def test_screens_are_checked():
    with pytest.raises(UserError, match="not 40"):
        TASKS["DefeatRoaches_one"].world(40)


def test_tasks_are_registered():
    assert wakesleep.tasks("starcraft", paper_only=True) == tuple(NAMES)
    info = wakesleep.task_info("DefeatRoaches_two")
    assert info.block_steps == 2_000_000
    assert wakesleep.make("DefeatRoaches_two").observation_spec.shape == (64, 64, 3)


def test_pictures(starts):
    for name in ("CollectMineralShards_fog", "DefeatZerglingsAndBanelings_one"):
        picture = WORLDS[name].draw(first(starts, name), tile=10)
        assert picture.shape == (176, 236, 3)
        assert (np.abs(picture.astype(int) - [88, 152, 236]).sum(-1) < 40).any()  # a blue Marine
