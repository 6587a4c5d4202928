"""Tests share compiled programs through JAX's persistent cache, and run on one thread per process.

Most of their time is compiling. Without XLA's fusion emitters and most optimisations that takes a quarter as long;
tests that compute for long are marked `computes` and compile with more of them. To test as users run:

    XLA_FLAGS="--xla_cpu_use_fusion_emitters=true --xla_backend_optimization_level=3" \\
        JAX_DISABLE_MOST_OPTIMIZATIONS=0 make test
"""

import os

QUICK = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1"
os.environ["XLA_FLAGS"] = f"{QUICK} {os.environ.get('XLA_FLAGS', '')}"  # before JAX starts; processes inherit both
LEAST = os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1") == "1"

import jax  # noqa: E402
import pytest  # noqa: E402

from wakesleep import runtime  # noqa: E402

runtime.set_up()

LONGEST = (
    "test_examples.py", "test_docs.py", "experiments/test_run.py", "lifetime/test_lifetime.py",
    "experiments/test_studies.py",
    "wake/test_learners.py", "agents/test_agents.py", "experts/test_experts.py",
)  # fmt: skip
"""Files that take longest are begun first: one that comes last leaves the other cores idle (`make test`)."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Compile better where that pays."""
    jax.config.update("jax_disable_most_optimizations", LEAST and not item.get_closest_marker("computes"))
    return (yield)


def pytest_collection_modifyitems(items):
    def rank(item):
        path = item.path.as_posix()
        return next((at for at, name in enumerate(LONGEST) if path.endswith(f"tests/{name}")), len(LONGEST))

    items.sort(key=rank)
    for item in items:
        if "tests/worlds/" in item.path.as_posix():  # they step worlds by the thousand
            item.add_marker("computes")
