"""Encoders: from an observation to what a network reads, one flat vector of floats.

The paper scales observations to [0, 1] and does not say how. `SCALE` divides each entry by its own greatest value (for
Minigrid: channels by 10, 5 and 2). `BYTES` divides by 255, what stable-baselines3 does to images. `ONE_HOT` spells
whole numbers out: every entry becomes as many inputs as it has values.
"""

from enum import Enum

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from wakesleep.errors import UserError
from wakesleep.worlds.world import ObservationSpec


class Encoding(Enum):
    """How observations become inputs of a network."""

    SCALE = "scale"
    BYTES = "bytes"
    ONE_HOT = "one-hot"


class Encoder(eqx.Module):
    """Turns observations into flat float vectors. Has no parameters."""

    spec: ObservationSpec = eqx.field(static=True)
    encoding: Encoding = eqx.field(static=True, default=Encoding.SCALE)

    def __check_init__(self) -> None:
        low, high, scale = self.spec.low, self.spec.high, self.spec.scale
        whole = np.issubdtype(self.spec.dtype, np.integer) and (low == 0).all() and (scale == scale.round()).all()
        unknown = (scale == 1) & (high > 1)  # what a range without a useful bound is scaled by
        if self.encoding is Encoding.ONE_HOT and (not whole or unknown.any()):
            raise UserError("one-hot inputs need whole numbers from 0 to a known maximum; use the encoding 'scale'")

    @property
    def size(self) -> int:
        """Number of inputs for one observation."""
        if self.encoding is Encoding.ONE_HOT:
            return int(self._levels.sum())
        return int(np.prod(self.spec.shape))

    @property
    def _levels(self) -> np.ndarray:
        """How many values each entry of a flat observation has."""
        return self.spec.scale.ravel().astype(int) + 1

    def __call__(self, observation: Shaped[Array, "*batch_and_shape"]) -> Float[Array, "*batch inputs"]:
        """Return the inputs of observations, [*batch, *spec.shape] -> [*batch, size]."""
        batch = observation.shape[: observation.ndim - len(self.spec.shape)]
        flat = observation.reshape(*batch, int(np.prod(self.spec.shape)))
        match self.encoding:
            case Encoding.SCALE:
                return flat.astype(jnp.float32) * jnp.asarray(1 / self.spec.scale.ravel(), jnp.float32)
            case Encoding.BYTES:
                return flat.astype(jnp.float32) / 255
            case Encoding.ONE_HOT:
                levels = self._levels
                entry = np.repeat(np.arange(len(levels)), levels)
                value = np.concatenate([np.arange(count) for count in levels])
                return (flat[..., entry] == value.astype(self.spec.dtype)).astype(jnp.float32)

    def nearest(self, inputs: Float[Array, "*batch inputs"]) -> Shaped[Array, "*batch_and_shape"]:
        """Return the observations, [*batch, *spec.shape], whose inputs are nearest to these: a dream to look at."""
        if self.encoding is Encoding.ONE_HOT:
            levels = self._levels
            values = np.arange(levels.max())
            place = (np.cumsum(levels) - levels)[:, None] + np.minimum(values, levels[:, None] - 1)
            flat = jnp.argmax(inputs[..., place], axis=-1)  # a place that is there twice is found the first time
        else:
            factor = 255.0 if self.encoding is Encoding.BYTES else self.spec.scale.ravel()
            flat = inputs * jnp.asarray(factor, jnp.float32)
        if np.issubdtype(self.spec.dtype, np.integer):
            flat = jnp.clip(jnp.round(flat), self.spec.low.ravel(), self.spec.high.ravel())
        return flat.astype(self.spec.dtype).reshape(*inputs.shape[:-1], *self.spec.shape)
