"""A sleep model of one's own: the three methods that it needs are enough for a whole life."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from tests.small import SMALL
from wakesleep import Dream, Losses, Pairs, UserError, imitation_loss, register_sleep_model
from wakesleep.lifetime.spec import LifetimeSpec, stored_policy
from wakesleep.reporting.lives import read_life
from wakesleep.reporting.sleeps import losses_of, read_sleep, sleep_files, sleeps
from wakesleep.sleep import architectures
from wakesleep.sleep.architectures import ModelConfig
from wakesleep.sleep.consolidate import SleepConfig, consolidate
from wakesleep.sleep.model import HasBatchStats, Reconstructs, SleepModel
from wakesleep.sleep.replay import random_replay, wake_buffer
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.worlds.world import ActionSpec, ObservationSpec

SYLLABUS = pairwise("DoorKey_S5", "DistShift_R2", seed=1, scale=0.01, episodes=3)  # 2,000 steps a block


class Linear(eqx.Module):
    """One layer over scaled observations; it dreams inputs that are uniformly distributed."""

    weight: jax.Array
    observation_spec: ObservationSpec = eqx.field(static=True)
    action_spec: ActionSpec = eqx.field(static=True)

    def _inputs(self, observation):
        batch = observation.shape[: observation.ndim - len(self.observation_spec.shape)]
        scaled = observation / jnp.asarray(self.observation_spec.scale, jnp.float32)
        return jnp.concatenate([scaled.reshape(*batch, -1), jnp.ones((*batch, 1))], axis=-1)

    def __call__(self, observation):
        return self._inputs(observation) @ self.weight

    def dream(self, key, count):
        inputs = jax.random.uniform(key, (count, self.weight.shape[0]))
        return Dream(inputs, inputs @ self.weight)

    def loss(self, pairs: Pairs, dream: Dream, key):
        inputs = jnp.concatenate([self._inputs(pairs.observation), dream.inputs])
        imitation = imitation_loss(self.action_spec, inputs @ self.weight, pairs, dream)
        return Losses(imitation, jnp.zeros_like(imitation), jnp.zeros_like(imitation))


def make_linear(config, observation, action, key):
    return Linear(jnp.zeros((int(np.prod(observation.shape)) + 1, sum(action.sizes))), observation, action)


@pytest.fixture(autouse=True)
def _linear(monkeypatch):
    """The model is known in a test, and forgotten after it."""
    monkeypatch.setattr(architectures, "_MODELS", dict(architectures._MODELS))
    register_sleep_model("linear", make_linear)


def spec_of(**overrides):
    return LifetimeSpec("hidden", "paper", SYLLABUS, 0, SMALL | {"model.architecture": "linear"} | overrides)


def test_it_imitates():
    """What to do depends on the first entry: a line tells the two apart."""
    observation, action = ObservationSpec.of((3,), np.float32, -1, 1), ActionSpec.single(2)
    seen = jax.random.uniform(jax.random.key(0), (500, 3), minval=-1)
    pairs = Pairs(seen, (seen[:, 0] > 0.2).astype(jnp.int32))
    model = ModelConfig("linear").make(observation, action, jax.random.key(1))
    assert isinstance(model, SleepModel)
    assert not isinstance(model, Reconstructs | HasBatchStats)
    buffer = wake_buffer(observation, action, 500).add(pairs)
    none, config = random_replay(observation, action, 8), SleepConfig(400, learning_rate=0.05)
    slept, curves = consolidate(model, buffer, none, jax.random.key(2), config, first=True)
    assert float(jnp.mean(jnp.argmax(slept(seen), -1) == pairs.label)) > 0.95
    assert curves.experience.imitation[-1] < 0.5 * curves.experience.imitation[0]
    assert not curves.experience.kl.any()


def test_it_lives_a_life_and_its_policy_is_kept(tmp_path):
    spec_of().open(tmp_path).run(lambda part, words: None)
    assert isinstance(stored_policy(tmp_path), Linear)
    action = wakesleep.load(tmp_path).policy.act(np.zeros((7, 7, 3), np.uint8), greedy=True)
    assert 0 <= action < 6
    files = sleep_files(tmp_path)
    assert len(files) == 2
    arrays = [read_sleep(file) for file in files]
    for found in arrays:  # what can be said of a model without features
        named = {name for name in found if not name.startswith("['curves']")}
        assert named == {"sleep", "action", "agrees_before", "agrees_after"}
        assert {len(found[name]) for name in named} == {len(found["sleep"])}
    assert set(losses_of(arrays[0])) == {"experience"}
    assert set(losses_of(arrays[1])) == {"experience", "generative", "random"}
    shown, problems = sleeps(read_life(tmp_path, "life"), files)
    assert problems == []
    assert [one["number"] for one in shown] == [0, 1]


def test_what_it_cannot_do_is_told(tmp_path):
    with pytest.raises(UserError, match=r"Linear cannot refine its dreams: set sleep\.refine_steps to 0"):
        spec_of(**{"sleep.refine_steps": 2}).open(tmp_path / "refined").run(lambda part, words: None)
    with pytest.raises(UserError, match="copy_weights needs a learner that adopts policies and a sleep model that"):
        spec_of(copy_weights=True).open(tmp_path / "copied").run(lambda part, words: None)


def test_names():
    with pytest.raises(UserError, match="there is already a sleep model called 'hidden'"):
        register_sleep_model("hidden", make_linear)
    with pytest.raises(UserError, match="no sleep model is called 'flat': there are hidden, two-headed, sequential"):
        ModelConfig("flat")
