"""What README and guide say is run as it stands: Python blocks, outputs shown, and commands."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import is_regressor
from typer.testing import CliRunner

import ipub
import ipub.datasets
import ipub.plots
from ipub import BoundedClassifier, BoundedRegressor
from ipub.app import cli, demo
from ipub.losses import loss_names

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md")), *sorted((DOCS / "choose").glob("*.md"))]
WRITTEN = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/performance.md"))]
BLOCK = re.compile(r"^```([^`\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_RUN = {"make", "pip", "python", ".venv/bin/pre-commit"}
"""Commands that pages show and that are too long, or change the environment."""


def name_of(page: Path) -> str:
    """Return a page's path without its ending, from the repository's root."""
    return page.relative_to(ROOT).with_suffix("").as_posix()


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of every block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def run_examples(text: str, scope: dict[str, Any], name: str) -> None:
    """Run a block of >>> lines in the page's namespace and compare what it shows."""
    parsed = doctest.DocTestParser().get_doctest(text, scope, name, name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=SHOWN)
    runner.run(parsed, out=report.append, clear_globs=False)
    scope.update(parsed.globs)
    assert runner.failures == 0, "".join(report)


def run_commands(text: str) -> None:
    """Run the `ipub` lines of a block and compare the output that follows them, if any does."""
    for line, shown in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", text, flags=re.MULTILINE):
        program, *arguments = shlex.split(line, comments=True)
        if program in NOT_RUN:
            continue
        assert program == "ipub", f"{program} is not run"
        done = CliRunner().invoke(cli.app, arguments)
        assert done.exit_code == 0, done.output
        if shown:
            assert doctest.OutputChecker().check_output(shown, done.stdout, SHOWN), f"{line} prints\n{done.stdout}"


@pytest.mark.no_cover
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_runs_and_shows_what_comes_out(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = demo.load_mammographic_masses()
    monkeypatch.setattr(demo, "load_mammographic_masses", lambda: (X[:200], y[:200]))
    monkeypatch.setattr(demo, "TEST_ROWS", 15)
    monkeypatch.setattr(demo, "REPEATS", 1)
    scope: dict[str, Any] = {"__name__": page.stem}
    for language, text in blocks_of(page):
        if language == "python":
            exec(compile(text, page.name, "exec"), scope)
        elif language == "pycon":
            run_examples(text, scope, page.name)
        elif language == "console":
            run_commands(text)
        else:
            assert language in ("", "toml") or language.startswith("{"), f"a block of {language} is not run"


def test_a_wrong_output_or_a_command_that_fails_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run_examples(">>> 1 + 1\n3\n", {}, "page")
    with pytest.raises(AssertionError):
        run_commands("$ ipub --version\nipub 0.0.0\n")
    with pytest.raises(AssertionError):
        run_commands("$ ipub predict none.ipub none.csv\n")
    with pytest.raises(AssertionError):
        run_commands("$ rm model.ipub\n")


def test_make_targets_that_pages_name_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {name for page in WRITTEN for name in re.findall(r"`make ([\w-]+)`", page.read_text(encoding="utf-8"))}
    assert {"test", "demo"} <= targets
    assert named <= targets


def test_the_readme_is_an_invitation():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    first = next(block for language, block in blocks_of(README) if language == "python")
    assert 'scale="standard"' in first


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the usual hosts make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        goal = page.parent / path if path else page
        assert goal.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors_of(goal), f"{page.name} links to {target}"


@pytest.mark.parametrize("folder", ["guide", "choose"])
def test_every_page_is_in_the_table_of_contents(folder):
    contents = (DOCS / folder / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", contents))
    assert linked == {page.name for page in (DOCS / folder).glob("*.md")} - {"index.md"}


def test_the_layout_in_the_architecture_page_is_the_real_one():
    (tree,) = (text for _, text in blocks_of(ROOT / "docs" / "guide" / "architecture.md") if "src/ipub/\n" in text)
    package = ROOT / "src" / "ipub"
    named = {word for line in tree.splitlines() if line.startswith("  ") for word in re.findall(r"^ +(\S+)", line)}
    assert not [name for name in named if not (package / name).exists()]
    real = {path.name + "/" * path.is_dir() for path in package.iterdir() if not path.name.startswith(("_", "py."))}
    assert real <= named, f"not described: {sorted(real - named)}"


PATH = re.compile(r"`([\w.-]+/(?:[\w.-]+/)*[\w.-]*|[\w-]+\.(?:py|md|c|toml))`")
"""A path in the text: what has a slash, or the ending of a file."""
MADE_BY_READERS = ("build/", "reproduction/", "ranges.toml")
"""What there is only after a command was run."""


@pytest.mark.parametrize(
    "page",
    [ROOT / "CONTRIBUTING.md", *sorted((DOCS / "guide").glob("*.md")), *sorted((DOCS / "development").glob("*.md"))],
    ids=name_of,
)
def test_every_path_that_a_page_names_exists(page):
    real = [path.as_posix() for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*")]
    named = PATH.findall(page.read_text(encoding="utf-8"))
    assert len(named) > 20 or page.stem != "CONTRIBUTING"
    for path in named:
        is_there = (ROOT / path).exists() or any(each.endswith(f"/{path.rstrip('/')}") for each in real)
        assert is_there or path.startswith(MADE_BY_READERS), path


def test_every_public_name_is_in_the_api_reference():
    listed, module = set(), ""
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif name := re.fullmatch(r"   ([A-Za-z][\w.]*)", line):
            listed.add(f"{module}.{name[1]}")
    public = {
        f"{each.__name__}.{name}"
        for each in (ipub, ipub.plots, ipub.datasets)
        for name in each.__all__
        if name[0] != "_"
    }
    assert public - listed == {"ipub.plots.CERTAIN", "ipub.plots.UNCERTAIN"}, "colours are no part of the reference"
    for name in sorted(listed):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


@pytest.mark.parametrize("kind", [BoundedClassifier, BoundedRegressor])
def test_the_guide_and_the_docstring_of_an_estimator_list_its_losses(kind):
    losses = loss_names("regression" if is_regressor(kind()) else "classification")
    guide = (ROOT / "docs" / "guide" / "penalty.md").read_text(encoding="utf-8")
    rows = re.findall(rf'^\| `"(\w+)"`.* \| `{kind.__name__}` \|$', guide, flags=re.MULTILINE)
    (listed,) = re.findall(r"^ +loss : \{(.*)\}", kind.__doc__, flags=re.MULTILINE)
    assert sorted(rows) == sorted(re.findall(r"\w+", listed)) == sorted(losses)
