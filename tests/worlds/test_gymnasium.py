import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import wakesleep
from tests.worlds.toys import Console, Corridor
from wakesleep import GymnasiumWorld, UserError, WorldEnv
from wakesleep.worlds.minigrid.farama import make_env


class Counter(gymnasium.Env):
    """Counts up from a seeded number; ends at 12 (terminated) or after five steps (truncated)."""

    observation_space = Box(0, 20, (1,), np.int64)
    action_space = Discrete(3, start=-1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.steps = int(self.np_random.integers(0, 10)), 0
        return np.array([self.count]), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.count, self.steps = max(self.count + int(action), 0), self.steps + 1
        return np.array([self.count]), float(self.count), self.count >= 12, self.steps >= 5, {}


class Grid(gymnasium.Env):
    """Discrete observations and a two-dimensional MultiDiscrete action, both numbered from 5 and 1."""

    observation_space = Discrete(4, start=5)
    action_space = MultiDiscrete([[2, 3], [4, 2]], start=[[1, 1], [1, 1]])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 5, {}

    def step(self, action):
        assert self.action_space.contains(action)
        return 5 + int(action[0, 1]), float(action[1, 0]), False, False, {}


def transitions(world, seed, num_steps):
    """(before, action, reward, after, terminated, truncated) of every environment, real ones only."""
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 3, (num_steps, world.num_envs))
    found, before, at = [[] for _ in range(world.num_envs)], world.reset(seed), np.zeros(world.num_envs, int)
    for _ in range(num_steps):
        chosen = actions[at, np.arange(world.num_envs)]  # the k-th real step of an environment takes its k-th action
        stepped = world.step(chosen)
        for env in np.flatnonzero(stepped.valid):
            at[env] += 1
            step = (before[env, 0], chosen[env], stepped.reward[env], stepped.next_observation[env, 0])
            found[env].append((*step, stepped.terminated[env], stepped.truncated[env]))
        before = stepped.observation
    return found


@pytest.mark.parametrize("mode", AutoresetMode)
def test_no_transition_is_lost_or_invented(mode):
    """Under every autoreset mode the same transitions as from plain environments, one by one."""
    world = GymnasiumWorld(SyncVectorEnv([Counter] * 3, autoreset_mode=mode))
    found = transitions(world, seed=7, num_steps=60)
    actions = np.random.default_rng(0).integers(0, 3, (60, 3))
    for index, seen in enumerate(found):
        env = Counter()
        before, _ = env.reset(seed=7 + index)
        expected = []
        for action in actions[: len(seen), index]:
            after, reward, terminated, truncated, _ = env.step(action - 1)
            expected.append((before[0], action, np.float32(reward), after[0], terminated, truncated))
            before = env.reset()[0] if terminated or truncated else after
        assert seen == expected
        assert any(step[4] for step in seen) or any(step[5] for step in seen)
        assert len(seen) == 60 if mode is not AutoresetMode.NEXT_STEP else 45 <= len(seen) < 60


def test_processes_are_the_same_environments():
    alone = transitions(GymnasiumWorld(Counter, 2), seed=3, num_steps=20)
    world = GymnasiumWorld(Counter, 2, processes=True)
    apart = transitions(world, seed=3, num_steps=20)
    world.close()
    assert alone == apart


def test_vector_environment_must_say_how_it_resets():
    envs = SyncVectorEnv([Counter])
    envs.metadata = {}
    with pytest.raises(UserError, match="autoreset_mode"):
        GymnasiumWorld(envs)


def test_discrete_observations_and_nested_actions():
    world = GymnasiumWorld(Grid, 2)
    assert world.observation_spec.shape == ()
    assert world.action_spec.sizes == (2, 3, 4, 2)
    assert world.reset(0).tolist() == [0, 0]
    stepped = world.step(np.array([[0, 2, 3, 1], [1, 0, 0, 0]]))
    assert stepped.observation.tolist() == [3, 1]
    assert stepped.reward.tolist() == [4, 1]


def test_farama_minigrid_as_a_host_world():
    spec = wakesleep.make("DoorKey_S5").observation_spec
    world = GymnasiumWorld("wakesleep/DoorKey_S5", 2, observation_spec=spec)
    first = world.reset(11)
    assert (first[1] == make_env("DoorKey_S5").reset(seed=12)[0]).all()
    assert world.observation_spec == spec
    assert world.step(np.array([0, 1])).observation.dtype == np.uint8


def test_bad_input_to_host_worlds():
    with pytest.raises(UserError, match="NoSuchEnv"):
        GymnasiumWorld("NoSuchEnv-v0")
    with pytest.raises(UserError, match="at least one"):
        GymnasiumWorld("CartPole-v1", 0)
    with pytest.raises(UserError, match="Discrete or MultiDiscrete"):
        GymnasiumWorld("Pendulum-v1")
    with pytest.raises(UserError, match="FlattenObservation"):
        GymnasiumWorld("MiniGrid-Empty-5x5-v0")
    with pytest.raises(UserError, match="render_mode: only an environment's id"):
        GymnasiumWorld(Counter, 1, render_mode="rgb_array")
    one = Counter()
    with pytest.raises(UserError, match="each environment must be a new one"):
        GymnasiumWorld(lambda: one, 2)
    with pytest.raises(UserError, match="its own number"):
        GymnasiumWorld(SyncVectorEnv([Counter]), 2)
    world = GymnasiumWorld(Counter, 2)
    world.reset(0)
    for actions, why in (([0, 3], "0 to 2"), ([0.0, 1.0], "integers"), ([0], "as many actions")):
        with pytest.raises(UserError, match=why):
            world.step(np.array(actions))


@pytest.mark.parametrize("task", wakesleep.tasks("minigrid"))
def test_our_tasks_are_sound_gymnasium_environments(task):
    env = gymnasium.make(f"wakesleep-jax/{task}", render_mode="rgb_array")
    check_env(env.unwrapped)
    assert env.observation_space == gymnasium.make(f"wakesleep/{task}").observation_space
    assert env.action_space == Discrete(6)


@pytest.mark.parametrize("world", [Corridor(np.int32(6)), Console()])
def test_any_world_is_a_sound_gymnasium_environment(world):
    check_env(WorldEnv(world), skip_render_check=True)


def test_masked_worlds_show_what_is_available():
    env = WorldEnv(Console())
    assert isinstance(env.observation_space, Dict)
    assert env.action_space == MultiDiscrete([2, 4])
    observation, _ = env.reset(seed=0)
    assert observation["action_mask"].tolist() == [1, 1]


def test_seeds_repeat_whole_lives():
    env = WorldEnv(wakesleep.make("DynObstacles_S6N1"))

    def life(seed):
        views = [env.reset(seed=seed)[0]]
        for action in (0, 1, 1, 2, 0, 2):
            views.append(env.step(action)[0])
        return np.stack([*views, env.reset()[0]])

    assert (life(1) == life(1)).all()
    assert any((life(1) != life(seed)).any() for seed in (2, 3))


def test_bad_input_to_our_environments():
    env = WorldEnv(wakesleep.make("DoorKey_S5"))
    with pytest.raises(UserError, match="reset"):
        env.step(0)
    env.reset(seed=0)
    for action, why in ((6, "0 to 5"), (1.0, "integers"), (np.array([1, 2]), "one action"), ("left", "integers")):
        with pytest.raises(UserError, match=why):
            env.step(action)
    with pytest.raises(UserError, match="render_mode"):
        WorldEnv(wakesleep.make("DoorKey_S5"), render_mode="human")
    with pytest.raises(UserError, match="draw"):
        WorldEnv(Console(), render_mode="rgb_array")
