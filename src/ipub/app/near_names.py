"""Which known name a misspelled one stands for."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """Return the known name that a slip of the finger, or two in a long name, makes this one; "" if there is none.

    Examples
    --------
    >>> near("weigth", ["age", "weight"]), near("size", ["age", "weight"])
    ('weight', '')
    """
    edits = {each: _edits(name.casefold(), each.casefold()) for each in known}
    if not edits:
        return ""
    best = min(edits, key=lambda each: edits[each])
    return best if edits[best] <= max(1, len(name) // 5) and edits[best] < max(len(name), len(best)) else ""


def _edits(first: str, second: str) -> int:
    """Return how many letters are left out, added, replaced, or swapped with the next one."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        above, row = row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == second[j - 2] and other == first[i - 2]:
                row[j] = min(row[j], before[j - 2] + 1)
        before = above
    return row[-1]
