import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from wakesleep import ObservationSpec, UserError
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.layers import Linear
from wakesleep.nets.policy import MLPConfig

MINIGRID = wakesleep.make("DoorKey_S5")


def test_encodings():
    spec = MINIGRID.observation_spec
    view = np.zeros((2, 7, 7, 3), np.uint8)
    view[1, 0, 0] = 10, 5, 2
    scaled = Encoder(spec, Encoding.SCALE)(jnp.asarray(view))
    assert scaled.shape == (2, 147)
    np.testing.assert_allclose(scaled[1, :4], [1, 1, 1, 0])
    np.testing.assert_allclose(Encoder(spec, Encoding.BYTES)(jnp.asarray(view))[1, 0], 10 / 255, rtol=1e-6)
    one_hot = Encoder(spec, Encoding.ONE_HOT)
    assert one_hot.size == 49 * (11 + 6 + 3)
    spelled = np.asarray(one_hot(jnp.asarray(view)))
    assert (spelled.sum(1) == 147).all()  # every entry has exactly one value
    assert spelled[1, :20].nonzero()[0].tolist() == [10, 11 + 5, 17 + 2]


def test_one_hot_needs_whole_numbers():
    with pytest.raises(UserError, match="whole numbers"):
        Encoder(ObservationSpec.of((4,), np.float32, -1, 1), Encoding.ONE_HOT)
    with pytest.raises(UserError, match="known maximum"):
        Encoder(ObservationSpec.of((4,), np.int64, 0, np.inf), Encoding.ONE_HOT)


def test_the_papers_network():
    networks = MLPConfig().make(MINIGRID.observation_spec, MINIGRID.action_spec, jax.random.key(0))
    count = sum(leaf.size for leaf in jax.tree.leaves(networks))
    policy, value = ((147 + 1) * 256 + 257 * 256 + 257 * outputs for outputs in (6, 1))
    assert count == policy + value
    view = jax.random.randint(jax.random.key(1), (5, 3, 7, 7, 3), 0, 3).astype(jnp.uint8)
    logits = networks.policy(view)
    assert logits.shape == (5, 3, 6)
    assert networks.value(view).shape == (5, 3)
    assert networks.policy.features(view).shape == (5, 3, 256)
    np.testing.assert_allclose(networks.policy.head(networks.policy.features(view)), logits)
    np.testing.assert_allclose(jax.nn.softmax(logits), 1 / 6, atol=0.02)  # a newborn has no preference


def test_orthogonal_start():
    weight = Linear(64, 32, jax.random.key(0), gain=2.0).weight
    np.testing.assert_allclose(weight.T @ weight, 4 * np.eye(32), atol=1e-4)


@pytest.mark.parametrize("encoding", list(Encoding))
def test_the_nearest_observation_of_its_own_inputs_is_itself(encoding):
    spec = ObservationSpec.of((3, 2), np.uint8, 0, np.array([[10, 5], [2, 1], [7, 255]]))
    encoder = Encoder(spec, encoding)
    seen = np.random.default_rng(0).integers(0, spec.high + 1, (20, 3, 2)).astype(np.uint8)
    noise = np.random.default_rng(1).uniform(-1, 1, (20, encoder.size)) * (
        1e-3 if encoding is not Encoding.ONE_HOT else 0.4
    )
    found = encoder.nearest(encoder(jnp.asarray(seen)) + noise)
    assert found.dtype == np.uint8
    assert np.array_equal(found, seen)
