"""Diagnostics tell what a sleep did, on cases where the truth is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.sleep.test_consolidate import ACTION, QUICK, SPEC, agreement, buffer_of, newborn, task
from wakesleep.sleep.architectures import HIDDEN, PAPER_ARCHITECTURES, TWO_HEADED
from wakesleep.sleep.consolidate import consolidate
from wakesleep.sleep.diagnose import DREAMS, PICTURES, PROBES, REFINE_STEPS, diagnose
from wakesleep.sleep.model import Reconstructs, refine, refined_dream
from wakesleep.sleep.replay import random_replay


@pytest.mark.parametrize("kind", PAPER_ARCHITECTURES)
def test_a_first_sleep(kind):
    before, buffer, replay = newborn(kind), buffer_of(task(0)), random_replay(SPEC, ACTION, 128)
    after, _ = consolidate(before, buffer, replay, jax.random.key(1), QUICK, first=True)
    looked = diagnose(ACTION, before, after, buffer, replay, 0, jax.random.key(2))
    assert set(looked["sleep"]) == {0}  # nothing was kept yet
    assert len(looked["sleep"]) == len(looked["before"]) == len(looked["after"]) == PROBES
    assert looked["agrees_before"].mean() < 0.5
    assert looked["agrees_after"].mean() == pytest.approx(agreement(after, task(0)), abs=0.05)
    assert looked["dreamed_after"].shape[0] == len(looked["refined"]) == DREAMS
    assert np.all(np.diff(looked["explained"]) <= 1e-6)
    assert 0.3 < looked["explained"].sum() <= 1.001
    error = np.square(looked["reconstructed"] - looked["after"]).mean()
    assert error < 0.5 * np.square(looked["before"] - looked["after"]).mean()
    if kind == HIDDEN:
        assert not [name for name in looked if name.startswith("picture")]
    else:
        assert looked["picture_dream"].shape == (PICTURES, 6)
        assert looked["picture_seen"].dtype == np.uint8
        assert looked["picture_dream_refined"].shape == (PICTURES, 6)
        right = np.asarray(looked["picture_seen"] == looked["picture_seen_again"])
        assert right[:, :2].mean() > 0.8  # what tells the tasks and actions apart
        assert (np.asarray(looked["picture_dream"])[:, 0] == 0).mean() > 0.7  # it has seen nothing but task 0


def test_a_sleep_that_changes_nothing_drifts_nowhere():
    model, buffer = newborn(HIDDEN), buffer_of(task(1))
    replay = random_replay(SPEC, ACTION, 128).add(buffer_of(task(0)), 48, jax.random.key(2))
    looked = diagnose(ACTION, model, model, buffer, replay, 1, jax.random.key(3))
    assert np.array_equal(looked["before"], looked["after"])
    assert np.array_equal(looked["agrees_before"], looked["agrees_after"])
    assert (looked["sleep"] == 0).sum() == (looked["sleep"] == 1).sum() == PROBES


@pytest.mark.parametrize("kind", PAPER_ARCHITECTURES)
def test_the_papers_models_can_be_looked_at(kind):
    model = newborn(kind)
    assert isinstance(model, Reconstructs)
    dream = model.dream(jax.random.key(0), 4)
    np.testing.assert_allclose(model.label(dream.inputs), dream.logits, rtol=1e-5, atol=1e-5)


def test_refined_dreams_pass_through_the_vae_again():
    model = newborn(TWO_HEADED)
    once, more = (refined_dream(model, jax.random.key(0), 4, steps) for steps in (0, REFINE_STEPS))
    assert jnp.allclose(model.dream(jax.random.key(0), 4).inputs, once.inputs)
    assert jnp.allclose(refine(model, once.inputs, REFINE_STEPS), more.inputs)
    assert not jnp.allclose(once.inputs, more.inputs)
    assert jnp.allclose(model.policy.head(model.policy.extractor(more.inputs)), more.logits, atol=1e-6)
