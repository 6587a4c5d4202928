"""The wake-sleep agent: Algorithms 1 and 2 of the paper.

Awake, a reinforcement learner learns the task at hand, at first mostly on the advice of the sleep policy; what it sees
and does goes into the wake buffer. Asleep, the sleep policy and its generator consolidate. At waking the learner is
born anew.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from wakesleep.agents.agent import Budget, SleepLog
from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor
from wakesleep.sleep.architectures import ModelConfig
from wakesleep.sleep.consolidate import SleepConfig, consolidate
from wakesleep.sleep.diagnose import diagnose
from wakesleep.sleep.replay import RandomReplay, WakeBuffer, random_replay, wake_buffer
from wakesleep.wake.envs import Envs, evaluate
from wakesleep.wake.learner import AdoptsPolicy, count_parameters, num_parameters, policy_of
from wakesleep.wake.learners import LearnerConfig, make_learner
from wakesleep.wake.ppo import PAPER
from wakesleep.wake.rollout import Advice
from wakesleep.wake.train import TrainingLog, train
from wakesleep.worlds.world import ActionSpec, ObservationSpec


@dataclass(frozen=True)
class WakeSleepConfig:
    """Settings of the agent. The defaults are the paper's for Minigrid."""

    learner: LearnerConfig = PAPER
    """Settings of the wake learner, PPO's or V-trace's or another's."""
    model: ModelConfig = ModelConfig()
    sleep: SleepConfig = SleepConfig()
    sleeps_per_block: int = 1
    """How often it sleeps in a learning block, at even intervals."""
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
    """Whether every waking begins with a fresh wake learner."""
    copy_weights: bool = False
    """Whether a fresh wake learner takes over the sleep policy, if that does better in a mini evaluation."""
    mini_evaluation_episodes: int = 10
    """Episodes of that mini evaluation, of each of the two policies."""

    def __post_init__(self) -> None:
        if self.sleeps_per_block < 1:
            raise UserError("a wake-sleep agent sleeps at least once in a block")
        if not 0 <= self.advice < 1 or self.advice_steps < 1 or not 0 < self.advice_share <= 1:
            raise UserError(
                "advice is given with a probability from 0 to below 1, for at least one step, and a share of the time"
                " above 0 and up to 1"
            )


class WakeSleepState(NamedTuple):
    """The agent's whole memory."""

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
    """The wake-sleep agent (`agent.py` has the interface)."""

    def __init__(self, observation: ObservationSpec, action: ActionSpec, config: WakeSleepConfig | None = None) -> None:
        self.observation_spec, self.action_spec, self.config = observation, action, config or WakeSleepConfig()
        self.learner = make_learner(self.config.learner, observation, action)
        self.num_envs, self.num_steps = self.learner.num_envs, self.learner.num_steps
        self.sleeps_per_block = self.config.sleeps_per_block

    def init(self, key: Key[Array, ""]) -> WakeSleepState:
        """Fresh networks and empty buffers."""
        config, specs = self.config, (self.observation_spec, self.action_spec)
        learner_key, model_key = jax.random.split(key)
        buffer = wake_buffer(*specs, config.wake_buffer_size, config.logits_as_labels)
        replay = random_replay(*specs, config.random_replay_capacity, config.logits_as_labels)
        model = config.model.make(*specs, model_key)
        learner, zero = self.learner.init(learner_key), jnp.int32(0)
        return WakeSleepState(learner, model, buffer, replay, np.array(0), zero, jnp.int32(config.advice_steps))

    def wake(self, state: WakeSleepState, envs: Envs, key: Key[Array, ""], steps: int) -> WakeSleepState:
        """An empty buffer, advice at its height, and as told a fresh learner, which may take over the sleep policy."""
        config = self.config
        buffer = wake_buffer(self.observation_spec, self.action_spec, config.wake_buffer_size, config.logits_as_labels)
        learner, (birth_key, trial_key) = state.learner, jax.random.split(key)
        if config.reset_at_waking:
            learner = self.learner.init(birth_key)
        if config.copy_weights and state.sleeps > 0:
            learner = self._with_better_policy(learner, state.model, envs, trial_key)
        advised = jnp.int32(max(1, min(config.advice_steps, round(config.advice_share * steps))))
        return state._replace(learner=learner, buffer=buffer, awake=jnp.int32(0), advised=advised)

    def _with_better_policy(self, learner: Any, model: Any, envs: Envs, key: Key[Array, ""]) -> Any:
        """The learner with the sleep policy, if that does better than its own in a mini evaluation."""
        if not isinstance(self.learner, AdoptsPolicy) or not hasattr(model, "policy"):
            raise UserError("copy_weights needs a learner that adopts policies and a sleep model that holds one")
        own, slept = (
            evaluate(envs, policy, key, self.config.mini_evaluation_episodes).total_reward.mean()
            for policy in (policy_of(self.learner, learner), model)
        )
        return self.learner.with_policy(learner, model.policy) if slept > own else learner

    def train(
        self, state: WakeSleepState, envs: Envs, envs_state: Any, key: Key[Array, ""], iterations: int, chunk: int
    ) -> tuple[WakeSleepState, Any, TrainingLog]:
        """Act and learn, on advice once there has been a sleep, and keep what happens in the wake buffer."""
        start = jnp.float32(self.config.advice if state.sleeps > 0 else 0.0)
        advice = Advice(state.model, start, start / state.advised).after(state.awake)
        result = train(
            self.learner, state.learner, envs, envs_state, key, iterations,
            chunk=chunk, advice=advice, recorder=state.buffer,
        )  # fmt: skip
        awake = state.awake + iterations * self.num_envs * self.num_steps
        state = state._replace(learner=result.state, buffer=result.recorder, awake=awake)
        return state, result.envs_state, result.log

    def sleep(self, state: WakeSleepState, key: Key[Array, ""]) -> tuple[WakeSleepState, SleepLog]:
        """Consolidate the wake buffer, then leave a few of its pairs to random replay."""
        sleep_key, keep_key, diagnose_key = jax.random.split(key, 3)
        config, number = self.config, int(state.sleeps)
        model, curves = consolidate(state.model, state.buffer, state.replay, sleep_key, config.sleep, number == 0)
        diagnostics = diagnose(self.action_spec, state.model, model, state.buffer, state.replay, number, diagnose_key)
        replay = state.replay.add(state.buffer, config.random_replay_per_sleep, keep_key)
        log = SleepLog({"curves": curves, **diagnostics})
        return state._replace(model=model, replay=replay, sleeps=state.sleeps + 1), log

    def policy(self, state: WakeSleepState) -> Actor:
        """The sleep policy: it acts in evaluation blocks, and advises."""
        return state.model

    def budget(self, state: WakeSleepState) -> Budget:
        """Parameters of learner and sleep model; bytes of both buffers."""
        parameters = num_parameters(self.learner, state.learner) + count_parameters(state.model)
        return Budget(parameters, state.buffer.pairs.bytes + state.replay.pairs.bytes)
