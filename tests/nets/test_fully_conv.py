"""FullyConvConfig: the paper's sizes, what its parts see, that it learns, and what it refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.worlds.toys import Pointing
from wakesleep import ActionSpec, ObservationSpec, UserError
from wakesleep.nets.fully_conv import FullyConvConfig
from wakesleep.nets.policy import MLPConfig, SharedNetworks, logits_and_value
from wakesleep.wake.envs import evaluate
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.train import train
from wakesleep.wake.vtrace import VTrace, VTraceConfig

# as in StarCraft II: unit type, selected, density; a function and its arguments
LAYERS = ObservationSpec.of((64, 64, 3), np.uint16, 0, 2000, scale=np.array([1850, 1, 16]))
ACTION = ActionSpec(
    (("function", 13), ("screen", 256), ("minimap", 256), ("screen2", 256), ("select_add", 2), ("select_point", 4)),
    masked=True,
)
STARCRAFT = FullyConvConfig(categorical=(0, 1), places=("screen", "minimap", "screen2"))


def test_the_papers_sizes():
    networks = STARCRAFT.make(LAYERS, ACTION, jax.random.key(0))
    view = jnp.ones((2, 5, 64, 64, 3), jnp.uint16)
    assert networks.policy.features(view).shape == (2, 5, 8192)  # 32 channels on 16 x 16
    assert networks.policy(view).shape == (2, 5, 13 + 3 * 256 + 2 + 4)
    assert networks.value(view).shape == (2, 5)
    assert [embedding.weight.shape for embedding in networks.policy.extractor.embeddings] == [(1851, 11), (2, 1)]
    probabilities = jax.nn.softmax(networks.policy(view)[0, 0, 13 : 13 + 256])
    np.testing.assert_allclose(probabilities, 1 / 256, rtol=0.1)  # a newborn has no preference
    count = sum(leaf.size for leaf in jax.tree.leaves(networks))
    assert 2.1e6 < count < 2.3e6


def test_patches_are_a_convolution_and_make_as_many_features():
    patches = FullyConvConfig((0, 1), STARCRAFT.places, channels=(8, 8, 4), hidden=16, patches=True)
    networks = patches.make(LAYERS, ACTION, jax.random.key(0))
    extractor = networks.policy.extractor
    assert [(conv.weight.shape[0], conv.stride) for conv in extractor.convolutions] == [(4, 4), (3, 1), (3, 1)]
    assert extractor.grid == 16
    assert networks.policy.features(jnp.ones((3, 64, 64, 3), jnp.uint16)).shape == (3, 4 * 16 * 16)
    first, images = extractor.convolutions[0], jax.random.normal(jax.random.key(1), (2, 64, 64, 13))
    layout = ("NHWC", "HWIO", "NHWC")
    plain = jax.lax.conv_general_dilated(images, first.weight, (4, 4), "VALID", dimension_numbers=layout) + first.bias
    np.testing.assert_allclose(first(images), plain, atol=1e-4)


def test_patches_of_few_categories_are_embedded_and_read_in_one():
    """The same features as by embedding first, also where categories and amounts take turns."""
    layers = ObservationSpec.of((32, 32, 4), np.uint8, 0, 9, scale=np.array([5, 9, 1, 9]))
    config = FullyConvConfig((0, 2), STARCRAFT.places, channels=(8, 8, 4), hidden=16, patches=True)
    extractor = config.make(layers, ACTION, jax.random.key(0)).policy.extractor
    extractor = eqx.tree_at(lambda it: it.embeddings[0].bias, extractor, jnp.array([0.3, -1.0, 2.0]))
    view = np.random.default_rng(0).integers(0, [6, 10, 2, 10], (3, 32, 32, 4)).astype(np.uint8)
    inputs = extractor.encoder(jnp.asarray(view))
    step_by_step = extractor.convolutions[0](extractor._embedded(inputs))
    np.testing.assert_allclose(extractor._patches(inputs), step_by_step, atol=1e-4)
    assert extractor._reads_patches


def test_policy_and_value_at_once():
    networks = FullyConvConfig((0, 1), STARCRAFT.places, channels=(4, 4, 4), hidden=16).make(
        LAYERS, ACTION, jax.random.key(0)
    )
    view = jax.random.randint(jax.random.key(1), (3, 64, 64, 3), 0, 2).astype(jnp.uint16)
    logits, value = logits_and_value(networks, view)
    np.testing.assert_allclose(logits, networks.policy(view), atol=1e-6)
    np.testing.assert_allclose(value, networks.value(view), atol=1e-6)
    assert isinstance(networks, SharedNetworks)
    apart = MLPConfig((8,)).make(ObservationSpec.of((3,), np.float32, 0, 1), ActionSpec.single(4), jax.random.key(0))
    assert not isinstance(apart, SharedNetworks)
    logits, value = logits_and_value(apart, jnp.ones((2, 3)))
    assert (logits.shape, value.shape) == ((2, 4), (2,))


def test_places_are_decided_where_they_are():
    """What stands in one corner moves the logits of that corner's place, and of no place far from it."""
    policy = STARCRAFT.make(LAYERS, ACTION, jax.random.key(1)).policy
    empty = jnp.zeros((1, 64, 64, 3), jnp.uint16)
    marked = empty.at[0, 62, 62].set(jnp.array([48, 1, 9], jnp.uint16))
    change = np.abs(np.asarray(policy(marked) - policy(empty)))[0, 13 : 13 + 256].reshape(16, 16)
    assert change[15, 15] > 0
    assert (change[:13] == 0).all()
    assert (change[:, :13] == 0).all()


def test_logits_come_in_the_order_of_the_parts():
    spec = ActionSpec((("what", 2), ("a", 4), ("how", 3), ("b", 4)))
    layers = ObservationSpec.of((4, 4, 1), np.uint8, 0, 9)
    policy = FullyConvConfig((), ("a", "b"), channels=(2, 2, 5), hidden=8).make(layers, spec, jax.random.key(0)).policy
    features = policy.features(jax.random.randint(jax.random.key(1), (4, 4, 1), 0, 9).astype(jnp.uint8))
    plain, places = policy.head.plain(policy.head.summary(features)), policy.head.places(features.reshape(4, 5))
    expected = jnp.concatenate([plain[:2], places[:, 0], plain[2:], places[:, 1]])
    np.testing.assert_allclose(policy.head(features), expected, rtol=1e-6)


def test_normalised_features_have_one_range():
    networks = FullyConvConfig((0, 1), STARCRAFT.places, normalise=True).make(LAYERS, ACTION, jax.random.key(0))
    view = jax.random.randint(jax.random.key(1), (3, 64, 64, 3), 0, 2).astype(jnp.uint16)
    features = np.asarray(networks.policy.features(view))
    np.testing.assert_allclose(features.mean(-1), 0, atol=1e-4)
    np.testing.assert_allclose(features.std(-1), 1, atol=1e-2)


def test_it_learns_to_point_at_a_mark():
    """Chance pays 1 in 32; the function and the place must both be right."""
    world = Pointing()
    network = FullyConvConfig((0,), ("where",), channels=(8, 8, 8), hidden=32)
    config = VTraceConfig(
        num_envs=64, num_steps=2, learning_rate=3e-3, entropy_coef=1e-2, normalise_advantages=True, network=network
    )
    learner = VTrace(world.observation_spec, world.action_spec, config)
    envs = JaxEnvs(world, 64)
    state, envs_state = learner.init(jax.random.key(0)), envs.reset(jax.random.key(1))
    before = evaluate(envs, learner.policy(state), jax.random.key(2), 300).total_reward.mean()
    state = train(learner, state, envs, envs_state, jax.random.key(3), 400).state
    after = evaluate(envs, learner.policy(state), jax.random.key(2), 300).total_reward.mean()
    assert before < 0.05
    assert after > 0.9


@pytest.mark.parametrize(
    ("layers", "places", "why"),
    [
        (LAYERS, ("scren",), "among the action's parts"),
        (LAYERS, ("screen", "select_add"), "of one size"),
        (LAYERS, ("function",), "not a place"),
        (ObservationSpec.of((60, 60, 3), np.uint8, 0, 9), ("screen",), "that 16 divides"),
        (ObservationSpec.of((64, 32, 3), np.uint8, 0, 9), ("screen",), "square map"),
        (ObservationSpec.of((64,), np.uint8, 0, 9), ("screen",), "layers"),
    ],
)
def test_what_it_refuses(layers, places, why):
    with pytest.raises(UserError, match=why):
        FullyConvConfig((), places).make(layers, ACTION, jax.random.key(0))
