"""The example of the theory's pages, two rows and one hole: the code gives the numbers that the pages print."""

import re
from pathlib import Path

import numpy as np
import pytest

from support.theory_example import NUMBERS, PAGES

ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"^## Example\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def printed(page: str) -> dict[str, str]:
    """Return what the tables of a page's example say: a text, and the number as it is written."""
    (section,) = SECTION.findall((ROOT / "docs" / "theory" / f"{page}.md").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| ([^|]+) \| (-?\d+(?:\.\d+)?) \|$", section, re.MULTILINE)
    assert len(dict(rows)) == len(rows)
    return dict(rows)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_gives_the_numbers_of_the_page(page):
    numbers, said = NUMBERS[page](), printed(page)
    assert list(numbers) == list(said)
    for text, number in numbers.items():
        decimals = len(said[text].partition(".")[2])
        assert f"{number + 0.0:.{decimals}f}" == said[text], text


def test_every_page_with_an_example_is_computed():
    pages = {path.stem for path in (ROOT / "docs" / "theory").glob("*.md") if SECTION.search(path.read_text())}
    assert pages == set(PAGES)


def test_every_bound_of_the_example_holds_for_every_completion():
    values = np.linspace(-0.5, 0.5, 201)
    exact = (2.0 + values) / (4.0 + values**2)
    for page in ("sphere", "half_ball", "slopes", "row_sums"):
        if page in PAGES:
            numbers = NUMBERS[page]()
            low, high = numbers["lower bound of the score"], numbers["upper bound of the score"]
            assert low <= exact.min() + 1e-9
            assert exact.max() <= high + 1e-9
