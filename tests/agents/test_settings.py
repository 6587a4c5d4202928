"""Settings by name: written down in full, changed with checks."""

import json

import pytest

from wakesleep import UserError
from wakesleep.agents.presets import agent_config
from wakesleep.agents.settings import override, parse_overrides, to_dict
from wakesleep.agents.wake_sleep import WakeSleepConfig
from wakesleep.sleep.architectures import Architecture
from wakesleep.wake.ppo import PAPER


def test_changes_on_a_command_line():
    overrides = parse_overrides(
        ["sleep.iterations=5000", "model.architecture=two-headed", "learner.learning_rate=1e-3", "copy_weights=true",
         "sleep.loss_weights.kl=1", "model.network.hidden=[64, 32]"]
    )  # fmt: skip
    config = override(WakeSleepConfig(), overrides)
    assert config.sleep.iterations == 5000
    assert config.model.architecture is Architecture.TWO_HEADED
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
        ({"model.architecture": "flat"}, "one of hidden, two-headed, sequential"),
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
