"""The rows that are least certain, each with its values, its bounds and what changes its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.reports.asked import SEARCH_WORK, Asked, left_out
from ipub.reports.explained import explanation_of
from ipub.reports.words import count, text

MOST_ROWS = 20
WIDEST = 10
"""Rows of a regression, or of more than two classes: those with the widest bounds."""
MOST_VALUES = 60
"""Values of a row that are shown, at most."""


def rows_in_full_of(asked: Asked, departures: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that are least certain, in a regression those with the widest bounds."""
    if not asked.is_bounded:
        return left_out("Without a certificate there are no bounds to explain.")
    if asked.status is None:
        chosen = np.argsort(asked.lower - asked.upper, kind="stable")[:WIDEST]
        sentence = f"The {count(len(chosen), 'row')} with the widest bounds."
    else:
        is_open = asked.open_rows
        if not len(is_open):
            return left_out("Every prediction is certain: there is no row to explain.")
        chosen = is_open[:MOST_ROWS]
        sentence = f"The {count(len(chosen), 'row')} that {'is' if len(chosen) == 1 else 'are'} least certain"
        sentence += f", of {len(is_open):,} that are not." if len(is_open) > len(chosen) else "."
    n_searched = asked.affordable(MOST_ROWS, SEARCH_WORK)
    attained = _attained(asked, chosen[:n_searched])
    return {
        "sentence": sentence,
        "rows": [
            {
                "row": asked.rows.labels[row],
                "number": int(row),
                "prediction": asked.prediction[row],
                "actual": None if asked.options.y is None else text(np.asarray(asked.options.y)[row]),
                "status": None if asked.status is None else str(asked.status[row]),
                "value": float(asked.value[row]),
                "lower": float(asked.lower[row]),
                "upper": float(asked.upper[row]),
                "attained": None if attained is None or k >= len(attained) else attained[k].tolist(),
                "tipping": _tipping(departures, int(row)),
                "values": _values(asked, int(row)),
                **explanation_of(asked, int(row), searches=k < n_searched),
            }
            for k, row in enumerate(chosen.tolist())
        ],
    }


def _attained(asked: Asked, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Return (m, 2): how far retrained fillings move each row, in the units of what is bounded; None if not known."""
    if not asked.has_training_table or (asked.is_classes and asked.threshold is None):
        return None
    try:
        found = np.asarray(asked.estimator.attained_bounds(asked.rows.take(rows)), dtype=float)
    except IpubError:
        return None
    link = asked.training.loss.link if asked.threshold == 0.5 else None
    return found if link is None else np.asarray(link(found))


def _tipping(departures: dict[str, Any], row: int) -> dict[str, float] | None:
    """Return how many values must differ, and how many do change the class, as far as that was looked for."""
    if row not in departures.get("rows", []):
        return None
    k = departures["rows"].index(row)
    return {name: departures[name][k] for name in ("at_least", "at_most")}


def _values(asked: Asked, row: int) -> list[dict[str, Any]]:
    values = asked.rows.values(row)[:MOST_VALUES]
    return [
        {"column": name, "value": None if value is None else text(value)}
        for name, value in zip(asked.rows.columns, values, strict=False)
    ]
