"""Sleep: every architecture imitates; replay keeps what experience alone forgets; what is frozen stays frozen."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep import ActionSpec, ObservationSpec, UserError
from wakesleep.nets import actions
from wakesleep.nets.encode import Encoding
from wakesleep.nets.policy import MLPConfig
from wakesleep.sleep.architectures import HIDDEN, PAPER_ARCHITECTURES, SEQUENTIAL, ModelConfig
from wakesleep.sleep.consolidate import SleepConfig, consolidate
from wakesleep.sleep.model import LossWeights, SleepModel
from wakesleep.sleep.replay import Pairs, random_replay, wake_buffer

SPEC, ACTION = ObservationSpec.of((6,), np.uint8, 0, 4), ActionSpec.single(4)
NETWORK = MLPConfig((64, 64), Encoding.ONE_HOT)
QUICK = SleepConfig(iterations=1500, batch_size=32)


def task(number, count=600):
    """What is seen tells the tasks apart (the first entry); what to do depends on the second, each task its own way."""
    seen = np.random.default_rng(number).integers(0, 5, (count, 6)).astype(np.uint8)
    seen[:, 0] = number
    return Pairs(jnp.asarray(seen), jnp.asarray((seen[:, 1].astype(int) + 2 * number) % 4, jnp.int32))


NO_PAIRS = task(0, 0)


def no_dream(model):
    return jax.tree.map(lambda leaf: leaf[:0], model.dream(jax.random.key(0), 1))


def buffer_of(pairs):
    return wake_buffer(SPEC, ACTION, pairs.size).add(pairs)


def agreement(model, pairs):
    return float(jnp.mean(jnp.argmax(model(pairs.observation), axis=-1) == pairs.label))


def newborn(architecture, categorical=True):
    config = ModelConfig(architecture, NETWORK, latent=16, hidden=64, categorical=categorical)
    return config.make(SPEC, ACTION, jax.random.key(0))


@pytest.fixture(scope="module")
def slept_once():
    """Every architecture after a first sleep on task 0, with what random replay kept of it."""
    first, replay = buffer_of(task(0)), random_replay(SPEC, ACTION, 128)
    models = {
        kind: consolidate(newborn(kind), first, replay, jax.random.key(1), QUICK, first=True)[0]
        for kind in PAPER_ARCHITECTURES
    }
    return models, replay.add(first, 48, jax.random.key(2))


@pytest.mark.parametrize("kind", PAPER_ARCHITECTURES)
def test_every_architecture_learns_to_imitate(slept_once, kind):
    model = slept_once[0][kind]
    assert isinstance(model, SleepModel)
    assert agreement(newborn(kind), task(0)) < 0.5
    assert agreement(model, task(0)) > 0.95


@pytest.mark.parametrize("kind", PAPER_ARCHITECTURES)
def test_replay_keeps_what_experience_alone_forgets(slept_once, kind):
    """A second sleep on a task that contradicts the first wherever the tasks are not told apart."""
    models, replay = slept_once
    kept = {}
    for name, (generative, random) in {"er": (False, False), "gr": (True, False), "all": (True, True)}.items():
        config = SleepConfig(1500, 32, generative_replay=generative, random_replay=random)
        model, curves = consolidate(models[kind], buffer_of(task(1)), replay, jax.random.key(3), config, first=False)
        assert agreement(model, task(1)) > 0.95
        assert (curves.generative is None) == (not generative)
        kept[name] = agreement(model, task(0))
    assert kept["er"] < 0.6
    assert kept["all"] > max(0.85, kept["er"] + 0.3)
    if kind != HIDDEN:  # whose features drift without random replay: the paper's finding too
        assert kept["gr"] > kept["er"] + 0.1


def test_dreams_are_labelled_by_the_policy_that_dreams(slept_once):
    for model in slept_once[0].values():
        dream = model.dream(jax.random.key(5), 20)
        own = model.loss(NO_PAIRS, dream, jax.random.key(6)).imitation
        entropy = actions.entropy(ACTION, dream.logits)
        assert (own >= entropy - 1e-5).all()  # nobody imitates it better than it does itself


@pytest.mark.parametrize("kind", PAPER_ARCHITECTURES)
def test_one_batch_of_pairs_and_dreams_is_as_good_as_two(slept_once, kind):
    """Rows do not look at each other. (Noise differs, so only what has none is compared.)"""
    model, key = slept_once[0][kind], jax.random.key(7)
    pairs, dream = task(1, 12), model.dream(jax.random.key(5), 5)
    both, real, dreamed = (
        model.loss(*batch, key) for batch in ((pairs, dream), (pairs, no_dream(model)), (NO_PAIRS, dream))
    )
    apart = jax.tree.map(lambda *parts: jnp.concatenate(parts), real, dreamed)
    np.testing.assert_allclose(both.kl, apart.kl, rtol=1e-5)
    if kind != SEQUENTIAL:  # whose policy sees noise too
        np.testing.assert_allclose(both.imitation, apart.imitation, rtol=1e-4, atol=1e-6)
    assert both.reconstruction.shape == (17,)


def test_the_first_sleep_replays_experience_only(slept_once):
    _, replay = slept_once
    config = SleepConfig(iterations=30)
    _, curves = consolidate(newborn(HIDDEN), buffer_of(task(0)), replay, jax.random.key(0), config, True)
    assert curves.generative is None
    assert curves.random is None
    assert curves.experience.imitation.shape == (30,)
    _, curves = consolidate(newborn(HIDDEN), buffer_of(task(0)), replay, jax.random.key(0), config, False)
    assert curves.generative.kl.shape == (30,)
    assert curves.random.reconstruction.shape == (30,)


def test_hidden_dreams_do_not_reach_the_extractor(slept_once):
    model, weights = slept_once[0][HIDDEN], LossWeights()
    dream = model.dream(jax.random.key(0), 8)

    @eqx.filter_jit
    @jax.grad
    def gradient_of(model, pairs, dream):
        return weights.total(model.loss(pairs, dream, jax.random.key(1))).sum()

    gradient = gradient_of(model, NO_PAIRS, dream)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradient.policy.extractor))
    assert any((leaf != 0).any() for leaf in jax.tree.leaves(gradient.policy.head))
    gradient = gradient_of(model, task(0, 16), no_dream(model))
    assert any((leaf != 0).any() for leaf in jax.tree.leaves(gradient.policy.extractor))


def test_imitation_teaches_the_vae_only_where_the_policy_looks_through_it(slept_once):
    """Sequential: yes. Two-headed and hidden: the policy stands beside the VAE."""

    @eqx.filter_jit
    @jax.grad
    def gradient_of(model):
        return model.loss(task(0, 16), no_dream(model), jax.random.key(1)).imitation.sum()

    for kind, model in slept_once[0].items():
        gradient = gradient_of(model)
        reaches = any((leaf != 0).any() for leaf in jax.tree.leaves(gradient.vae))
        assert reaches == (kind == SEQUENTIAL)


def test_logits_can_be_labels(slept_once):
    """The softer label teaches the whole distribution."""
    seen = task(0)
    chances = jax.nn.softmax(2.0 * jax.nn.one_hot(seen.label, 4))
    pairs = Pairs(seen.observation, jnp.log(chances))
    buffer = wake_buffer(SPEC, ACTION, pairs.size, logits=True).add(pairs)
    replay = random_replay(SPEC, ACTION, 8, logits=True)
    model, _ = consolidate(newborn(HIDDEN), buffer, replay, jax.random.key(1), QUICK, first=True)
    np.testing.assert_allclose(jax.nn.softmax(model(seen.observation)).mean(0), chances.mean(0), atol=0.03)
    np.testing.assert_allclose(np.max(jax.nn.softmax(model(seen.observation)), -1).mean(), chances.max(), atol=0.05)


def test_same_key_same_sleep():
    config, replay, buffer = SleepConfig(iterations=20), random_replay(SPEC, ACTION, 8), buffer_of(task(0))
    one, two, other = (
        consolidate(newborn(HIDDEN), buffer, replay, jax.random.key(seed), config, True)[0] for seed in (1, 1, 2)
    )
    equal = lambda a, b: jax.tree.all(jax.tree.map(lambda x, y: bool((x == y).all()), a, b))  # noqa: E731
    assert equal(one, two)
    assert not equal(one, other)


def test_what_sleep_refuses():
    with pytest.raises(UserError, match="nothing to sleep on"):
        consolidate(
            newborn(HIDDEN), wake_buffer(SPEC, ACTION, 5), random_replay(SPEC, ACTION, 8),
            jax.random.key(0), QUICK, True,
        )  # fmt: skip
    with pytest.raises(UserError, match="at least one iteration"):
        SleepConfig(iterations=0)
    with pytest.raises(UserError, match="something to replay"):
        SleepConfig(experience_replay=False, generative_replay=False, random_replay=False)
