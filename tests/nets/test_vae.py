"""The VAE and what its outputs mean."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep import ObservationSpec
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.reconstruct import CategoricalReconstruction, PlainReconstruction
from wakesleep.nets.vae import VAE, Posterior

SPEC = ObservationSpec.of((2, 2), np.uint8, 0, 255, scale=np.array([[2, 4], [3, 2]]))
SEEN = jnp.array([[[2, 0], [3, 1]], [[0, 4], [1, 2]]], jnp.uint8)


def test_divergence_by_hand_and_against_samples():
    posterior = Posterior(jnp.array([[1.0, -0.5]]), jnp.array([[0.0, np.log(4.0)]]))
    by_hand = (0.5 * (1 + 1 - 1 - 0) + 0.5 * (0.25 + 4 - 1 - np.log(4.0))) / 2
    assert posterior.kl()[0] == pytest.approx(by_hand, rel=1e-5)
    many = Posterior(*(jnp.broadcast_to(part, (200_000, 2)) for part in posterior))
    draws = np.asarray(many.sample(jax.random.key(0)))
    np.testing.assert_allclose(draws.mean(0), [1, -0.5], atol=0.03)
    np.testing.assert_allclose(draws.std(0), [1, 2], atol=0.03)


def test_the_papers_sizes_and_bounds():
    vae = VAE(256, 256, jax.random.key(0))
    assert vae.latent == 128
    assert len(jax.tree.leaves(vae)) == 8  # four layers
    wild = vae.encode(1e4 * jax.random.normal(jax.random.key(1), (50, 256)))
    assert np.abs(wild.log_variance).max() <= 5
    assert np.abs(wild.log_variance).max() > 4.9
    assert vae.dream(jax.random.key(2), 7).shape == (7, 256)


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("kind", [PlainReconstruction, CategoricalReconstruction])
def test_a_perfect_decoder_has_no_loss_and_gives_the_true_inputs(kind, encoding):
    encoder = Encoder(SPEC, encoding)
    reconstruction = kind(encoder)
    inputs = encoder(SEEN)
    if kind is PlainReconstruction:
        outputs = jnp.log(inputs + 1e-6) - jnp.log(1 - inputs + 1e-6)
    else:
        outputs = 30 * Encoder(SPEC, Encoding.ONE_HOT)(SEEN)
    assert outputs.shape == (2, reconstruction.size)
    np.testing.assert_allclose(reconstruction.inputs(outputs), inputs, atol=1e-4)
    np.testing.assert_allclose(reconstruction.loss(outputs, SEEN), 0, atol=1e-4)
    np.testing.assert_allclose(reconstruction.loss_of_inputs(outputs, inputs), 0, atol=1e-4)


@pytest.mark.parametrize(("low", "high"), [(-2, 2), (0, np.inf), (-np.inf, np.inf)])
def test_numbers_beyond_0_and_1_can_be_reconstructed(low, high):
    encoder = Encoder(ObservationSpec.of((2,), np.float32, low, high))
    inputs = encoder(jnp.array([[0.5, 1.9], [low if low == -2 else 0.0, 1.0]], jnp.float32))
    reconstruction = PlainReconstruction(encoder)
    np.testing.assert_array_equal(reconstruction.inputs(inputs), inputs)
    np.testing.assert_array_equal(reconstruction.loss_of_inputs(inputs, inputs), 0)


def test_categories_are_distributions_over_the_values_of_each_entry():
    reconstruction = CategoricalReconstruction(Encoder(SPEC, Encoding.ONE_HOT))
    outputs = jax.random.normal(jax.random.key(0), (3, 3 + 5 + 4 + 3))
    inputs = np.asarray(reconstruction.inputs(outputs))
    for first, last in ((0, 3), (3, 8), (8, 12), (12, 15)):
        np.testing.assert_allclose(inputs[:, first:last], jax.nn.softmax(outputs[:, first:last]), rtol=1e-4)
    even = reconstruction.loss(jnp.zeros((2, 15)), SEEN)
    np.testing.assert_allclose(even, (np.log(3) + np.log(5) + np.log(4) + np.log(3)) / 4, rtol=1e-5)
    scaled = CategoricalReconstruction(Encoder(SPEC)).inputs(jnp.zeros((1, 15)))
    np.testing.assert_allclose(scaled[0], [0.5, 0.5, 0.5, 0.5], rtol=1e-5)  # the middle of each range


def test_it_learns_to_reconstruct_and_to_dream_what_it_saw():
    """Four kinds of things; after training most dreams are near one of the four."""
    kinds = jnp.array([[1.0, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1], [0, 0, 1, 0, 1, 1], [0, 0, 0, 1, 0, 0]]) * 2 - 1
    newborn = vae = VAE(6, 6, jax.random.key(0), hidden=64, latent=4)
    import optax

    optimiser = optax.adam(3e-3)

    def loss(vae, key):
        chosen = kinds[jax.random.randint(key, (64,), 0, 4)]
        posterior = vae.encode(chosen)
        error = jnp.mean(jnp.square(vae.decode(posterior.sample(key)) - chosen))
        return error + 0.3 * jnp.mean(posterior.kl())  # enough for the prior to be met

    def step(carry, key):
        vae, state = carry
        updates, state = optimiser.update(jax.grad(loss)(vae, key), state)
        return (optax.apply_updates(vae, updates), state), None

    keys = jax.random.split(jax.random.key(1), 1500)
    (vae, _), _ = jax.jit(lambda vae: jax.lax.scan(step, (vae, optimiser.init(vae)), keys))(vae)
    np.testing.assert_allclose(vae.decode(vae.encode(kinds).mean), kinds, atol=0.15)
    born, trained = (
        np.sqrt(np.square(np.asarray(one.dream(jax.random.key(2), 400))[:, None] - np.asarray(kinds)[None]).mean(-1))
        for one in (newborn, vae)
    )
    assert (born.min(1) < 0.25).mean() < 0.05
    assert (trained.min(1) < 0.25).mean() > 0.5  # the rest lie between two kinds: the decoder is continuous
    assert set(trained.argmin(1)) == {0, 1, 2, 3}
