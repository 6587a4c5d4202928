"""The wake-sleep agent: Algorithms 1 and 2 of the paper.

Awake, a reinforcement learner learns the task at hand, at first mostly on the advice of the sleep policy; what it sees
and does goes into the wake buffer. Asleep, the sleep policy and its generator consolidate. At waking the learner is
born anew.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from wakesleep.agents.agent import Budget, SleepLog
from wakesleep.agents.baselines import count_parameters
from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor
from wakesleep.sleep.architectures import ModelConfig
from wakesleep.sleep.consolidate import SleepConfig, consolidate
from wakesleep.sleep.diagnose import diagnose
from wakesleep.sleep.replay import RandomReplay, WakeBuffer, random_replay, wake_buffer
from wakesleep.wake.evaluate import evaluate
from wakesleep.wake.learner import Progress, train
from wakesleep.wake.ppo import PAPER
from wakesleep.wake.presets import Config, make_learner
from wakesleep.wake.rollout import Advice, Life
from wakesleep.worlds.host import AnyWorld
from wakesleep.worlds.world import ActionSpec, ObservationSpec


@dataclass(frozen=True)
class WakeSleepConfig:
    """What the agent is told. The defaults are the paper's for Minigrid."""

    learner: Config = PAPER
    model: ModelConfig = ModelConfig()
    sleep: SleepConfig = SleepConfig()
    sleeps_per_block: int = 1
    wake_buffer_size: int = 20_000
    """Pairs in the wake buffer."""
    random_replay_per_sleep: int = 256
    """Pairs that random replay takes from the wake buffer at each sleep."""
    random_replay_capacity: int = 4096
    """Pairs in random replay."""
    logits_as_labels: bool = False
    """Whether sleep imitates the policy's logits rather than the actions taken."""
    advice: float = 0.9
    """Probability that the sleep policy chooses the action, just after waking."""
    advice_steps: int = 100_000
    """Environment steps in which it falls to 0, unless the following gives fewer."""
    advice_share: float = 0.5
    """Share of the time until the next sleep in which it falls to 0. With the paper's Minigrid blocks that is never
    less than 100,000 steps: it keeps shortened lives in proportion. In StarCraft II the paper's rule is this one."""
    reset_at_waking: bool = True
    """Whether the wake learner is born anew."""
    copy_weights: bool = False
    """Whether a fresh wake learner takes over the sleep policy, if that does better in a mini evaluation."""
    mini_evaluation_episodes: int = 10
    """Episodes of it."""

    def __post_init__(self) -> None:
        if self.sleeps_per_block < 1:
            raise UserError("a wake-sleep agent sleeps at least once in a block")
        if not 0 <= self.advice < 1 or self.advice_steps < 1 or not 0 < self.advice_share <= 1:
            raise UserError(
                "advice is given with a probability from 0 to below 1, for at least one step, and a share of the time"
                " above 0 and up to 1"
            )


class WakeSleepState(NamedTuple):
    """All that the agent is."""

    learner: Any
    model: Any
    buffer: WakeBuffer
    replay: RandomReplay
    sleeps: np.ndarray
    """How often it has slept."""
    awake: Int[Array, ""]
    """Environment steps since it woke."""
    advised: Int[Array, ""]
    """Environment steps after waking in which advice falls to 0."""


class WakeSleepAgent:
    """The agent. See `agent.py` for the interface."""

    def __init__(self, observation: ObservationSpec, action: ActionSpec, config: WakeSleepConfig | None = None) -> None:
        self.observation_spec, self.action_spec, self.config = observation, action, config or WakeSleepConfig()
        self.learner = make_learner(self.config.learner, observation, action)
        self.num_envs, self.num_steps = self.learner.num_envs, self.learner.num_steps
        self.sleeps_per_block = self.config.sleeps_per_block

    def init(self, key: Key[Array, ""]) -> WakeSleepState:
        """Newborn: nothing learned, nothing kept."""
        config, specs = self.config, (self.observation_spec, self.action_spec)
        learner_key, model_key = jax.random.split(key)
        buffer = wake_buffer(*specs, config.wake_buffer_size, config.logits_as_labels)
        replay = random_replay(*specs, config.random_replay_capacity, config.logits_as_labels)
        model = config.model.make(*specs, model_key)
        learner, zero = self.learner.init(learner_key), jnp.int32(0)
        return WakeSleepState(learner, model, buffer, replay, np.array(0), zero, jnp.int32(config.advice_steps))

    def wake(self, state: WakeSleepState, world: AnyWorld, key: Key[Array, ""], steps: int) -> WakeSleepState:
        """An empty buffer, advice at its height, and as told a fresh learner, which may take over the sleep policy."""
        config = self.config
        buffer = wake_buffer(self.observation_spec, self.action_spec, config.wake_buffer_size, config.logits_as_labels)
        learner, (birth_key, trial_key) = state.learner, jax.random.split(key)
        if config.reset_at_waking:
            learner = self.learner.init(birth_key)
        if config.copy_weights and state.sleeps > 0:
            both = (learner.networks.policy, state.model)
            own, slept = (
                evaluate(world, actor, trial_key, config.mini_evaluation_episodes).total_reward.mean() for actor in both
            )
            if slept > own:
                networks = eqx.tree_at(lambda networks: networks.policy, learner.networks, state.model.policy)
                learner = learner._replace(networks=networks)
        advised = jnp.int32(max(1, min(config.advice_steps, round(config.advice_share * steps))))
        return state._replace(learner=learner, buffer=buffer, awake=jnp.int32(0), advised=advised)

    def live(
        self, state: WakeSleepState, world: AnyWorld, life: Life, key: Key[Array, ""], iterations: int, chunk: int
    ) -> tuple[WakeSleepState, Life, Progress]:
        """Learn, on advice once there has been a sleep."""
        start = jnp.float32(self.config.advice if state.sleeps > 0 else 0.0)
        advice = Advice(state.model, start, start / state.advised).later(state.awake)
        life = life._replace(memory=state.buffer)
        learner, life, progress = train(self.learner, state.learner, world, life, key, iterations, chunk, advice)
        awake, buffer = state.awake + iterations * self.num_envs * self.num_steps, life.memory
        assert isinstance(buffer, WakeBuffer)
        state = state._replace(learner=learner, buffer=buffer, awake=awake)
        return state, life._replace(memory=None), progress

    def sleep(self, state: WakeSleepState, key: Key[Array, ""]) -> tuple[WakeSleepState, SleepLog]:
        """Consolidate the wake buffer, then leave a few of its pairs to random replay."""
        sleep_key, keep_key, look_key = jax.random.split(key, 3)
        config, number = self.config, int(state.sleeps)
        model, curves = consolidate(state.model, state.buffer, state.replay, sleep_key, config.sleep, number == 0)
        looked = diagnose(self.action_spec, state.model, model, state.buffer, state.replay, number, look_key)
        replay = state.replay.add(state.buffer, config.random_replay_per_sleep, keep_key)
        slept = SleepLog({"curves": curves, **looked})
        return state._replace(model=model, replay=replay, sleeps=state.sleeps + 1), slept

    def policy(self, state: WakeSleepState) -> Actor:
        """The sleep policy."""
        return state.model

    def budget(self, state: WakeSleepState) -> Budget:
        """All networks; both buffers."""
        parameters = count_parameters(state.learner.networks) + count_parameters(state.model)
        return Budget(parameters, state.buffer.pairs.bytes + state.replay.pairs.bytes)
