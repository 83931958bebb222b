"""What rests on what, as the pages of the theory declare it; run as a script, it writes the table of the index."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "theory"
INDEX = FOLDER / "index.md"
LABEL = re.compile(r"^\(([a-z0-9-]+)\)=$", re.MULTILINE)
NAME = re.compile(r"\b(?:thm|lem|rem|def|sec|fp)-[a-z0-9]+(?:-[a-z0-9]+)*\b")
BEGINNING, END = "| statement | page | rests on |\n| --- | --- | --- |\n", "\n\n"


def pages() -> list[Path]:
    """Return the pages in the order of the index."""
    (contents,) = re.findall(r"```\{toctree\}\n.*?\n\n(.*?)```", INDEX.read_text(encoding="utf-8"), re.DOTALL)
    return [FOLDER / f"{name}.md" for name in contents.split()]


def sections() -> list[tuple[str, str, str]]:
    """Return the page, the label and the text of each labelled section, up to the next label."""
    found = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        ends = [*(match.start() for match in LABEL.finditer(text)), len(text)]
        for start, end in pairwise(ends):
            (name,) = LABEL.findall(text[start:end])
            found.append((page.stem, name, text[start:end]))
    return found


def declared() -> dict[str, tuple[str, list[str]]]:
    """Return for every theorem and lemma its page and what it rests on."""
    found = {}
    for page, name, section in sections():
        lines = re.findall(r"^Rests on: (.*)$", section, re.MULTILINE)
        if lines or name.startswith(("thm-", "lem-")):
            found[name] = page, list(dict.fromkeys(NAME.findall(" ".join(lines))))
    return found


def cited_in_proofs() -> dict[str, set[str]]:
    """Return for every labelled section what its proofs cite, itself apart."""
    proof = re.compile(r"\*Proof\.\*.*?∎", re.DOTALL)
    return {name: set(NAME.findall(" ".join(proof.findall(section)))) - {name} for _, name, section in sections()}


def table() -> str:
    """Return the table of the index."""

    def link(name: str) -> str:
        return f"[{name}](#{name})"

    rows = [
        f"| {link(name)} | [{page}]({page}.md) | {', '.join(map(link, parts)) or '-'} |"
        for name, (page, parts) in declared().items()
    ]
    return BEGINNING + "\n".join(rows)


def written() -> str:
    """Return the table that the index has."""
    _, _, rest = INDEX.read_text(encoding="utf-8").partition(BEGINNING)
    return BEGINNING + rest.partition(END)[0].rstrip("\n")


if __name__ == "__main__":
    INDEX.write_text(INDEX.read_text(encoding="utf-8").replace(written(), table()), encoding="utf-8")
