"""`wakesleep metrics` and `wakesleep compare` as a user meets them."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.metrics.logs import learn, pairwise, write_expert, write_log
from wakesleep import cli
from wakesleep.metrics.names import METRICS

GOLDEN = Path(__file__).parent / "golden"


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["wakesleep", *map(str, arguments)])
    cli.main()
    return capsys.readouterr()


def refused(monkeypatch, capsys, *arguments):
    with pytest.raises(SystemExit) as exit_info:
        run(monkeypatch, capsys, *arguments)
    error = capsys.readouterr().err
    assert exit_info.value.code == 2
    assert error.count("\n") == 1
    return error


def write_life(folder, agent, scenario, blocks, parameters=1000, preset="fast"):
    about = {"agent": agent, "preset": preset, "seed": 3, "syllabus": {"scenario": scenario}}
    write_log(folder, blocks, about)
    (folder / "config.json").write_text(json.dumps(about))
    (folder / "summary.json").write_text(json.dumps({"parameters": parameters, "replay_bytes": 2_500_000}))


@pytest.fixture(scope="module")
def lives(tmp_path_factory):
    """Three agents, six lifetimes each, and experts; not to be changed."""
    tmp_path, random = tmp_path_factory.mktemp("lives"), np.random.default_rng(0)
    for agent, kept in (("hidden", 0.8), ("baseline", 0.2), ("hidden-er", 0.2)):
        for seed in range(6):
            after, again = random.normal((0.9, kept), 0.03).round(3).tolist()
            life = pairwise(a=(0.1, after, again), b=(0.2, round(0.3 + 0.01 * seed, 3), 0.8))
            write_life(tmp_path / "runs" / agent / f"life-{seed}", agent, "pairwise", life)
    for task in ("A_1", "B_1"):
        write_expert(tmp_path / "experts" / task, task)
    return tmp_path


def test_a_row_for_each_lifetime_and_one_for_each_agent(monkeypatch, capsys, lives):
    shown = run(monkeypatch, capsys, "metrics", lives / "runs", "--experts", lives / "experts")
    assert "hidden-er/life-5" in shown.out
    assert shown.out.count("mean of 6") == 3
    assert "RR_σ" in shown.out
    assert "R* is the last tenth of the experts' curves (A_1, B_1)" in shown.err


def test_agents_side_by_side_with_marks_budgets_and_the_paper(monkeypatch, capsys, lives):
    arguments = ("compare", lives / "runs", "--experts", lives / "experts", "--paper", "minigrid-replay")
    shown = run(monkeypatch, capsys, *arguments, "--markdown")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.out.splitlines()[2:] if line]
    header, _, *body = rows
    assert header[:4] == ["agent", "n", "PM (points)", "FT"]
    assert header[-3:] == ["steps", "parameters", "replay"]
    assert [row[0] for row in body] == [
        "baseline", "paper: Baseline PPO", "hidden", "paper: Hidden Replay (ER + RaR + GR)", "hidden-er",
        "paper: Hidden Replay (ER)",
    ]  # fmt: skip
    assert body[0][-3:] == ["400", "1,000", "2.50 MB"]
    assert body[1][1:4] == ["36", "-48.20 ± 12.04", "4.07 ± 0.87"]
    assert body[2][2].endswith(" •")
    assert not body[4][2].endswith(("•", "∘"))
    assert "95% confidence interval" in shown.err
    assert "hidden-er differs from the paper in its settings: preset fast\n" in shown.err


def test_latex_looks_like_the_paper(monkeypatch, capsys, lives):
    shown = run(monkeypatch, capsys, "compare", lives / "runs", "--experts", lives / "experts", "--latex")
    assert r"RR$_\Omega$" in shown.out
    row = next(line for line in shown.out.splitlines() if line.startswith("hidden &"))
    assert r"$\bullet$" in row
    assert r"($\pm " in row
    assert row.count("&") == 12


def test_json_and_csv_hold_everything(monkeypatch, capsys, lives):
    arguments = (lives / "runs", "--experts", lives / "experts")
    (content,) = json.loads(run(monkeypatch, capsys, "metrics", *arguments, "--json").out)
    assert content["scenario"] == "pairwise"
    assert len(content["lifetimes"]) == 18
    one = content["lifetimes"][0]
    assert set(one["metrics"]) == set(METRICS)
    assert one["metrics"]["perf_recovery"] is None
    assert "it takes three" in one["reasons"]["perf_recovery"]
    hidden = next(agent for agent in content["agents"] if agent["agent"] == "hidden")["metrics"]["rr_omega"]
    assert hidden["lifetimes"] == 6
    assert hidden["interval"][0] < hidden["mean"] < hidden["interval"][1]
    assert hidden["mark"] == "•"
    assert hidden["dunn_p"] < 0.05
    rows = list(csv.DictReader(io.StringIO(run(monkeypatch, capsys, "metrics", *arguments, "--csv").out)))
    assert len(rows) == 18 + 3 * 4
    assert float(rows[0]["rr_omega"]) == one["metrics"]["rr_omega"]
    assert rows[0]["perf_recovery"] == ""
    mean = next(row for row in rows if (row["kind"], row["agent"]) == ("mean", "hidden"))
    assert float(mean["rr_omega"]) == hidden["mean"]


def test_a_real_lifetime_with_real_experts(monkeypatch, capsys):
    """Made by `wakesleep run`, see make_golden.py."""
    arguments = ("metrics", GOLDEN / "own" / "pairwise", "--experts", GOLDEN / "own-experts", "--json")
    (content,) = json.loads(run(monkeypatch, capsys, *arguments).out)
    (life,) = content["lifetimes"]
    assert (life["agent"], life["preset"], life["scenario"], life["seed"]) == ("baseline", "fast", "pairwise", 0)
    assert life["budget"]["parameters"] > 1000
    assert life["metrics"]["rr_omega"] is not None
    assert life["notes"] == []


def test_without_experts_it_says_what_can_still_be_computed(monkeypatch, capsys, lives):
    shown = run(monkeypatch, capsys, "metrics", lives / "runs" / "hidden")
    assert "PM, FT and BT need none" in shown.err
    assert "no RP, RR_Ω, RR_α, RR_σ, RR_υ: no experts were given" in shown.err


def test_mixed_scenarios_are_refused_or_grouped(monkeypatch, capsys, lives, tmp_path):
    write_life(tmp_path / "other", "hidden", "condensed", pairwise())
    runs = (lives / "runs" / "hidden", tmp_path)
    assert "6 pairwise, 1 condensed" in refused(monkeypatch, capsys, "metrics", *runs)
    content = json.loads(run(monkeypatch, capsys, "metrics", *runs, "--by-scenario", "--json").out)
    assert [len(group["lifetimes"]) for group in content] == [6, 1]


def test_unfinished_lifetimes_do_not_count_unless_asked_for(monkeypatch, capsys, tmp_path):
    for number in range(3):
        write_life(tmp_path / f"life-{number}", "hidden", "pairwise", pairwise())
        if number:
            (tmp_path / f"life-{number}" / "summary.json").unlink()
    shown = run(monkeypatch, capsys, "metrics", tmp_path, "--json")
    assert len(json.loads(shown.out)[0]["lifetimes"]) == 1
    assert shown.err.count("not finished") == 2
    again = run(monkeypatch, capsys, "metrics", tmp_path, "--json", "--unfinished")
    assert len(json.loads(again.out)[0]["lifetimes"]) == 3
    (tmp_path / "life-0" / "summary.json").unlink()
    assert "holds no finished lifetime" in refused(monkeypatch, capsys, "metrics", tmp_path)


def test_logs_of_others_are_called_by_their_folders(monkeypatch, capsys, tmp_path):
    for agent in ("sac", "ewc"):
        for number in range(2):
            write_log(tmp_path / agent / f"run-{number}", pairwise(), {"scenario_type": "condensed"})
    shown = run(monkeypatch, capsys, "compare", tmp_path / "sac", tmp_path / "ewc", "--baseline", "ewc", "--markdown")
    assert [line.split(" | ")[0] for line in shown.out.splitlines()[4:6]] == ["| ewc", "| sac"]
    shown = run(monkeypatch, capsys, "compare", tmp_path)
    assert "no agent is called 'baseline'" in shown.err


def test_presets_and_syllabi_are_kept_apart(monkeypatch, capsys, lives, tmp_path):
    write_life(tmp_path / "slow", "baseline", "pairwise", pairwise(), preset="paper")
    runs = (lives / "runs" / "baseline", tmp_path)
    shown = run(monkeypatch, capsys, "compare", *runs, "--baseline", "baseline (fast)", "--paper", "minigrid-replay")
    assert "baseline (paper)" in shown.out
    assert "baseline (fast)" in shown.out
    assert "did not learn the same tasks in the same orders" in shown.err
    assert shown.out.count("paper: Baseline PPO") == 2


def test_which_baseline_others_are_marked_against(monkeypatch, capsys, lives, tmp_path):
    """The only one of that name, whatever its preset; one of several must be chosen. Tables say which it is."""
    for seed in range(6):
        life = pairwise(a=(0.1, 0.9, round(0.5 + seed / 100, 3)), b=(0.2, 0.3, 0.8))
        write_life(tmp_path / "paper" / f"hidden-{seed}", "hidden", "pairwise", life, preset="paper")
    runs = (lives / "runs" / "baseline", lives / "runs" / "hidden", tmp_path)
    (one,) = json.loads(run(monkeypatch, capsys, "compare", *runs, "--json").out)
    marks = {agent["agent"]: agent["metrics"]["perf_maintenance_mrlep"]["mark"] for agent in one["agents"]}
    assert marks == {"baseline (fast)": "", "hidden (fast)": "•", "hidden (paper)": ""}
    assert one["baseline"] == "baseline (fast)"
    for seed in range(6):
        life = pairwise(a=(0.1, 0.9, round(0.87 + seed / 100, 3)), b=(0.2, 0.3, 0.8))
        write_life(tmp_path / "paper" / f"baseline-{seed}", "baseline", "pairwise", life, preset="paper")
    unmarked = run(monkeypatch, capsys, "compare", *runs, "--markdown")
    assert "•" not in unmarked.out
    assert "∘" not in unmarked.out
    assert 'choose --baseline "baseline (fast)" or --baseline "baseline (paper)"' in unmarked.err
    chosen = run(monkeypatch, capsys, "compare", *runs, "--baseline", "baseline (paper)", "--markdown").out.splitlines()
    assert chosen[0] == "**pairwise, baseline: baseline (paper)**"
    assert chosen[4].startswith("| baseline (paper) |")
    assert "∘" in next(line for line in chosen if line.startswith("| baseline (fast) |"))


def test_names_from_logs_are_no_markup(monkeypatch, capsys, tmp_path):
    write_life(tmp_path / "life", "[/odd] agent", "[bold]pairwise", pairwise())
    shown = run(monkeypatch, capsys, "compare", tmp_path / "life")
    assert "[/odd] agent" in shown.out
    assert "[bold]pairwise" in shown.out


def test_options_choose_columns_and_share_ranges(monkeypatch, capsys, lives):
    runs = lives / "runs" / "hidden"
    arguments = ("metrics", runs, "--maintenance", "both", "--transfer", "contrast", "--markdown")
    header = run(monkeypatch, capsys, *arguments).out.splitlines()[2]
    assert header == "| agent | lifetime | PM (points) | PM-L (points) | FT-C | BT-C | RP | RR_Ω | RR_α | RR_σ | RR_υ |"
    raw = run(monkeypatch, capsys, "metrics", runs, "--normalization", "none")
    assert "PM (return)" in raw.out
    assert "points" not in raw.err
    assert "PM is in points" in run(monkeypatch, capsys, "metrics", runs).err
    everything = run(monkeypatch, capsys, "metrics", runs, "--all", "--markdown").out.splitlines()[2]
    assert everything.count("|") == len(METRICS) + 3
    shared = json.loads(run(monkeypatch, capsys, "metrics", runs, "--shared-range", "--json").out)
    assert len({json.dumps(one["ranges"]) for one in shared[0]["lifetimes"]}) == 1


def test_mistakes_get_one_sentence(monkeypatch, capsys, lives, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no lifetime" in refused(monkeypatch, capsys, "metrics", tmp_path / "empty")
    assert "there is no folder" in refused(monkeypatch, capsys, "metrics", tmp_path / "nowhere")
    assert "at least one folder" in refused(monkeypatch, capsys, "metrics")
    runs = lives / "runs"
    assert "print one of" in refused(monkeypatch, capsys, "metrics", runs, "--json", "--csv")
    assert "no table called 'x'" in refused(monkeypatch, capsys, "compare", runs, "--paper", "x")
    assert "only single-task experts" in refused(monkeypatch, capsys, "metrics", GOLDEN / "own-experts")
    write_expert(tmp_path / "strangers" / "x", "Chess_1")
    error = refused(monkeypatch, capsys, "metrics", runs, "--experts", tmp_path / "strangers")
    assert "it has A_1, B_1, the experts in" in error
    assert "are of Chess_1" in error
    write_log(tmp_path / "cut" / "life", [learn("A_1", [0.5] * 9)])
    file = next((tmp_path / "cut").rglob("data-log.tsv"))
    file.write_text(file.read_text()[:-5])
    assert "is damaged or cut off" in refused(monkeypatch, capsys, "metrics", tmp_path / "cut")
