"""Following lifetimes: what is served is what is on disk, a moment ago."""

import json
import threading
import urllib.error
import urllib.request

import pytest

from tests.reporting.lives import write_life
from wakesleep import UserError
from wakesleep.reporting import serve
from wakesleep.reporting.data import Reporter, ReportRequest
from wakesleep.reporting.serve import make_server


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "CACHE_SECONDS", 0.0)
    write_life(tmp_path / "lives" / "now", "hidden", until=2, part=0.25, words="learning, block 1 of 2", seconds=30.0)
    server = make_server(Reporter(ReportRequest((tmp_path / "lives",))), 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield tmp_path / "lives" / "now", f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def get(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


def test_a_life_is_followed_to_its_end(served):
    folder, address = served
    page = get(address)
    assert "connect-src 'self'" in page
    data = json.loads(get(f"{address}/data.json"))
    (life,) = data["lives"]
    assert data["live"]
    assert life["progress"]["part"] == 0.25
    assert life["progress"]["seen"] > 0
    assert [len(group["evaluations"]) for group in data["groups"]] == [1]
    assert data["summaries"] == []
    write_life(folder, "hidden")
    (folder / "progress.json").unlink()
    data = json.loads(get(f"{address}/data.json"))
    assert data["lives"][0]["finished"]
    assert data["lives"][0]["progress"] == {}
    assert [len(group["evaluations"]) for group in data["groups"]] == [3]
    assert data["summaries"][0]["agents"][0]["agent"] == "hidden"


def test_a_row_half_written_is_waited_for(served):
    folder, address = served
    before = json.loads(get(f"{address}/data.json"))
    (file,) = folder.rglob("1-train/data-log.tsv")
    whole = file.read_text()
    file.write_text(whole + "1\t44\tworker-de")
    during = json.loads(get(f"{address}/data.json"))
    assert during["groups"] == before["groups"]
    assert during["problems"] == []
    file.write_text(whole + whole.splitlines()[-1].replace("\t43\t", "\t44\t") + "\n")
    after = json.loads(get(f"{address}/data.json"))
    assert after["lives"][0]["episodes_logged"] == before["lives"][0]["episodes_logged"] + 1


def test_only_what_changed_is_read_again(served, monkeypatch):
    folder, address = served
    write_life(folder.parent / "done", "baseline")
    get(f"{address}/data.json")
    from wakesleep.reporting import data

    read = []
    monkeypatch.setattr(data, "read_life", lambda folder, name: read.append(name) or _real(folder, name))
    get(f"{address}/data.json")
    assert read == []
    write_life(folder, "hidden", until=3)
    get(f"{address}/data.json")
    assert read == ["now"]


def _real(folder, name):
    from wakesleep.reporting.lives import read_life

    return read_life(folder, name)


def test_other_paths_and_lost_folders(served):
    folder, address = served
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"{address}/etc/passwd")
    folder.rename(folder.parent.parent / "elsewhere")
    with pytest.raises(urllib.error.HTTPError, match="503") as error:
        get(f"{address}/data.json")
    assert "holds no lifetime" in error.value.read().decode()


def test_a_port_in_use_is_a_sentence(served):
    folder, address = served
    with pytest.raises(UserError, match="choose another with --port"):
        make_server(Reporter(ReportRequest((folder.parent,))), int(address.rsplit(":", 1)[1]))
