"""Trained policies on disk: what acted in a lifetime's evaluations, saved as arrays and read back to act with."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from wakesleep import store
from wakesleep.agents.agent import Agent
from wakesleep.nets.policy import Actor
from wakesleep.wake.rollout import HostPolicy


def save_policy(file: Path, agent: Agent, state: Any) -> None:
    """Write the policy's arrays; of a policy outside JAX, the agent's whole state, from which it is made."""
    policy = agent.policy(state)
    content = state if isinstance(policy, HostPolicy) else policy
    store.save_tree(file, eqx.filter(content, store.is_array))


def load_policy(file: Path, agent: Agent) -> Actor:
    """The policy of an agent that `save_policy` wrote."""
    form, policy = _forms(agent)
    if isinstance(policy, HostPolicy):
        return agent.policy(store.load_tree(file, form))
    return store.load_tree(file, policy)


def _forms(agent: Agent) -> tuple[Any, Any]:
    """The agent's state and policy: with shapes in place of numbers, or with numbers where it is not all in JAX.

    JAX would tell other types than NumPy has, whose numbers may be wider.
    """

    def init(key: jax.Array) -> tuple[Any, Actor]:
        state = agent.init(key)
        return state, agent.policy(state)

    try:
        form, policy = eqx.filter_eval_shape(init, jax.random.key(0))
    except jax.errors.JAXTypeError:
        return init(jax.random.key(0))
    return init(jax.random.key(0)) if isinstance(policy, HostPolicy) else (form, policy)
