"""All rows in few bytes: the first as lines of a table, the others as text that needs no script to be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ipub.reports.words import lower, number, text, upper

TABLE_ROWS = 200
"""Rows of the table, at most; a script adds the others to it."""
LABEL_BYTES = 120_000
"""For the names of rows in lines of text, all together: where there are many, long names are cut."""
MOST_ROWS = 20_000
"""Rows of the page, at most, those that are not certain first; JSON has all of them."""


def compact_rows(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of all rows, those that are not certain first; bounds are rounded outward."""
    found, brackets = summary["predictions"], _brackets(summary)
    n = len(found["row"])
    order = np.arange(n)
    if found["status"] is not None:
        order = np.argsort(np.array(found["status"]) == "certain", kind="stable")
    shown = [_cells(found, int(row), brackets) for row in order[:TABLE_ROWS]]
    groups: dict[tuple[str, str, str], list[str]] = {}
    of_classes = found["status"] is not None
    longest = max(8, LABEL_BYTES // n)
    for row in order[TABLE_ROWS:MOST_ROWS].tolist():
        actual = "" if found["actual"] is None else found["actual"][row]
        key = (found["status"][row], found["prediction"][row], actual) if of_classes else ("", "", "")
        cells = [
            text(found["row"][row], longest),
            *([] if of_classes else [actual] if actual else []),
            *_numbers(found, row),
        ]
        groups.setdefault(key, []).append("\t".join(cells))
    return {
        "rows": shown,
        "groups": [
            {"status": key[0], "prediction": key[1], "actual": key[2], "n": len(lines), "lines": "\n".join(lines)}
            for key, lines in sorted(groups.items())
        ],
        "n": n,
        "n_more": min(n, MOST_ROWS) - len(shown),
        "n_left_out": max(0, n - MOST_ROWS),
        "has_actual": found["actual"] is not None,
        "has_status": of_classes,
        "has_tipping": bool(brackets),
    }


def _numbers(found: Mapping[str, Any], row: int) -> list[str]:
    values = [number(found["value"][row], digits=3)]
    if found["is_bounded"]:
        values += [lower(found["lower"][row], 3), upper(found["upper"][row], 3)]
    return values


def _cells(found: Mapping[str, Any], row: int, brackets: Mapping[int, str]) -> dict[str, Any]:
    return {
        "row": found["row"][row],
        "prediction": found["prediction"][row],
        "actual": None if found["actual"] is None else found["actual"][row],
        "numbers": _numbers(found, row),
        "status": None if found["status"] is None else found["status"][row],
        "tipping": brackets.get(row, ""),
    }


def _brackets(summary: Mapping[str, Any]) -> dict[int, str]:
    """Return how many missing values must differ before a row's class changes, where that was looked for."""
    section = summary["departures"]
    if "left_out" in section:
        return {}
    return {
        row: _bracket(at_least, at_most)
        for row, at_least, at_most in zip(section["rows"], section["at_least"], section["at_most"], strict=True)
    }


def _bracket(at_least: float, at_most: float) -> str:
    if at_least == float("inf"):
        return "never"
    if at_least == at_most:
        return f"{at_least:,.0f}"
    return f"{at_least:,.0f}–{'?' if at_most == float('inf') else format(at_most, ',.0f')}"
