"""Distributions over actions: one choice, or several made together, with masks.

A policy gives *logits*: one flat vector with the parts of the action one after the other. `mask` says which choices of
the first part are open. All functions take any leading batch axes.

With a function and arguments (`ActionSpec.uses`) the parts are independent given the function, and only those that the
function uses count:

    log p(action) = log p(function) + sum of log p(argument) over the arguments that it uses

Entropy, cross-entropy and KL divergence are exact for that distribution: each argument weighs as much as it is used.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.worlds.world import ActionSpec

Logits = Float[Array, "*batch logits"]
Mask = Bool[Array, "*batch choices"]
Action = Int[Array, "*batch_and_parts"]

_MASKED_LOGIT = -1e9  # the logit of a masked choice; finite, so that 0 * log p stays 0


def num_logits(spec: ActionSpec) -> int:
    """Return the length of the vector of logits: the number of choices of all parts."""
    return sum(spec.sizes)


def log_probabilities(spec: ActionSpec, logits: Logits, mask: Mask | None = None) -> list[Float[Array, "*batch _"]]:
    """Return the log-probabilities of each part, [*batch, choices of the part]."""
    parts = jnp.split(logits, np.cumsum(spec.sizes)[:-1], axis=-1)
    if mask is not None:
        parts[0] = jnp.where(mask, parts[0], _MASKED_LOGIT)
    return [jax.nn.log_softmax(part) for part in parts]


def sample(spec: ActionSpec, logits: Logits, key: Key[Array, ""], mask: Mask | None = None) -> Action:
    """Sample actions, [*batch, *spec.shape]. Arguments that the function does not use are drawn too."""
    parts = log_probabilities(spec, logits, mask)
    noise = jax.random.gumbel(key, logits.shape)  # one draw for all parts
    noises = jnp.split(noise, np.cumsum(spec.sizes)[:-1], axis=-1)
    chosen = [jnp.argmax(part + noise, axis=-1) for part, noise in zip(parts, noises, strict=True)]
    return _join_parts(spec, chosen)


def greedy(spec: ActionSpec, logits: Logits, mask: Mask | None = None) -> Action:
    """Return the action with the likeliest choice of each part, [*batch, *spec.shape]."""
    return _join_parts(spec, [jnp.argmax(part, axis=-1) for part in log_probabilities(spec, logits, mask)])


def log_prob(spec: ActionSpec, logits: Logits, action: Action, mask: Mask | None = None) -> Float[Array, "*batch"]:
    """Return the log-probability of actions. Arguments that the function does not use do not count."""
    choices = [action] if spec.is_single else [action[..., part] for part in range(len(spec.sizes))]
    logs = log_probabilities(spec, logits, mask)
    # a sum over a comparison rather than a gather: several times faster on a CPU, forwards and backwards
    picked = [
        jnp.sum(jnp.where(choice[..., None] == np.arange(size), part, 0), axis=-1)
        for part, choice, size in zip(logs, choices, spec.sizes, strict=True)
    ]
    if spec.uses is None:
        return sum(picked[1:], picked[0])
    used = jnp.asarray(spec.uses)[choices[0]]
    return picked[0] + sum(jnp.where(used[..., part], picked[part], 0) for part in range(1, len(picked)))


def cross_entropy(spec: ActionSpec, target: Logits, logits: Logits, mask: Mask | None = None) -> Float[Array, "*batch"]:
    """Return the cross-entropy of the policy `logits` under the policy `target`: -sum p_target log p."""
    targets, logs = log_probabilities(spec, target, mask), log_probabilities(spec, logits, mask)
    parts = [-jnp.sum(jnp.exp(p) * q, axis=-1) for p, q in zip(targets, logs, strict=True)]
    return _sum_parts(spec, targets[0], parts)


def entropy(spec: ActionSpec, logits: Logits, mask: Mask | None = None) -> Float[Array, "*batch"]:
    """Return the entropy of a policy."""
    return cross_entropy(spec, logits, logits, mask)


def per_part_entropy(spec: ActionSpec, logits: Logits, mask: Mask | None = None) -> Float[Array, "*batch"]:
    """Return the entropy with a gradient that suits an entropy bonus.

    The value is that of `entropy`. The gradient leaves out how much each argument is used. Otherwise a bonus would
    favour functions for the number of their arguments: a rectangle of two places is twice as random as a click.
    """
    parts = log_probabilities(spec, logits, mask)
    entropies = [-jnp.sum(jnp.exp(part) * part, axis=-1) for part in parts]
    return _sum_parts(spec, jax.lax.stop_gradient(parts[0]), entropies)


def kl_divergence(spec: ActionSpec, target: Logits, logits: Logits, mask: Mask | None = None) -> Float[Array, "*batch"]:
    """Return the divergence of the policy `logits` from the policy `target`: KL(target || logits)."""
    return cross_entropy(spec, target, logits, mask) - entropy(spec, target, mask)


def one_hot_logits(spec: ActionSpec, action: Action) -> Logits:
    """Return logits of the policy that takes this very action: imitation targets where only actions were kept."""
    choices = [action] if spec.is_single else [action[..., part] for part in range(len(spec.sizes))]
    hot = [choice[..., None] == np.arange(size) for choice, size in zip(choices, spec.sizes, strict=True)]
    return jnp.where(jnp.concatenate(hot, axis=-1), 0.0, _MASKED_LOGIT)


def _join_parts(spec: ActionSpec, choices: list[Int[Array, "*batch"]]) -> Action:
    return (choices[0] if spec.is_single else jnp.stack(choices, axis=-1)).astype(jnp.int32)


def _sum_parts(
    spec: ActionSpec, function_logs: Float[Array, "*batch functions"], parts: list[Float[Array, "*batch"]]
) -> Float[Array, "*batch"]:
    """The function's term, and each argument's weighted by how often the function uses it."""
    if spec.uses is None:
        return sum(parts[1:], parts[0])
    weights = jnp.exp(function_logs) @ jnp.asarray(spec.uses, jnp.float32)
    return parts[0] + sum(weights[..., part] * parts[part] for part in range(1, len(parts)))
