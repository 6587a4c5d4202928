"""stable-baselines3's own PPO as a wake learner: an off-the-shelf learner put in (extra `sb3`).

    import wakesleep.wake.sb3                                         # registers the learner "sb3-ppo"
    ws.run("hidden", tasks=["DoorKey_S5", "DistShift_R2"], learner="sb3-ppo")

    wakesleep run --load wakesleep.wake.sb3 --agent hidden --learner sb3-ppo ...

The learner's state is what PyTorch knows as arrays: parameters and Adam's moments. They are put into a model before it
acts or learns and taken out afterwards, so a life with it is saved and resumed like any other.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np

from wakesleep.errors import UserError
from wakesleep.wake.learners import register_learner
from wakesleep.wake.rollout import Diagnostics, Rollout
from wakesleep.worlds.world import ActionSpec, ObservationSpec

try:
    import torch
    from stable_baselines3 import PPO as Reference
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import DummyVecEnv
except ImportError as error:  # pragma: no cover
    raise UserError("this learner needs stable-baselines3: pip install 'wakesleep[sb3]'") from error


@dataclass(frozen=True)
class SB3PPOConfig:
    """Settings of stable-baselines3's PPO. The defaults are the paper's."""

    num_envs: int = 1
    """Environments that act at the same time."""
    num_steps: int = 512
    """Steps of every environment in a rollout (`n_steps`)."""
    minibatch_size: int = 32
    """Transitions per gradient step (`batch_size`)."""
    epochs: int = 10
    """Passes over a rollout (`n_epochs`)."""
    learning_rate: float = 2.5e-4
    """Of Adam."""
    discount: float = 0.99
    """Factor by which a reward counts less with every step that it lies ahead (`gamma`)."""
    gae_lambda: float = 0.95
    """GAE's lambda: less than 1 means less noise in advantages, and more bias."""
    clip_eps: float = 0.3
    """How far the probability ratio may leave 1 (`clip_range`)."""
    entropy_coef: float = 5e-5
    """Weight of the entropy bonus in the loss (`ent_coef`)."""
    value_coef: float = 0.75
    """Weight of the value's error in the loss (`vf_coef`)."""
    max_grad_norm: float = 5.0
    """Gradients with a greater norm are scaled down to it."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the layers of both networks, with ReLUs."""


class SB3State(NamedTuple):
    """A model's parameters, and Adam's state for each of them, in their order."""

    parameters: dict[str, np.ndarray]
    mean: dict[str, np.ndarray]
    square: dict[str, np.ndarray]
    steps: np.ndarray


class _Spaces(gymnasium.Env[Any, Any]):
    """An environment that only says what it looks like: stable-baselines3 wants one to build its networks."""

    def __init__(self, observation: ObservationSpec, action: ActionSpec) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, observation.shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(action.sizes[0])


class SB3PPO:
    """stable-baselines3's PPO behind the `Learner` interface. Observations are divided by their spec's scale."""

    jittable = False

    def __init__(self, observation: ObservationSpec, action: ActionSpec, config: SB3PPOConfig | None = None) -> None:
        config = config or SB3PPOConfig()
        if not action.is_single or action.masked:
            raise UserError("stable-baselines3's PPO takes one unmasked choice per step; use our PPO or V-trace")
        self.observation_spec, self.action_spec, self.config = observation, action, config
        self.num_envs, self.num_steps = config.num_envs, config.num_steps
        self._model = self._make_model()
        self._loaded: SB3State | None = None

    def _make_model(self) -> Reference:
        config = self.config
        env = DummyVecEnv([lambda: _Spaces(self.observation_spec, self.action_spec)] * config.num_envs)
        widths = list(config.hidden)
        networks = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": torch.nn.ReLU}
        model = Reference(
            "MlpPolicy", env, n_steps=config.num_steps, batch_size=config.minibatch_size, n_epochs=config.epochs,
            learning_rate=config.learning_rate, gamma=config.discount, gae_lambda=config.gae_lambda,
            clip_range=config.clip_eps, ent_coef=config.entropy_coef, vf_coef=config.value_coef,
            max_grad_norm=config.max_grad_norm, policy_kwargs=networks, device="cpu",
        )  # fmt: skip
        model.set_logger(Logger(None, []))
        return model

    def init(self, key: jax.Array) -> SB3State:
        """The state of a model with fresh parameters."""
        torch.manual_seed(_seed(key))
        self._model.policy._build(self._model.lr_schedule)
        self._loaded = None
        parameters = _arrays(self._model.policy)
        zeros = {name: np.zeros_like(value) for name, value in parameters.items()}
        return SB3State(parameters, zeros, dict(zeros), np.array(0))

    def policy(self, state: SB3State) -> Any:
        """From observations (leading axis: environments) to logits."""

        def logits(observation: Any) -> jax.Array:
            with torch.no_grad():
                distribution = self._load(state).policy.get_distribution(self._tensor(observation))
            return jax.numpy.asarray(distribution.distribution.logits.numpy())

        return logits

    def num_parameters(self, state: SB3State) -> int:
        """Numbers that are learned, in policy and value."""
        return sum(value.size for value in state.parameters.values())

    def update(self, state: SB3State, rollout: Rollout, key: jax.Array) -> tuple[SB3State, Diagnostics]:
        """Fill the model's own buffer and let it train; minibatches are shuffled by the key."""
        if not np.all(rollout.valid):
            raise UserError("stable-baselines3 cannot leave out rows that only reset: turn next-step autoreset off")
        model = self._load(state)
        self._fill_buffer(model, rollout)
        np.random.seed(_seed(key) % 2**32)  # noqa: NPY002  (what stable-baselines3 shuffles by)
        model.train()
        diagnostics = {name: jax.numpy.float32(value) for name, value in model.logger.name_to_value.items()}
        return self._save(model), diagnostics

    def _fill_buffer(self, model: Reference, rollout: Rollout) -> None:
        buffer, starts = model.rollout_buffer, np.ones(self.num_envs)
        buffer.reset()
        for step in range(self.num_steps):
            now, after = (self._tensor(part[step]) for part in (rollout.observation, rollout.next_observation))
            with torch.no_grad():
                values, next_values = model.policy.predict_values(now), model.policy.predict_values(after)
            cut = rollout.truncated[step] & ~rollout.terminated[step]
            reward = rollout.reward[step] + model.gamma * cut * next_values.numpy()[:, 0]
            log_prob = torch.as_tensor(np.array(rollout.log_prob[step]))
            action = np.asarray(rollout.action[step]).reshape(self.num_envs, 1)
            buffer.add(now.numpy(), action, reward, starts, values, log_prob)
            starts = np.asarray(rollout.ended[step], float)
        buffer.compute_returns_and_advantage(last_values=next_values, dones=starts)

    def _load(self, state: SB3State) -> Reference:
        """The model with a state put in, if it is not there already."""
        if self._loaded is state:
            return self._model
        tensors = {name: torch.as_tensor(np.array(value)) for name, value in state.parameters.items()}
        self._model.policy.load_state_dict(tensors)
        optimizer = self._model.policy.optimizer
        for name, parameter in self._model.policy.named_parameters():
            moments = (torch.as_tensor(np.array(part[name])) for part in (state.mean, state.square))
            mean, square = moments
            step = torch.tensor(float(state.steps))
            optimizer.state[parameter] = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
        self._loaded = state
        return self._model

    def _save(self, model: Reference) -> SB3State:
        named = list(model.policy.named_parameters())
        moments = [model.policy.optimizer.state[parameter] for _, parameter in named]
        mean, square = (
            {name: moment[part].numpy().copy() for (name, _), moment in zip(named, moments, strict=True)}
            for part in ("exp_avg", "exp_avg_sq")
        )
        self._loaded = SB3State(_arrays(model.policy), mean, square, np.array(int(moments[0]["step"])))
        return self._loaded

    def _tensor(self, observation: Any) -> Any:
        scale = self.observation_spec.scale.astype(np.float32)
        return torch.as_tensor(np.asarray(observation, np.float32) / scale)


def _arrays(policy: Any) -> dict[str, np.ndarray]:
    return {name: value.numpy().copy() for name, value in policy.state_dict().items()}


def _seed(key: jax.Array) -> int:
    return int(jax.random.randint(key, (), 0, 2**31 - 1))


register_learner("sb3-ppo", SB3PPOConfig, SB3PPO)
