"""Distributions over actions, checked by adding up every action there is."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep import ActionSpec
from wakesleep.nets import actions

SINGLE = ActionSpec.single(6)
TOGETHER = ActionSpec((("a", 3), ("b", 2)))
FUNCTION = ActionSpec(
    (("function", 3), ("place", 4), ("mode", 2)),
    uses=((True, False, False), (True, True, False), (True, True, True)),
    masked=True,
)
SPECS = {"single": SINGLE, "together": TOGETHER, "function": FUNCTION}
MASK = jnp.array([True, False, True])


def logits_of(spec, seed=0, batch=()):
    return jax.random.normal(jax.random.key(seed), (*batch, actions.num_logits(spec))) * 2


def every_action(spec):
    """All different actions: arguments that a function does not use are 0."""
    found = np.array(list(product(*(range(size) for size in spec.sizes))))
    if spec.uses is not None:
        used = np.array(spec.uses)[found[:, 0]]
        found = np.unique(np.where(used, found, 0), axis=0)
    return jnp.asarray(found[:, 0] if spec.is_single else found)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("masked", [False, True])
def test_formulas_against_adding_up(name, masked):
    spec = SPECS[name]
    mask = MASK if masked and name == "function" else None
    p_logits, q_logits = logits_of(spec, 0), logits_of(spec, 1)
    everything = every_action(spec)
    log_p = jax.vmap(lambda action: actions.log_prob(spec, p_logits, action, mask))(everything)
    log_q = jax.vmap(lambda action: actions.log_prob(spec, q_logits, action, mask))(everything)
    p = jnp.exp(log_p)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)  # noqa: E731
    close(p.sum(), 1)
    close(actions.entropy(spec, p_logits, mask), -(p * jnp.where(p > 0, log_p, 0)).sum())
    close(actions.cross_entropy(spec, p_logits, q_logits, mask), -(p * jnp.where(p > 0, log_q, 0)).sum())
    close(actions.kl_divergence(spec, p_logits, q_logits, mask), (p * jnp.where(p > 0, log_p - log_q, 0)).sum())
    assert actions.kl_divergence(spec, p_logits, p_logits, mask) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", SPECS)
def test_samples_are_as_frequent_as_they_are_likely(name):
    spec, count = SPECS[name], 20_000
    mask = MASK if name == "function" else None
    logits = jnp.broadcast_to(logits_of(spec), (count, actions.num_logits(spec)))
    masks = None if mask is None else jnp.broadcast_to(mask, (count, 3))
    drawn = np.asarray(actions.sample(spec, logits, jax.random.key(5), masks))
    assert drawn.dtype == np.int32
    if spec.uses is not None:
        drawn = np.where(np.array(spec.uses)[drawn[:, 0]], drawn, 0)
        assert (drawn[:, 0] != 1).all()  # masked
    for action in np.asarray(every_action(spec)):
        share = (drawn.reshape(count, -1) == np.reshape(action, -1)).all(1).mean()
        chance = float(jnp.exp(actions.log_prob(spec, logits[0], jnp.asarray(action), mask)))
        assert share == pytest.approx(chance, abs=4.5 * np.sqrt(chance * (1 - chance) / count) + 1e-9)


def test_greedy_is_the_likeliest():
    logits = logits_of(FUNCTION, 3, (50,))
    best = actions.greedy(FUNCTION, logits, jnp.broadcast_to(MASK, (50, 3)))
    assert best.shape == (50, 3)
    assert (best[:, 0] != 1).all()
    assert (best[:, 1] == logits[:, 3:7].argmax(-1)).all()


def test_unused_arguments_do_not_count():
    logits = logits_of(FUNCTION)
    one, other = (actions.log_prob(FUNCTION, logits, jnp.array([0, place, 1])) for place in (0, 3))
    assert one == other
    gradient = jax.grad(lambda logits: actions.log_prob(FUNCTION, logits, jnp.array([0, 0, 0])))(logits)
    assert (gradient[3:] == 0).all()


def test_one_hot_targets_give_the_negative_log_likelihood():
    action = jnp.array([2, 3, 1])
    logits = logits_of(FUNCTION)
    imitation = actions.cross_entropy(FUNCTION, actions.one_hot_logits(FUNCTION, action), logits)
    assert imitation == pytest.approx(-float(actions.log_prob(FUNCTION, logits, action)), rel=1e-5)


def test_gradients_are_finite_under_masks():
    mask = jnp.array([False, False, True])
    for function in (actions.entropy, lambda s, x, m: actions.log_prob(s, x, jnp.array([2, 0, 0]), m)):
        assert jnp.isfinite(jax.grad(lambda x, f=function: f(FUNCTION, x, mask))(logits_of(FUNCTION))).all()


@pytest.mark.parametrize("name", SPECS)
def test_spread_is_the_entropy_but_prefers_no_function(name):
    spec = SPECS[name]
    mask = MASK if spec.masked else None
    logits = logits_of(spec)
    assert float(actions.per_part_entropy(spec, logits, mask)) == pytest.approx(
        float(actions.entropy(spec, logits, mask)), abs=1e-6
    )
    even = jnp.zeros_like(logits)
    np.testing.assert_allclose(jax.grad(lambda it: actions.per_part_entropy(spec, it, mask))(even), 0, atol=1e-6)
    if name == "function":  # all parts are as random as can be, and yet entropy asks for the function with more of them
        asked = jax.grad(lambda it: actions.entropy(spec, it, mask))(even)
        assert asked[2] > 0.1
        assert asked[0] < -0.1
