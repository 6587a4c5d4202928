"""A game process that PySC2's own `SC2Env` can talk to: it keeps a clock and a score, and draws one Marine.

Only for tests that have PySC2. The place of the Marine tells the game's seed, so that episodes can be told apart.
"""

from pathlib import Path
from threading import Lock

import numpy as np
from pysc2.lib import features
from s2clientprotocol import sc2api_pb2 as sc_pb

MARINE = 48


class FakeGame:
    """The process and its controller in one. `plan` says at which loop an episode ends, and when a request fails."""

    def __init__(self, plan):
        self.plan, self.created, self.sent, self.running = plan, [], [], True
        self.controller = self

    def create_game(self, request):
        self.plan.call("create_game")
        self.created.append(request)
        self.seed, self.loop = request.random_seed, 0

    def join_game(self, request):
        self.options = request.options

    def game_info(self):
        info = sc_pb.ResponseGameInfo(options=self.options)
        info.start_raw.map_size.x = info.start_raw.map_size.y = 64
        info.player_info.add(player_id=1, type=sc_pb.Participant, race_requested=1)
        return info

    def actions(self, request):
        self.plan.call("actions")
        self.sent += request.actions

    def step(self, loops):
        self.plan.call("step")
        self.loop += loops

    def observe(self, target_game_loop=0):
        response = sc_pb.ResponseObservation()
        seen = response.observation
        seen.game_loop = self.loop
        seen.player_common.player_id = 1
        seen.score.score = self.loop // 8 * self.plan.reward
        seen.abilities.add(ability_id=3674, requires_point=True)  # attack
        seen.abilities.add(ability_id=1, requires_point=True)  # smart
        size = self.options.feature_layer.resolution
        for feature in features.SCREEN_FEATURES:
            image = np.zeros((size.y, size.x), np.int32 if feature.name == "unit_type" else np.uint8)
            if feature.name in ("unit_type", "unit_density", "selected"):
                image[self.seed % size.y, self.loop // 8 % size.x] = MARINE if feature.name == "unit_type" else 1
            fill(getattr(seen.feature_layer_data.renders, feature.name), image)
        for feature in features.MINIMAP_FEATURES:
            small = self.options.feature_layer.minimap_resolution
            fill(getattr(seen.feature_layer_data.minimap_renders, feature.name), np.zeros((small.y, small.x), np.uint8))
        if self.status_ended:
            response.player_result.add(player_id=1, result=sc_pb.Defeat)
        return response

    @property
    def status_ended(self):
        return self.loop >= self.plan.length

    def quit(self):
        self.running = False

    def close(self):
        self.running = False


def fill(image_data, image):
    image_data.bits_per_pixel = 8 * image.itemsize
    image_data.size.y, image_data.size.x = image.shape
    image_data.data = image.tobytes()


class Plan:
    """What all games of a test do, and the games that were started."""

    def __init__(self, length=1920, reward=1, failures=None):
        self.length, self.reward = length, reward
        self.failures = dict(failures or {})
        """Name and number of a request to the error that it raises, all games counted together."""
        self.games, self.counts, self._lock = [], {}, Lock()

    def call(self, name):
        with self._lock:
            self.counts[name] = number = self.counts.get(name, 0) + 1
        if error := self.failures.get((name, number)):
            raise error

    def install(self, monkeypatch, folder: Path):
        """Let PySC2 find this game in a folder."""
        plan = self

        class Config:
            data_dir = str(folder)

            def start(self, **_):
                plan.call("start")
                plan.games.append(FakeGame(plan))
                return plan.games[-1]

        monkeypatch.setattr("pysc2.run_configs.get", lambda version=None: Config())
