"""The variant maps: only the script overrides, only where it should, and nothing is half-written."""

import difflib
import os
import re
import sys
from pathlib import Path

import pytest

from tests.worlds.starcraft.archives import archive_of, battle_script, map_with, shards_script, stock_maps
from wakesleep import UserError, cli
from wakesleep.worlds.starcraft import mpq, scripts
from wakesleep.worlds.starcraft.maps import SCRIPT, RespawnRule, edited_map, make_maps, variants

STOCK = os.environ.get("WAKESLEEP_STOCK_MAPS")
needs_stock = pytest.mark.skipif(not STOCK, reason="WAKESLEEP_STOCK_MAPS does not say where the stock maps are")


@pytest.fixture(params=["own", pytest.param("stock", marks=needs_stock)])
def source(request, tmp_path):
    if request.param == "stock":
        return Path(STOCK)
    folder = tmp_path / "mini_games"
    folder.mkdir()
    for name, raw in stock_maps().items():
        (folder / f"{name}.SC2Map").write_bytes(raw)
    return folder


def overrides(before, after):
    """Lines that went and lines that came."""
    lines = list(difflib.ndiff(before.decode().splitlines(), after.decode().splitlines()))
    gone, come = ([line[2:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    return gone, come


@pytest.mark.parametrize("returns", RespawnRule)
def test_only_the_script_changes(source, tmp_path, returns):
    made = make_maps(source, tmp_path / "out", returns)
    assert sorted(file.name for file in made) == sorted(file.name for file in (tmp_path / "out").iterdir())
    for file, variant in zip(made, variants(returns), strict=True):
        before, after = (mpq.unpack(path.read_bytes()) for path in (source / f"{variant.stock}.SC2Map", file))
        own = {before.number(SCRIPT), before.number("(attributes)")}
        for number, (old, new) in enumerate(zip(before.files, after.files, strict=True)):
            assert (old != new) == (number in own)
        assert (before.hashes, before.het, before.bet_names) == (after.hashes, after.het, after.bet_names)
        assert before.read(SCRIPT).count(b"\r\n") == before.read(SCRIPT).count(b"\n")
        assert after.read(SCRIPT).count(b"\r\n") == after.read(SCRIPT).count(b"\n")


def test_another_reader_sees_the_same_maps(source, tmp_path):
    mpyq = pytest.importorskip("mpyq", reason="comes with PySC2")
    for file, variant in zip(make_maps(source, tmp_path / "out"), variants(), strict=True):
        paths = source / f"{variant.stock}.SC2Map", file
        before, after = (mpyq.MPQArchive(str(path), listfile=False) for path in paths)
        for name in ("MapInfo", "Minimap.tga", "Triggers", "Regions"):
            assert before.read_file(name) == after.read_file(name)
        assert after.read_file(SCRIPT) == mpq.unpack(file.read_bytes()).read(SCRIPT)


def scripts_of(source, tmp_path, number, returns=RespawnRule.both):
    file, variant = make_maps(source, tmp_path / "out", returns)[number], variants(returns)[number]
    return [mpq.unpack(path.read_bytes()).read(SCRIPT) for path in (source / f"{variant.stock}.SC2Map", file)]


def test_fog_is_one_line(source, tmp_path):
    gone, come = overrides(*scripts_of(source, tmp_path, 0))
    assert gone == ["VisRevealArea(1, RegionFromId(1), 0.0, false);"]
    assert len(come) == 1
    assert come[0].startswith("//")


def test_two_groups_of_roaches(source, tmp_path):
    """Marines at the centre, three Roaches at either point, seven more Marines when all are dead."""
    before, after = scripts_of(source, tmp_path, 1)
    gone, come = overrides(before, after)
    assert sum('"Roach"' in line for line in gone) == 12  # four at the start, after a wave, at a restart
    for group, point in (("first", "Marines"), ("second", "Roaches")):
        line = f'gv_{group} = gf_PlaceGroup(gv_{group}, "Roach", 3, 1, lv_randomPoint{point});'
        assert come.count(line) == 3
    assert b"(lv_randomPointMarines, 0.0" not in after
    assert after.count(b"PointWithOffset(RegionGetCenter(RegionFromId(1)), 0.0") == 3
    assert [line[-4:] for line in gone if "_ae = " in line] == ["= 5;"]
    assert [line[-4:] for line in come if "_ae = " in line] == ["= 7;"]
    assert not any("c_unitCountAlive" in line for line in gone)  # a wave still ends when all are dead


@pytest.mark.parametrize("returns", RespawnRule)
def test_two_groups_of_zerglings_and_banelings(source, tmp_path, returns):
    before, after = scripts_of(source, tmp_path, 2, returns)
    gone, come = overrides(before, after)
    assert come.count('gv_first = gf_PlaceGroup(gv_first, "Zergling", 9, 0, lv_randomPointMarines);') == 3
    assert come.count('gv_second = gf_PlaceGroup(gv_second, "Baneling", 6, 0, lv_randomPointRoaches);') == 3
    assert sum(line.endswith("_ae = 6;") for line in come) == 1  # six more Marines
    assert not re.search(rb"Zergling.*lv_randomPointRoaches, 0.0", after)
    either = (
        "if ((UnitGroupCount(gv_first, c_unitCountAlive) == 0) || (UnitGroupCount(gv_second, c_unitCountAlive) == 0)) {"
    )
    survivors = "if ((UnitGetOwner(UnitGroupLoopCurrent()) != 2)) {"
    assert come.count(either) == come.count(survivors) == (returns is RespawnRule.either)
    assert sum("gv_roaches, c_unitCountAlive" in line for line in gone) == (returns is RespawnRule.either)


def test_every_landmark_is_needed():
    """Without any one of the places that are changed, or with one twice, the script is refused."""
    for kind, variant in (("DefeatRoaches", variants()[1]), ("DefeatZerglingsAndBanelings", variants()[2])):
        stock = battle_script(kind)
        for edit in variant.edits:
            start, end = scripts._span(stock, edit.where)
            found = list(re.finditer(edit.pattern, stock[start:end], re.MULTILINE))
            assert len(found) == edit.times
            first = found[0]
            without = stock[: start + first.start()] + stock[start + first.end() :]
            twice = stock[: start + first.end()] + first.group() + stock[start + first.end() :]
            for other in (without, twice):
                with pytest.raises(UserError, match=r"its script is not the one known: .* instead of"):
                    scripts.edited(other, variant.edits)


def test_unsound_scripts_are_refused():
    stock = shards_script()
    for bad, why in (
        (stock + "}", "} closes nothing"),
        (stock + "void f () {", "{ is not closed"),
        (stock + "int x = (1];", "] closes nothing"),
        (stock + "NoSuchNative();", "nothing is called NoSuchNative"),
        (stock + "gv_none = 1;", "nothing is called gv_none"),
    ):
        with pytest.raises(UserError, match=re.escape(why)):
            scripts.check_sound(bad, stock)
    scripts.check_sound(stock + 'void f () { f(); } // NoSuchNative( {\nstring s = "}\\"{";', stock)


def test_mistakes_get_one_sentence_and_write_nothing(tmp_path):
    good, out = stock_maps(), tmp_path / "out"

    def attempt(why, **changed):
        folder = tmp_path / why.replace("/", "")[:20]
        folder.mkdir()
        for name, raw in (good | changed).items():
            if raw is not None:
                (folder / f"{name}.SC2Map").write_bytes(raw)
        with pytest.raises(UserError, match=why) as info:
            make_maps(folder, out)
        assert "\n" not in str(info.value)
        assert not out.exists()

    last = "DefeatZerglingsAndBanelings"
    attempt("there is no DefeatZerglingsAndBanelings.SC2Map", **{last: None})
    attempt("cannot be used: the archive is damaged", **{last: good[last][:-40]})
    attempt("cannot be used: it is no MPQ archive", **{last: b"<html>not found</html>"})
    attempt("there is no MapScript.galaxy in it", **{last: mpq.pack(archive_of({"MapInfo": b"64"}))})
    attempt("already edited by wakesleep", **{last: edited_map(good[last], variants()[2].edits)})
    attempt("the number of Marines awarded was found 0 times", **{last: good["DefeatRoaches"]})
    attempt("lines end in another way", **{last: _with_unix_lines(good[last])})
    attempt("0 functions gt_Init_Func", CollectMineralShards=map_with("// nothing\n"))
    with pytest.raises(UserError, match=r"no folder .*: give the one that has the stock maps"):
        make_maps(tmp_path / "nowhere", out)


def _with_unix_lines(raw):
    archive = mpq.unpack(raw)
    return mpq.pack(archive.with_file(SCRIPT, archive.read(SCRIPT).replace(b"\r\n", b"\n")))


def test_a_folder_that_cannot_be_written(source, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        make_maps(source, tmp_path / "file" / "maps")
    out = tmp_path / "out"
    (out / "DefeatZerglingsAndBanelingsTwoGroups.SC2Map").mkdir(parents=True)  # the last one cannot be moved there
    with pytest.raises(UserError, match="cannot be written"):
        make_maps(source, out)
    assert not list(out.glob(".*"))


def test_making_again_replaces_and_repeats(source, tmp_path):
    first = [file.read_bytes() for file in make_maps(source, tmp_path / "out")]
    assert [file.read_bytes() for file in make_maps(source, tmp_path / "out")] == first


def test_the_command(source, tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["wakesleep", "starcraft", "maps", *map(str, arguments)])
        cli.main()

    run("--source", source, "--out", tmp_path / "out", "--returns", "either")
    made = [str(tmp_path / "out" / f"{variant.name}.SC2Map") for variant in variants()]
    assert capsys.readouterr().out.split() == made
    assert Path(made[2]).read_bytes() == make_maps(source, tmp_path / "again", RespawnRule.either)[2].read_bytes()
    run("--source", source, "--out", tmp_path / "default")
    default = (tmp_path / "default" / Path(made[2]).name).read_bytes()
    assert default == make_maps(source, tmp_path / "again", RespawnRule.both)[2].read_bytes()
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_info:
        run("--source", tmp_path / "nowhere", "--out", tmp_path / "out")
    assert exit_info.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("wakesleep: there is no folder")
    assert error.count("\n") == 1
