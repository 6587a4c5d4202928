"""What a sleep model is: a policy that can be taught by pairs, and dream pairs of its own.

The three architectures of the paper (section 3) arrange a feature extractor, a policy head and a VAE differently. A
model of your own needs three methods (`SleepModel`); what else it can do, it says by the optional protocols below.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.errors import UserError
from wakesleep.nets import actions
from wakesleep.nets.actions import Logits
from wakesleep.nets.policy import mask_of, view_of
from wakesleep.nets.reconstruct import Reconstruction
from wakesleep.sleep.replay import Pairs
from wakesleep.worlds.world import ActionSpec


class Losses(NamedTuple):
    """The terms of the loss: of every row of a batch, or means. A model without a VAE leaves the last two 0."""

    imitation: Float[Array, "*rows"]
    reconstruction: Float[Array, "*rows"]
    kl: Float[Array, "*rows"]


class LossWeights(NamedTuple):
    """How much each term counts. The paper's for Minigrid."""

    imitation: float = 3.0
    """Of the policy's cross-entropy with the labels."""
    reconstruction: float = 1.0
    """Of the VAE's reconstruction error."""
    kl: float = 0.03
    """Of the divergence of the VAE's posterior from its prior."""

    def total(self, losses: Losses) -> Float[Array, "*rows"]:
        """The weighted sum of the three terms."""
        return sum((weight * term for weight, term in zip(self, losses, strict=True)), jnp.float32(0))


class Dream(NamedTuple):
    """What a model generates: inputs of some kind of its own, and the policy's answer to them."""

    inputs: Float[Array, "count inputs"]
    logits: Float[Array, "count logits"]


@runtime_checkable
class SleepModel(Protocol):
    """A pytree with a policy to consolidate. *Inputs* are what it dreams of: features, or encoded observations."""

    def __call__(self, observation: Any) -> Logits:
        """Act: logits over actions for observations with any leading axes."""
        ...

    def dream(self, key: Key[Array, ""], count: int) -> Dream:
        """Generate `count` inputs, and label them by the policy."""
        ...

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """The loss of every row: first of the real pairs, then of what an earlier self dreamed. Either may be empty."""
        ...


@runtime_checkable
class HasBatchStats(Protocol):
    """Optional: a model with statistics that are measured rather than learned (batch normalisation)."""

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "SleepModel":
        """The model with its statistics measured on these rows, when a sleep is over."""
        ...


@runtime_checkable
class Reconstructs(Protocol):
    """Optional: a model whose generator can be looked at, for diagnostics and for refining dreams."""

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the policy's head receives."""
        ...

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """A real observation as the kind of thing that dreams are made of."""
        ...

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """Inputs through the VAE and back, without noise."""
        ...

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """What the policy's head receives for such inputs."""
        ...

    def label(self, inputs: Float[Array, "*batch inputs"]) -> Logits:
        """The policy's answer to such inputs."""
        ...

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> Array | None:
        """Inputs as observations; None where dreams are features and have no picture."""
        ...


def refine(model: Reconstructs, inputs: Float[Array, "*batch inputs"], steps: int) -> Float[Array, "*batch inputs"]:
    """The loop procedure of appendix C: samples of the prior come closer to the data with each pass through the VAE."""
    for _ in range(steps):
        inputs = model.reconstruct(inputs)
    return inputs


def refined_dream(model: SleepModel, key: Key[Array, ""], count: int, refine_steps: int) -> Dream:
    """A dream whose inputs pass through the VAE so often again before they are labelled."""
    dream = model.dream(key, count)
    if not refine_steps:
        return dream
    if not isinstance(model, Reconstructs):
        raise UserError(f"{type(model).__name__} cannot refine its dreams: set sleep.refine_steps to 0")
    inputs = refine(model, dream.inputs, refine_steps)
    return Dream(inputs, model.label(inputs))


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
