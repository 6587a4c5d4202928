"""Sleep on maps: the VAE of convolutions, its batch normalisation, and the architectures around it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.worlds.toys import Pointing
from wakesleep import ObservationSpec, UserError
from wakesleep.nets.conv_vae import BatchNorm, ConvVAE
from wakesleep.nets.fully_conv import FeatureLayerEncoder, FullyConvConfig
from wakesleep.nets.reconstruct import LayerReconstruction
from wakesleep.sleep.architectures import HIDDEN, PAPER_ARCHITECTURES, SEQUENTIAL, ModelConfig
from wakesleep.sleep.consolidate import SleepConfig, consolidate
from wakesleep.sleep.model import LossWeights, SleepModel
from wakesleep.sleep.replay import Pairs, random_replay, wake_buffer
from wakesleep.worlds.world import MaskedObservation

WORLD = Pointing()
SPECS = WORLD.observation_spec, WORLD.action_spec
NETWORK = FullyConvConfig((0,), ("where",), channels=(8, 8, 8), hidden=32, normalise=True)


def pairs_of(count):
    """Maps with a mark, and the action that points at it."""
    (row, column, _), timestep = jax.vmap(WORLD.reset)(jax.random.split(jax.random.key(0), count))
    where = row // 2 * 4 + column // 2
    return Pairs(timestep.observation, jnp.stack([jnp.ones_like(where), where, jnp.zeros_like(where)], axis=-1))


def test_batch_normalisation_by_the_batch_and_by_the_population():
    norm, images = BatchNorm(3), 5 + 2 * jax.random.normal(jax.random.key(0), (64, 4, 4, 3))
    in_training = norm(images, training=True)
    np.testing.assert_allclose(in_training.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(in_training.std((0, 1, 2)), 1, atol=1e-3)
    np.testing.assert_allclose(norm(images, training=False), images, rtol=1e-4)  # nothing was measured yet
    settled = norm.with_batch_stats(images)
    np.testing.assert_allclose(settled(images, training=False), in_training, atol=1e-4)
    np.testing.assert_allclose(settled(images[:1], training=False), in_training[:1], atol=1e-4)  # one alone


def test_sizes_of_the_vae():
    for side in (4, 16, 64):
        vae = ConvVAE((side, side, 3), (64, 64, 9), jax.random.key(0), channels=4, latent=8)
        posterior = vae.encode(jnp.zeros((2, 3, side * side * 3)))
        assert posterior.mean.shape == (2, 3, 8)
        assert vae.decode(posterior.mean).shape == (2, 3, 64 * 64 * 9)
        assert len(vae.encoder) == len(vae.decoder) == 5
    with pytest.raises(UserError, match="not 24"):
        ConvVAE((24, 24, 3), (24, 24, 3), jax.random.key(0))


def test_layers_are_spelled_out_and_read_back():
    spec = ObservationSpec.of((4, 4, 3), np.uint8, 0, 200, scale=np.array([5, 1, 16]))
    encoder = FeatureLayerEncoder(spec, (0, 1))
    seen = np.random.default_rng(0).integers(0, [6, 2, 17], (7, 4, 4, 3)).astype(np.uint8)
    inputs = encoder(jnp.asarray(seen))
    assert inputs.shape == (7, 4 * 4 * (6 + 2 + 1))
    assert np.array_equal(encoder.nearest(inputs), seen)
    many = FeatureLayerEncoder(ObservationSpec.of((4, 4, 1), np.int16, 0, 1961), (0,))
    assert many.size == 16  # too many to spell out
    with pytest.raises(UserError, match="1962 categories cannot be dreamed"):
        LayerReconstruction(many)


@pytest.mark.parametrize("kind", PAPER_ARCHITECTURES)
def test_every_architecture_imitates_on_maps(kind):
    config = ModelConfig(kind, NETWORK, latent=16, hidden=64, channels=8)
    model, pairs = eqx.filter_jit(config.make)(*SPECS, jax.random.key(1)), pairs_of(1000)
    assert isinstance(model, SleepModel)
    buffer, none = wake_buffer(*SPECS, 1000).add(pairs), random_replay(*SPECS, 64)
    sleep = SleepConfig(800, 32, loss_weights=LossWeights(3.0, 1.0, 0.03), learning_rate=2e-3)
    slept, curves = consolidate(model, buffer, none, jax.random.key(2), sleep, first=True)
    assert curves.experience.reconstruction[-1] < 0.8 * curves.experience.reconstruction[0]
    logits = slept(pairs.observation)
    right = np.asarray(jnp.argmax(logits[:, 2:18], axis=-1) == pairs.label[:, 1]).mean()
    chance = 1 / 16
    assert right > (0.9 if kind != SEQUENTIAL else 4 * chance)
    if kind != HIDDEN:
        moments = slept.vae.encoder[0].norm
        assert float(jnp.abs(moments.mean).max()) > 0
        alone = slept(MaskedObservation(pairs.observation.view[:1], pairs.observation.action_mask[:1]))
        np.testing.assert_allclose(alone, logits[:1], atol=1e-3)  # company overrides nothing
        dream = slept.dream(jax.random.key(3), 5)
        assert slept.to_observation(dream.inputs).shape == (5, 8, 8, 2)
        model, curves = consolidate(
            slept, buffer, none.add(buffer, 32, jax.random.key(4)), jax.random.key(5), SleepConfig(20), first=False
        )
        assert np.isfinite(curves.generative.reconstruction).all()
