"""What a sleep model is: a policy that can be taught by pairs, and dream pairs of its own.

The three architectures of the paper (section 3) arrange a feature extractor, a policy head and a VAE differently;
`consolidate` knows only the first four functions of this interface; the others serve diagnostics.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.nets import actions
from wakesleep.nets.actions import Logits
from wakesleep.nets.policy import mask_of, view_of
from wakesleep.nets.reconstruct import Reconstruction
from wakesleep.sleep.replay import Pairs
from wakesleep.worlds.world import ActionSpec


class Losses(NamedTuple):
    """The terms of the loss: of every row of a batch, or means."""

    imitation: Float[Array, "*rows"]
    reconstruction: Float[Array, "*rows"]
    kl: Float[Array, "*rows"]


class LossWeights(NamedTuple):
    """How much each term counts. The paper's for Minigrid."""

    imitation: float = 3.0
    reconstruction: float = 1.0
    kl: float = 0.03

    def total(self, losses: Losses) -> Float[Array, "*rows"]:
        """The weighted sum."""
        return sum((weight * term for weight, term in zip(self, losses, strict=True)), jnp.float32(0))


class Dream(NamedTuple):
    """What a model generates: inputs of some kind of its own, and the policy's answer to them."""

    inputs: Float[Array, "count inputs"]
    logits: Float[Array, "count logits"]


@runtime_checkable
class SleepModel(Protocol):
    """A pytree. *Inputs* are what it dreams of: features, or encoded observations."""

    def __call__(self, observation: Any) -> Logits:
        """Act: logits over actions, any leading axes."""
        ...

    def dream(self, key: Key[Array, ""], count: int, loops: int = 0) -> Dream:
        """Generate and pseudo-label; with loops, what is generated passes through the VAE so often again."""
        ...

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Of every row: of the real pairs, then of what an earlier self dreamed. Of either there may be none."""
        ...

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "SleepModel":
        """When a sleep is over: with all that is not learned but measured (batch normalisation) measured on these."""
        ...

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the policy's head sees; to look at."""
        ...

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """A real observation as the kind of thing that dreams are made of; to look at."""
        ...

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """What the VAE makes of inputs, without noise."""
        ...

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """What the policy's head would see of such inputs; to look at."""
        ...

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> Array | None:
        """Inputs as observations; None where dreams have no looks."""
        ...


def refine(model: SleepModel, inputs: Float[Array, "*batch inputs"], times: int) -> Float[Array, "*batch inputs"]:
    """The loop procedure of appendix C: samples of the prior come closer to the data with each pass."""
    for _ in range(times):
        inputs = model.reconstruct(inputs)
    return inputs


def imitation_loss(spec: ActionSpec, logits: Logits, pairs: Pairs, dream: Dream) -> Float[Array, "rows"]:
    """Cross-entropy with the labels: those of the pairs, actions or logits, then those of the dream."""
    answer, dreamed = logits[: pairs.size], logits[pairs.size :]
    mask = mask_of(pairs.observation)
    if jnp.issubdtype(pairs.label.dtype, jnp.floating):
        real = actions.cross_entropy(spec, pairs.label, answer, mask)
    else:
        real = -actions.log_prob(spec, answer, pairs.label, mask)
    return jnp.concatenate([real, actions.cross_entropy(spec, dream.logits, dreamed)])


def reconstruction_loss(
    reconstruction: Reconstruction, outputs: Float[Array, "rows outputs"], pairs: Pairs, dream: Dream
) -> Float[Array, "rows"]:
    """How far what was decoded is from the observations of the pairs, then from those of the dream."""
    real = reconstruction.loss(outputs[: pairs.size], view_of(pairs.observation))
    return jnp.concatenate([real, reconstruction.loss_of_inputs(outputs[pairs.size :], dream.inputs)])
