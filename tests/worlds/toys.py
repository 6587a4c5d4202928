"""Small worlds for tests: what a user would write."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wakesleep import ActionSpec, Masked, ObservationSpec, TimeStep


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
        return Masked(jnp.stack([count, count % 2]).astype(jnp.float32), jnp.stack([jnp.bool_(True), count % 2 == 0]))

    def reset(self, key):
        return jnp.int32(0), TimeStep(self._observe(jnp.int32(0)), jnp.float32(0), jnp.bool_(False), jnp.bool_(False))

    def step(self, state, action, key):
        self.action_spec.check(action)
        presses = (action[0] == 1) & (state % 2 == 0)
        reward = jnp.where(presses, action[1].astype(jnp.float32), 0.0)
        count = state + 1
        return count, TimeStep(self._observe(count), reward, jnp.bool_(False), count >= 10)
