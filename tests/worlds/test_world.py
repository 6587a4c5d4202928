import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from tests.worlds.toys import Console, Corridor
from wakesleep import ActionSpec, ObservationSpec, UserError, World
from wakesleep.worlds.world import HostWorld


def test_toys_and_tasks_are_worlds():
    for world in (Console(), Corridor(jnp.int32(5)), wakesleep.make("DoorKey_S5")):
        assert isinstance(world, World)
    assert isinstance(wakesleep.GymnasiumWorld("CartPole-v1"), HostWorld)


def test_single_action():
    spec = ActionSpec.single(6)
    assert spec.is_single
    assert spec.shape == ()
    spec.check(5)
    spec.check(np.arange(6))  # a batch
    for wrong in (6, -1, np.array([0, 7])):
        with pytest.raises(UserError, match="action 0 to 5"):
            spec.check(wrong)
    for wrong in (1.0, np.array([0.5])):
        with pytest.raises(UserError, match="integers"):
            spec.check(wrong)


def test_factored_action():
    spec = Console().action_spec
    assert spec.shape == (2,)
    assert spec.sizes == (2, 4)
    spec.check([1, 3])
    spec.check(np.zeros((7, 2), int))
    with pytest.raises(UserError, match="argument 0 to 3"):
        spec.check([1, 4])
    with pytest.raises(UserError, match="shape"):
        spec.check([1, 2, 3])


def test_shape_is_checked_while_compiling():
    with pytest.raises(UserError, match="shape"):
        jax.jit(lambda action: Console().action_spec.check(action))(jnp.zeros(3, int))


def test_nonsense_action_specs_are_refused():
    with pytest.raises(UserError, match="at least one choice"):
        ActionSpec(())
    with pytest.raises(UserError, match="one row per choice"):
        ActionSpec((("function", 2), ("argument", 4)), uses=((True, False),))


def test_mask_comes_with_the_observation():
    _, timestep = Console().step(jnp.int32(0), jnp.array([1, 3]), jax.random.key(0))
    assert timestep.reward == 3
    assert timestep.observation.action_mask.tolist() == [True, False]
    _, timestep = Console().step(jnp.int32(1), jnp.array([1, 3]), jax.random.key(0))
    assert timestep.reward == 0


def test_observation_scale():
    assert ObservationSpec.of((2,), np.float32, [-3, 0], [2, np.inf]).scale.tolist() == [3, 1]
    minigrid = wakesleep.make("DoorKey_S5").observation_spec
    assert minigrid.scale[0, 0].tolist() == [10, 5, 2]
    assert minigrid == wakesleep.make("DistShift_R2").observation_spec
    assert hash(minigrid) == hash(wakesleep.make("DistShift_R2").observation_spec)
    assert minigrid != ObservationSpec.of((7, 7, 3), np.uint8, 0, 255)
