"""Tests share compiled programs through JAX's persistent cache, and run on one thread per process.

Most of their time is compiling. Without XLA's fusion emitters that takes half as long and the programs are about as
fast; to test with them, as users run, set XLA_FLAGS=--xla_cpu_use_fusion_emitters=true.
"""

import os

FLAGS = os.environ.get("XLA_FLAGS", "")
if "xla_cpu_use_fusion_emitters" not in FLAGS:  # before JAX starts; processes that tests start inherit it
    os.environ["XLA_FLAGS"] = f"{FLAGS} --xla_cpu_use_fusion_emitters=false".strip()

from wakesleep import runtime  # noqa: E402

runtime.set_up()

LONGEST = (
    "experiments/test_run.py", "lifetime/test_lifetime.py", "test_docs.py", "experiments/test_studies.py",
    "wake/test_learners.py", "agents/test_agents.py", "wake/test_experts.py",
)  # fmt: skip
"""Files that take longest are begun first: one that comes last leaves the other cores idle (`make test`)."""


def pytest_collection_modifyitems(items):
    def rank(item):
        path = item.path.as_posix()
        return next((at for at, name in enumerate(LONGEST) if path.endswith(f"tests/{name}")), len(LONGEST))

    items.sort(key=rank)
