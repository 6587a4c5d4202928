"""Environments outside JAX: made when they are needed, closed whatever happens, and their errors in one sentence."""

from dataclasses import replace
from functools import partial

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from wakesleep import GymnasiumWorld, UserError
from wakesleep.errors import EnvironmentFailed, brief
from wakesleep.wake.host_envs import HostEnvs
from wakesleep.worlds.host import EpisodeSeeds, HostWorldFactory


class Lamp(gymnasium.Env):
    """On or off; counts how many are open."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    alive = 0
    error = None

    def __init__(self):
        Lamp.alive += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.error == "reset":
            raise KeyError("no lamp")
        return 0, {}

    def step(self, action):
        return int(action), 0.0, False, False, {}

    def close(self):
        Lamp.alive -= 1


def recipe(make):
    return HostWorldFactory.of(make(), make)


def test_as_many_environments_as_are_wanted():
    made = recipe(partial(GymnasiumWorld, Lamp, 3))
    assert (made.num_envs, made.fixed, Lamp.alive) == (3, False, 0)
    assert made.observation_spec.shape == ()
    for num_envs in (1, 5):
        world = made.open(num_envs)
        assert world.num_envs == Lamp.alive == num_envs
        world.close()
    with HostEnvs(made.with_envs(8))._opened(2) as running:  # an evaluation of two episodes
        assert running.world.num_envs == Lamp.alive == 2
    assert Lamp.alive == 0


def test_vector_environments_have_their_own_number():
    made = recipe(lambda: GymnasiumWorld(SyncVectorEnv([Lamp] * 3, autoreset_mode="NextStep")))
    assert made.fixed
    with HostEnvs(made)._opened(2) as running:
        assert running.world.num_envs == 3
    assert made.with_envs(3).num_envs == 3
    with pytest.raises(UserError, match="acts in 4 environments, but there are always 3"):
        made.with_envs(4)
    with pytest.raises(UserError, match="acts in 4 environments, the world has 3"):
        HostEnvs(replace(made, num_envs=4)).reset(jax.random.key(0))
    assert Lamp.alive == 0


def test_errors_are_one_sentence_and_close_what_was_opened(monkeypatch):
    made = recipe(partial(GymnasiumWorld, Lamp))
    monkeypatch.setattr(Lamp, "error", "reset")
    with pytest.raises(
        EnvironmentFailed, match=r"failed at the start of an episode \(KeyError: 'no lamp', test_host.py"
    ):
        HostEnvs(made.with_envs(2)).reset(jax.random.key(0))
    assert Lamp.alive == 0
    monkeypatch.setattr(Lamp, "error", None)
    running = HostEnvs(made.with_envs(2)).reset(jax.random.key(0))
    with pytest.raises(EnvironmentFailed, match="0 to 1"):
        running.step(np.array([0, 2]))
    running.close()
    running.close()  # twice does no harm
    assert Lamp.alive == 0
    with pytest.raises(ZeroDivisionError), HostEnvs(made)._opened(1):
        raise ZeroDivisionError
    assert Lamp.alive == 0


def test_seeds_are_small_numbers():
    assert EpisodeSeeds.of(2**64 - 1, 7) == EpisodeSeeds(2**30 - 1, 7)
    assert EpisodeSeeds.of(5, 7) == EpisodeSeeds(5, 7)


def test_an_error_in_one_line():
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("first.\nsecond")
    assert brief(raised.value).startswith("RuntimeError: first, test_host.py line ")
    assert brief(ValueError()) == "ValueError: no more is known"
