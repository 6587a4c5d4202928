"""FullyConv (Vinyals et al. 2017) as the paper split it: for observations that are layers of a map, and actions on it.

    layers -> embedding -> conv 16, 5x5 -> conv 32, 3x3 -> conv 32 with stride: the features, 32 x 16 x 16 = 8192
    (or, `patches`: the first convolution has the stride, the others see farther and cost less)
    features -> 256 -> value, function and plain arguments;  features -> 1x1 conv -> each argument that is a place

Policy and value share all but their last layer. With `normalise`, a LayerNorm holds the features in one range, which
hidden replay wants (appendix B).
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Shaped

from wakesleep.errors import UserError
from wakesleep.nets.actions import Logits
from wakesleep.nets.layers import Conv, Linear
from wakesleep.nets.policy import Policy
from wakesleep.worlds.world import ActionSpec, ObservationSpec

MAX_ONE_HOT = 64
"""Categories up to which a layer is one-hot encoded; those of a layer with more are looked up by their number."""


class FeatureLayerEncoder(eqx.Module):
    """Encodes feature layers as a flat vector: amounts as logarithms, categories one-hot. Has no parameters."""

    spec: ObservationSpec = eqx.field(static=True)
    categorical: tuple[int, ...] = eqx.field(static=True)
    """Which layers hold categories; the others hold amounts."""

    @property
    def categories(self) -> tuple[int, ...]:
        """How many values each layer has if it is categorical, else 0."""
        highest = self.spec.scale.reshape(-1, self.spec.shape[-1]).max(axis=0)
        return tuple(int(high) + 1 if layer in self.categorical else 0 for layer, high in enumerate(highest))

    @property
    def channels(self) -> tuple[int, ...]:
        """How many channels each layer becomes."""
        return tuple(count if 0 < count <= MAX_ONE_HOT else 1 for count in self.categories)

    @property
    def image(self) -> tuple[int, int, int]:
        """Height, width and channels of the flat inputs."""
        height, width = self.spec.shape[:2]
        return height, width, sum(self.channels)

    @property
    def size(self) -> int:
        """Number of inputs for one observation."""
        return int(np.prod(self.image))

    def __call__(self, view: Shaped[Array, "*batch height width layers"]) -> Float[Array, "*batch inputs"]:
        """Return the inputs of observations."""
        parts = []
        for layer, (count, channels) in enumerate(zip(self.categories, self.channels, strict=True)):
            values = view[..., layer]
            if channels > 1:
                parts.append(jax.nn.one_hot(jnp.clip(values, 0, count - 1), count))
            else:
                numbers = values.astype(jnp.float32)[..., None]
                parts.append(numbers if count else jnp.log1p(jnp.maximum(numbers, 0)))
        return jnp.concatenate(parts, axis=-1).reshape(*view.shape[:-3], self.size)

    def nearest(self, inputs: Float[Array, "*batch inputs"]) -> Shaped[Array, "*batch height width layers"]:
        """Return the observations whose inputs are nearest to these: what a dream looks like."""
        parts = []
        for count, part in zip(self.categories, self.split(inputs), strict=True):
            if part.shape[-1] > 1:
                parts.append(jnp.argmax(part, axis=-1))
            else:
                parts.append(part[..., 0] if count else jnp.expm1(part[..., 0]))
        rounded = jnp.clip(jnp.round(jnp.stack(parts, axis=-1)), self.spec.low, self.spec.high)
        return rounded.astype(self.spec.dtype)

    def split(self, inputs: Float[Array, "*batch inputs"]) -> list[Float[Array, "*batch height width _"]]:
        """Return the channels of each layer as images."""
        image = inputs.reshape(*inputs.shape[:-1], *self.image)
        return jnp.split(image, np.cumsum(self.channels)[:-1], axis=-1)


class ConvExtractor(eqx.Module):
    """The feature extractor: from encoded layers to flat features."""

    encoder: FeatureLayerEncoder
    embeddings: tuple[Linear, ...]
    convolutions: tuple[Conv, ...]
    normalise: bool = eqx.field(static=True)

    @property
    def grid(self) -> int:
        """Height and width of the features."""
        return self.encoder.spec.shape[0] // int(np.prod([convolution.stride for convolution in self.convolutions]))

    def __call__(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """Return features, grid x grid x channels of the last convolution, flat."""
        batch, flat = inputs.shape[:-1], inputs.reshape(-1, inputs.shape[-1])
        image = self._patches(flat) if self._reads_patches else self.convolutions[0](self._embedded(flat))
        for convolution in self.convolutions[1:]:
            image = convolution(jax.nn.relu(image))
        features = jax.nn.relu(image).reshape(*batch, int(np.prod(image.shape[1:])))
        return jax.nn.standardize(features, epsilon=1e-5) if self.normalise else features

    def _embedded(self, flat: Float[Array, "batch inputs"]) -> Float[Array, "batch height width channels"]:
        """The image that the first convolution goes over."""
        layers, categories = self.encoder.split(flat), self.encoder.categories
        amounts = [layer for layer, count in zip(layers, categories, strict=True) if not count]
        named = [layer for layer, count in zip(layers, categories, strict=True) if count]
        embedded = [_embed_categories(*pair) for pair in zip(self.embeddings, named, strict=True)]
        return jnp.concatenate([*amounts, *embedded], axis=-1)

    @property
    def _reads_patches(self) -> bool:
        """Whether the first convolution reads patches side by side, and all categories are one-hot."""
        first = self.convolutions[0]
        all_one_hot = max(self.encoder.categories) <= MAX_ONE_HOT
        return first.weight.shape[0] == first.stride and all_one_hot

    def _patches(self, flat: Float[Array, "batch inputs"]) -> Float[Array, "batch grid grid channels"]:
        """Embedding and first convolution as one matrix product: both are linear, and small when multiplied first."""
        first, categories = self.convolutions[0], self.encoder.categories
        amounts = categories.count(0)  # `_embedded` puts these first, one channel each, then the embeddings
        widths = [1] * amounts + [embedding.weight.shape[1] for embedding in self.embeddings]
        parts = jnp.split(first.weight, np.cumsum(widths)[:-1], axis=2)
        of_amounts, of_named = iter(parts[:amounts]), zip(self.embeddings, parts[amounts:], strict=True)
        weights, bias = [], first.bias
        for count in categories:
            if not count:
                weights.append(next(of_amounts))
                continue
            embedding, part = next(of_named)
            weights.append(jnp.einsum("ce,hweo->hwco", embedding.weight, part))
            bias = bias + jnp.einsum("e,hweo->o", embedding.bias, part)
        folded = eqx.tree_at(lambda conv: (conv.weight, conv.bias), first, (jnp.concatenate(weights, axis=2), bias))
        return folded(flat.reshape(-1, *self.encoder.image))


class MapHead(eqx.Module):
    """From features to logits: places from the map itself, the other parts of the action from a hidden layer."""

    hidden: Linear
    plain: Linear
    places: Linear
    sizes: tuple[int, ...] = eqx.field(static=True)
    is_place: tuple[bool, ...] = eqx.field(static=True)
    place_scale: float = eqx.field(static=True, default=1.0)

    def __call__(self, features: Float[Array, "*batch features"]) -> Logits:
        """Return logits, the parts of the action one after the other."""
        return self.logits(features, self.summary(features))

    def logits(self, features: Float[Array, "*batch features"], summary: Float[Array, "*batch hidden"]) -> Logits:
        """Return logits from features and their `summary`."""
        plain_sizes = [size for size, place in zip(self.sizes, self.is_place, strict=True) if not place]
        plain = iter(jnp.split(self.plain(summary), np.cumsum(plain_sizes)[:-1], axis=-1))
        cells = features.reshape(*features.shape[:-1], -1, self.places.weight.shape[0])
        places = iter(jnp.moveaxis(self.place_scale * self.places(cells), -1, 0))
        return jnp.concatenate([next(places if place else plain) for place in self.is_place], axis=-1)

    def summary(self, features: Float[Array, "*batch features"]) -> Float[Array, "*batch hidden"]:
        """Return the hidden layer, which the plain parts and the value are computed from."""
        return jax.nn.relu(self.hidden(features))


class SharedActorCritic(eqx.Module):
    """A policy, and a value from the same features and summary."""

    policy: Policy
    value_head: Linear

    def value(self, observation: object) -> Float[Array, "*batch"]:
        """Return the value of observations."""
        return self.both(observation)[1]

    def both(self, observation: object) -> tuple[Logits, Float[Array, "*batch"]]:
        """Return logits over actions and the value of observations."""
        features, head = self.policy.features(observation), self.policy.head
        assert isinstance(head, MapHead)
        summary = head.summary(features)
        return head.logits(features, summary), self.value_head(summary)[..., 0]


@dataclass(frozen=True)
class FullyConvConfig:
    """Settings of FullyConv networks. Observations are height x width x layers."""

    categorical: tuple[int, ...]
    """Layers that hold numbers of categories; they are embedded. The others hold amounts."""
    places: tuple[str, ...]
    """Parts of the action that are places on a square grid."""
    channels: tuple[int, int, int] = (16, 32, 32)
    """Of the three convolutions; the last one makes the features."""
    hidden: int = 256
    """Width of the layer that the value and all parts but places are computed from."""
    normalise: bool = False
    """Whether features are standardised (LayerNorm without parameters)."""
    place_scale: float = 1.0
    """Logits of places are multiplied by this. They depend on few weights, the other parts on all of `hidden`. With
    Adam, whose steps have one size for all weights, places would learn more slowly by that factor."""
    patches: bool = False
    """Whether the first convolution reads patches of the map, one for each cell of the grid, instead of going over
    every pixel, and the other two go over the grid: several times cheaper."""

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> SharedActorCritic:
        """Return networks with random weights; the policy's heads start near zero."""
        grid, stride = self._grid(observation, action)
        encoder = FeatureLayerEncoder(observation, self.categorical)
        categories = [count for count in encoder.categories if count]
        widths = [max(1, round(np.log2(count))) for count in categories]
        keys = iter(jax.random.split(key, len(categories) + 7))
        embeddings = tuple(
            Linear(count, width, next(keys), gain=1.0) for count, width in zip(categories, widths, strict=True)
        )
        inputs = observation.shape[-1] - len(categories) + sum(widths)
        one, two, three = self.channels
        first, last = ((stride, stride), (3, 1)) if self.patches else ((5, 1), (2 * stride - 1, stride))
        convolutions = (
            Conv(inputs, one, *first, next(keys)),
            Conv(one, two, 3, 1, next(keys)),
            Conv(two, three, *last, next(keys)),
        )
        is_place = tuple(name in self.places for name, _ in action.parts)
        plain = sum(size for size, place in zip(action.sizes, is_place, strict=True) if not place)
        head = MapHead(
            Linear(grid * grid * three, self.hidden, next(keys)),
            Linear(self.hidden, plain, next(keys), gain=0.01),
            Linear(three, sum(is_place), next(keys), gain=0.01 / self.place_scale),
            action.sizes,
            is_place,
            self.place_scale,
        )
        policy = Policy(encoder, ConvExtractor(encoder, embeddings, convolutions, self.normalise), head)
        return SharedActorCritic(policy, Linear(self.hidden, 1, next(keys), gain=1.0))

    def _grid(self, observation: ObservationSpec, action: ActionSpec) -> tuple[int, int]:
        """Side of the grid of places, and how many cells of the observation one of it covers each way."""
        sizes = {size for name, size in action.parts if name in self.places}
        unknown = set(self.places) - {name for name, _ in action.parts}
        if unknown or len(sizes) != 1:
            raise UserError(f"FullyConv wants places {self.places} of one size among the action's parts {action.parts}")
        if action.parts[0][0] in self.places:
            raise UserError(f"the action's first part is what to do, not a place: {action.parts[0][0]!r}")
        grid = round(sizes.pop() ** 0.5)
        if len(observation.shape) != 3 or any(side % grid for side in observation.shape[:2]):
            raise UserError(f"FullyConv wants layers of a square map that {grid} divides, not {observation.shape}")
        if observation.shape[0] != observation.shape[1]:
            raise UserError(f"FullyConv wants a square map, not {observation.shape}")
        return grid, observation.shape[0] // grid


def _embed_categories(embedding: Linear, part: Float[Array, "*cells channels"]) -> Float[Array, "*cells width"]:
    """A vector for each category. For one-hot ones it is a matrix product, faster than a lookup, and to learn."""
    if part.shape[-1] > 1:
        return embedding(part)
    category = jnp.clip(part[..., 0].astype(jnp.int32), 0, embedding.weight.shape[0] - 1)
    return embedding.weight[category] + embedding.bias
