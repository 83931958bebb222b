"""What README and guide say is run as it stands: Python blocks, outputs shown, and commands."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import is_regressor
from typer.testing import CliRunner

from ipub import BoundedClassifier, BoundedRegressor
from ipub.app import cli, demo
from ipub.losses import loss_names

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs" / "guide").glob("*.md"))]
WRITTEN = [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/performance.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_RUN = {"make", "pip", "python", ".venv/bin/pre-commit"}
"""Commands that pages show and that are too long, or change the environment."""


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
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
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
            assert language in ("", "toml"), f"a block of {language} is not run"


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
    assert len(text.splitlines()) <= 130
    first = next(block for language, block in blocks_of(README) if language == "python")
    assert 'scale="standard"' in first


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the usual hosts make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        goal = page.parent / path if path else page
        assert goal.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors_of(goal), f"{page.name} links to {target}"


def test_every_guide_page_is_in_the_table_of_contents():
    guide = ROOT / "docs" / "guide"
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (guide / "README.md").read_text(encoding="utf-8")))
    assert linked == {page.name for page in guide.glob("*.md")} - {"README.md"}


def test_the_layout_in_the_architecture_page_is_the_real_one():
    (tree,) = (text for _, text in blocks_of(ROOT / "docs" / "guide" / "architecture.md") if "src/ipub/\n" in text)
    package = ROOT / "src" / "ipub"
    named = {word for line in tree.splitlines() if line.startswith("  ") for word in re.findall(r"^ +(\S+)", line)}
    assert not [name for name in named if not (package / name).exists()]
    real = {path.name + "/" * path.is_dir() for path in package.iterdir() if not path.name.startswith(("_", "py."))}
    assert real <= named, f"not described: {sorted(real - named)}"


def test_every_path_that_contributing_names_exists():
    named = re.findall(r"`([\w./]+(?:\.py|/))`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    real = [path.as_posix() for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert len(named) > 20
    for path in named:
        assert (ROOT / path).exists() or any(each.endswith(f"/{path}") for each in real), path


@pytest.mark.parametrize("kind", [BoundedClassifier, BoundedRegressor])
def test_the_guide_and_the_docstring_of_an_estimator_list_its_losses(kind):
    losses = loss_names("regression" if is_regressor(kind()) else "classification")
    guide = (ROOT / "docs" / "guide" / "penalty.md").read_text(encoding="utf-8")
    rows = re.findall(rf'^\| `"(\w+)"`.* \| `{kind.__name__}` \|$', guide, flags=re.MULTILINE)
    (listed,) = re.findall(r"^ +loss : \{(.*)\}", kind.__doc__, flags=re.MULTILINE)
    assert sorted(rows) == sorted(re.findall(r"\w+", listed)) == sorted(losses)


def test_every_file_that_theory_cites_exists():
    cited = re.findall(r"`([\w/]+(?:\.py|/))`", (ROOT / "docs" / "theory.md").read_text(encoding="utf-8"))
    assert cited
    folders = (ROOT / "src" / "ipub", ROOT / "experiments")
    real = [f"/{path.as_posix()}{'/' * path.is_dir()}" for folder in folders for path in folder.rglob("*")]
    assert not [path for path in cited if not any(each.endswith(f"/{path}") for each in real)]
