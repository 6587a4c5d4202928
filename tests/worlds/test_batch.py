import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from tests.worlds.toys import Console, Corridor
from wakesleep import UserError
from wakesleep.worlds.batch import draw_initial_states, random_rollout, reset_batch, stack, step_batch, use_new_pool


def play(world, key, num_envs, num_steps, pool=64):
    """Random actions in a batch; returns everything that was stepped, time first."""
    start_key, action_key, step_key = jax.random.split(key, 3)
    starts = draw_initial_states(world, start_key, pool)
    batch, first = reset_batch(starts, num_envs)
    limits = jnp.reshape(jnp.asarray(world.action_spec.sizes), world.action_spec.shape)
    actions = jax.random.randint(action_key, (num_steps, num_envs, *world.action_spec.shape), 0, limits)

    def step(batch, at):
        batch, stepped = step_batch(world, starts, batch, *at)
        return batch, (stepped, batch.used)

    batch, (stepped, used) = jax.lax.scan(step, batch, (actions, jax.random.split(step_key, num_steps)))
    return starts, first, stepped, used


def test_successor_is_the_true_one():
    length = 6
    _, first, stepped, _ = jax.jit(play, static_argnums=(2, 3))(Corridor(jnp.int32(length)), jax.random.key(0), 8, 200)
    observation, next_observation = (
        np.asarray(stepped.observation)[..., 0],
        np.asarray(stepped.next_observation)[..., 0],
    )
    terminated, truncated = np.asarray(stepped.terminated), np.asarray(stepped.truncated)
    ended = terminated | truncated
    assert terminated.any()
    assert (truncated & ~terminated).any()
    assert (next_observation[terminated] == length - 1).all()
    assert (observation[~ended] == next_observation[~ended]).all()
    assert (observation[ended] < length - 1).all()  # a fresh start is never at the end
    before = np.concatenate([np.asarray(first)[None, :, 0], observation[:-1]])
    assert (np.abs(next_observation - before) <= 1).all()
    assert stepped.valid.all()


def test_starts_are_handed_out_in_order_and_then_again():
    pool, num_envs = 5, 3
    starts, _, stepped, used = play(Corridor(jnp.int32(4)), jax.random.key(1), num_envs, 60, pool)
    ended = np.asarray(stepped.terminated | stepped.truncated)
    handed_out = np.asarray(stepped.observation)[ended]  # row by row: time, then environment
    expected = np.asarray(starts.observation)[(num_envs + np.arange(len(handed_out))) % pool]
    assert len(handed_out) > pool
    np.testing.assert_array_equal(handed_out, expected)
    assert used[-1] == (num_envs + len(handed_out)) % pool


def test_renew_starts_the_new_pool_from_its_first():
    starts = draw_initial_states(Corridor(jnp.int32(4)), jax.random.key(0), 8)
    batch, _ = reset_batch(starts, 2)
    assert batch.used == 2
    assert use_new_pool(batch).used == 0
    assert (use_new_pool(batch).state[0] == batch.state[0]).all()


def test_pool_must_hold_the_environments():
    with pytest.raises(UserError, match="at least as many initial states"):
        reset_batch(draw_initial_states(Corridor(jnp.int32(4)), jax.random.key(0), 2), 3)


def test_actions_out_of_range_are_refused():
    world = Corridor(jnp.int32(4))
    starts = draw_initial_states(world, jax.random.key(0), 4)
    with pytest.raises(UserError, match="out of range"):
        step_batch(world, starts, reset_batch(starts, 2)[0], jnp.array([0, 2]), jax.random.key(1))


def test_masks_are_batched():
    _, first, stepped, _ = play(Console(), jax.random.key(0), 4, 25)
    assert first.action_mask.shape == (4, 2)
    ended = np.asarray(stepped.truncated)
    assert ended.any()
    assert np.asarray(stepped.observation.action_mask)[ended].all()  # step 0 of a new episode: both functions open
    assert (np.asarray(stepped.observation.view)[ended] == 0).all()
    assert (np.asarray(stepped.next_observation.view)[ended, 0] == 10).all()


def test_same_key_same_life():
    world, key = wakesleep.make("DynObstacles_S8N2"), jax.random.key(3)
    run = jax.jit(play, static_argnums=(2, 3))
    one, two = run(world, key, 4, 100), run(world, key, 4, 100)
    other = run(world, jax.random.key(4), 4, 100)
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True))
    assert not (one[2].observation == other[2].observation).all()


def test_one_compilation_serves_all_tasks():
    compilations = 0

    @jax.jit
    def run(world, key):
        nonlocal compilations
        compilations += 1  # runs only while tracing
        return play(world, key, 2, 5)[2].reward

    for task in wakesleep.tasks("minigrid"):
        run(wakesleep.make(task), jax.random.key(0))
    assert compilations == 1
    assert run._cache_size() == 1


def test_environments_of_one_batch_may_be_in_different_tasks():
    names = wakesleep.tasks("minigrid")
    worlds, keys = stack(*map(wakesleep.make, names)), jax.random.split(jax.random.key(0), len(names))
    run = lambda world, key: play(world, key, 3, 40)  # noqa: E731
    together = jax.jit(jax.vmap(run))(worlds, keys)
    alone = jax.jit(run)
    for number, name in enumerate(names):
        for mixed, single in zip(
            jax.tree.leaves(together), jax.tree.leaves(alone(wakesleep.make(name), keys[number])), strict=True
        ):
            np.testing.assert_array_equal(mixed[number], single, err_msg=name)


def test_random_rollout_knows_what_chance_achieves():
    """The task sheet's figures for uniformly random actions: DistShift_R2 -0.853, CustomFetch_S8T1N2 0.260."""
    run = jax.jit(random_rollout, static_argnums=(2, 3, 4))
    for task, expected in (("DistShift_R2", -0.853), ("CustomFetch_S8T1N2", 0.26)):
        stepped = run(wakesleep.make(task), jax.random.key(0), 64, 2000, 1024)
        episodes = (stepped.terminated | stepped.truncated).sum()
        assert float(stepped.reward.sum() / episodes) == pytest.approx(expected, abs=0.05)


def test_different_domains_do_not_stack():
    with pytest.raises(UserError, match="one domain"):
        stack(wakesleep.make("DoorKey_S5"), Corridor(jnp.int32(4)))
