"""Sleeping: the sleep loop of Algorithms 1 and 2 as one compiled call.

Each iteration takes a batch of wake pairs (ER), a batch that the model as it was before this sleep dreams and labels
(GR), and a batch from random replay (RaR), and makes one step of Adam on the sum of their losses. GR and RaR begin with
the second sleep: before it there is nothing to remember. All three go through the network as one batch.
"""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from wakesleep.errors import UserError
from wakesleep.sleep.model import Dream, HasBatchStats, Losses, LossWeights, SleepModel, refined_dream
from wakesleep.sleep.replay import Pairs, RandomReplay, WakeBuffer
from wakesleep.wake.adam import clipped_adam

_CURVE_POINTS = 100  # of each loss curve, at most
_BATCH_STATS_PAIRS = 256  # of each kind, for statistics measured at the end


@dataclass(frozen=True)
class SleepConfig:
    """Settings of sleep. The defaults are the paper's for Minigrid."""

    iterations: int = 20_000
    """Gradient steps of one sleep."""
    batch_size: int = 32
    """Pairs of each kind of replay in a gradient step."""
    experience_replay: bool = True
    """ER: whether pairs of the wake buffer are replayed."""
    generative_replay: bool = True
    """GR: whether dreams are replayed."""
    random_replay: bool = True
    """RaR: whether pairs of the random-replay buffer are replayed."""
    refine_steps: int = 0
    """How often what is generated passes through the VAE again before it is labelled."""
    loss_weights: LossWeights = LossWeights()
    learning_rate: float = 1e-3
    """Of Adam."""
    max_grad_norm: float = 10.0
    """Gradients with a greater norm are scaled down to it."""

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.batch_size < 1:
            raise UserError("sleep needs at least one iteration and a batch of at least one pair")
        if self.refine_steps < 0:
            raise UserError(f"dreams pass through the VAE again 0 times or more, not {self.refine_steps}")
        if not (self.experience_replay or self.generative_replay or self.random_replay):
            raise UserError("sleep needs something to replay: experience, generative or random")


class Curves(eqx.Module):
    """The losses of each kind of replay through a sleep, means over stretches of it; None where it was not used."""

    experience: Losses | None
    generative: Losses | None
    random: Losses | None


Carry = tuple[SleepModel, optax.OptState]
LossTerms = Float[Array, "terms kinds"]
"""Means of the loss terms, for each kind of replay."""


def consolidate(
    model: SleepModel,
    buffer: WakeBuffer,
    replay: RandomReplay,
    key: Key[Array, ""],
    config: SleepConfig,
    first: bool,
) -> tuple[SleepModel, Curves]:
    """Sleep once. `first` says whether it is the first sleep of a life."""
    if config.experience_replay and int(buffer.filled) == 0:
        raise UserError("there is nothing to sleep on: the wake buffer is empty")
    random = config.random_replay and not first and replay.filled > 0
    generative = config.generative_replay and not first
    if not (config.experience_replay or random or generative):
        return model, Curves(None, None, None)
    used = replace(
        config, random_replay=random, generative_replay=generative
    )  # what is not used makes no other program
    return _consolidate(model, buffer, replay.pairs, jnp.int32(max(replay.filled, 1)), key, used)


@eqx.filter_jit
def _consolidate(
    model: SleepModel,
    buffer: WakeBuffer,
    kept: Pairs,
    kept_count: Int[Array, ""],
    key: Key[Array, ""],
    config: SleepConfig,
) -> tuple[SleepModel, Curves]:
    before, size = model, config.batch_size
    optimiser = clipped_adam(config.learning_rate, config.max_grad_norm)
    arrays, static = eqx.partition(model, eqx.is_inexact_array)

    def draw(key: Key[Array, ""], size: int) -> tuple[Pairs, Dream]:
        """So many rows of every kind of replay that is used: experience, then random replay; and dreams."""
        keys = jax.random.split(key, 3)
        chosen = jax.random.randint(keys[1], (size * config.random_replay,), 0, kept_count)
        dream = refined_dream(before, keys[2], size, config.refine_steps)
        dream = jax.tree.map(lambda leaf: leaf[: size * config.generative_replay], dream)
        return buffer.draw(keys[0], size * config.experience_replay) + kept[chosen], dream

    def loss(arrays: SleepModel, key: Key[Array, ""]) -> tuple[Float[Array, ""], LossTerms]:
        draw_key, loss_key = jax.random.split(key)
        rows = eqx.combine(arrays, static).loss(*draw(draw_key, size), loss_key)
        means = jax.tree.map(lambda leaf: jnp.mean(leaf.reshape(-1, size), axis=-1), rows)
        return jnp.sum(config.loss_weights.total(means)), jnp.stack(means)

    def iterate(carry: Carry, key: Key[Array, ""]) -> tuple[Carry, LossTerms]:
        arrays, state = carry
        gradient, terms = jax.grad(loss, has_aux=True)(arrays, key)
        updates, state = optimiser.update(gradient, state, arrays)
        return (optax.apply_updates(arrays, updates), state), terms

    def stretch(carry: Carry, keys: Key[Array, "iterations"]) -> tuple[Carry, LossTerms]:
        carry, terms = jax.lax.scan(iterate, carry, keys)
        return carry, jnp.mean(terms, axis=0)

    points = max(count for count in range(1, _CURVE_POINTS + 1) if config.iterations % count == 0)
    key, *last = jax.random.split(key, 3)
    keys = jax.random.split(key, config.iterations).reshape(points, -1)
    (arrays, _), terms = jax.lax.scan(stretch, (arrays, optimiser.init(arrays)), keys)
    model = eqx.combine(arrays, static)
    if isinstance(model, HasBatchStats):
        model = model.with_batch_stats(*draw(last[0], _BATCH_STATS_PAIRS), last[1])
    each = (Losses(*terms[..., kind].T) for kind in range(terms.shape[-1]))
    order = config.experience_replay, config.random_replay, config.generative_replay
    experience, remembered, dreamed = (next(each) if used else None for used in order)
    return model, Curves(experience, dreamed, remembered)
