"""Advantages and targets: worked by hand, and equal to rlax where rlax has them."""

import jax.numpy as jnp
import numpy as np

from wakesleep.wake.ppo import gae
from wakesleep.wake.vtrace import vtrace

REWARD = [0.13, -0.13, 0.64, 0.1, -0.54, 0.36]
VALUE = [1.3, 0.95, -0.7, -1.27, -0.62, 0.04, -2.33]
RATIO = [0.28, 1.88, 0.6, 2.19, 1.45, 0.89]
ENDED = [0, 0, 1, 0, 0, 0]
# What rlax 0.1.9 makes of these numbers: vtrace_td_error_and_advantage, and truncated_generalized_advantage_estimation
# with lambda 0.95; discount 0.9, but 0 after the third step.
RLAX_TARGETS = [0.9632272, -0.0364001, 0.104, -1.634639, -1.9273769, -1.5415299]
RLAX_ADVANTAGE = [-0.3367728, -0.9864, 0.804, -0.3646392, -1.307377, -1.5815299]
RLAX_DECAYED_TARGETS = [0.9837661, -0.1811201, 0.104, -1.194345, -1.6427015, -1.5415299]  # with lambda 0.8
RLAX_DECAYED_ADVANTAGE = [-0.3162338, -1.13112, 0.804, 0.075655, -1.0227014, -1.5815299]
RLAX_GAE = [-0.7974766, -0.5643002, 1.34, -0.3878511, -1.4033347, -1.7769998]


def column(numbers):
    return jnp.asarray(numbers, jnp.float32)[:, None]


def inputs():
    ended = column(ENDED) > 0
    return column(REWARD), column(VALUE[:-1]), jnp.where(ended, 0, column(VALUE[1:])), ended


def test_vtrace_equals_rlax():
    targets, advantage = vtrace(*inputs(), column(RATIO), 0.9)
    np.testing.assert_allclose(targets[:, 0], RLAX_TARGETS, atol=1e-5)
    np.testing.assert_allclose(advantage[:, 0], RLAX_ADVANTAGE, atol=1e-5)


def test_decaying_traces_equal_rlax():
    targets, advantage = vtrace(*inputs(), column(RATIO), 0.9, gae_lambda=0.8)
    np.testing.assert_allclose(targets[:, 0], RLAX_DECAYED_TARGETS, atol=1e-5)
    np.testing.assert_allclose(advantage[:, 0], RLAX_DECAYED_ADVANTAGE, atol=1e-5)


def test_gae_equals_rlax():
    np.testing.assert_allclose(gae(*inputs(), 0.9, 0.95)[:, 0], RLAX_GAE, atol=1e-5)


def test_vtrace_by_hand():
    """Two steps, ratios 2 and 0.5, values 1 and 2, then 4; rewards 1 and 0; discount one half.

    Errors: 1 * (1 + 1 - 1) = 1 and 0.5 * (0 + 2 - 2) = 0. Targets: 1 + 1 + 0.5 * 1 * 0 = 2 and 2.
    Advantages: 1 * (1 + 0.5 * 2 - 1) = 1 and 0.5 * (0 + 2 - 2) = 0.
    """
    targets, advantage = vtrace(
        column([1, 0]), column([1, 2]), column([2, 4]), column([0, 0]) > 0, column([2, 0.5]), 0.5
    )
    np.testing.assert_allclose(targets[:, 0], [2, 2])
    np.testing.assert_allclose(advantage[:, 0], [1, 0])


def test_a_truncated_episode_keeps_its_future():
    """The value 10 of where it was cut counts; the next episode's rewards do not."""
    reward, value, ended = column([1, 100]), column([0, 0]), column([1, 0]) > 0
    next_value = column([10, 0])
    np.testing.assert_allclose(gae(reward, value, next_value, ended, 0.5, 1.0)[:, 0], [6, 100])
    targets, advantage = vtrace(reward, value, next_value, ended, column([1, 1]), 0.5)
    np.testing.assert_allclose(targets[:, 0], [6, 100])
    np.testing.assert_allclose(advantage[:, 0], [6, 100])


def test_rows_that_did_not_take_place_teach_nothing():
    """Like a rollout that ends before the bad row, whose observation has the value 4; after it all is as usual."""
    reward, value, next_value = column([1, 100, 2]), column([1, 4, 3]), column([4, -50, 7])
    ended, ratio, valid = column([0, 1, 0]) > 0, column([0.5, 9, 1]), column([1, 0, 1]) > 0
    targets, advantage = vtrace(reward, value, next_value, ended, ratio, 0.5, valid=valid)
    np.testing.assert_allclose(targets[:, 0], [1 + 0.5 * (1 + 2 - 1), 4, 2 + 0.5 * 7])
    np.testing.assert_allclose(advantage[:, 0], [0.5 * (1 + 2 - 1), 0, 2 + 0.5 * 7 - 3])
    spoilt, _ = vtrace(column([1, -9, 2]), value, column([4, 99, 7]), ended, ratio, 0.5, valid=valid)
    np.testing.assert_array_equal(spoilt, targets)


def test_on_policy_vtrace_is_gae_with_lambda_one():
    reward, value, next_value, ended = inputs()
    targets, _ = vtrace(reward, value, next_value, ended, jnp.ones_like(reward), 0.9)
    np.testing.assert_allclose(targets - value, gae(reward, value, next_value, ended, 0.9, 1.0), atol=1e-5)


def test_on_policy_vtrace_with_decaying_traces_is_gae():
    reward, value, next_value, ended = inputs()
    targets, _ = vtrace(reward, value, next_value, ended, jnp.ones_like(reward), 0.9, gae_lambda=0.7)
    np.testing.assert_allclose(targets - value, gae(reward, value, next_value, ended, 0.9, 0.7), atol=1e-5)
