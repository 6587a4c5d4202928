"""Small worlds for tests: what a user would write."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wakesleep import ActionSpec, MaskedObservation, ObservationSpec, TimeStep


class Corridor(eqx.Module):
    """Walk right to the end of a corridor; starts are random, the step limit is twice the length."""

    length: jax.Array

    @property
    def observation_spec(self):
        return ObservationSpec.of((1,), np.int32, 0, 100)

    @property
    def action_spec(self):
        return ActionSpec.single(2)

    def reset(self, key):
        state = (jax.random.randint(key, (), 0, self.length - 1), jnp.int32(0))
        return state, TimeStep(state[0][None], jnp.float32(0), jnp.bool_(False), jnp.bool_(False))

    def step(self, state, action, key):
        self.action_spec.check(action)
        place = jnp.clip(state[0] + 2 * action - 1, 0, self.length - 1)
        state = (place, state[1] + 1)
        at_end = place == self.length - 1
        return state, TimeStep(place[None], at_end.astype(jnp.float32), at_end, state[1] >= 2 * self.length)


class Console(eqx.Module):
    """Factored actions with a mask: function 0 waits, function 1 (argument: 0 to 3) is open on even steps only."""

    @property
    def observation_spec(self):
        return ObservationSpec.of((2,), np.float32, 0, 10)

    @property
    def action_spec(self):
        return ActionSpec((("function", 2), ("argument", 4)), uses=((True, False), (True, True)), masked=True)

    def _observe(self, count):
        return MaskedObservation(
            jnp.stack([count, count % 2]).astype(jnp.float32), jnp.stack([jnp.bool_(True), count % 2 == 0])
        )

    def reset(self, key):
        return jnp.int32(0), TimeStep(self._observe(jnp.int32(0)), jnp.float32(0), jnp.bool_(False), jnp.bool_(False))

    def step(self, state, action, key):
        self.action_spec.check(action)
        presses = (action[0] == 1) & (state % 2 == 0)
        reward = jnp.where(presses, action[1].astype(jnp.float32), 0.0)
        count = state + 1
        return count, TimeStep(self._observe(count), reward, jnp.bool_(False), count >= 10)


class Pointing(eqx.Module):
    """A map with one marked field: point (function 1) at the quarter of the map that holds it. One step an episode.

    Layer 0 says what is in a field (2: the mark, 1: something else, at random), layer 1 holds a meaningless amount.
    """

    @property
    def observation_spec(self):
        return ObservationSpec.of((8, 8, 2), np.uint8, 0, 255, scale=np.array([2, 200]))

    @property
    def action_spec(self):
        uses = ((True, False, False), (True, True, True))
        return ActionSpec((("function", 2), ("where", 16), ("how", 3)), uses=uses, masked=True)

    def _timestep(self, state, reward, terminated):
        view = jnp.zeros((8, 8, 2), jnp.uint8).at[..., 0].set(state[2]).at[state[0], state[1], 0].set(2)
        view = view.at[..., 1].set(state[2] * 150)
        available = jnp.array([True, True])
        return TimeStep(
            MaskedObservation(view, available), jnp.float32(reward), jnp.bool_(terminated), jnp.bool_(False)
        )

    def reset(self, key):
        place_key, clutter_key = jax.random.split(key)
        row, column = jax.random.randint(place_key, (2,), 0, 8)
        state = row, column, jax.random.bernoulli(clutter_key, 0.2, (8, 8)).astype(jnp.uint8)
        return state, self._timestep(state, 0.0, False)

    def step(self, state, action, key):
        self.action_spec.check(action)
        hits = (action[0] == 1) & (action[1] == state[0] // 2 * 4 + state[1] // 2)
        return state, self._timestep(state, hits, True)
