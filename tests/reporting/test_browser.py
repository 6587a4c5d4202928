"""The page in a real browser: it draws, its controls work, everyone can read it, and it follows a running life."""

import json
import shutil
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from tests.reporting.lives import ORDER, write_life
from wakesleep.reporting.data import Reporter, ReportRequest
from wakesleep.reporting.page import page, write_page
from wakesleep.reporting.serve import make_server
from wakesleep.worlds.minigrid.cells import CHANNEL_MAXIMA

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver"
)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
)
SECTIONS = (
    "running", "summary", "evaluations", "learning", "forgetting", "transfer", "sleep", "dreams", "episodes",
    "lifetimes", "configurations",
)  # fmt: skip


class Browser:
    """Chromium with the few things that these tests do."""

    def __init__(self, profile):
        webdriver = pytest.importorskip("selenium.webdriver")
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.set_page_load_timeout(120)
        self.driver.set_script_timeout(60)

    def show(self, address, width=1280, scheme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        self.driver.get(address)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def each(self, selector, what):
        """An expression over every node `n` that a selector finds."""
        return self.run(f"return [...document.querySelectorAll(arguments[0])].map((n) => {what})", selector)

    def texts(self, selector):
        return self.each(selector, "n.textContent")

    def count(self, selector):
        return len(self.each(selector, "1"))

    def press(self, selector, *keys):
        self.driver.find_element("css selector", selector).send_keys(*keys)

    def tick(self, kind, name):
        self.each(f"#filters input[name={kind}][value='{name}']", "n.click()")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory, lived):
    """Lives of three agents, one of them under way and one damaged, as a file."""
    folder = tmp_path_factory.mktemp("report")
    shutil.copytree(lived, folder / "lives" / "hidden-0")
    for number, file in enumerate(sorted((folder / "lives").rglob("sleep-*.npz"))):  # as if it dreamed of observations
        views = np.random.default_rng(number).integers(0, np.add(CHANNEL_MAXIMA, 1), (16, 7, 7, 3)).astype(np.uint8)
        pictures = {f"['picture_{kind}']": views for kind in ("seen", "seen_again", "dream", "dream_refined")}
        np.savez(file, **np.load(file), **pictures)
    for seed in range(3):
        write_life(folder / "lives" / f"baseline-{seed}", "baseline", seed, first=(0.0, 0.9, 0.1 + seed / 100))
        write_life(folder / "lives" / f"other-{seed}", "sequential", seed, first=(0.0, 0.9, 0.8 + seed / 100))
    write_life(folder / "lives" / "elsewhere", "baseline", scenario="mine")
    now = {"part": 0.25, "words": "learning, block 1 of 2", "seconds": 30.0}
    write_life(folder / "lives" / "now", "sequential", 9, until=2, **now)
    (file,) = (folder / "lives" / "baseline-2").rglob("0-test/data-log.tsv")
    file.write_text(file.read_text()[:-9])
    write_page(folder / "report.html", page(Reporter(ReportRequest((folder / "lives",))).data()))
    return f"file://{folder / 'report.html'}"


@pytest.fixture
def shown(browser, report):
    browser.show(report)
    return browser


def test_it_draws_everything_without_a_word_or_a_request(browser, report):
    browser.requests()
    browser.show(report)
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(("data:", "file:"))] == []
    assert browser.texts("main > section > h2")[0] == "What to know first"
    assert tuple(browser.each("main > section", "n.id"))[1:] == SECTIONS
    for section in ("evaluations", "learning", "sleep"):
        assert browser.count(f"#{section} svg.chart polyline, #{section} svg.chart path") > 3
    assert browser.count("#dreams canvas") == 4 * 8
    assert browser.count("#episodes canvas") == 2
    assert "25 %, learning, block 1 of 2. Running for 30 s, about 2 min left." in browser.texts("#running p")
    assert any("cut off" in text for text in browser.texts("#problems li"))
    assert set(browser.texts("#summary tbody th")) == {"baseline", "hidden", "sequential"}
    assert browser.count("#summary table") == 2
    assert all(browser.texts("#summary thead th"))


def test_what_is_drawn_stays_in_its_chart(shown):
    """Two lifetimes have an interval far wider than any return."""
    box = "((box) => [box.y, box.y + box.height, n.ownerSVGElement.viewBox.baseVal.height])(n.getBBox())"
    bands = shown.each("#evaluations polygon", box)
    assert len(bands) == 4  # two agents with several lifetimes, two tasks
    for top, bottom, height in bands:
        assert 0 <= top <= bottom <= height


def test_filters_leave_what_is_ticked(shown):
    def agents():
        return {title.split(" · ")[0] for title in shown.texts("#evaluations h3")}

    assert agents() == {"baseline", "hidden", "sequential"}
    shown.tick("agents", "baseline")
    assert agents() == {"hidden", "sequential"}
    assert "baseline" not in shown.texts("#summary tbody th")
    assert not any("baseline" in name for name in shown.texts("#lifetimes tbody th"))
    lines = shown.count("#evaluations polyline")
    shown.tick("tasks", "DoorKey_S5")
    assert shown.count("#evaluations polyline") == lines / 2
    assert shown.count("#episodes canvas") == 1
    shown.tick("scenarios", "pairwise")
    assert agents() == set()
    for kind, name in (("scenarios", "pairwise"), ("tasks", "DoorKey_S5"), ("agents", "baseline")):
        shown.tick(kind, name)
    assert agents() == {"baseline", "hidden", "sequential"}
    assert shown.complaints() == []


def test_the_sliders_go_through_sleeps_and_drift_by_keyboard(shown):
    from selenium.webdriver.common.keys import Keys

    def places():
        return shown.each("#sleep [transform][opacity]", "n.getAttribute('transform')")

    assert shown.texts("#sleep output")[0] == f"1 of 2, after {ORDER[0]}"
    first = places()
    shown.press("#sleep-number", Keys.ARROW_RIGHT)
    assert shown.texts("#sleep output")[0] == f"2 of 2, after {ORDER[1]}"
    after = places()
    assert len(after) == 240
    assert after != first
    shown.press("#drift", Keys.HOME)
    assert "shown: before" in shown.texts("#sleep output")
    before = places()
    assert sum(one != two for one, two in zip(before, after, strict=True)) > 200
    shown.press("#drift", Keys.END)
    assert places() == after
    shown.run("document.querySelector('#colour-action').click()")
    assert "forward" in shown.texts("#sleep figure .legend li")
    assert shown.run("return document.activeElement.id") == "drift"  # drawing anew took nothing away
    shown.press("#dream-number", Keys.ARROW_RIGHT)
    assert shown.texts("#dreams output") == [f"2 of 2, after {ORDER[1]}"]
    assert shown.complaints() == []


def test_an_episode_plays(shown):
    from selenium.webdriver.common.keys import Keys

    script = "return document.querySelector('#episodes canvas').toDataURL()"
    assert shown.texts("#episodes output")[0] == "start"
    start = shown.run(script)
    shown.press(f"#step-{ORDER[0]}", Keys.END)
    assert shown.texts("#episodes output")[0].startswith("step ")
    assert shown.run(script) != start
    shown.press(f"#play-{ORDER[0]}", Keys.ENTER)
    assert shown.texts(f"#play-{ORDER[0]}") == ["Pause"]
    shown.press(f"#play-{ORDER[0]}", Keys.ENTER)
    assert shown.texts(f"#play-{ORDER[0]}") == ["Play"]


def test_numbers_stand_behind_every_chart(shown):
    assert shown.count("#evaluations svg.chart") == shown.count("#evaluations details")
    shown.run("document.querySelector('#evaluations details summary').click()")
    time.sleep(0.5)
    assert shown.texts("#evaluations details tbody tr")[0].startswith("DoorKey_S50.00")
    assert all(shown.each("svg.chart, canvas", "n.getAttribute('aria-label')"))
    assert all(shown.each("input, select", "n.labels.length || n.getAttribute('aria-label')"))
    assert all(shown.texts("button"))
    ids = shown.each("[id]", "n.id")
    assert len(ids) == len(set(ids))
    levels = shown.each("h1, h2, h3", "+n.tagName[1]")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(browser, report, scheme):
    browser.show(report, scheme=scheme)

    def colour(selector, name):
        (text, *_) = browser.each(selector, f"getComputedStyle(n).{name}")
        return [int(part) for part in text[4:-1].split(",")]

    def luminance(rgb):
        parts = [c / 255 for c in rgb]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    paper = luminance(colour("body", "backgroundColor"))
    assert (paper < 0.1) == (scheme == "dark")
    for selector in ("h1", "p.quiet", "nav a"):
        text = luminance(colour(selector, "color"))
        assert (max(text, paper) + 0.05) / (min(text, paper) + 0.05) >= 4.5, selector


def test_a_phone_needs_no_scrolling_sideways(browser, report):
    browser.show(report, width=360)
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    box = "((box) => [box.left, box.right, 12 * box.width / n.viewBox.baseVal.width])(n.getBoundingClientRect())"
    for left, right, text in browser.each("svg.chart", box):
        assert left >= 0
        assert right <= 360
        assert text > 11  # pixels
    assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tables_use_the_width_and_say_where_they_go_on(browser, report, scheme):
    """On a wide screen nothing is cut; on a phone an arrow stands at the edge behind which there are more columns."""
    browser.show(report, width=1400, scheme=scheme)
    time.sleep(0.5)
    assert browser.count("#sleep .scroll") >= 2
    assert browser.each("#sleep .scroll, #summary .scroll", "n.scrollWidth - n.clientWidth") == [0] * browser.count(
        "#sleep .scroll, #summary .scroll"
    )
    browser.show(report, width=400, scheme=scheme)
    time.sleep(0.5)
    cut = "n.scrollWidth > n.clientWidth + 1 === n.parentElement.hasAttribute('data-right')"
    assert all(browser.each(".scroll", cut))
    arrow = "getComputedStyle(n, '::after').content"
    assert browser.each("#summary .frame", arrow) == ['"›"'] * browser.count("#summary .frame")
    browser.each("#summary .scroll", "n.scrollLeft = 1e6")
    time.sleep(0.5)
    assert browser.each("#summary .frame", "n.hasAttribute('data-left') && !n.hasAttribute('data-right')")[0]
    first = "n.getBoundingClientRect().left - n.closest('.frame').getBoundingClientRect().left"
    assert all(abs(shift) < 2 for shift in browser.each("#summary tbody th", first))  # the agents' names stay


def test_a_running_life_is_followed(browser, tmp_path):
    folder = tmp_path / "lives" / "now"
    write_life(folder, "hidden", until=2, part=0.25, words="learning, block 1 of 2", seconds=30.0)
    server = make_server(Reporter(ReportRequest((tmp_path / "lives",))), 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        browser.show(f"http://127.0.0.1:{server.server_address[1]}/")
        assert browser.count("#running progress") == 1
        assert browser.count("#evaluations svg.chart path, #evaluations svg.chart circle") == 2
        browser.tick("agents", "hidden")
        browser.tick("agents", "hidden")
        browser.each("#method-contrast", "n.click()")
        browser.each("#method-contrast", "n.focus()")
        write_life(folder, "hidden")
        (folder / "progress.json").unlink()
        wait_for(lambda: browser.count("#running") == 0)
        assert browser.count("#evaluations svg.chart path, #evaluations svg.chart circle") == 6
        assert browser.texts("#summary tbody th") == ["hidden"]
        assert browser.run("return document.querySelector('#method-contrast').checked")
        assert browser.run("return document.activeElement.id") == "method-contrast"
        assert browser.complaints() == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    wait_for(lambda: "the server has stopped" in browser.texts("#live")[0])


def wait_for(happened, seconds=60):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.2)
