"""The page's data and the page: the metrics' own numbers, problems said, nothing that leaves the page."""

import json
import re
import sys

import numpy as np
import pytest

from tests.metrics.logs import write_expert
from tests.reporting.lives import write_life
from wakesleep import UserError, cli
from wakesleep.metrics.experts import read_experts
from wakesleep.metrics.prepare import Options
from wakesleep.metrics.runs import find_runs, run_results
from wakesleep.metrics.summary import scenario_result
from wakesleep.reporting import data as data_module
from wakesleep.reporting.data import Reporter, ReportRequest
from wakesleep.reporting.lives import StoredLifetime
from wakesleep.reporting.page import page, to_text


def data_of(*folders, **wanted):
    return Reporter(ReportRequest(folders, **wanted)).data()


@pytest.fixture
def experts(tmp_path):
    for task in ("DoorKey_S5", "DistShift_R2"):
        write_expert(tmp_path / "experts" / task, task, end=0.95)
    return tmp_path / "experts"


def test_the_summary_is_that_of_the_metrics(lives, experts):
    shown = data_of(lives, experts=experts)
    (summary,) = shown["summaries"]
    measured = run_results(find_runs([lives])[0], read_experts(experts), Options())
    for agent in scenario_result("pairwise", measured, "baseline").agents:
        found = next(row for row in summary["agents"] if row["agent"] == agent.agent)
        for name, cell in found["metrics"].items():
            assert cell["mean"] == agent.summaries[name].mean
            assert cell["mark"] == agent.marks[name]
    assert summary["baseline"] == "baseline"
    assert next(row for row in summary["agents"] if row["agent"] == "hidden")["metrics"]["rr_omega"]["mark"] == "•"
    assert shown["experts"] == {"DoorKey_S5": 0.95, "DistShift_R2": 0.95}
    own = shown["lives"][0]["metrics"]["rr_omega"]
    assert own == pytest.approx((0.1 + 0.8) / 2 / 0.95, abs=1e-3)


def test_the_papers_rows_are_in_the_data(lives):
    (summary,) = data_of(lives, paper="minigrid-replay")["summaries"]
    paper = {row["agent"]: row["paper"] for row in summary["agents"]}
    assert paper["baseline"]["name"] == "Baseline PPO"
    assert paper["hidden"]["lifetimes"] == 36
    assert paper["hidden"]["metrics"]["rr_omega"] == {"mean": 0.6, "spread": 0.06, "mark": ""}
    assert any("± is 95% confidence interval" in reason for reason in summary["notes"])
    (plain,) = data_of(lives)["summaries"]
    assert not any("paper" in row for row in plain["agents"])
    for life in lives.iterdir():
        file = life / "scenario_info.json"
        file.write_text(file.read_text().replace("pairwise", "mine"))
    (other,) = data_of(lives, paper="minigrid-replay")["summaries"]
    assert "the paper's table has no row for these agents in mine" in other["notes"]


def test_agents_of_different_presets_have_different_names(lives):
    """Those too that have only begun; a baseline that is there in one preset only needs no more than its name."""
    for seed in range(4):
        write_life(lives / f"fast-{seed}", "hidden", seed, first=(0.0, 0.9, 0.7 + seed / 100), preset="fast")
    write_life(lives / "begun", "hidden", 9, until=0, preset="fast")
    shown = data_of(lives)
    assert shown["agents"] == ["baseline (paper)", "hidden (fast)", "hidden (paper)"]
    (summary,) = shown["summaries"]
    assert summary["baseline"] == "baseline (paper)"
    assert [row["agent"] for row in summary["agents"]] == ["baseline (paper)", "hidden (fast)", "hidden (paper)"]


def test_transfer_is_from_task_to_task(lives):
    baseline = next(one for one in data_of(lives)["transfers"] if one["agent"] == "baseline")
    (back,) = baseline["backward"]
    assert (back["learned"], back["evaluated"], back["lifetimes"]) == ("DistShift_R2", "DoorKey_S5", 4)
    assert back["ratio"] < 0.3
    assert back["contrast"] < -0.5


def test_without_experts_reasons_are_given(lives):
    (summary,) = data_of(lives)["summaries"]
    assert any("no experts were given" in reason for reason in summary["notes"])


def test_details_go_round_the_agents(tmp_path):
    lives = [StoredLifetime(tmp_path, agent, {"agent": agent}, {"seconds": 1}) for agent in "aaabbc"]
    assert data_module._chosen(lives, 3) == {0, 3, 5}
    assert data_module._chosen(lives, 4) == {0, 1, 3, 5}
    under_way = StoredLifetime(tmp_path, "a", {"agent": "a"})
    assert data_module._chosen([*lives, under_way], 1) == {6}


def test_one_bad_life_does_not_hide_the_others(lives):
    (file,) = (lives / "hidden-0").rglob("2-test/data-log.tsv")
    file.write_text(file.read_text()[:-20])
    (lives / "hidden-1" / "logger_info.json").unlink()
    write_life(lives / "begun", "hidden", 7, until=0)
    shown = data_of(lives)
    assert len(shown["lives"]) == 9
    problems = "\n".join(shown["problems"])
    assert re.search(r"hidden-0: line \d+ of .* is damaged or cut off", problems)
    assert "hidden-1" in problems
    assert "begun" not in problems  # nothing is wrong with it
    assert [summary["agents"][1]["lifetimes"] for summary in shown["summaries"]] == [2]


def test_settings_that_differ_under_one_name_are_said(lives):
    file = lives / "hidden-2" / "config.json"
    config = json.loads(file.read_text())
    config["settings"]["sleep"]["iterations"] = 7
    file.write_text(json.dumps(config))
    shown = data_of(lives)
    assert "lifetimes of hidden differ in their settings" in "\n".join(shown["problems"])
    assert len(shown["configs"]) == 3


def test_blocks_that_differ_in_length_are_said(lives):
    write_life(lives / "shorter", "hidden", steps=300)
    assert "blocks of DoorKey_S5 differ in length (pairwise): metrics mix them" in data_of(lives)["problems"]


def test_lives_of_one_name_in_two_folders_are_told_apart(tmp_path):
    for place in ("a", "b"):
        write_life(tmp_path / place / "life", "hidden")
    names = [life["name"] for life in data_of(tmp_path / "a", tmp_path / "b")["lives"]]
    assert names == [str((tmp_path / place / "life").resolve()) for place in ("a", "b")]


def test_the_page_needs_nothing_and_cannot_be_tricked(tmp_path):
    write_life(tmp_path / "</script><b>", "<img src=x>")
    text = page(data_of(tmp_path), title="<Lives> {{DATA}}")
    assert "&lt;Lives&gt; {{DATA}}" in text
    content = re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1)
    assert json.loads(content)["agents"] == ["<img src=x>"]
    assert "<img" not in text
    links = set(re.findall(r"https?://[^\"'\s<]+", text))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert "connect-src 'none'" in text
    assert re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*\"", text) == []


def test_numbers_that_are_none_are_null():
    assert to_text({"a": None, "b": [1.5, (float("nan"), float("inf"))]}) == '{"a":null,"b":[1.5,[null,null]]}'


def test_a_page_over_many_lives_is_small(tmp_path):
    for seed in range(60):
        write_life(tmp_path / f"life-{seed}", "hidden" if seed % 2 else "baseline", seed, first=(0, 0.9, seed / 100))
    assert len(page(data_of(tmp_path))) < 300_000


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nowhere",), "there is no folder nowhere"),
        (("empty",), "empty holds no lifetime: live one with"),
        ((), "name at least one folder"),
        (("lives", "--out", "nowhere/report.html"), "there is no folder nowhere"),
        (("lives", "--out", "empty"), "empty is a folder"),
        (("lives", "--experts", "empty"), "experts"),
        (("lives", "--details", "-1"), "0 or more"),
        (("lives", "--paper", "none"), "none"),
    ],
)
def test_mistakes_get_one_sentence(monkeypatch, capsys, tmp_path, lives, arguments, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as exit_info:
        run(monkeypatch, "report", *arguments)
    error = capsys.readouterr().err
    assert exit_info.value.code == 2
    assert why in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("*.html"))


def test_the_command(monkeypatch, capsys, tmp_path, lives):
    monkeypatch.chdir(tmp_path)
    run(monkeypatch, "report", "lives", "--title", "Mine")
    assert "report.html: 8 lifetimes, 0.1 MB" in capsys.readouterr().out
    assert "<h1>Mine</h1>" in (tmp_path / "report.html").read_text()


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["wakesleep", *map(str, arguments)])
    cli.main()


def test_nothing_known_is_no_number(lives):
    assert data_module._short(None) is None
    assert not any(isinstance(value, float) and np.isnan(value) for value in _numbers(data_of(lives)))


def _numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [number for part in value for number in _numbers(part)] if isinstance(value, list) else [value]


def test_refused_before_anything_is_read():
    with pytest.raises(UserError, match="at least one folder"):
        ReportRequest(())
