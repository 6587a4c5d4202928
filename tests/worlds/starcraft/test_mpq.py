"""Archives: what is read is what was stored, exchanging one file overrides no other, and damage is noticed."""

import os
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.worlds.starcraft.archives import archive_of
from wakesleep import UserError
from wakesleep.worlds.starcraft import mpq

FILES = {"Plain": b"ab", "Folder\\Long.txt": b"many words, " * 300, "Random": os.urandom(1500), "Empty": b""}
STOCK = os.environ.get("WAKESLEEP_STOCK_MAPS")


@pytest.fixture(scope="module")
def archive():
    return archive_of(FILES, single={"Plain"})


def test_files_come_back(archive):
    assert all(archive.read(name) == content for name, content in FILES.items())
    assert archive.read("folder\\long.TXT") == FILES["Folder\\Long.txt"]  # the format does not tell case apart
    with pytest.raises(UserError, match="there is no Nothing in it"):
        archive.read("Nothing")


@settings(max_examples=20, deadline=None)
@given(
    content=st.one_of(st.binary(max_size=3000), st.text(max_size=3000).map(str.encode)),
    name=st.sampled_from(sorted(FILES)),
)
def test_exchanging_a_file_changes_no_other(archive, content, name):
    raw = mpq.pack(archive.with_file(name, content))
    again = mpq.unpack(raw)
    assert again.read(name) == content
    numbers = {archive.number(name), archive.number("(attributes)")}
    for number, (before, after) in enumerate(zip(archive.files, again.files, strict=True)):
        assert number in numbers or before == after
    assert again.hashes == archive.hashes
    assert mpq.pack(again.with_file(name, FILES[name])) == mpq.pack(archive)


def test_another_reader_reads_the_same(archive, tmp_path):
    """mpyq, which PySC2 reads replays with, finds the files and their new content."""
    mpyq = pytest.importorskip("mpyq", reason="comes with PySC2")
    (tmp_path / "a").write_bytes(mpq.pack(archive.with_file("Random", b"new " * 500)))
    theirs = mpyq.MPQArchive(str(tmp_path / "a"), listfile=False)
    for name, content in (FILES | {"Random": b"new " * 500}).items():
        assert (theirs.read_file(name) or b"") == content


def test_attributes_are_kept_up_to_date():
    """An archive made with the new content in the first place is the same."""
    exchanged = archive_of(FILES, single={"Plain"}).with_file("Random", b"short")
    assert mpq.pack(exchanged) == mpq.pack(archive_of(FILES | {"Random": b"short"}, single={"Plain"}))
    without = archive_of(FILES, attributes=False).with_file("Random", b"short")
    assert mpq.pack(without) == mpq.pack(archive_of(FILES | {"Random": b"short"}, attributes=False))


def test_any_damage_is_noticed(archive):
    """One bit anywhere, except in the checksums of checksums, or a cut end."""
    raw = mpq.pack(archive)
    for place in range(0, len(raw), 37):
        damaged = bytearray(raw)
        damaged[place] ^= 4
        with pytest.raises(UserError, match=r"damaged|archive"):
            mpq.unpack(bytes(damaged))
    for length in (0, 3, 20, 150, 210, len(raw) // 2, len(raw) - 1):
        with pytest.raises(UserError, match=r"damaged|no MPQ|format version 4"):
            mpq.unpack(raw[:length])
    with pytest.raises(UserError, match="no MPQ archive"):
        mpq.unpack(b"PK\x03\x04 something else")


@pytest.mark.skipif(not STOCK, reason="WAKESLEEP_STOCK_MAPS does not say where the stock maps are")
def test_stock_maps_go_through_unchanged():
    files = sorted(Path(STOCK).rglob("*.SC2Map"))
    assert len(files) >= 3
    for file in files:
        raw = file.read_bytes()
        stock = mpq.unpack(raw)
        assert mpq.pack(stock) == raw
        assert mpq.pack(stock.with_file("MapScript.galaxy", stock.read("MapScript.galaxy"))) == raw
