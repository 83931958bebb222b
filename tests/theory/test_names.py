"""The pages of the theory and the code name the same theorems: every name is a label, and every label is one."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
FOLDERS = ("src", "tests", "benchmarks", "experiments")
LABEL = re.compile(r"^\(([a-z0-9-]+)\)=$", re.MULTILINE)
NAME = re.compile(r"\b(?:thm|lem|rem|def|sec|fp)-[a-z0-9]+(?:-[a-z0-9]+)*\b")
NUMBER = re.compile(r"\b(?:Theorem|Lemma|Remark)s? (?:\d|C\b)|\bF(?:[2-9]|1\d|20)\b|docs/theory\.md")


def labels() -> list[str]:
    return [label for page in PAGES for label in LABEL.findall(page.read_text(encoding="utf-8"))]


def sources() -> list[Path]:
    files = [path for folder in FOLDERS for end in ("py", "c", "h") for path in (ROOT / folder).rglob(f"*.{end}")]
    return [*files, ROOT / "setup.py"]


def named(text: str) -> set[str]:
    return set(NAME.findall(text))


def test_every_label_is_unique_and_says_what_it_is():
    found = Counter(labels())
    assert len(found) > 60
    assert not [label for label, count in found.items() if count > 1 or not NAME.fullmatch(label)]


def test_every_theorem_that_the_code_cites_is_on_a_page():
    known = set(labels())
    unknown = {path: sorted(named(path.read_text(encoding="utf-8")) - known) for path in sources()}
    assert not {path: names for path, names in unknown.items() if names}
    assert len(set().union(*(named(path.read_text(encoding="utf-8")) for path in sources()))) > 60


def test_the_code_cites_no_theorem_by_a_number():
    for path in sources():
        if path != Path(__file__):
            assert not NUMBER.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_theorem_that_a_page_names_is_on_a_page(page):
    assert not named(page.read_text(encoding="utf-8")) - set(labels())


def test_every_theorem_that_the_documentation_names_is_on_a_page():
    pages = [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert not {page: names for page in pages if (names := named(page.read_text(encoding="utf-8")) - set(labels()))}


def test_every_file_that_the_theory_cites_exists():
    file = re.compile(r"`([\w/]+(?:\.py|/)|[\w/]*/\w+\.c)`")
    cited = {(page.stem, name) for page in PAGES for name in file.findall(page.read_text(encoding="utf-8"))}
    assert cited
    folders = (ROOT / "src" / "ipub", ROOT / "experiments")
    real = [f"/{path.as_posix()}{'/' * path.is_dir()}" for folder in folders for path in folder.rglob("*")]
    assert not [each for each in cited if not any(path.endswith(f"/{each[1]}") for path in real)]


def test_the_contents_list_every_page():
    (contents,) = re.findall(r"```\{toctree\}\n.*?\n\n(.*?)```", (PAGES[0].parent / "index.md").read_text(), re.DOTALL)
    assert sorted([*contents.split(), "index"]) == [page.stem for page in PAGES]
