"""A sleep model of your own: no VAE, but a Gaussian over features, measured when a sleep is over.

    python examples/05_own_sleep_model.py

A sleep model needs three methods: it acts, it dreams, and it has a loss on real and dreamed pairs. It may say more of
itself by optional protocols; this one has statistics to measure (`with_batch_stats`).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import wakesleep as ws


class GaussianReplay(eqx.Module):
    """A policy that dreams of its own features: independent Gaussians, labelled by the policy's head."""

    policy: Any
    mean: jax.Array
    std: jax.Array
    action: ws.ActionSpec = eqx.field(static=True)

    def __call__(self, observation: Any) -> jax.Array:
        """Logits over actions."""
        return self.policy(observation)

    def dream(self, key: jax.Array, count: int) -> ws.Dream:
        """Features drawn from the Gaussian; features are never negative."""
        mean, std = jax.lax.stop_gradient((self.mean, self.std))
        features = jax.nn.relu(mean + std * jax.random.normal(key, (count, mean.size)))
        return ws.Dream(features, self.policy.head(features))

    def loss(self, pairs: ws.Pairs, dream: ws.Dream, key: jax.Array) -> ws.Losses:
        """Imitate the labels of real and of dreamed pairs; there is nothing to reconstruct."""
        features = jnp.concatenate([self.policy.features(pairs.observation), dream.inputs])
        imitation = ws.imitation_loss(self.action, self.policy.head(features), pairs, dream)
        return ws.Losses(imitation, jnp.zeros_like(imitation), jnp.zeros_like(imitation))

    def with_batch_stats(self, pairs: ws.Pairs, dream: ws.Dream, key: jax.Array) -> "GaussianReplay":
        """Mean and spread of the features, of what was just learned and of what was dreamed of before."""
        features = jnp.concatenate([self.policy.features(pairs.observation), dream.inputs])
        statistics = features.mean(0), features.std(0)
        return eqx.tree_at(lambda model: (model.mean, model.std), self, statistics)


def make(
    config: ws.ModelConfig, observation: ws.ObservationSpec, action: ws.ActionSpec, key: jax.Array
) -> GaussianReplay:
    """A fresh model, with the same policy network as the wake learner."""
    policy = config.network.make(observation, action, key).policy
    size = policy.head.weight.shape[0]
    return GaussianReplay(policy, jnp.zeros(size), jnp.ones(size), action)


ws.register_sleep_model("gaussian", make)


def main(scale: float = 1.0) -> None:
    """Compare it with hidden replay, without random replay, so that dreams are all that is left of the past."""
    tasks, lives = ["DistShift_R3", "CustomUnlock_S5"], []
    for architecture in ("hidden", "gaussian"):
        overrides = {"model.architecture": architecture, "sleep.iterations": int(4000 * scale) + 10}
        lives.append(ws.run("hidden-er-gr", tasks, scale=scale, episodes=20, seed=1, overrides=overrides))
        print(architecture, lives[-1].returns.round(2), sep="\n")


if __name__ == "__main__":
    main()
