"""What must hold in any battle: drawn tasks, starts and actions, also such as no player would choose."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, given, settings

from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.tasks import TASKS, StarcraftTask
from wakesleep.worlds.starcraft.units import NO_UNIT, STATISTICS, Kind, Order

OWN, STEPS, SCREEN = 32, 40, 16
NO_OP = interface.action(interface.NO_OP)

kinds = st.sampled_from([Kind.MARINE, Kind.ROACH, Kind.ZERGLING, Kind.BANELING])
groups = st.lists(st.lists(kinds, min_size=1, max_size=8).map(tuple), max_size=2).map(tuple)
drawn_tasks = st.builds(
    StarcraftTask, name=st.just("Drawn_task"), goal=st.just(""), marines=st.integers(1, 14), groups=groups,
    reinforcements=st.integers(0, 20), clustered=st.booleans(), by_group=st.booleans(),
    kill_reward=st.integers(0, 10), loss_reward=st.integers(-5, 0), shards=st.integers(0, 20), fog=st.booleans(),
    max_steps=st.integers(10, 60),
)  # fmt: skip
tasks = st.one_of(st.sampled_from(list(TASKS.values())), drawn_tasks)
seeds = st.integers(0, 2**31 - 1)
actions = st.tuples(*(st.integers(0, size - 1) for size in interface.ACTION_SPEC.sizes))
# few different actions, so that orders come to something
plays = st.lists(actions, min_size=1, max_size=6).flatmap(
    lambda few: st.lists(st.sampled_from([(0,) * 6, *few]), min_size=STEPS, max_size=STEPS)
)
drawn = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@jax.jit
def live(world, key, chosen):
    """All states and time steps of a play without restarts, time first."""
    start_key, key = jax.random.split(key)
    first, begun = world.reset(start_key)

    def tick(state, at):
        state, timestep = world.step(state, *at)
        return state, (state, timestep)

    _, (states, timesteps) = jax.lax.scan(tick, first, (chosen, jax.random.split(key, len(chosen))))
    states = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, states)
    return states, timesteps, begun


@jax.jit
def step(world, state, action, key):
    return world.step(state, action, key)


@jax.jit
def observe(world, state):
    return world.observe(state)


def played(task, seed, play):
    """The play up to the episode's end."""
    states, timesteps, _ = jax.device_get(live(task.world(SCREEN), jax.random.key(seed), jnp.asarray(play)))
    ended = timesteps.terminated | timesteps.truncated
    length = int(np.argmax(ended)) + 1 if ended.any() else STEPS
    return jax.tree.map(lambda leaf: leaf[: length + 1], states), jax.tree.map(lambda leaf: leaf[:length], timesteps)


def by_kind(statistic, units):
    return getattr(STATISTICS, statistic)[units.kind]


def at(tree, moment):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[moment]), tree)


@drawn
@given(tasks, seeds, plays)
def test_nobody_leaves_the_arena_or_stands_in_another(task, seed, play):
    units = played(task, seed, play)[0].units
    assert ((units.x >= 22) & (units.x <= 44) & (units.y >= 20) & (units.y <= 36)).all()
    alive, radius = units.life > 0, by_kind("radius", units)
    distance = np.hypot(units.x[..., None] - units.x[..., None, :], units.y[..., None] - units.y[..., None, :])
    both = alive[..., None] & alive[..., None, :] & ~np.eye(alive.shape[-1], dtype=bool)
    share = np.where(both, distance / np.maximum(radius[..., None] + radius[..., None, :], 1e-6), 1)
    assert share[1:].min(initial=1) > 0.25  # their centres keep apart


@drawn
@given(tasks, seeds, plays)
def test_life_rises_only_by_regeneration(task, seed, play):
    states, _ = played(task, seed, play)
    life, growth = states.units.life, np.diff(states.units.life, axis=0)
    assert ((life >= 0) & (life <= by_kind("life", states.units))).all()
    no_wave = np.diff(states.tally.waves) == 0
    most = 8 * by_kind("regeneration", states.units)[1:] + 1e-4
    assert (growth <= most)[no_wave].all()
    survived = (life[:-1] > 0) & (life[1:] > 0) & (np.arange(life.shape[-1]) < OWN)
    assert (growth[survived & no_wave[:, None]] <= 0).all()  # Marines do not heal


@drawn
@given(tasks, seeds, plays)
def test_reward_is_the_bookkeeping_of_deaths_and_shards(task, seed, play):
    states, timesteps = played(task, seed, play)
    tally = jax.tree.map(lambda leaf: np.diff(leaf), states.tally)
    paid = task.kill_reward * tally.kills + task.loss_reward * tally.losses + tally.shards
    np.testing.assert_allclose(timesteps.reward, paid, atol=1e-4)
    living, shards = states.units.life > 0, states.shards.present.sum(-1)
    quiet = tally.waves == 0
    for counted, gone in (
        (tally.losses, living[:, :OWN].sum(-1)), (tally.kills, living[:, OWN:].sum(-1)), (tally.shards, shards),
    ):  # fmt: skip
        np.testing.assert_array_equal(counted[quiet], -np.diff(gone)[quiet])
    np.testing.assert_array_equal(timesteps.terminated, living[1:, :OWN].sum(-1) == 0)


@drawn
@given(tasks, seeds, plays, actions, st.integers(0, STEPS))
def test_unavailable_functions_change_nothing(task, seed, play, action, moment):
    states, _ = played(task, seed, play)
    world, state = task.world(SCREEN), at(states, min(moment, len(states.steps) - 1))
    state = state._replace(units=state.units._replace(selected=state.units.selected & (seed % 2 == 0)))
    open_to = np.asarray(observe(world, state).action_mask)
    expected, _ = step(world, state, NO_OP, jax.random.key(1))
    for function in np.flatnonzero(~open_to).tolist():
        after, _ = step(world, state, jnp.asarray([function, *action[1:]]), jax.random.key(1))
        assert jax.tree.all(jax.tree.map(lambda one, two: bool((one == two).all()), after, expected))


@drawn
@given(tasks, seeds, st.integers(0, 255), st.integers(0, 255))
def test_orders_survive_until_they_are_done(task, seed, here, there):
    """All Marines are sent somewhere, and then left alone."""
    everyone = (interface.SELECT_RECT, 0, 0, 255, 0, 0)
    go = ((interface.MOVE, here, 0, 0, 0, 0), (interface.PATROL, there, 0, 0, 0, 0))[seed % 2]
    states, _ = played(task, seed, [everyone, go] + [(0,) * 6] * (STEPS - 2))
    units, waves = states.units, states.tally.waves
    for moment in range(2, len(states.steps) - 1):
        if waves[moment + 1] != waves[moment]:
            return  # everyone begins anew
        before, after = at(units, moment), at(units, moment + 1)
        told = np.asarray((before.life > 0) & (after.life > 0) & (before.order == (Order.MOVE, Order.PATROL)[seed % 2]))
        told = told & (np.arange(len(told)) < OWN)
        keeps = np.asarray(after.order == before.order)
        same_goal = np.asarray((after.goal_x == before.goal_x) & (after.goal_y == before.goal_y))
        away = np.asarray(jnp.hypot(after.x - before.goal_x, after.y - before.goal_y))
        arrived = away <= np.asarray(before.slack) + 8 * 2.25 / 16 + 1.0  # and pushed about a little since
        if seed % 2 == 0:
            assert ((keeps & same_goal) | arrived)[told].all()
            assert (np.asarray(after.aim)[told & keeps] == NO_UNIT).all()  # who moves does not fight
        else:
            assert keeps[told].all()


@drawn
@given(tasks, seeds, plays, st.integers(0, STEPS), seeds)
def test_the_observation_shows_the_state_and_nothing_hidden(task, seed, play, moment, other):
    """Cooldowns, orders, targets and counters may be anything: the agent sees the same."""
    states, timesteps = played(task, seed, play)
    moment = min(moment, len(states.steps) - 1)
    world, state = task.world(SCREEN), at(states, moment)
    seen = observe(world, state)
    if moment:
        np.testing.assert_array_equal(seen.view, timesteps.observation.view[moment - 1])
        np.testing.assert_array_equal(seen.action_mask, timesteps.observation.action_mask[moment - 1])
    draw, units = np.random.default_rng(other), state.units
    slots = len(units.x)
    names = ("cooldown", "windup", "strike_in", "goal_x", "goal_y", "from_x", "from_y", "slack")
    hidden = {name: jnp.asarray(draw.uniform(0, 40, slots), jnp.float32) for name in names}
    numbers = {"order": draw.integers(0, 6, slots), "aim": draw.integers(-1, slots, slots)}
    changed = units._replace(**hidden, **{name: jnp.asarray(value, jnp.int32) for name, value in numbers.items()})
    life = jnp.where(units.life > 0, jnp.asarray(draw.uniform(0.1, 30, slots), jnp.float32), 0)
    tally = jax.tree.map(lambda leaf: leaf + 3, state.tally)
    again = observe(world, state._replace(units=changed._replace(life=life), tally=tally, steps=state.steps + 1))
    np.testing.assert_array_equal(again.view, seen.view)
    np.testing.assert_array_equal(again.action_mask, seen.action_mask)


@jax.jit
def fights(world, keys):
    """Who wins many battles of units that are left alone: the player, the enemy."""

    def one(key):
        start_key, key = jax.random.split(key)
        state, _ = world.reset(start_key)
        # face to face in the middle, mirrored; both sides fight what they see
        own = jnp.arange(len(state.units.x)) < OWN
        x = jnp.where(own, 31.0, 35.0)
        y = jnp.where(own, jnp.arange(len(x)), jnp.arange(len(x)) - OWN) * 1.0 + 22
        state = state._replace(units=state.units._replace(x=x, y=y, goal_x=x, goal_y=y))

        def tick(state, key):
            return world.step(state, NO_OP, key)[0], None

        state, _ = jax.lax.scan(tick, state, jax.random.split(key, 60))
        won = state.tally.waves > 0  # all enemies were dead while a Marine lived
        return won, ~won & ~jnp.any(state.units.life[:OWN] > 0)

    return jax.vmap(one)(keys)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.integers(2, 8), seeds)
def test_symmetric_battles_are_fair(count, seed):
    """As many Marines on either side: each side wins about half of 64 battles."""
    task = StarcraftTask("Mirror_task", "", marines=count, groups=((Kind.MARINE,) * count,), kill_reward=1)
    won, lost = np.asarray(fights(task.world(SCREEN), jax.random.split(jax.random.key(seed), 64)))
    assert (won | lost).mean() > 0.9
    assert 0.25 < won.sum() / (won | lost).sum() < 0.75
