"""The pages of the theory are whole: formulas that can be shown, in one notation."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "theory"
PAGES = sorted(FOLDER.glob("*.md"))
CODE, FORMULA = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL), re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)


def formulas(page: Path) -> list[str]:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return ["".join(found) for found in FORMULA.findall(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_formulas_are_whole(page):
    for line in CODE.sub("", page.read_text(encoding="utf-8")).splitlines():
        assert line.replace("$$", "").count("$") % 2 == 0, line
    for formula in formulas(page):
        plain = re.sub(r"\\[{}]", "", formula)
        assert plain.count("{") == plain.count("}"), formula
        for size in ("big", "Big"):
            opened, closed = (len(re.findall(rf"\\{size}[{ends}]", formula)) for ends in (r"(\[", r")\]"))
            assert opened == closed or rf"\{size}|" in formula, formula


def test_proofs_are_in_one_notation():
    assert not [page.stem for page in PAGES if re.search(r"\bQED\b|\*\*Section \d", page.read_text(encoding="utf-8"))]
