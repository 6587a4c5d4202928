"""How observations are reconstructed: what a decoder's outputs mean, and the loss of a reconstruction.

`PlainReconstruction` outputs the network's inputs, with squared error. `CategoricalReconstruction` outputs a
distribution over the values of every entry, with cross-entropy. It suits observations of categories, such as the
cells of Minigrid. `LayerReconstruction` does that for layers of a map, with squared error for amounts.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.fully_conv import MAX_ONE_HOT, FeatureLayerEncoder

Outputs = Float[Array, "*batch outputs"]


@runtime_checkable
class Reconstruction(Protocol):
    """What the outputs of a decoder mean. Has no parameters."""

    encoder: Any
    """Makes inputs of observations; its `nearest` makes observations of inputs."""

    @property
    def size(self) -> int:
        """Number of outputs of the decoder."""
        ...

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Return the reconstruction loss for true observations, the mean over their entries."""
        ...

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """Return the reconstruction as inputs of a network; differentiable."""
        ...

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Return the reconstruction loss for observations of which only the encoded inputs are known: dreamed ones."""
        ...


class PlainReconstruction(eqx.Module):
    """The decoder outputs the encoded inputs."""

    encoder: Encoder

    @property
    def size(self) -> int:
        """Number of outputs: that of the inputs."""
        return self.encoder.size

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Return the mean squared error of the inputs."""
        return self.loss_of_inputs(outputs, self.encoder(observation))

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """Return the outputs, mapped to [0, 1] unless the world's own inputs go beyond that."""
        return jax.nn.sigmoid(outputs) if self._is_bounded else outputs

    @property
    def _is_bounded(self) -> bool:
        spec = self.encoder.spec
        unknown = (spec.scale == 1) & (spec.high > 1)  # what a range without a useful bound is scaled by
        return self.encoder.encoding is not Encoding.SCALE or not (unknown | (spec.low < 0)).any()

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Return the mean squared error of the inputs."""
        return jnp.mean(jnp.square(self.inputs(outputs) - inputs), axis=-1)


class CategoricalReconstruction(eqx.Module):
    """The decoder outputs a distribution over the values of every entry."""

    encoder: Encoder

    @property
    def size(self) -> int:
        """Number of outputs: of the values of all entries together."""
        return self._one_hot.size

    @property
    def _one_hot(self) -> Encoder:
        return Encoder(self.encoder.spec, Encoding.ONE_HOT)

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Return the mean cross-entropy over entries."""
        return self._cross_entropy(outputs, self._one_hot(observation))

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """Return the expected inputs of a network."""
        return self._expected_inputs(jnp.exp(self._log_probabilities(outputs)))

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Return the mean cross-entropy with one-hot inputs, else the squared error of the expectation."""
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
        shifted = outputs - jax.lax.stop_gradient(jnp.max(outputs, axis=-1, keepdims=True))
        totals = jnp.exp(shifted) @ gather
        return shifted - jnp.log(totals + 1e-20) @ gather.T

    def _expected_inputs(self, probabilities: Float[Array, "*batch outputs"]) -> Float[Array, "*batch inputs"]:
        if self.encoder.encoding is Encoding.ONE_HOT:
            return probabilities
        value = np.concatenate([np.arange(count) for count in self._levels])
        entry = np.repeat(np.arange(len(self._levels)), self._levels)
        divisor = 255.0 if self.encoder.encoding is Encoding.BYTES else self.encoder.spec.scale.ravel()[entry]
        weights = np.zeros((len(entry), len(self._levels)), np.float32)
        weights[np.arange(len(entry)), entry] = value / divisor
        return probabilities @ weights


class LayerReconstruction(eqx.Module):
    """The decoder outputs layers of a map: distributions over the categories of every cell, and amounts."""

    encoder: FeatureLayerEncoder

    def __check_init__(self) -> None:
        if max(self.encoder.categories) > MAX_ONE_HOT:
            raise UserError(
                f"a layer of {max(self.encoder.categories)} categories cannot be dreamed, but {MAX_ONE_HOT}"
                " can: number those that occur (in StarCraft II: compact unit types), or use hidden replay"
            )

    @property
    def size(self) -> int:
        """Number of outputs: that of the inputs."""
        return self.encoder.size

    def loss(self, outputs: Outputs, observation: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
        """Return cross-entropy of categories and squared error of amounts, means over cells, summed over layers."""
        return self.loss_of_inputs(outputs, self.encoder(observation))

    def inputs(self, outputs: Outputs) -> Float[Array, "*batch inputs"]:
        """Return probabilities of categories, and amounts from 0."""
        parts = self.encoder.split(outputs)
        made = [jax.nn.softmax(part) if part.shape[-1] > 1 else jax.nn.relu(part) for part in parts]
        return jnp.concatenate(made, axis=-1).reshape(outputs.shape)

    def loss_of_inputs(self, outputs: Outputs, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch"]:
        """Return the same loss for dreamed observations."""
        total = jnp.zeros(inputs.shape[:-1])
        for made, true in zip(self.encoder.split(outputs), self.encoder.split(inputs), strict=True):
            if made.shape[-1] > 1:
                error = -jnp.sum(true * jax.nn.log_softmax(made), axis=-1)
            else:
                error = jnp.square(made - true)[..., 0]
            total = total + jnp.mean(error, axis=(-2, -1))
        return total
