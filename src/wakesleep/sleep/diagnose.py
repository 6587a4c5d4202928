"""Diagnostics of a sleep: what it did to features, what the generator reconstructs and dreams (appendix C's figures).

*Probes* are real pairs of this sleep's wake buffer and of random replay, so of every task slept on before. Their
features before and after the sleep show how far features drifted. All feature vectors are given in the principal
components of the probes' features after the sleep; dreams are those that this sleep was taught by, of the model as it
was before, beside those of the model as it is now.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.nets import actions
from wakesleep.nets.policy import mask_of
from wakesleep.sleep.model import Reconstructs, SleepModel, refine
from wakesleep.sleep.replay import Pairs, RandomReplay, WakeBuffer
from wakesleep.worlds.world import ActionSpec

PROBES, DREAMS, PICTURES, COMPONENTS = 256, 128, 16, 8
REFINE_STEPS = 3
"""Passes through the VAE of the refined dreams that are shown."""

Arrays = dict[str, Array]


def diagnose(
    spec: ActionSpec,
    before: SleepModel,
    after: SleepModel,
    buffer: WakeBuffer,
    replay: RandomReplay,
    sleep: int,
    key: Key[Array, ""],
) -> dict[str, Any]:
    """Measure a sleep.

    Args:
        spec: of actions.
        before: the model as it fell asleep.
        after: the model as it woke.
        buffer: what was slept on.
        replay: random replay as it was before the sleep.
        sleep: which sleep of the life it was, from 0.
        key: of what is drawn.

    Returns:
        Arrays by name; those over probes have a row for each. A model that does not say how it reconstructs
        (`Reconstructs`) has only its actions and how often they agree with the labels.
    """
    wake_key, replay_key, dream_key = jax.random.split(key, 3)
    rows = jax.random.randint(replay_key, (PROBES,), 0, max(replay.filled, 1))
    probes = buffer.draw(wake_key, PROBES) + replay.pairs[rows]
    of_probes, others = _agreement(spec, before, after, probes), Arrays()
    if isinstance(before, Reconstructs) and isinstance(after, Reconstructs):
        of_features, others = _features(spec, before, after, probes, dream_key)
        of_probes = {**of_features, **of_probes}
    origin = np.concatenate([np.full(PROBES, sleep), replay.sleep[np.asarray(rows)]])
    valid_mask = origin >= 0  # random replay may hold nothing yet
    return {"sleep": origin[valid_mask], **others} | {
        name: np.asarray(value)[valid_mask] for name, value in of_probes.items()
    }


@eqx.filter_jit
def _agreement(spec: ActionSpec, before: SleepModel, after: SleepModel, probes: Pairs) -> Arrays:
    """The likeliest action for each probe, and whether it is the label's, before and after the sleep."""
    seen, mask = probes.observation, mask_of(probes.observation)
    return {
        "action": _choice(spec, after(seen), mask),
        "agrees_before": _agrees(spec, before(seen), probes.label, mask),
        "agrees_after": _agrees(spec, after(seen), probes.label, mask),
    }


@eqx.filter_jit
def _features(spec: ActionSpec, before: Any, after: Any, probes: Pairs, key: Key[Array, ""]) -> tuple[Arrays, Arrays]:
    """Features, reconstructions and dreams: arrays over the probes, and the others."""
    seen = probes.observation
    features, reconstructed = after.features(seen), after.reconstruct(after.inputs(seen))
    centre = jnp.mean(features, axis=0)
    _, spread, basis = jnp.linalg.svd(features - centre, full_matrices=False)

    def components(features: Float[Array, "count features"]) -> Float[Array, "count components"]:
        return (features - centre) @ basis[:COMPONENTS].T

    before_key, after_key = jax.random.split(key)
    taught, dream = before.dream(before_key, DREAMS), after.dream(after_key, DREAMS)
    refined = refine(after, dream.inputs, REFINE_STEPS)
    of_probes = {
        "before": components(before.features(seen)),
        "after": components(features),
        "reconstructed": components(after.features_from_inputs(reconstructed)),
    }
    others = {
        "explained": (spread**2 / jnp.maximum(jnp.sum(spread**2), 1e-12))[:COMPONENTS],
        "dreamed_before": components(after.features_from_inputs(taught.inputs)),
        "dreamed_before_action": _choice(spec, taught.logits),
        "dreamed_after": components(after.features_from_inputs(dream.inputs)),
        "dreamed_after_action": _choice(spec, dream.logits),
        "refined": components(after.features_from_inputs(refined)),
    }
    shown = {"seen": after.inputs(seen), "seen_again": reconstructed, "dream": dream.inputs, "dream_refined": refined}
    for name, inputs in shown.items():
        picture = after.to_observation(inputs[:PICTURES])
        if picture is not None:
            others[f"picture_{name}"] = picture
    return of_probes, others


def _choice(spec: ActionSpec, logits: Float[Array, "count logits"], mask: Any = None) -> Int[Array, "count"]:
    """The likeliest action; of a factored one, what to do."""
    action = actions.greedy(spec, logits, mask)
    return action if spec.is_single else action[:, 0]


def _agrees(spec: ActionSpec, logits: Float[Array, "count logits"], label: Array, mask: Any) -> Bool[Array, "count"]:
    """Where the likeliest action is the label's."""
    if jnp.issubdtype(label.dtype, jnp.floating):
        theirs = _choice(spec, label, mask)
    else:
        theirs = label if spec.is_single else label[:, 0]
    return _choice(spec, logits, mask) == theirs
