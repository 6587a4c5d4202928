"""How an observation is reconstructed: what a decoder's outputs mean, and how far they are from the truth.

`PlainReconstruction` outputs the network's inputs themselves, squared error. `CategoricalReconstruction` outputs a
distribution over the values of every entry, cross-entropy: it suits observations whose numbers are names, such as the
cells of Minigrid, where halfway between a wall and a key there is nothing. `LayerReconstruction` does that for layers
of a map, with squared error for amounts.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.fully_conv import MOST_SPELLED_OUT, FeatureLayerEncoder

Outputs = Float[Array, "*batch outputs"]


@runtime_checkable
class Reconstruction(Protocol):
    """Has nothing to learn."""

    encoder: Any
    """What made inputs of observations; its `nearest` makes observations of inputs."""

    @property
    def size(self) -> int:
        """Number of outputs that the decoder has."""
        ...

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Distance from the true observation, the mean over its entries."""
        ...

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """What a network reads of the reconstruction; differentiable."""
        ...

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Distance from an observation of which only the encoded inputs are there: a dreamed one."""
        ...


class PlainReconstruction(eqx.Module):
    """The encoded inputs themselves."""

    encoder: Encoder

    @property
    def size(self) -> int:
        """As many as inputs."""
        return self.encoder.size

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Mean squared error."""
        return self.loss_of_inputs(outputs, self.encoder(observation))

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """In [0, 1], unless the world's own go beyond that."""
        return jax.nn.sigmoid(outputs) if self._within else outputs

    @property
    def _within(self) -> bool:
        spec = self.encoder.spec
        unknown = (spec.scale == 1) & (spec.high > 1)  # what a range without a useful bound is scaled by
        return self.encoder.encoding is not Encoding.SCALE or not (unknown | (spec.low < 0)).any()

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Mean squared error."""
        return jnp.mean(jnp.square(self.inputs(outputs) - inputs), axis=-1)


class CategoricalReconstruction(eqx.Module):
    """A distribution over the values of every entry."""

    encoder: Encoder

    @property
    def size(self) -> int:
        """As many as all entries have values."""
        return self._one_hot.size

    @property
    def _one_hot(self) -> Encoder:
        return Encoder(self.encoder.spec, Encoding.ONE_HOT)

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Mean cross-entropy."""
        return self._cross_entropy(outputs, self._one_hot(observation))

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """The expectation of what a network reads."""
        return self._encoded(jnp.exp(self._log_probabilities(outputs)))

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Mean cross-entropy with one-hot inputs, else squared error of the expectation."""
        if self.encoder.encoding is Encoding.ONE_HOT:
            return self._cross_entropy(outputs, inputs)
        return jnp.mean(jnp.square(self.inputs(outputs) - inputs), axis=-1)

    def _cross_entropy(self, outputs: Outputs, one_hot: Float[Array, "*batch outputs"]) -> Float[Array, "*batch"]:
        return -jnp.sum(one_hot * self._log_probabilities(outputs), axis=-1) / len(self._levels)

    @property
    def _levels(self) -> np.ndarray:
        return self.encoder.spec.scale.ravel().astype(int) + 1

    def _log_probabilities(self, outputs: Outputs) -> Float[Array, "*batch outputs"]:
        """A softmax over the values of each entry."""
        entry = np.repeat(np.arange(len(self._levels)), self._levels)
        gather = np.zeros((len(entry), len(self._levels)), np.float32)
        gather[np.arange(len(entry)), entry] = 1
        steady = outputs - jax.lax.stop_gradient(jnp.max(outputs, axis=-1, keepdims=True))
        totals = jnp.exp(steady) @ gather
        return steady - jnp.log(totals + 1e-20) @ gather.T

    def _encoded(self, probabilities: Float[Array, "*batch outputs"]) -> Float[Array, "*batch inputs"]:
        if self.encoder.encoding is Encoding.ONE_HOT:
            return probabilities
        value = np.concatenate([np.arange(count) for count in self._levels])
        entry = np.repeat(np.arange(len(self._levels)), self._levels)
        divisor = 255.0 if self.encoder.encoding is Encoding.BYTES else self.encoder.spec.scale.ravel()[entry]
        spread = np.zeros((len(entry), len(self._levels)), np.float32)
        spread[np.arange(len(entry)), entry] = value / divisor
        return probabilities @ spread


class LayerReconstruction(eqx.Module):
    """Layers of a map: a distribution over the categories in every cell, and amounts."""

    encoder: FeatureLayerEncoder

    def __check_init__(self) -> None:
        if max(self.encoder.categories) > MOST_SPELLED_OUT:
            raise UserError(
                f"a layer of {max(self.encoder.categories)} categories cannot be dreamed, but {MOST_SPELLED_OUT}"
                " can: number those that occur (in StarCraft II: compact unit types), or use hidden replay"
            )

    @property
    def size(self) -> int:
        """As many as inputs."""
        return self.encoder.size

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Cross-entropy of categories and squared error of amounts, means over cells, summed over layers."""
        return self.loss_of_inputs(outputs, self.encoder(observation))

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """Probabilities, and amounts from 0."""
        parts = self.encoder.split(outputs)
        made = [jax.nn.softmax(part) if part.shape[-1] > 1 else jax.nn.relu(part) for part in parts]
        return jnp.concatenate(made, axis=-1).reshape(outputs.shape)

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """The same of a dreamed observation."""
        total = jnp.zeros(inputs.shape[:-1])
        for made, true in zip(self.encoder.split(outputs), self.encoder.split(inputs), strict=True):
            if made.shape[-1] > 1:
                error = -jnp.sum(true * jax.nn.log_softmax(made), axis=-1)
            else:
                error = jnp.square(made - true)[..., 0]
            total = total + jnp.mean(error, axis=(-2, -1))
        return total
