"""The paper's tables: complete, and as consistent as the paper is."""

import json

import pytest

from tests.metrics.logs import pairwise, write_log
from wakesleep import UserError
from wakesleep.agents.presets import agent_names
from wakesleep.metrics.names import PAPER
from wakesleep.metrics.paper import table, tables
from wakesleep.metrics.paper_settings import settings_note
from wakesleep.metrics.runs import find_runs

ODD = {
    ("starcraft-replay", "baseline"), ("starcraft-replay", "hidden-er"), ("starcraft-architectures", "hidden-er"),
}  # fmt: skip
"""Pairwise rows that break the identity below: copies of the alternating rows (see `anomalies`)."""


def test_all_rows_are_there():
    rows = {name: len(found.rows) for name, found in tables().items()}
    assert rows == {
        "minigrid-replay": 12, "starcraft-replay": 18, "minigrid-architectures": 12, "starcraft-architectures": 18,
        "starcraft-sleeps": 3, "starcraft-random-replay": 4,
    }  # fmt: skip
    for name, found in tables().items():
        for row in found.rows:
            assert tuple(row.cells) == (PAPER[:4] if name == "starcraft-random-replay" else PAPER)
            assert row.agent in agent_names() or name == "starcraft-sleeps"
        assert len({(row.scenario, row.agent) for row in found.rows}) == len(found.rows)


def test_some_cells_as_printed():
    found = table("minigrid-architectures").find("pairwise", "sequential")
    assert found.name == "Sequential (ER + RaR + GR)"
    assert [tuple(cell) for cell in found.cells.values()] == [
        (13.58, 9.06, "•"), (4.01, 1.02, ""), (9.52, 5.5, "•"), (2.57, 0.72, ""), (0.45, 0.08, ""), (0.37, 0.08, "∘"),
        (0.41, 0.08, "∘"), (0.08, 0.02, "∘"),
    ]  # fmt: skip
    cells = table("starcraft-replay").find("condensed", "hidden-er-gr").cells
    assert [cell.mean for cell in cells.values()] == [-9.17, 1.57, 1.21, 1.15, 0.75, 0.91, 0.79, 0.59]
    assert table("starcraft-random-replay").find("pairwise", "hidden-er-gr").cells[PAPER[0]] == (-6.28, 12.82, "")
    assert table("starcraft-sleeps").find("alternating", "two-headed-2").cells["rr_omega"] == (0.79, 0.47, "")


def test_marks_are_only_where_the_paper_tests():
    for name, found in tables().items():
        marks = [cell.mark for row in found.rows for cell in row.cells.values()]
        assert any(marks) == found.marked == name.endswith("architectures")
        assert not any(cell.mark for row in found.rows if row.agent == "baseline" for cell in row.cells.values())
    counts = [
        sum(cell.mark == mark for row in table(name).rows for cell in row.cells.values())
        for name in ("minigrid-architectures", "starcraft-architectures") for mark in "•∘"
    ]  # fmt: skip
    assert counts == [21, 23, 6, 15]


def test_pairwise_sigma_lies_between_alpha_and_omega():
    """RR_sigma = (a1 + RR_Omega) / 2, and a1, the first task just learned, is about RR_alpha: no first block counts."""
    broken = set()
    for name, found in tables().items():
        for row in found.rows:
            if row.scenario == "pairwise" and "rr_sigma" in row.cells:
                alpha, omega, sigma = (row.cells[f"rr_{which}"].mean for which in ("alpha", "omega", "sigma"))
                if abs((alpha + omega) / 2 - sigma) > 0.0101:
                    broken.add((name, row.agent))
                elif row.agent != "random":
                    assert abs(2 / 3 * (alpha + omega) / 2 - sigma) > 0.05  # what counting the first block would give
    assert broken == ODD


def test_forgetting_in_minigrid_is_on_a_scale_of_100():
    """PM = -100 c 2 (RR_alpha - RR_Omega) in pairwise, with c the expert's return as a part of the range."""
    for agent in ("baseline", "hidden-er", "hidden-er-rar", "hidden-er-gr", "hidden", "sequential"):
        source = "minigrid-architectures" if agent == "sequential" else "minigrid-replay"
        cells = table(source).find("pairwise", agent).cells
        predicted = 200 * (cells["rr_omega"].mean - cells["rr_alpha"].mean)
        assert 0.84 < cells["perf_maintenance_mrlep"].mean / predicted < 0.93


def test_known_anomalies():
    replay, architectures = table("starcraft-replay"), table("starcraft-architectures")
    for found, names in ((replay, ("random", "baseline", "hidden-er")), (architectures, ("hidden-er",))):
        for agent in names:
            assert found.find("pairwise", agent).cells == found.find("alternating", agent).cells
        assert any("equal" in words for words in found.anomalies)
    for found in (replay, architectures):
        for row in found.rows:
            if row.scenario == "pairwise" and row.agent != "random":
                other = found.find("alternating", row.agent).cells
                for name in ("forward_transfer_ratio", "rr_upsilon"):
                    assert row.cells[name].mean == other[name].mean
    assert replay.find("pairwise", "baseline").cells != architectures.find("pairwise", "baseline").cells
    for scenario in ("pairwise", "condensed"):
        for row in table("minigrid-replay").rows:
            if other := table("minigrid-architectures").find(scenario, row.agent):
                mine = table("minigrid-replay").find(scenario, row.agent).cells
                assert [cell[:2] for cell in mine.values()] == [cell[:2] for cell in other.cells.values()]


def test_unknown_tables():
    with pytest.raises(UserError, match="there are minigrid-replay, starcraft-replay"):
        table("atari")


def write_run(folder, agent="hidden", preset="paper", steps=200_000, task="DoorKey_S5", episodes=100, **more):
    learning = [{"task": task, "steps": steps, "seed": 1}]
    syllabus = {"scenario": "pairwise", "learning": learning, "episodes": episodes}
    about = {"agent": agent, "preset": preset, "overrides": {}, "seed": 0, "syllabus": syllabus, "settings": {}, **more}
    write_log(folder, pairwise(), about)
    (folder / "config.json").write_text(json.dumps(about))
    (folder / "summary.json").write_text("{}")


def note(folder, name="minigrid-architectures"):
    return settings_note(find_runs([folder])[0], table(name))


def test_differences_from_the_papers_settings_are_told(tmp_path):
    write_run(tmp_path / "same")
    assert note(tmp_path) == ""
    write_run(tmp_path / "short", steps=20_000, episodes=10, overrides={"sleep.iterations": 300})
    begin = "hidden differs from the paper in its settings: "
    parts = ["sleep.iterations=300", "learning blocks of 0.1 times the steps", "10 evaluation episodes instead of 100"]
    assert note(tmp_path / "short") == begin + "; ".join(parts)
    assert note(tmp_path) == begin + "; ".join(f"{part} (in 1 of 2)" for part in parts)
    write_run(tmp_path / "fast", preset="fast", task="Mine_1")
    assert note(tmp_path / "fast") == begin + "preset fast; tasks that are not in the paper (Mine_1)"


def test_settings_that_define_a_row_are_no_difference(tmp_path):
    more = {"label": "two-headed-3", "steps": 2_000_000, "task": "CollectMineralShards_fog", "episodes": 30}
    write_run(tmp_path / "agent", "two-headed", overrides={"sleeps_per_block": 3}, **more)
    assert "sleeps_per_block" not in note(tmp_path, "starcraft-sleeps")
    write_run(tmp_path / "agent", "two-headed", overrides={"sleeps_per_block": 5}, **more)
    assert "sleeps_per_block=5" in note(tmp_path, "starcraft-sleeps")


def test_logs_without_settings_and_the_random_agent_have_no_differences(tmp_path):
    write_run(tmp_path / "random", "random", preset="fast", settings=None)
    assert note(tmp_path / "random") == ""
    write_log(tmp_path / "others" / "life", pairwise())
    assert note(tmp_path / "others") == ""
    write_log(tmp_path / "damaged", pairwise())
    (tmp_path / "damaged" / "config.json").write_text(
        '{"overrides": 3, "syllabus": {"learning": [1]}, "preset": "paper"}'
    )
    (tmp_path / "damaged" / "summary.json").write_text("{}")
    assert note(tmp_path / "damaged") == ""
