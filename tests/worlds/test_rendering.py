"""Gymnasium environments that draw themselves, and episodes recorded in them."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv

from wakesleep import GymnasiumWorld, UserError
from wakesleep.worlds.episode import frames, random_player, record_host_episode
from wakesleep.worlds.protocols import HasRendering, RenderedWorld


class Count(gymnasium.Env):
    """Counts to three. Its picture is as bright as the count."""

    observation_space = Box(0, 20, (1,), np.int64)
    action_space = Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.array([0]), {}

    def step(self, action):
        self.count += 1
        return np.array([self.count]), 1.0, self.count == 3, False, {}

    def render(self):
        return np.full((4, 6, 3), self.count, np.uint8) if self.render_mode else None


def drawn_count():
    return Count("rgb_array")


class Mine(GymnasiumWorld):
    """A world of a user's own."""


def test_the_last_picture_shows_the_end_of_the_episode():
    world = GymnasiumWorld(drawn_count, 2)
    rendered = world.with_rendering()
    assert isinstance(world, HasRendering)
    assert not isinstance(world, RenderedWorld)
    assert isinstance(rendered, RenderedWorld)
    assert rendered.num_envs == 1
    episode = record_host_episode(rendered, random_player(rendered), 0, jax.random.key(0))
    assert [int(picture.max()) for picture in episode.pictures] == [0, 1, 2, 3]
    assert episode.rewards == [1.0] * 3
    assert episode.terminated
    assert len(list(frames(rendered, episode))) == 4
    assert rendered.step(np.array([0])).next_observation.tolist() == [[1]]  # the next episode goes on


def test_recording_stops_at_the_limit():
    rendered = GymnasiumWorld(drawn_count).with_rendering()
    episode = record_host_episode(rendered, random_player(rendered), 0, jax.random.key(0), max_steps=2)
    assert (len(episode.actions), len(episode.pictures), episode.terminated) == (2, 3, False)


def test_an_id_is_made_again_in_the_mode_that_draws():
    world = GymnasiumWorld("wakesleep-jax/DoorKey_S5", 2)
    rendered = world.with_rendering()
    observations = rendered.reset(3)
    np.testing.assert_array_equal(observations[0], world.reset(3)[0])
    assert rendered.picture().shape == (5 * 24, 5 * 24, 3)


def test_what_cannot_be_drawn():
    with pytest.raises(UserError, match='create it with render_mode="rgb_array"'):
        GymnasiumWorld(Count).with_rendering()
    with pytest.raises(UserError, match="a vector environment cannot be drawn"):
        GymnasiumWorld(SyncVectorEnv([drawn_count])).with_rendering()
    with pytest.raises(UserError, match=r"Mine cannot be drawn: it has no `with_rendering\(\)` of its own"):
        Mine(drawn_count).with_rendering()
    with pytest.raises(UserError, match=r"call reset\(\) before picture"):
        GymnasiumWorld(drawn_count).with_rendering().picture()


def test_an_environment_that_knows_no_render_mode(monkeypatch):
    class Blind(Count):
        def __init__(self):
            super().__init__()

    monkeypatch.setitem(gymnasium.registry, "Blind-v0", gymnasium.envs.registration.EnvSpec("Blind-v0", Blind))
    with pytest.raises(UserError, match="Blind-v0 cannot be made with render_mode='rgb_array'"):
        GymnasiumWorld("Blind-v0").with_rendering()


def test_a_picture_must_be_a_picture():
    class Grey(Count):
        def render(self):
            return np.zeros((4, 6))

    with pytest.raises(UserError, match=r"an array of shape \(4, 6\)"):
        GymnasiumWorld(lambda: Grey("rgb_array")).with_rendering().reset(0)
