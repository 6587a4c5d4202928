"""Lifetimes to report on: one that was really lived, small, and others of which only the log is there."""

import pytest

from tests.report.lives import ORDER, write_life
from wakesleep.lifetime.spec import LifetimeSpec, run_lifetime
from wakesleep.syllabus.scenarios import pairwise

SMALL = {  # as in tests/lifetime, so that what is compiled there serves here
    "sleep.iterations": 20, "model.network.hidden": [32, 16], "model.latent": 8, "model.hidden": 32,
    "learner.network.hidden": [32, 16], "learner.minibatch_size": 64, "learner.num_envs": 4, "learner.num_steps": 32,
    "learner.epochs": 1, "buffer_size": 512, "kept_per_sleep": 16, "kept_at_most": 64, "advice_steps": 1000,
}  # fmt: skip


@pytest.fixture(scope="session")
def lived(tmp_path_factory):
    """A life with hidden replay."""
    folder = tmp_path_factory.mktemp("lived") / "life"
    syllabus = pairwise(*ORDER, seed=1, scale=0.01, episodes=3)
    run_lifetime(LifetimeSpec("hidden", "paper", syllabus, 0, SMALL), folder, lambda part, note: None)
    return folder


@pytest.fixture
def lives(tmp_path):
    """Four lives of a baseline that forgets, four of an agent that does not, in one folder."""
    for seed in range(4):
        write_life(tmp_path / "lives" / f"baseline-{seed}", "baseline", seed, first=(0.0, 0.9, 0.1 + seed / 100))
        write_life(tmp_path / "lives" / f"hidden-{seed}", "hidden", seed, first=(0.0, 0.9, 0.8 + seed / 100))
    return tmp_path / "lives"
