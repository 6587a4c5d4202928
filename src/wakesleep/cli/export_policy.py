"""`wakesleep export-policy`: episodes of a trained policy as a Minari dataset."""

from pathlib import Path
from typing import Annotated

import tyro


def export_policy(
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")],
    task: str | None = None,
    episodes: int = 1000,
    seed: int = 0,
    dataset: str | None = None,
) -> None:
    """Record episodes of a lifetime's or an expert's final policy as Minari datasets, for offline learning.

    Args:
        folder: what `wakesleep run --out` was given, or an expert's folder.
        task: which task to play; by default every task of the lifetime.
        episodes: of each task.
        seed: of initial states and actions.
        dataset: name of the dataset, if one task is played; by default wakesleep/TASK/AGENT-v0.
    """
    from wakesleep.errors import UserError
    from wakesleep.experts.trajectories import export_minari
    from wakesleep.lifetime.spec import stored_policy, stored_spec
    from wakesleep.wake.envs import key_from_seed
    from wakesleep.wake.make_envs import jax_world

    spec = stored_spec(folder)
    tasks = (task,) if task else spec.syllabus.tasks
    if dataset and len(tasks) > 1:
        raise UserError(f"{dataset} is one dataset, but {len(tasks)} tasks are played: name one with --task")
    policy, agent = stored_policy(folder), spec.label or spec.agent
    for name in tasks:
        data = export_minari(
            name, jax_world(name, "export"), policy, key_from_seed(seed), episodes,
            dataset or f"wakesleep/{name}/{agent}-v0", spec.learner or agent,
        )  # fmt: skip
        print(
            f'{data.total_episodes} episodes, {data.total_steps} steps: minari.load_dataset("{data.spec.dataset_id}")'
        )
