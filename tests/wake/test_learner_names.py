"""Learners by name: whose settings they have where, and what registering one of one's own refuses."""

from dataclasses import dataclass

import jaxtyping
import pytest

import wakesleep
from tests.wake.numpy_learner import Reinforce, ReinforceConfig
from wakesleep import UserError
from wakesleep.nets.encode import Encoding
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake import learners
from wakesleep.wake.learners import (
    learner_config,
    learner_name,
    learner_names,
    make_learner,
    preset_group,
    register_learner,
    supports_one_hot,
)
from wakesleep.wake.ppo import FAST, PAPER, PPO, PPOConfig
from wakesleep.wake.vtrace import VTrace, VTraceConfig

WORLD = wakesleep.make("DoorKey_S5")
SPECS = WORLD.observation_spec, WORLD.action_spec


@dataclass(frozen=True)
class SubclassedConfig(PPOConfig):
    """Settings of a learner that was derived from PPO, and not registered."""

    bonus: float = 1.0
    """Of something new."""


class Derived(PPO):
    """PPO with something new."""


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """What is registered in a test is forgotten after it."""
    monkeypatch.setattr(learners, "_LEARNERS", dict(learners._LEARNERS))


def test_the_domains_own_learners():
    assert {"ppo", "vtrace", "numpy-reinforce"} <= set(learner_names())
    assert learner_config("paper") is PAPER
    assert learner_config("fast") is learner_config("fast", "mine") is FAST  # one's own domain has Minigrid's
    for domain in ("starcraft", "starcraft-small", "starcraft-game"):
        assert preset_group(domain) == "starcraft"
        assert isinstance(learner_config("fast", domain), VTraceConfig)
        assert learner_config("fast", domain).network != learner_config("paper", domain).network
    assert isinstance(learner_config("fast", "minigrid", "vtrace"), VTraceConfig)
    assert learner_config("fast", "starcraft", "ppo") == PPOConfig()  # without settings for a domain: the defaults
    assert learner_config("fast", learner="numpy-reinforce") == ReinforceConfig()
    with pytest.raises(UserError, match="no preset of ppo for minigrid is called 'quick': there are paper, fast"):
        learner_config("quick")
    with pytest.raises(UserError, match="no learner is called 'dqn': there are ppo, vtrace"):
        learner_config("fast", learner="dqn")


@pytest.mark.parametrize(
    ("config", "name", "kind"),
    [(PAPER, "ppo", PPO), (VTraceConfig(), "vtrace", VTrace), (ReinforceConfig(), "numpy-reinforce", Reinforce)],
)
def test_settings_name_their_learner(config, name, kind):
    assert learner_name(config) == name
    learner = make_learner(config, *SPECS)
    assert type(learner) is kind
    assert learner.config is config
    assert (learner.num_envs, learner.num_steps) == (config.num_envs, config.num_steps)


def test_derived_settings_are_not_their_parents_learner():
    """Until they are registered, with a sentence; then they make their own."""
    with pytest.raises(UserError, match=r"settings of type SubclassedConfig: call register_learner\(name, Subclassed"):
        make_learner(SubclassedConfig(), *SPECS)
    register_learner("derived", SubclassedConfig, Derived)
    assert type(make_learner(SubclassedConfig(), *SPECS)) is Derived
    assert type(make_learner(PPOConfig(), *SPECS)) is PPO
    assert learner_config("fast", learner="derived") == SubclassedConfig()


def test_what_registering_refuses(monkeypatch):
    with pytest.raises(UserError, match="there is already a learner called 'ppo'"):
        register_learner("ppo", SubclassedConfig, Derived)
    with pytest.raises(
        UserError, match="PPOConfig already holds the settings of learner 'ppo': derive a class from it"
    ):
        register_learner("derived", PPOConfig, Derived)
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users run
    for config in (dict, 3, SubclassedConfig()):
        with pytest.raises(UserError, match="the settings of learner 'derived' must be a dataclass, not"):
            register_learner("derived", config, Derived)
    assert "derived" not in learner_names()


def test_one_hot_inputs_suit_cells_and_not_pictures():
    assert supports_one_hot(WORLD.observation_spec)
    for shape, dtype, high in (((4,), "float32", 1), ((64, 64, 3), "uint8", 255), ((2,), "int32", 10**6)):
        assert not supports_one_hot(wakesleep.ObservationSpec.of(shape, dtype, 0, high))
    assert learner_config("fast").network == MLPConfig(FAST.network.hidden, Encoding.ONE_HOT)
