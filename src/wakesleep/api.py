"""The front door: `import wakesleep as ws`, then run, train, load, compare and report.

    life = ws.run("hidden", tasks=["DoorKey_S5", "DistShift_R2"], seed=0)
    life.returns, life.metrics(), life.plot()

Everything that is done is kept in folders, which the command line reads and writes as well.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wakesleep import runtime, store
from wakesleep.errors import UserError
from wakesleep.experts.expert import Expert, expert_spec, load_expert, train_expert
from wakesleep.jobs import Job, run_jobs
from wakesleep.lifetime.spec import LifetimeSpec, check_format, is_finished, run_lifetime, stored_policy, stored_spec
from wakesleep.metrics import frames
from wakesleep.results import Comparison, Life, TrainedPolicy
from wakesleep.syllabus.custom import load_syllabus
from wakesleep.syllabus.scenarios import make_syllabus
from wakesleep.syllabus.seeds import lifetime_seed
from wakesleep.syllabus.syllabus import EPISODES, Syllabus, specs_of
from wakesleep.worlds import registry

RUNS = Path("runs")
"""Where runs are kept that were not given a folder."""


Run = Life | str | Path


def run(
    agent: str = "hidden",
    tasks: Sequence[str] | None = None,
    *,
    scenario: str | None = None,
    preset: str | None = None,
    seed: int = 0,
    scale: float = 1.0,
    episodes: int = EPISODES,
    overrides: Mapping[str, Any] | None = None,
    learner: str | None = None,
    syllabus: Syllabus | str | Path | None = None,
    domain: str = "minigrid",
    out: str | Path | None = None,
    keep_policies: bool = False,
    progress: bool = True,
) -> Life:
    """Run one agent through one syllabus; what was begun goes on, what is finished is returned.

    Args:
        agent: by name (`ws.agent_names()`).
        tasks: by name (`ws.tasks()`); by default the paper's tasks of the domain.
        scenario: pairwise, alternating, condensed or dispersed; by default pairwise for two tasks, else condensed.
        preset: `fast` (by default) or `paper`.
        seed: of the agent and of the syllabus.
        scale: of the lengths of all learning blocks.
        episodes: of each task in an evaluation block.
        overrides: settings that differ from the preset, by name: {"sleep.iterations": 5000}.
        learner: another wake learner, by name.
        syllabus: one of your own, or a YAML file with it, in place of scenario and tasks.
        domain: whose tasks, if none are named.
        out: folder of this life; by default one in `runs` named after agent, tasks, seed and a hash of the settings.
        keep_policies: whether the policy at the end of every learning block is kept.
        progress: whether a progress bar is shown.
    """
    made = life_syllabus(syllabus, tasks, scenario, domain, seed, scale, episodes)
    spec = LifetimeSpec(agent, preset, made, seed, dict(overrides or {}), learner=learner, keep_policies=keep_policies)
    folder = Path(out) if out else RUNS / _folder_name(spec)
    if is_finished(folder):
        _check_same(spec, folder)
    else:
        _run(Job(folder.name, run_lifetime, (spec, folder)), "lifetime", progress)
    return Life(folder)


def load(folder: str | Path) -> Life:
    """The lifetime in a folder."""
    life = Life(Path(folder))
    if not (life.folder / "config.json").exists():
        raise UserError(f"there is no lifetime in {folder}: it has no config.json")
    check_format(life.config)
    return life


def train(
    learner: str = "ppo",
    task: str = "DoorKey_S5",
    *,
    steps: int = 200_000,
    preset: str | None = None,
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Expert:
    """Train a wake learner on one task, and evaluate it: an expert.

    Args:
        learner: by name: ppo, vtrace, or one of yours.
        task: by name.
        steps: of its environment.
        preset: `fast` (by default) or `paper`.
        seed: of everything random.
        overrides: settings of the learner that differ from the preset, by name: {"learning_rate": 1e-3}.
        out: folder to keep it in; by default one in `runs`.
        progress: whether a progress bar is shown.
    """
    spec = expert_spec(task, seed, steps, preset, dict(overrides or {}), learner)
    folder = Path(out) if out else RUNS / _folder_name(spec)
    if is_finished(folder):
        _check_same(spec, folder)
    if not (folder / "expert.json").exists():
        _run(Job(folder.name, train_expert, (folder, spec)), "training", progress)
    return load_expert(folder)


def compare(runs: Run | Sequence[Run], *, experts: str | Path | None = None, baseline: str = "baseline") -> Comparison:
    """Compare agents over lifetimes.

    Args:
        runs: lifetimes, or folders that hold some at any depth.
        experts: folder of single-task experts; without it there are no RP and RR.
        baseline: the agent that others are tested against.
    """
    return Comparison(*frames.compare_runs(_folders(runs), Path(experts) if experts else None, baseline))


def report(
    runs: Run | Sequence[Run],
    out: str | Path = "report.html",
    *,
    experts: str | Path | None = None,
    title: str = "Lifetimes",
    baseline: str = "baseline",
) -> Path:
    """Make one web page of lifetimes, finished or under way. Returns its file."""
    from wakesleep.reporting.data import Reporter, ReportRequest
    from wakesleep.reporting.page import page, write_page

    request = ReportRequest(_folders(runs), Path(experts) if experts else None, baseline)
    write_page(Path(out), page(Reporter(request).data(), title))
    return Path(out)


def load_policy(folder: str | Path, block: int | None = None) -> TrainedPolicy:
    """The policy of the lifetime or the expert in a folder, at its end or at the end of a learning block (from 1)."""
    spec = stored_spec(Path(folder))
    return TrainedPolicy(stored_policy(Path(folder), block), specs_of(spec.syllabus.tasks[0])[1])


def life_syllabus(
    syllabus: Syllabus | str | Path | None, tasks: Sequence[str] | None, scenario: str | None, domain: str,
    seed: int, scale: float, episodes: int,
) -> Syllabus:  # fmt: skip
    """The syllabus that `run` makes of what it is given."""
    if isinstance(tasks, str):
        raise UserError(f"tasks is a list of names, such as [{tasks!r}]")
    if syllabus is not None:
        if tasks or scenario or scale != 1.0 or episodes != EPISODES:
            raise UserError("a syllabus has tasks, lengths and episodes of its own: leave the others out")
        return syllabus if isinstance(syllabus, Syllabus) else load_syllabus(Path(syllabus), seed)
    names = tuple(tasks or registry.tasks(domain, paper_only=True) or registry.tasks(domain))
    scenario = scenario or ("pairwise" if len(names) == 2 else "condensed")
    return make_syllabus(scenario, names, lifetime_seed(seed, 0), scale, episodes)


def _folder_name(spec: LifetimeSpec) -> str:
    """Agent, tasks, seed and a hash of the settings."""
    tasks, scenario = spec.syllabus.tasks, spec.syllabus.scenario
    what = "-".join(tasks) if len(tasks) < 4 else f"{scenario}-{len(tasks)}-tasks"
    who = spec.learner if scenario == "single-task" and spec.learner else spec.agent
    return f"{who}-{what}-s{spec.seed}-{spec.digest()}"


def _check_same(spec: LifetimeSpec, folder: Path) -> None:
    """Refuse a folder that holds another life than the one asked for."""
    stored, asked = store.load_json(folder / "config.json"), spec.to_json()
    if any(stored.get(name) != value for name, value in asked.items()):
        raise UserError(f"{folder} holds another life (see its config.json): choose another folder")


def _run(job: Job, title: str, progress: bool) -> None:
    runtime.set_up()
    if progress:
        run_jobs([job], 1, title)
    else:
        job.function(*job.arguments, report=lambda *_: None)


def _folders(runs: Run | Sequence[Run]) -> list[Path]:
    several = [runs] if isinstance(runs, Life | str | Path) else list(runs)
    return [one.folder if isinstance(one, Life) else Path(one) for one in several]
