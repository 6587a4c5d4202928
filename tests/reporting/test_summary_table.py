"""The page's summary table as its own script makes it, in Node with just enough of a document: no browser is needed."""

import json
import shutil
import subprocess
from importlib.resources import files

import pytest

from tests.reporting.lives import write_life
from wakesleep.reporting.data import Reporter, ReportRequest

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="no Node.js here: apt-get install nodejs")
DOCUMENT = """
class Node {
  constructor(tag) { Object.assign(this, { tag, children: [], attributes: {}, classList: { add: (name) => { this.attributes.class = name; } } }); }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener() {}
  append(...children) { this.children.push(...children); }
  get firstChild() { return this.children[0]; }
  get textContent() { return this.children.map((child) => child.textContent ?? child).join(""); }
  all(tag) { return this.children.flatMap((child) => child instanceof Node ? [...(child.tag === tag ? [child] : []), ...child.all(tag)] : []); }
  querySelectorAll(path) { return path.split(" ").reduce((found, tag) => found.flatMap((node) => node.all(tag)), [this]); }
}
globalThis.document = { createElement: (tag) => new Node(tag) };
"""  # noqa: E501
SHOW = """
const data = JSON.parse(require("fs").readFileSync(0, "utf8"));
const root = new Node("section");
root.append(...summarySection(data, { has: () => true }).flat(Infinity));
const texts = (node, tag) => node.all(tag).map((one) => one.textContent);
console.log(JSON.stringify({
  captions: texts(root, "caption"), header: texts(root.all("thead")[0], "th"), notes: texts(root, "p"),
  rows: root.all("tbody").flatMap((body) => body.all("tr")).map((row) =>
    ({ cells: row.children.map((cell) => cell.textContent), class: row.attributes.class ?? "" })),
}));
"""


def shown(*folders, **wanted):
    data = Reporter(ReportRequest(folders, **wanted)).data()
    page = files("wakesleep.reporting") / "page"
    program = "\n".join([DOCUMENT, *((page / name).read_text() for name in ("core.js", "results.js")), SHOW])
    run = subprocess.run([NODE, "-e", program], input=json.dumps(data), capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_the_papers_rows_stand_below_ours(lives):
    table = shown(lives, paper="minigrid-architectures")
    assert [row["cells"][0] for row in table["rows"]] == [
        "baseline", "paper: Baseline PPO", "hidden", "paper: Hidden Replay (ER + RaR + GR)",
    ]  # fmt: skip
    assert [row["class"] for row in table["rows"]] == ["", "paper", "", "paper"]
    theirs = dict(zip(table["header"], table["rows"][1]["cells"], strict=True))
    assert (theirs["lifetimes"], theirs["PM points"], theirs["RR_Ω"]) == ("36", "−48.20 ± 12.04", "0.50 ± 0.10")
    assert any(note.startswith("paper: ± is 95% confidence interval") for note in table["notes"])
    assert table["captions"] == ["pairwise, baseline: baseline"]
    assert "paper" not in {row["class"] for row in shown(lives)["rows"]}


def test_a_baseline_in_two_presets_must_be_chosen(lives):
    for seed in range(3):
        write_life(lives / f"fast-{seed}", "baseline", seed, first=(0.0, 0.9, 0.3 + seed / 100), preset="fast")
    table = shown(lives)
    assert table["captions"] == ["pairwise, no baseline: nothing is marked"]
    assert [row["cells"][0] for row in table["rows"]] == ["baseline (paper)", "baseline (fast)", "hidden (paper)"]
    assert any('--baseline "baseline (paper)" or --baseline "baseline (fast)"' in note for note in table["notes"])
    chosen = shown(lives, baseline="baseline (fast)")
    assert chosen["captions"] == ["pairwise, baseline: baseline (fast)"]
    assert chosen["rows"][0]["cells"][0] == "baseline (fast)"
