"""Policies and values: an encoder, a feature extractor and a head each. The halves are what sleep copies and distils.

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
    """What the agent sees, without the mask."""
    return observation.view if isinstance(observation, MaskedObservation) else observation


def mask_of(observation: Any) -> Any:
    """Which choices are open, or None where all always are."""
    return observation.action_mask if isinstance(observation, MaskedObservation) else None


Actor = Callable[[Any], Logits]
"""Anything that turns a batch of observations into logits: a `Policy`, or a learner's own from outside."""


class Policy(eqx.Module):
    """From observations to logits over actions, by way of features."""

    encoder: Callable[[Any], Array]
    """From what is seen to what a network reads; has nothing to learn."""
    extractor: Callable[[Array], Float[Array, "*batch features"]]
    head: Callable[[Float[Array, "*batch features"]], Logits]

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head sees."""
        return self.extractor(self.encoder(view_of(observation)))

    def __call__(self, observation: Any) -> Logits:
        """Logits over actions, any leading axes."""
        return self.head(self.features(observation))


@runtime_checkable
class Networks(Protocol):
    """What a learner trains: a policy and a value. A pytree."""

    policy: Policy

    def value(self, observation: Any) -> Float[Array, "*batch"]:
        """Expected return, any leading axes."""
        ...


def logits_and_value(networks: Networks, observation: Any) -> tuple[Logits, Float[Array, "*batch"]]:
    """Both at once: networks that share layers have a `both`, so that gradients flow back through these only once."""
    if isinstance(networks, SharedNetworks):
        return networks.both(observation)
    return networks.policy(observation), networks.value(observation)


@runtime_checkable
class SharedNetworks(Networks, Protocol):
    """Networks whose policy and value share layers."""

    def both(self, observation: Any) -> tuple[Logits, Float[Array, "*batch"]]:
        """Logits over actions and expected return, any leading axes."""
        ...


@runtime_checkable
class NetworkConfig(Protocol):
    """Says what networks look like. Frozen, so that equal ones are equal and hash alike."""

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> Any:
        """Fresh `Networks`."""
        ...


class ActorCritic(eqx.Module):
    """A policy and a value that share nothing."""

    policy: Policy
    critic: Policy
    """One number per observation in place of logits."""

    def value(self, observation: Any) -> Float[Array, "*batch"]:
        """Expected return, any leading axes."""
        return self.critic(observation)[..., 0]


@dataclass(frozen=True)
class MLPConfig:
    """A perceptron for the policy and one for the value, with ReLUs: the paper's for Minigrid."""

    hidden: tuple[int, ...] = (256, 256)
    """Widths of the layers of both; the last is the number of features."""
    encoding: Encoding = Encoding.SCALE

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> ActorCritic:
        """Fresh networks. The policy's head starts near zero: every action about equally likely."""
        encoder, keys = Encoder(observation, self.encoding), jax.random.split(key, 4)
        extractors = (MLP(encoder.size, self.hidden, key) for key in (keys[0], keys[2]))
        policy_head = Linear(self.hidden[-1], num_logits(action), keys[1], gain=0.01)
        value_head = Linear(self.hidden[-1], 1, keys[3], gain=1.0)
        return ActorCritic(
            Policy(encoder, next(extractors), policy_head), Policy(encoder, next(extractors), value_head)
        )
