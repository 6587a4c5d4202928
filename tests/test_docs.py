"""What README and docs show, runs; links lead somewhere; the site can be built."""

import contextlib
import importlib.util
import inspect
import io
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

import wakesleep
from wakesleep.cli.main import app
from wakesleep.experiments.grid import find_grid
from wakesleep.settings import to_dict
from wakesleep.worlds.minigrid.tasks import TASKS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), ROOT / "benchmarks" / "README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text()]
README_LINES, README_PYTHON_LINES = 120, 20
LONGEST_PARAGRAPH = 500
"""Characters of one line of prose."""
COMMAND = re.compile(r"(?:^|`)wakesleep ([a-z][^`\n]*)", re.MULTILINE)
GROUPS = ("experts", "study", "starcraft")
"""Commands that have commands of their own."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def name_of(page):
    return str(page.relative_to(ROOT))


@contextlib.contextmanager
def registries_put_back():
    """Whatever a page registers is forgotten after it."""
    for name in wakesleep.__all__:
        getattr(wakesleep, name)  # what is imported late is there before we look
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "wakesleep"]
    registries = {id(value): value for module in modules for name, value in vars(module).items()
                  if isinstance(value, dict) and not name.startswith("__")}  # fmt: skip
    before = {key: dict(registry) for key, registry in registries.items()}
    try:
        yield
    finally:
        for key, registry in registries.items():
            registry.clear()
            registry.update(before[key])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all pages run: a life that several of them have is lived once, and then returned."""
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_examples_run(page, monkeypatch, folder):
    """The blocks of a page, one after the other, in one namespace."""
    monkeypatch.chdir(folder)
    text, names = page.read_text(), {"__name__": "__main__"}
    with registries_put_back():
        for block in BLOCK.finditer(text):
            lines_before = text.count("\n", 0, block.start(1))  # so that a traceback names the line of the page
            exec(compile("\n" * lines_before + block.group(1), name_of(page), "exec"), names)


def test_no_python_is_left_out():
    """A page that moves is still run, wherever under docs it goes; so is every block that begins in a page."""
    found = {page for page in DOCS.rglob("*.md") if "```python" in page.read_text()}
    assert found == {page for page in WITH_PYTHON if DOCS in page.parents}
    assert {"tutorial.md", "index.md"} <= {page.name for page in found}
    assert {"guides", "reference"} <= {page.parent.name for page in found}
    for page in PAGES:
        assert len(BLOCK.findall(page.read_text())) == page.read_text().count("```python"), name_of(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_is_in_short_lines(page):
    """Code and tables aside, no line is a paragraph of its own."""
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in prose.splitlines() if len(line) > LONGEST_PARAGRAPH and not line.lstrip().startswith("|")]
    assert not long, long[0]


def command_of(line):
    """The command in a line, with the command inside its group."""
    words = line.split()
    return tuple(words[: 2 if words[0] in GROUPS else 1])


@cache
def help_of(*command):
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        patch.setenv("COLUMNS", "200")
        app.cli(prog="wakesleep", args=[*command, "--help"])
    assert printed.getvalue(), f"there is no command wakesleep {' '.join(command)}"
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_can_be_given(page):
    """Commands, their options, and the tasks and experiments that they name, are there."""
    for line in COMMAND.findall(page.read_text().replace("\\\n", " ")):
        shown = line.split(" #")[0]
        command = command_of(shown)
        assert set(OPTION.findall(shown)) <= set(OPTION.findall(help_of(*command))), line
        for name in re.findall(r"^experiment ((?:minigrid|starcraft)[a-z-]*)", shown):
            assert find_grid(name).exists()
        if "--tasks" in shown and "--load" not in shown:
            for task in re.findall(r"\w+_\w+", re.search(r"--tasks ([^-]+)", shown)[1]):
                assert wakesleep.task_info(task), line


def test_the_reference_has_every_command_and_option():
    page = (DOCS / "reference" / "command-line.md").read_text()
    commands = {command_of(line) for line in re.findall(r"`wakesleep ([a-z][^`]+)`", page)}
    assert {command[0] for command in commands} == set(re.findall(r"• ([a-z-]+) ", help_of()))
    for group in GROUPS:
        assert {command[1] for command in commands if command[0] == group} == set(
            re.findall(r"• ([a-z]+) ", help_of(group))
        )
    for command in commands:
        options = re.findall(r"^\W* (?:-[a-z](?: PATH)?, )?(--[a-z][a-z-]*)", help_of(*command), re.MULTILINE)
        assert "--help" in options
        assert not [option for option in options if option not in page], command


def settings_of(preset, domain):
    """All settings of `hidden` by name."""

    def named(settings, group):
        for name, value in settings.items():
            yield from named(value, f"{group}{name}.") if isinstance(value, dict) else [(group + name, value)]

    return dict(named(to_dict(wakesleep.agent_config("hidden", preset, domain=domain)), ""))


def test_the_settings_are_as_the_reference_says():
    presets = [settings_of(preset, domain) for domain in ("minigrid", "starcraft") for preset in ("paper", "fast")]
    cells = re.findall(
        r"^\| `([a-z_.]+)` \|(.*?)\|(.*?)\|(.*?)\|(.*?)\|.*\|$",
        (DOCS / "reference" / "settings.md").read_text(),
        re.MULTILINE,
    )
    table = {name: [cell.strip().replace("10⁹", "1000000000") for cell in row] for name, *row in cells}
    inner = {"model.network"}  # one row for all of the network's, which are the learner's
    assert {name for name in set().union(*presets) if not name.startswith("model.network.")} | inner == set(table)
    for name, row in table.items():
        for cell, preset in zip(row, presets, strict=True):
            value = preset.get(name)
            if name in inner:
                continue
            if isinstance(value, str | None):
                assert cell == (value or ""), name
            elif isinstance(value, bool | int | float):
                assert float(yaml.safe_load(cell.replace(",", ""))) == value, name
            else:
                assert cell.strip("[]").split(", ") == [str(part) for part in value], name


def test_the_drawing_has_the_packages_in_the_order_of_the_import_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    drawing = (DOCS / "images" / "architecture.svg").read_text()
    listed = re.search("From top to bottom: (.*?)\\.", drawing)[1]
    assert listed.split(", ") == [layer.strip("()") for layer in contract["layers"]]
    drawn = re.findall(r"monospace\">([a-z ]+)<", drawing)[:-1]  # the last row has several
    assert drawn == listed.split(", ")[: len(drawn)]


def test_the_front_door_is_documented():
    page = (DOCS / "reference" / "api" / "front-door.md").read_text()
    functions = {name for name in wakesleep.__all__ if inspect.isfunction(getattr(wakesleep, name))}
    assert functions - {"imitation_loss"} <= set(re.findall(r"^::: wakesleep\.(\w+)", page, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_are_there(page):
    for path in re.findall(r"`((?:benchmarks|configs|docs|examples|src|tests)/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_readme_is_short():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= README_LINES
    assert max(len(block.splitlines()) for block in BLOCK.findall(text)) <= README_PYTHON_LINES


def test_the_task_table_is_complete():
    rows = (DOCS / "reference" / "tasks.md").read_text()
    for name, task in TASKS.items():
        family, variant = name.split("_")
        row = next(line for line in rows.splitlines() if line.startswith(f"| {family}"))
        assert f"_{variant}" in row
        assert str(task.max_steps) in row


def test_the_changelog_has_this_version():
    assert f"\n## {wakesleep.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.skipif(not importlib.util.find_spec("mkdocs"), reason="mkdocs is not installed: pip install -e '.[docs]'")
def test_the_site_can_be_built(tmp_path):
    """Every page is in the navigation, every link and anchor is there, every name of the API is found."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))  # and one for what is not found
    for page in pages:  # all can be read offline
        loaded = re.findall(r'<(?:script|img|iframe)[^>]+src="(https?:[^"]+)"', page.read_text())
        loaded += re.findall(r'<link[^>]+rel="stylesheet"[^>]+href="(https?:[^"]+)"', page.read_text())
        assert not loaded, f"{page.name} loads {loaded}"
