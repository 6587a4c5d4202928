"""What PPO and V-trace share: their state, its birth, and being the same learner when their settings are the same."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, Key

from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor, Policy
from wakesleep.wake.learner import count_parameters
from wakesleep.worlds.world import ActionSpec, ObservationSpec


class LearnerState(NamedTuple):
    """Everything the learner knows."""

    networks: Any
    optimiser: optax.OptState
    updates: Int[Array, ""]
    """Gradient steps so far."""


def check_counts(config: Any, *names: str) -> None:
    """Refuse settings that count something and are less than 1."""
    for name in names:
        if getattr(config, name) < 1:
            raise UserError(f"{name} is a whole number from 1, not {getattr(config, name)}")


class ActorCriticLearner:
    """A learner made of a config. Equal configs make equal learners, so that compiled programs are shared."""

    jittable = True

    def __init__(
        self, observation: ObservationSpec, action: ActionSpec, config: Any, optimiser: optax.GradientTransformation
    ) -> None:
        """`config` says `num_envs`, `num_steps` and `network`, besides what the learner itself wants."""
        self.observation_spec, self.action_spec, self.config = observation, action, config
        self.num_envs: int = config.num_envs
        self.num_steps: int = config.num_steps
        self.optimiser = optimiser

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return type(self), self.observation_spec, self.action_spec, self.config

    def init(self, key: Key[Array, ""]) -> LearnerState:
        """Fresh networks and optimiser."""
        networks = self.config.network.make(self.observation_spec, self.action_spec, key)
        return LearnerState(networks, self.optimiser.init(networks), jnp.int32(0))

    def policy(self, state: LearnerState) -> Actor:
        """The policy to act by."""
        return state.networks.policy

    def num_parameters(self, state: LearnerState) -> int:
        """Numbers that are learned, in policy and value."""
        return count_parameters(state.networks)

    def with_policy(self, state: LearnerState, policy: Policy) -> LearnerState:
        """The state with another policy of the same form; value and optimiser stay."""
        return state._replace(networks=eqx.tree_at(lambda networks: networks.policy, state.networks, policy))

    def descend(self, state: LearnerState, gradient: Any) -> LearnerState:
        """One step of the optimiser along a gradient (of the networks' form)."""
        updates, optimiser = self.optimiser.update(gradient, state.optimiser, state.networks)
        return LearnerState(optax.apply_updates(state.networks, updates), optimiser, state.updates + 1)
