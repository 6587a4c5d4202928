"""Lifetimes to report on: one that was really lived, small, and others of which only the log is there."""

import pytest

from tests.reporting.lives import ORDER, write_life
from tests.small import SMALL
from wakesleep.lifetime.spec import LifetimeSpec, run_lifetime
from wakesleep.syllabus.scenarios import pairwise


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
