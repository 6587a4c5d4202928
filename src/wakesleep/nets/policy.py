"""The paper's Minigrid networks: a perceptron for the policy and one for the value, each an extractor and a head.

The policy's two halves are what sleep copies and distils into.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from wakesleep.nets.actions import Logits, num_logits
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.layers import MLP, Linear
from wakesleep.worlds.world import ActionSpec, Masked, ObservationSpec


def view_of(observation: Any) -> Any:
    """What the agent sees, without the mask."""
    return observation.view if isinstance(observation, Masked) else observation


def mask_of(observation: Any) -> Any:
    """Which choices are open, or None where all always are."""
    return observation.available if isinstance(observation, Masked) else None


Actor = Callable[[Any], Logits]
"""Anything that turns a batch of observations into logits: a `Policy`, or a learner's own from outside."""


class Policy(eqx.Module):
    """From observations to logits over actions, by way of features."""

    encoder: Encoder
    extractor: MLP
    head: Linear

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head sees."""
        return self.extractor(self.encoder(view_of(observation)))

    def __call__(self, observation: Any) -> Logits:
        """Logits over actions, any leading axes."""
        return self.head(self.features(observation))


class Value(eqx.Module):
    """From observations to the return that is to be expected."""

    encoder: Encoder
    extractor: MLP
    head: Linear

    def __call__(self, observation: Any) -> Float[Array, "*batch"]:
        """Expected return, any leading axes."""
        return self.head(self.extractor(self.encoder(view_of(observation))))[..., 0]


class ActorCritic(eqx.Module):
    """A policy and a value that share nothing."""

    policy: Policy
    value: Value


def make_actor_critic(
    observation: ObservationSpec,
    action: ActionSpec,
    key: Key[Array, ""],
    hidden: Sequence[int] = (256, 256),
    encoding: Encoding = Encoding.SCALE,
) -> ActorCritic:
    """Fresh networks. The policy's head starts near zero: every action about equally likely."""
    encoder = Encoder(observation, encoding)
    keys = jax.random.split(key, 4)
    features = hidden[-1]
    policy_head = Linear(features, num_logits(action), keys[1], gain=0.01)
    policy = Policy(encoder, MLP(encoder.size, hidden, keys[0]), policy_head)
    return ActorCritic(
        policy, Value(encoder, MLP(encoder.size, hidden, keys[2]), Linear(features, 1, keys[3], gain=1.0))
    )
