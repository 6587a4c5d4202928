"""The real game, as far as it can be tested without it: against PySC2's specs, its mock, and its own client code."""

import threading

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings

from tests.worlds.starcraft.archives import stock_maps
from wakesleep import HostWorld, UserError
from wakesleep.logs import EpisodeCounter
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake.host_envs import HostEnvs
from wakesleep.wake.train import train
from wakesleep.wake.vtrace import VTrace, VTraceConfig
from wakesleep.worlds import registry
from wakesleep.worlds.host import HostWorldFactory
from wakesleep.worlds.starcraft import compat, interface
from wakesleep.worlds.starcraft.game import MAPS, MAX_CRASHES, GameWorld
from wakesleep.worlds.starcraft.interface import FUNCTIONS, LAYERS, PARTS
from wakesleep.worlds.starcraft.tasks import TASKS
from wakesleep.worlds.starcraft.translate import call_of, observation_of

pytest.importorskip("pysc2", reason="PySC2 is not installed (make starcraft)")
PYSC2 = compat.load()

from pysc2 import maps as pysc2_maps  # noqa: E402  (PySC2 must be loaded our way first)
from pysc2.env import mock_sc2_env  # noqa: E402
from pysc2.lib import actions, features, protocol, units  # noqa: E402

from tests.worlds.starcraft.fake_game import MARINE, Plan  # noqa: E402

NOTHING = np.zeros(6, int)
ATTACK = np.array([interface.ATTACK, 17, 0, 0, 0, 0])


def test_layers_functions_and_units_are_pysc2s():
    for layer in LAYERS:
        theirs = features.SCREEN_FEATURES[layer.number]
        assert (theirs.name, theirs.scale) == (layer.name, layer.values)
        assert (theirs.type == features.FeatureType.CATEGORICAL) == layer.categorical
    for function in FUNCTIONS:
        theirs = actions.FUNCTIONS[function.id]
        assert theirs.name == function.name
        assert [argument.name for argument in theirs.args if argument.name != "queued"] == list(function.arguments)
    ids = units.Terran.Marine, units.Zerg.Roach, units.Zerg.Zergling, units.Zerg.Baneling
    assert tuple(map(int, ids)) == interface.TYPE_IDS[1:5]


@pytest.mark.parametrize("screen", [16, 64])
def test_specs_agree_with_the_mock(screen):
    env = mock_sc2_env.SC2TestEnv(**compat.env_arguments(PYSC2, "any", screen))
    (seen,), (done,) = env.observation_spec(), env.action_spec()
    spec = interface.observation_spec(screen)
    assert tuple(seen["feature_screen"]) == (27, *spec.shape[:2])
    sizes = {argument.name: argument.sizes for argument in done.types}
    for name, size in PARTS[1:]:
        pixels = (screen, screen) if name in interface.PLACES else (size,)
        assert tuple(sizes[name]) == pixels
    for compact in (True, False):
        world = GameWorld("DefeatRoaches_one", screen=screen, compact=compact, make_env=mock_sc2_env.SC2TestEnv)
        simulated = TASKS["DefeatRoaches_one"].world(screen, compact=compact)
        assert isinstance(world, HostWorld)
        assert world.observation_spec == simulated.observation_spec
    assert world.observation_spec == spec
    assert world.action_spec == TASKS["DefeatRoaches_one"].world(screen).action_spec
    first = world.reset(0)
    assert (first.view.shape, first.view.dtype) == ((1, *spec.shape), spec.dtype)
    world.close()


def observed(layers, available=(0, 1, 2, 3)):
    return {"feature_screen": layers, "available_actions": np.array(available), "game_loop": np.array([8])}


def test_observations_are_three_layers_and_a_mask():
    layers = np.random.default_rng(0).integers(0, 2000, (27, 64, 64), dtype=np.int32)
    seen = observation_of(observed(layers, (0, 2, 12, 453, 999)), interface.observation_spec())
    np.testing.assert_array_equal(seen.view[..., 0], np.minimum(layers[6], 1961))
    np.testing.assert_array_equal(seen.view[..., 1], np.minimum(layers[7], 1))
    np.testing.assert_array_equal(seen.view[..., 2], np.minimum(layers[14], 15))
    open_now = [FUNCTIONS[place].name for place in np.flatnonzero(seen.action_mask)]
    assert open_now == ["no_op", "select_point", "Attack_screen", "Stop_quick"]
    layers[6, 5, :6] = interface.TYPE_IDS
    small = observation_of(observed(layers), interface.observation_spec(compact=True), compact=True)
    assert small.view.dtype == np.uint8
    assert small.view[5, :6, 0].tolist() == list(range(6))
    assert (small.view <= interface.observation_spec(compact=True).high).all()


@settings(max_examples=200, deadline=None)
@given(parts=st.tuples(*(st.integers(0, size - 1) for _, size in PARTS)), screen=st.sampled_from([16, 32, 48, 64, 128]))
def test_every_action_is_valid_protobuf(parts, screen):
    if screen not in FEATURES:
        env = mock_sc2_env.SC2TestEnv(**compat.env_arguments(PYSC2, "any", screen))
        FEATURES[screen] = env._features[0], env.action_spec()[0]
    translator, spec = FEATURES[screen]
    number, arguments = call_of(np.array(parts), screen)
    call = actions.FunctionCall.init_with_validation(number, arguments)
    for argument, values in zip(actions.FUNCTIONS[number].args, call.arguments, strict=True):
        sizes = spec.types[argument.id].sizes
        assert all(0 <= value < size for value, size in zip(values, sizes, strict=True))
    sent = translator.transform_action(None, call, skip_available=True)
    assert sent.IsInitialized()
    assert (sent.ByteSize() > 0) == (number != 0)
    assert type(sent).FromString(sent.SerializeToString()) == sent


FEATURES = {}


def test_a_place_is_the_middle_of_its_cell():
    number, arguments = call_of(np.array([interface.SELECT_RECT, 0, 5, 255, 1, 3]))
    assert (number, arguments) == (3, [[1], [2, 2], [62, 62]])
    assert call_of(np.array([interface.ATTACK, 17, 5, 0, 1, 3])) == (12, [[0], [6, 6]])
    assert call_of(np.array([interface.MOVE_CAMERA, 17, 2, 0, 1, 3])) == (1, [[10, 2]])
    assert call_of(np.array([interface.SELECT_POINT, 16, 5, 0, 1, 2])) == (2, [[2], [2, 6]])
    assert call_of(np.array([interface.STOP, 16, 5, 0, 1, 2])) == (453, [[0]])


class Scripted(mock_sc2_env.SC2TestEnv):
    """PySC2's mock, with a marked screen, rewards that count up, and an end of choice."""

    made = ()
    length, end = 5, {"discount": 0.0}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        type(self).made = (*type(self).made, kwargs)
        self.episode_length, self.taken = self.length, []

    def step(self, actions, step_mul=None):
        self.taken.append(actions[0])
        observation = self.next_timestep[0].observation
        observation["feature_screen"][14] = self._episode_steps
        observation["game_loop"] = np.array([8 * self._episode_steps])
        self.next_timestep = [self.next_timestep[0]._replace(reward=float(self._episode_steps))]
        (timestep,) = super().step(actions)
        return (timestep._replace(**self.end) if timestep.last() else timestep,)


@pytest.mark.parametrize(
    ("length", "discount", "terminated"),
    [(5, 0.0, True), (5, 1.0, False), (240, 0.0, False), (239, 0.0, False), (236, 0.0, True)],
)
def test_episodes_end_as_in_the_game(length, discount, terminated):
    """By the death of the last Marine, by a limit of PySC2's, or by the clock after 240 steps."""
    env = type("Env", (Scripted,), {"length": length, "end": {"discount": discount}})
    world = GameWorld("DefeatRoaches_one", make_env=env)
    first = world.reset(0)
    assert (first.view[..., 2] == 0).all()
    for number in range(1, length + 1):
        stepped = world.step(NOTHING[None])
        assert stepped.reward == number
        assert stepped.valid.all()
        assert (stepped.next_observation.view[..., 2] == min(number, 15)).all()
        last = number == length
        assert stepped.terminated == (last and terminated)
        assert stepped.truncated == (last and not terminated)
        assert (stepped.observation.view[..., 2] == (0 if last else min(number, 15))).all()
    assert world.step(NOTHING[None]).reward == 1
    assert len(env.made) == 1


def test_what_is_not_available_does_nothing():
    """The mock offers Smart, but not Attack."""
    envs = []
    world = GameWorld("DefeatRoaches_one", make_env=lambda **kwargs: envs.append(Scripted(**kwargs)) or envs[-1])
    available = world.reset(0).action_mask[0]
    assert available[interface.SMART]
    assert not available[interface.ATTACK]
    world.step(ATTACK[None])
    world.step(np.array([[interface.SMART, 17, 0, 0, 0, 0]]))
    assert [int(call.function) for call in envs[0].taken[1:]] == [0, 451]


def test_games_run_side_by_side():
    """Each waits for all others: one after the other they would wait for ever."""
    together = threading.Barrier(3, timeout=20)

    class Waiting(Scripted):
        def step(self, actions, step_mul=None):
            together.wait()
            return super().step(actions)

    world = GameWorld("DefeatRoaches_one", 3, make_env=Waiting)
    assert world.reset(0).view.shape == (3, 64, 64, 3)
    for number in (1, 2, 3):
        assert world.step(np.stack([NOTHING] * 3)).reward.tolist() == [number] * 3
    world.close()


@pytest.fixture
def folder(tmp_path):
    """A game's folder with all six maps."""
    maps = tmp_path / "Maps" / "mini_games"
    maps.mkdir(parents=True)
    stock = stock_maps()
    for name in MAPS.values():
        (maps / f"{name}.SC2Map").write_bytes(stock.get(name, b"variant " + name.encode()))
    return tmp_path


def test_pysc2s_own_environment_plays(monkeypatch, folder):
    """`SC2Env` itself, talking to a fake game: maps, seeds, score to rewards, the clock, orders on the wire."""
    plan = Plan()
    plan.install(monkeypatch, folder)
    world = GameWorld("DefeatRoaches_two", 2, screen=32, compact=False)
    seen = world.reset(seed=5)
    for number, game in enumerate(plan.games):
        assert game.created[0].random_seed == 5 + number
        assert game.created[0].local_map.map_data == b"variant DefeatRoachesTwoGroups"
        assert not game.created[0].disable_fog
        assert game.options.feature_layer.resolution.x == 32
        assert game.options.feature_layer.width == 24
        assert np.argwhere(seen.view[number, ..., 0] == MARINE).tolist() == [[5 + number, 0]]
        open_now = [FUNCTIONS[place].name for place in np.flatnonzero(seen.action_mask[number])]
        assert open_now == ["no_op", "move_camera", "select_point", "select_rect", "Attack_screen", "Smart_screen"]
    order = np.stack([ATTACK, NOTHING])
    rows = [world.step(order) for _ in range(241)]
    assert np.stack([row.reward for row in rows[:240]]).tolist() == [[0, 0]] + [[1, 1]] * 239  # PySC2 drops the first
    ended = np.stack([row.truncated for row in rows])
    assert ended.sum(axis=0).tolist() == [1, 1]
    assert ended[239].all()
    assert not np.stack([row.terminated for row in rows]).any()
    assert plan.games[0].loop == 8
    attack = plan.games[0].sent[0].action_feature_layer.unit_command
    assert (attack.ability_id, attack.target_screen_coord.x, attack.target_screen_coord.y) == (3674, 3, 3)
    assert not plan.games[0].sent[0].action_feature_layer.unit_command.queue_command
    assert [len(game.created) for game in plan.games] == [2, 2]  # a new game, not a restart of the old
    seeds = [game.created[1].random_seed for game in plan.games]
    plan.length = 16
    world.reset(seed=5)
    assert [game.created[2].random_seed for game in plan.games] == [5, 6]
    for _ in range(2):
        world.step(order)
    assert [game.created[3].random_seed for game in plan.games] == seeds  # the same seed, the same episodes
    assert len({*seeds, 5, 6}) == 4
    world.close()
    assert not any(game.running for game in plan.games)


def test_a_crash_is_noticed_and_the_episode_begun_anew(monkeypatch, folder):
    crash = protocol.ConnectionError("Connection already closed. SC2 probably crashed.")
    plan = Plan(failures={("step", 5): crash, ("step", 6): crash})
    plan.install(monkeypatch, folder)
    world = GameWorld("DefeatRoaches_one", 2)
    before = world.reset(seed=0)
    for _ in range(2):
        before = world.step(np.stack([NOTHING] * 2)).observation
    stepped = world.step(np.stack([NOTHING] * 2))  # both crash
    assert world.crashes == 2
    assert not stepped.valid.any()
    assert stepped.truncated.all()
    assert not stepped.terminated.any()
    assert stepped.reward.tolist() == [0, 0]
    np.testing.assert_array_equal(stepped.next_observation.view, before.view)  # nothing is known of where it led
    assert len(plan.games) == 4
    assert [game.running for game in plan.games] == [False, False, True, True]
    later = world.step(np.stack([NOTHING] * 2))
    assert later.valid.all()
    assert later.reward.tolist() == [0, 0]  # PySC2 drops the first one of an episode
    assert world.step(np.stack([NOTHING] * 2)).reward.tolist() == [1, 1]
    world.close()


def test_a_crash_of_one_game_leaves_the_others_alone(monkeypatch, folder):
    plan = Plan(failures={("create_game", 4): OSError("gone")}, length=16)
    plan.install(monkeypatch, folder)
    world = GameWorld("DefeatRoaches_one", 3)
    world.reset(seed=0)
    rows = [world.step(np.stack([NOTHING] * 3)) for _ in range(4)]  # one of the new games at the end crashes
    assert world.crashes == 1
    assert all(row.valid.all() for row in rows)  # no step was lost: it had brought its time step
    assert [row.terminated.tolist() for row in rows] == [[False] * 3, [True] * 3] * 2
    assert len(plan.games) == 4
    world.close()


def test_a_game_without_hope_is_given_up(monkeypatch, folder):
    crash = protocol.ProtocolError("no")
    plan = Plan(failures={("step", number): crash for number in range(1, 20)})
    plan.install(monkeypatch, folder)
    world = GameWorld("DefeatRoaches_one")
    world.reset(seed=0)
    with pytest.raises(UserError, match=rf"crashed {MAX_CRASHES} times without a step in between \(ProtocolError: no"):
        for _ in range(5):
            world.step(NOTHING[None])
    assert not any(game.running for game in plan.games)
    with pytest.raises(UserError, match=r"reset\(\) before step"):
        world.step(NOTHING[None])
    plan = Plan(failures={("start", 1): OSError("libGL is missing")})
    plan.install(monkeypatch, folder)
    with pytest.raises(UserError, match=r"does not start .*libGL is missing"):
        GameWorld("DefeatRoaches_one").reset(seed=0)


def test_a_learner_learns_through_a_crash(monkeypatch, folder):
    """The same host loop, learner and log as for every other world outside JAX."""
    plan = Plan(failures={("step", 9): TimeoutError("hung")}, length=48)
    plan.install(monkeypatch, folder)
    world = GameWorld("DefeatRoaches_one", 2, screen=16, compact=True)
    config = VTraceConfig(num_envs=2, num_steps=8, network=MLPConfig((8,)))
    learner = VTrace(world.observation_spec, world.action_spec, config)
    specs = world.observation_spec, world.action_spec
    envs = HostEnvs(HostWorldFactory(lambda num_envs: world, *specs, num_envs=2, fixed=True))
    keys = jax.random.split(jax.random.key(0), 3)
    progress = train(learner, learner.init(keys[0]), envs, envs.reset(keys[1]), keys[2], 2).log
    world.close()
    assert world.crashes == 1
    assert (~progress.valid).sum() == 1
    assert progress.ended[~progress.valid].all()
    assert all(np.isfinite(values).all() for values in progress.diagnostics.values())
    episodes = EpisodeCounter.fresh(2).add(progress.reward, progress.ended, progress.valid)
    assert {episode.total_reward for episode in episodes} == {3, 5}  # four steps until the crash, six of a whole one


def test_maps_are_pysc2s_kind_of_maps(folder):
    made = compat.map_of(PYSC2, folder / "Maps" / "mini_games" / "DefeatRoaches.SC2Map")
    assert pysc2_maps.get(made) is made
    assert (made.name, made.players, made.score_index, made.step_mul) == ("DefeatRoaches", 1, 0, 8)
    assert made.data(None) == stock_maps()["DefeatRoaches"]
    assert pysc2_maps.get("DefeatRoaches").path == "mini_games/DefeatRoaches.SC2Map"  # PySC2's own list is as it was


def test_tasks_are_registered():
    assert set(MAPS) == set(TASKS)
    assert registry.tasks("starcraft-game") == tuple(f"{name}Game" for name in MAPS)
    assert registry.task_info("DefeatRoaches_twoGame").family == "DefeatRoaches"


def test_bad_input(folder):
    def world(*args, **kwargs):
        return GameWorld(*args, make_env=Scripted, **kwargs)

    with pytest.raises(UserError, match="no task of StarCraft II is called 'DefeatRoaches_three'"):
        world("DefeatRoaches_three")
    with pytest.raises(UserError, match="at least one environment"):
        world("DefeatRoaches_one", 0)
    with pytest.raises(UserError, match="16, 32, 48"):
        world("DefeatRoaches_one", screen=50)
    made = world("DefeatRoaches_one", 2)
    with pytest.raises(UserError, match=r"reset\(\) before step"):
        made.step(np.stack([NOTHING] * 2))
    made.reset(0)
    for action, why in (
        (NOTHING[None], "as many actions"),
        (np.full((2, 6), 13), "function 0 to 12"),
        (np.ones((2, 6)), "integers"),
    ):
        with pytest.raises(UserError, match=why):
            made.step(action)
    made.close()
    with pytest.raises(UserError, match="was closed"):
        made.reset(0)
    (folder / "Maps" / "mini_games" / "DefeatRoachesTwoGroups.SC2Map").unlink()
    (folder / "Maps" / "mini_games" / "DefeatRoaches.SC2Map").unlink()
    with pytest.raises(UserError, match=r"make it with `wakesleep starcraft maps --source .*Maps --out .*mini_games`"):
        world("DefeatRoaches_two", maps=folder / "Maps")
    with pytest.raises(UserError, match=r"docs/guides/starcraft-game.md says where to get the maps"):
        world("DefeatRoaches_one", maps=folder / "Maps")
    with pytest.raises(UserError, match="there is no folder"):
        world("DefeatRoaches_one", maps=folder / "Elsewhere")
