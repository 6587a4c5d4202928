"""Policies and values: an encoder, a feature extractor and a head each. Sleep copies and distils these parts.

Which networks a learner has is a small frozen config with a `make`: `MLPConfig` (the paper's for Minigrid) here,
`FullyConvConfig` (the paper's for StarCraft II) in `fully_conv.py`, or one of your own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from wakesleep.nets.actions import Logits, num_logits
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.layers import MLP, Linear
from wakesleep.worlds.world import ActionSpec, MaskedObservation, ObservationSpec


def view_of(observation: Any) -> Any:
    """Return an observation without its action mask."""
    return observation.view if isinstance(observation, MaskedObservation) else observation


def mask_of(observation: Any) -> Any:
    """Return the action mask of an observation, or None where all actions are always open."""
    return observation.action_mask if isinstance(observation, MaskedObservation) else None


Actor = Callable[[Any], Logits]
"""Anything that turns a batch of observations into logits, [batch, num_logits]: a `Policy`, or a learner's own."""


class Policy(eqx.Module):
    """From observations to logits over actions."""

    encoder: Callable[[Any], Array]
    """From an observation, without its mask, to inputs of the network. Has no parameters."""
    extractor: Callable[[Array], Float[Array, "*batch features"]]
    head: Callable[[Float[Array, "*batch features"]], Logits]

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """Return the features that the head reads."""
        return self.extractor(self.encoder(view_of(observation)))

    def __call__(self, observation: Any) -> Logits:
        """Return logits over actions, [*batch, num_logits]."""
        return self.head(self.features(observation))


@runtime_checkable
class Networks(Protocol):
    """What a learner trains: a policy and a value function. A pytree."""

    policy: Policy

    def value(self, observation: Any) -> Float[Array, "*batch"]:
        """Return the value (expected return) of observations."""
        ...


def logits_and_value(networks: Networks, observation: Any) -> tuple[Logits, Float[Array, "*batch"]]:
    """Return logits, [*batch, num_logits], and values of observations.

    Layers that policy and value share (`SharedNetworks`) are computed once.
    """
    if isinstance(networks, SharedNetworks):
        return networks.both(observation)
    return networks.policy(observation), networks.value(observation)


@runtime_checkable
class SharedNetworks(Networks, Protocol):
    """`Networks` whose policy and value share layers."""

    def both(self, observation: Any) -> tuple[Logits, Float[Array, "*batch"]]:
        """Return logits over actions, [*batch, num_logits], and values of observations."""
        ...


@runtime_checkable
class NetworkConfig(Protocol):
    """Settings that make `Networks`: a frozen dataclass, so that equal ones are equal and hash alike."""

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> Any:
        """Return `Networks` with random weights for these observations and actions."""
        ...


class ActorCritic(eqx.Module):
    """A policy and a value function that share no layers."""

    policy: Policy
    critic: Policy
    """The value function: its head gives one number in place of logits."""

    def value(self, observation: Any) -> Float[Array, "*batch"]:
        """Return the value (expected return) of observations."""
        return self.critic(observation)[..., 0]


@dataclass(frozen=True)
class MLPConfig:
    """Settings of an MLP with ReLUs for the policy and another for the value: the paper's networks for Minigrid."""

    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers of each; the last is the number of features."""
    encoding: Encoding = Encoding.SCALE
    """How observations become inputs."""

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> ActorCritic:
        """Return networks with random weights. The policy's head starts near zero: actions are about equally likely."""
        encoder, keys = Encoder(observation, self.encoding), jax.random.split(key, 4)
        extractors = (MLP(encoder.size, self.hidden, key) for key in (keys[0], keys[2]))
        policy_head = Linear(self.hidden[-1], num_logits(action), keys[1], gain=0.01)
        value_head = Linear(self.hidden[-1], 1, keys[3], gain=1.0)
        return ActorCritic(
            Policy(encoder, next(extractors), policy_head), Policy(encoder, next(extractors), value_head)
        )
