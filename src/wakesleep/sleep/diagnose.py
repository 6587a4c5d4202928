"""Looking at a sleep: what it did to the features, what the generator reconstructs and dreams (appendix C's figures).

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
from wakesleep.sleep.model import SleepModel, refine
from wakesleep.sleep.replay import Pairs, RandomReplay, WakeBuffer
from wakesleep.worlds.world import ActionSpec

PROBES, DREAMS, PICTURES, COMPONENTS = 256, 128, 16, 8
LOOPS = 3
"""Passes of the loop procedure that are shown."""


def diagnose(
    spec: ActionSpec,
    before: SleepModel,
    after: SleepModel,
    buffer: WakeBuffer,
    replay: RandomReplay,
    sleep: int,
    key: Key[Array, ""],
) -> dict[str, Any]:
    """Arrays by name. `replay` is as it was before the sleep whose number (from 0) is `sleep`."""
    wake_key, replay_key, look_key = jax.random.split(key, 3)
    rows = jax.random.randint(replay_key, (PROBES,), 0, max(replay.filled, 1))
    of_probes, others = _look(spec, before, after, buffer.draw(wake_key, PROBES) + replay.pairs[rows], look_key)
    origin = np.concatenate([np.full(PROBES, sleep), replay.sleep[np.asarray(rows)]])
    valid_mask = origin >= 0  # random replay may hold nothing yet
    return {"sleep": origin[valid_mask], **others} | {
        name: np.asarray(value)[valid_mask] for name, value in of_probes.items()
    }


@eqx.filter_jit
def _look(
    spec: ActionSpec, before: SleepModel, after: SleepModel, probes: Pairs, key: Key[Array, ""]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Arrays over the probes, and the others."""
    seen, mask = probes.observation, mask_of(probes.observation)
    features, reconstructed = after.features(seen), after.reconstruct(after.inputs(seen))
    centre = jnp.mean(features, axis=0)
    _, spread, basis = jnp.linalg.svd(features - centre, full_matrices=False)

    def components(features: Float[Array, "count features"]) -> Float[Array, "count components"]:
        return (features - centre) @ basis[:COMPONENTS].T

    before_key, after_key = jax.random.split(key)
    taught, dream = before.dream(before_key, DREAMS), after.dream(after_key, DREAMS)
    looped = refine(after, dream.inputs, LOOPS)
    of_probes = {
        "before": components(before.features(seen)),
        "after": components(features),
        "reconstructed": components(after.features_from_inputs(reconstructed)),
        "action": _choice(spec, after(seen), mask),
        "agrees_before": _agrees(spec, before(seen), probes.label, mask),
        "agrees_after": _agrees(spec, after(seen), probes.label, mask),
    }
    others = {
        "explained": (spread**2 / jnp.maximum(jnp.sum(spread**2), 1e-12))[:COMPONENTS],
        "dreamed_before": components(after.features_from_inputs(taught.inputs)),
        "dreamed_before_action": _choice(spec, taught.logits),
        "dreamed_after": components(after.features_from_inputs(dream.inputs)),
        "dreamed_after_action": _choice(spec, dream.logits),
        "looped": components(after.features_from_inputs(looped)),
    }
    shown = {"seen": after.inputs(seen), "seen_again": reconstructed, "dream": dream.inputs, "dream_looped": looped}
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
