"""Sleeps and episodes of a life that was really lived, as the page gets them."""

import base64
import io
import json

import jax
import numpy as np
import pytest
from PIL import Image

from tests.reporting.lives import ORDER, write_life
from wakesleep import UserError, make
from wakesleep.nets.policy import MLPConfig
from wakesleep.reporting import episodes as episodes_module
from wakesleep.reporting.episodes import LONGEST, episodes
from wakesleep.reporting.lives import read_life
from wakesleep.reporting.sleeps import losses_of, read_sleep, sleep_files, sleeps
from wakesleep.sleep.architectures import TWO_HEADED, ModelConfig
from wakesleep.worlds.episode import random_player, record_episode
from wakesleep.worlds.minigrid.cells import WALL


def test_what_a_sleep_shows(lived):
    life = read_life(lived, "life")
    (first, second), problems = sleeps(life, sleep_files(lived))
    assert problems == []
    assert (first["task"], second["task"]) == ORDER
    assert set(first["losses"]) == {"experience"}
    assert set(second["losses"]) == {"experience", "generative", "random"}
    raw = read_sleep(sleep_files(lived)[1])
    np.testing.assert_allclose(second["losses"]["random"]["kl"], losses_of(raw)["random"]["kl"], atol=1e-4)
    assert [row["task"] for row in second["probes"]] == list(ORDER[::-1])  # the wake buffer's own first
    own = raw["sleep"] == 1
    assert second["probes"][0]["agrees_after"] == pytest.approx(raw["agrees_after"][own].mean(), abs=1e-3)
    points = second["points"]
    assert len(points["before"]) == len(points["after"]) == 2 * len(points["task"]) == 2 * len(points["action"])
    assert -10 <= min(points["before"]) <= max(points["after"]) <= 1010
    assert second["pictures"] == {}  # hidden replay dreams of features


def test_places_keep_their_order(lived):
    """Places on the page are the first two components, scaled, nothing else."""
    life = read_life(lived, "life")
    shown = sleeps(life, sleep_files(lived))[0][0]["points"]
    raw = read_sleep(sleep_files(lived)[0])
    kept = np.sort(np.random.default_rng(0).permutation(len(raw["sleep"]))[:240])
    for component in (0, 1):
        for when in ("before", "after"):
            places = np.array(shown[when][component::2])
            slope, base = np.polyfit(raw["after"][kept, component], shown["after"][component::2], 1)
            np.testing.assert_allclose(places, raw[when][kept, component] * slope + base, atol=2)


def test_pictures_are_the_views():
    view = np.zeros((7, 7, 3), np.uint8)
    view[2, 5] = (4, 4, 2)  # column 2, row 5: a yellow locked door
    view[0, 0] = (2, 5, 0)
    text = make("DoorKey_S5").tile_view(view)
    cells = [int(text[start : start + 3], 16) for start in range(0, len(text), 3)]
    assert len(cells) == 49
    assert cells[0] == WALL
    assert cells[5 * 7 + 2] == 4 | 4 << 4 | 2 << 7


def test_dreams_of_observations_are_drawn():
    """As the two-headed architecture hands them over: any decoded input is a view that Minigrid can have."""
    world = make("DoorKey_S5")
    config = ModelConfig(TWO_HEADED, MLPConfig((32, 16)), latent=8, hidden=32)
    model = config.make(world.observation_spec, world.action_spec, jax.random.key(0))
    inputs = jax.random.uniform(jax.random.key(1), (3, 147))
    pictures = np.asarray(model.to_observation(inputs))
    assert world.tile_view(pictures[0][..., :2]) is None
    assert world.tile_view(pictures[0] + 20) is None
    views = [world.tile_view(picture) for picture in pictures]
    assert None not in views
    assert len(set(views)) == 3


def test_sleeps_that_left_little(tmp_path):
    """An agent of one's own may record nothing, or something else."""
    life = read_life(write_life(tmp_path / "own", "own"), "own")
    folder = tmp_path / "own" / "diagnostics"
    folder.mkdir()
    np.savez(folder / "sleep-0003.npz")
    np.savez(folder / "sleep-0007.npz", **{"['surprise']": np.ones(3)})
    (folder / "sleep-0011.npz").write_bytes(b"PK\x03\x04 half of it")
    found, problems = sleeps(life, sleep_files(life.folder))
    assert [sleep["task"] for sleep in found] == list(ORDER)
    assert all("points" not in sleep and sleep["losses"] == {} for sleep in found)
    assert len(problems) == 1
    assert "sleep-0011.npz is damaged" in problems[0]
    with pytest.raises(UserError, match="damaged"):
        read_sleep(folder / "sleep-0011.npz")


def test_a_sleep_that_diverged_is_shown_without_features(lived, tmp_path):
    life = read_life(lived, "life")
    arrays = dict(np.load(sleep_files(lived)[0]))
    arrays["['after']"] = np.full_like(arrays["['after']"], np.nan)
    arrays["['curves'].experience.kl"] = np.full(20, np.inf)
    np.savez(tmp_path / "sleep-0003.npz", **arrays)
    ((shown,), problems) = sleeps(life, [tmp_path / "sleep-0003.npz"])
    assert problems == []
    assert "points" not in shown
    assert shown["losses"]["experience"]["kl"] == [None] * 20


def test_worlds_that_can_be_drawn_become_a_strip():
    world = make("DoorKey_S5")
    played = record_episode(world, random_player(world), jax.random.key(0), max_steps=60)
    shown = episodes_module._strip(world, played)
    picture = Image.open(io.BytesIO(base64.b64decode(shown["strip"].split(",")[1])))
    assert picture.size == (160, shown["height"] * len(shown["moments"]))
    assert shown["moments"][0] == 0
    assert shown["moments"][-1] == len(played.actions)
    assert len(shown["strip"]) < 40_000


def test_the_final_policy_plays_every_task(lived):
    found, problems = episodes(read_life(lived, "life"))
    assert problems == []
    assert tuple(found) == ORDER
    for episode in found.values():
        steps = len(episode["actions"])
        assert 1 <= steps <= LONGEST
        assert len(episode["agent"]) == len(episode["changes"]) == steps + 1
        assert len(episode["grid"]) % (3 * episode["width"]) == 0
        assert episode["changes"][0] == []
        for (x, y, _), (to_x, to_y, _) in zip(episode["agent"], episode["agent"][1:], strict=False):
            assert abs(x - to_x) + abs(y - to_y) <= 1
    assert found["DoorKey_S5"]["width"] == 5
    assert episodes(read_life(lived, "life"))[0] == found


def test_a_policy_that_cannot_be_played_is_said(tmp_path, lived):
    stranger = write_life(tmp_path / "stranger", "nobody-knows-it")
    (stranger / "policy.npz").write_bytes(b"nothing")
    found, problems = episodes(read_life(stranger, "stranger"))
    assert found == {}
    assert "no agent is called 'nobody-knows-it'" in problems[0]


def test_a_life_of_another_version_is_measured_but_not_played(tmp_path):
    folder = write_life(tmp_path / "old", "hidden")
    (folder / "policy.npz").write_bytes(b"nothing")
    config = json.loads((folder / "config.json").read_text())
    del config["format"]
    (folder / "config.json").write_text(json.dumps(config))
    found, problems = episodes(read_life(folder, "old"))
    assert found == {}
    assert "no episodes of old: this was written by another version of wakesleep" in problems[0]
