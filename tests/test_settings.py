"""Settings by name: written down in full, changed with checks."""

import json
from dataclasses import dataclass

import pytest

from wakesleep import UserError
from wakesleep.agents.presets import agent_config
from wakesleep.agents.wake_sleep import WakeSleepConfig
from wakesleep.settings import describe_settings, map_settings, override, parse_overrides, to_dict
from wakesleep.sleep.architectures import TWO_HEADED
from wakesleep.wake.learners import learner_config
from wakesleep.wake.ppo import PAPER, PPOConfig

OURS = ("random", "baseline", "fresh-learner", "hidden", "hidden-er", "hidden-er-rar", "hidden-er-gr", "two-headed",
        "sequential")  # fmt: skip
DOMAINS = ("minigrid", "starcraft", "starcraft-small", "starcraft-game")


def test_changes_on_a_command_line():
    overrides = parse_overrides(
        ["sleep.iterations=5000", "model.architecture=two-headed", "learner.learning_rate=1e-3", "copy_weights=true",
         "sleep.loss_weights.kl=1", "model.network.hidden=[64, 32]"]
    )  # fmt: skip
    config = override(WakeSleepConfig(), overrides)
    assert config.sleep.iterations == 5000
    assert config.model.architecture == TWO_HEADED
    assert config.learner.learning_rate == 1e-3
    assert config.copy_weights is True
    assert config.sleep.loss_weights.kl == 1.0
    assert isinstance(config.sleep.loss_weights.kl, float)
    assert config.model.network.hidden == (64, 32)
    assert config.sleep.batch_size == WakeSleepConfig().sleep.batch_size


def test_settings_that_only_fit_together_are_changed_together():
    config = override(PAPER, {"num_steps": 100, "minibatch_size": 25})
    assert (config.num_steps, config.minibatch_size) == (100, 25)


def test_all_settings_as_plain_data():
    data = to_dict(agent_config("hidden"))
    assert json.loads(json.dumps(data)) == data
    assert data["sleep"]["loss_weights"] == {"imitation": 3.0, "reconstruction": 1.0, "kl": 0.03}
    assert data["model"]["architecture"] == "hidden"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"sleep.iteration": 1}, "no setting is called 'sleep.iteration': there are iterations"),
        ({"naps": 1}, "no setting is called 'naps'"),
        ({"sleep.iterations.more": 1}, "none at that place"),
        ({"sleep": 3}, "a group of settings: change one of sleep.iterations"),
        ({"sleep.iterations": 1.5}, "a whole number, such as 20000, not 1.5"),
        ({"sleep.iterations": "many"}, "not 'many'"),
        ({"advice": "often"}, "a number, such as 0.9, not 'often'"),
        ({"copy_weights": 1}, "true or false"),
        ({"model.architecture": "flat"}, "no sleep model is called 'flat': there are hidden, two-headed, sequential"),
        ({"model.network.hidden": ["a"]}, "a list, such as"),
        ({"sleep.iterations": 0}, "at least one iteration"),
    ],
)
def test_what_is_refused(overrides, words):
    with pytest.raises(UserError, match=words):
        override(WakeSleepConfig(), overrides)


def test_agents_without_settings_refuse_changes():
    with pytest.raises(UserError, match="no setting is called 'advice'"):
        agent_config("random", "paper", {"advice": 0.5})


@pytest.mark.parametrize("text", ["sleep.iterations", "=5", "a=[1"])
def test_what_is_not_a_change(text):
    with pytest.raises(UserError, match=r"name=value|cannot be read"):
        parse_overrides([text])


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("preset", ["paper", "fast"])
@pytest.mark.parametrize("name", OURS)
def test_every_setting_of_every_agent_is_explained(name, preset, domain):
    """What `wakesleep agents NAME` prints: a name that `override` takes, the value as JSON, and a text of its own."""
    config = agent_config(name, preset, domain=domain)
    rows = describe_settings(config)
    assert bool(rows) == (config is not None)
    assert [setting for setting, _, text in rows if not text] == []
    for setting, value, text in rows:
        assert override(config, {setting: json.loads(value)}) == config
        assert "\n" not in text


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("learner", ["ppo", "vtrace"])
def test_every_setting_of_every_learner_is_explained(learner, domain):
    for preset in ("paper", "fast"):
        rows = describe_settings(learner_config(preset, domain, learner))
        assert [setting for setting, _, text in rows if not text] == []


def test_settings_of_ones_own_are_described_with_their_parents():
    rows = {name: (value, text) for name, value, text in describe_settings(Derived())}
    assert rows["epochs"][1] == {name: text for name, _, text in describe_settings(PAPER)}["epochs"]
    assert rows["bonus"] == ("0.5", "Of something new, over two lines.")
    assert rows["plain"] == ("[1, 2]", "")
    assert rows["network.hidden"][0] == "[256, 256]"
    assert describe_settings(None) == []


@dataclass(frozen=True)
class Derived(PPOConfig):
    bonus: float = 0.5
    """Of something new,
    over two lines."""
    plain: tuple[int, ...] = (1, 2)


def test_a_function_of_every_group():
    seen = []

    def note(group):
        seen.append(type(group).__name__)
        return group

    assert map_settings(WakeSleepConfig(), note) == WakeSleepConfig()
    assert seen == ["MLPConfig", "PPOConfig", "MLPConfig", "ModelConfig", "LossWeights", "SleepConfig",
                    "WakeSleepConfig"]  # fmt: skip
    assert map_settings(None, note) is None
