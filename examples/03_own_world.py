"""An environment of your own in JAX: a corridor with the reward at one end, as two tasks of one life.

    python examples/03_own_world.py

A world is a pair of pure functions over explicit state. It is an Equinox module, whose array fields describe the task:
all corridors share one compiled program. From the command line:

    wakesleep run --load examples.03_own_world ...     (or a module of yours that can be imported)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import wakesleep as ws

LENGTH = 8


class Corridor(eqx.Module):
    """Walk to the rewarding end. The agent sees where it is, and a colour at its end of the corridor."""

    goal: jax.Array
    """The cell with the reward: the first or the last."""

    @property
    def observation_spec(self) -> ws.ObservationSpec:
        """Position, and the goal's colour."""
        return ws.ObservationSpec.of((2,), np.int32, 0, LENGTH)

    @property
    def action_spec(self) -> ws.ActionSpec:
        """Left or right."""
        return ws.ActionSpec.single(2)

    def reset(self, key: jax.Array) -> tuple[jax.Array, ws.TimeStep]:
        """Begin somewhere between the ends. The state is position and steps."""
        state = jnp.stack([jax.random.randint(key, (), 1, LENGTH - 1), 0])
        return state, self._timestep(state)

    def step(self, state: jax.Array, action: jax.Array, key: jax.Array) -> tuple[jax.Array, ws.TimeStep]:
        """Walk one cell."""
        position = jnp.clip(state[0] + 2 * jnp.asarray(action) - 1, 0, LENGTH - 1)
        state = jnp.stack([position, state[1] + 1])
        return state, self._timestep(state)

    def _timestep(self, state: jax.Array) -> ws.TimeStep:
        observation = jnp.stack([state[0], jnp.int32(self.goal > 0)])
        reached = state[0] == self.goal
        return ws.TimeStep(observation, reached.astype(jnp.float32), reached, state[1] >= 4 * LENGTH)


for name, goal in (("Corridor_left", 0), ("Corridor_right", LENGTH - 1)):
    ws.register(
        name, lambda goal=goal: Corridor(jnp.int32(goal)), domain="corridor", goal="walk to the end", block_steps=40_960
    )  # fmt: skip


def main(scale: float = 1.0) -> None:
    """Live through both corridors, with every agent that there is for Minigrid."""
    quick = {"sleep.iterations": int(2000 * scale) + 10}
    life = ws.run("hidden", ["Corridor_left", "Corridor_right"], scale=scale, episodes=20, overrides=quick)
    print(life.returns.round(2))
    print(life.metrics())


if __name__ == "__main__":
    main()
